// The translation as words: shaded if they are uncertain, and linked with the words of the text that they translate.

const output = document.getElementById("output");
const backdrop = document.getElementById("backdrop"); // has the same text and layout as the text field on top of it
const source = document.getElementById("source");
const LEVELS = [0.1, 0.25, 0.5]; // a word below the first is shaded most
const partners = new Map(); // the words on the other side

/** Parts of a text as the server counts them: by characters, not by UTF-16 units. */
export const slice = (text, start, end) => [...text].slice(start, end).join("");

/** Show the text behind the text field, without links. */
export function showSource(text) {
  fill(backdrop, [...text, "\u200b"], []); // the last line is as high as the others, even if it is empty
  partners.clear();
}

/** Show a translation without words. */
export const showPlain = (text) => output.replaceChildren(text);

/** Show a translation.
 *  @param text the source
 *  @param reply what the server answered
 *  @param prefixes the beginnings that the user chose, by sentence */
export function showWords(text, reply, prefixes) {
  const links = reply.segments.flatMap((segment) => segment.links);
  const starts = new Map(links.map(([start, end]) => [start, [start, end]]));
  const sources = fill(backdrop, [...text, "\u200b"], [...starts.values()].sort((one, other) => one[0] - other[0]));
  const targets = fill(output, [...reply.translatedText], reply.segments.flatMap((segment) => segment.words));
  for (const segment of reply.segments) {
    const chosen = segment.target[0] + [...(prefixes[slice(text, ...segment.source)] ?? "")].length;
    for (const [start, end, probability] of segment.words) {
      describe(targets.get(start), segment, [start, end], probability, start < chosen);
    }
  }
  partners.clear();
  for (const [from, , to] of links) {
    if (!targets.has(to)) continue;
    link(sources.get(from), targets.get(to));
    link(targets.get(to), sources.get(from));
  }
  const first = output.querySelector(".word");
  if (first) first.tabIndex = 0;
}

/** Fill an element with characters; each place, [start, end, …], becomes a separate element. */
function fill(parent, characters, places) {
  const nodes = [], words = new Map();
  let last = 0;
  for (const [start, end] of places) {
    const word = document.createElement("span");
    word.textContent = characters.slice(start, end).join("");
    words.set(start, word);
    nodes.push(characters.slice(last, start).join(""), word);
    last = end;
  }
  parent.replaceChildren(...nodes, characters.slice(last).join(""));
  return words;
}

function describe(word, segment, place, probability, chosen) {
  if (!/[\p{L}\p{N}]/u.test(word.textContent)) return;
  const level = LEVELS.findIndex((limit) => probability < limit);
  word.className = "word";
  if (chosen) word.classList.add("chosen");
  else if (level >= 0) word.classList.add(`unsure-${LEVELS.length - level}`);
  word.title = `${(100 * probability).toFixed(probability < 0.01 ? 1 : 0)}%`;
  word.tabIndex = -1;
  word.role = "button";
  word.ariaHasPopup = "dialog";
  Object.assign(word, { segment, place, probability });
}

function link(word, partner) {
  if (!partners.has(word)) partners.set(word, []);
  partners.get(word).push(partner);
}

function mark(word) {
  for (const each of document.querySelectorAll(".linked")) each.classList.remove("linked");
  if (!partners.has(word)) return;
  for (const each of [word, ...partners.get(word)]) each.classList.add("linked");
}

const wordOf = (event) => event.target.closest("#output span");
output.addEventListener("pointerover", (event) => mark(wordOf(event)));
output.addEventListener("focusin", (event) => mark(wordOf(event)));
output.addEventListener("pointerleave", () => mark(null));
output.addEventListener("focusout", () => mark(null));
source.addEventListener("pointermove", (event) => {
  mark(document.elementsFromPoint(event.clientX, event.clientY).find((each) => each.matches("#backdrop span")));
});
source.addEventListener("pointerleave", () => mark(null));

output.addEventListener("keydown", (event) => {
  const words = [...output.querySelectorAll(".word")];
  const index = words.indexOf(event.target);
  if (index < 0) return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Enter" || event.key === " ") event.target.click();
  else if (step) focusWord(index + (output.dir === "rtl" ? -step : step));
  else return;
  event.preventDefault();
});

/** The position of a word among all words. */
export const indexOf = (word) => [...output.querySelectorAll(".word")].indexOf(word);

/** Give the focus to a word by its position. */
export function focusWord(index) {
  const words = [...output.querySelectorAll(".word")];
  if (!words[index]) return;
  for (const each of words) each.tabIndex = each === words[index] ? 0 : -1;
  words[index].focus();
}
