// The glossary: a term, "=" and its translation in each line. The browser stores it.

const field = document.getElementById("glossary");
const GLOSSARY = "dragoman-glossary";
const COMPLETE = /^\s*$|=\s*\S/; // an empty line, or one with a translation

field.value = localStorage.getItem(GLOSSARY) ?? "";
field.closest("details").open = field.value !== "";

/** The lines that the user entered. */
export const glossary = () => field.value;

/** Call a function after the glossary has changed: as soon as each line has a translation, or when the user leaves it. */
export function onGlossaryChange(changed) {
  field.addEventListener("input", () => {
    localStorage.setItem(GLOSSARY, field.value);
    if (field.value.split("\n").every((line) => COMPLETE.test(line))) changed();
  });
  field.addEventListener("change", changed);
}
