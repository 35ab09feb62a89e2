// The menu of a word: other words, and the inspector.

import { apiKey, post } from "./server.js";
import { indexOf, slice } from "./words.js";

const output = document.getElementById("output");
const menu = document.getElementById("menu");
const heading = document.getElementById("menu-heading");
const choices = document.getElementById("choices");
const reset = document.getElementById("reset");
const inspect = document.getElementById("inspect");
let request = null;

/** Open the menu when a word is clicked.
 *  @param current returns the text, the languages and the translation that are shown, and the chosen prefixes
 *  @param choose called with a sentence, its new prefix ("" for none), and the position of the word */
export function startMenu(current, choose) {
  output.addEventListener("click", (event) => {
    const word = event.target.closest(".word");
    const selecting = !getSelection().isCollapsed;
    if (word && !selecting) open(word, current(), choose);
  });
}

async function open(word, { text, source, target, translation, prefixes }, choose) {
  menu.hidePopover();
  closed();
  request = new AbortController();
  const { segment, place } = word;
  const sentence = slice(text, ...segment.source);
  const pick = (prefix) => {
    menu.hidePopover();
    choose(sentence, prefix, indexOf(word));
  };
  heading.textContent = `Instead of “${word.textContent}” (${word.title}):`;
  choices.replaceChildren(paragraph("Searching …"));
  reset.hidden = !prefixes[sentence];
  reset.onclick = () => pick("");
  for (const [name, value] of Object.entries({ q: sentence, source, target, api_key: apiKey() })) {
    inspect.elements[name].value = value;
  }
  menu.showPopover();
  word.classList.add("open");
  placeBelow(word);
  const prefix = slice(translation, segment.target[0], place[0]).trimEnd();
  try {
    const found = await post("page/alternatives", { q: sentence, source, target, prefix }, request.signal);
    const others = found.filter((each) => slice(each.text, ...each.word) !== word.textContent);
    choices.lang = output.lang;
    choices.dir = output.dir;
    choices.replaceChildren(...others.map((each) => choice(each, pick)));
    if (!others.length) choices.replaceChildren(paragraph("There are no other words for this place."));
    choices.querySelector("button")?.focus();
  } catch (error) {
    if (error.name !== "AbortError") choices.replaceChildren(paragraph(error.message, "error"));
  }
  placeBelow(word);
}

function choice({ text, word: [start, end] }, pick) {
  const button = document.createElement("button");
  const other = document.createElement("b");
  other.textContent = slice(text, start, end);
  button.type = "button";
  button.append(other, slice(text, end));
  button.addEventListener("click", () => pick(slice(text, 0, end)));
  return button;
}

function paragraph(text, kind = "") {
  const made = document.createElement("p");
  made.className = kind;
  made.textContent = text;
  return made;
}

function placeBelow(word) {
  const { left, top, bottom } = word.getBoundingClientRect();
  const below = bottom + 6 + menu.offsetHeight <= innerHeight || top < menu.offsetHeight + 6;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${below ? bottom + 6 : top - menu.offsetHeight - 6}px`;
}

choices.addEventListener("keydown", (event) => {
  const buttons = [...choices.querySelectorAll("button")];
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!step) return;
  buttons[buttons.indexOf(event.target) + step]?.focus();
  event.preventDefault();
});
function closed() {
  request?.abort();
  output.querySelector(".open")?.classList.remove("open");
}

menu.addEventListener("toggle", (event) => event.newState === "closed" && closed());
document.addEventListener("scroll", () => menu.hidePopover(), { passive: true });
