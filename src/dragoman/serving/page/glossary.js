// The glossary for a target language: a term, "=" and its translation in each line. The browser stores it.

const field = document.getElementById("glossary");
const GLOSSARY = "dragoman-glossary";
const COMPLETE = /^\s*$|=\s*\S/; // an empty line, or one with a translation

let key = "";
field.disabled = true; // until it is known for which language

/** The lines that the user entered. */
export const glossary = () => field.value;

/** Show the glossary for a target language. */
export function showGlossary(target) {
  if (key === `${GLOSSARY}-${target}`) return;
  key = `${GLOSSARY}-${target}`;
  const common = localStorage.getItem(GLOSSARY); // earlier versions had one for all languages
  if (common !== null) localStorage.setItem(key, common);
  localStorage.removeItem(GLOSSARY);
  field.value = localStorage.getItem(key) ?? "";
  field.disabled = false;
  if (field.value) field.closest("details").open = true;
}

/** Call a function after the glossary has changed: as soon as each line has a translation, or when the user leaves it. */
export function onGlossaryChange(changed) {
  field.addEventListener("input", () => {
    localStorage.setItem(key, field.value);
    if (field.value.split("\n").every((line) => COMPLETE.test(line))) changed();
  });
  field.addEventListener("change", changed);
}
