// The glossary: a term, "=" and its translation in each line. The browser stores it.

const field = document.getElementById("glossary");
const GLOSSARY = "dragoman-glossary";

field.value = localStorage.getItem(GLOSSARY) ?? "";
field.closest("details").open = field.value !== "";

/** The lines that the user entered. */
export const glossary = () => field.value;

/** Call a function after the glossary has changed. */
export function onGlossaryChange(changed) {
  field.addEventListener("input", () => {
    localStorage.setItem(GLOSSARY, field.value);
    changed();
  });
}
