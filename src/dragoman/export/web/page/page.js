// Translates while the user types.

import { fetchJson } from "./files.js";
import { directionOf, englishName, tagOf } from "./languages.js";

const PAUSE = 150; // milliseconds without a key before a translation
const COPIED = "Copied";
const element = Object.fromEntries([...document.querySelectorAll("[id]")].map((each) => [each.id, each]));
const { source, output, backdrop, error, notes, status, copy, clear } = element;
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });

let languages = null; // `source` and `target`
let directions = []; // all, of a model with several
let direction = 0; // the chosen one, a number in this list
let timer = 0;
let last = 0; // the number of the last request

function edited() {
  if (status.textContent === COPIED) status.textContent = "";
  backdrop.textContent = `${source.value}\u200b`; // gives the text field its height
  clear.hidden = copy.hidden = !source.value;
  clearTimeout(timer);
  if (source.value) {
    last++; // what is shown is the translation of the text before
    showBusy(true);
    timer = setTimeout(translate, PAUSE);
  } else {
    translate(); // so that no translation of the text before is shown any more
    showTranslation("", [], true); // at once: the worker may be busy
  }
}

function translate() {
  clearTimeout(timer);
  if (!languages) return; // the text is translated when they are known
  showBusy(true);
  worker.postMessage({ id: ++last, text: source.value, language: languages.source, direction });
}

const receive = {
  ready() {
    status.textContent = "";
    remember();
  },
  failed({ message }) {
    status.textContent = "";
    error.textContent = message;
    showBusy(false);
  },
  translation({ id, text, notes, isDone }) {
    if (id === last) showTranslation(text, notes, isDone);
  },
};

function showTranslation(text, found, isDone) {
  output.textContent = text;
  error.textContent = "";
  showBusy(!isDone);
  if (isDone) notes.replaceChildren(...found.map(note));
}

/** Show whether the translation is unfinished, and must not be copied. */
function showBusy(isBusy) {
  output.ariaBusy = String(isBusy);
  copy.disabled = isBusy;
}

function note([sentence, problem]) {
  const [item, quote] = [document.createElement("li"), document.createElement("q")];
  quote.textContent = sentence.length > 60 ? `${sentence.slice(0, 60)} …` : sentence;
  item.append(quote, ` ${problem}`);
  return item;
}

/** Keep all files, so that the page also opens without a network. */
async function remember() {
  try {
    if (!navigator.serviceWorker) return; // the page is neither served by HTTPS nor by this computer
    await navigator.serviceWorker.register("service-worker.js");
    await navigator.serviceWorker.ready;
    element.offline.hidden = false;
  } catch {
    element.offline.hidden = true; // the browser stores nothing, as in a private window
  }
}

async function copyTranslation() {
  if (!output.textContent || copy.disabled) return;
  try {
    await navigator.clipboard.writeText(output.textContent);
  } catch {
    getSelection().selectAllChildren(output); // browsers refuse it to pages that are not served by HTTPS
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  status.textContent = COPIED;
}

function clearText() {
  source.value = "";
  edited();
  source.focus();
}

/** The English name of a language; browsers do not know those of some small ones. */
function nameOf(code) {
  const name = englishName(code);
  return name === code ? config.names?.[code] ?? code : name;
}

/** Offer all sources, and the targets of the chosen one; another source keeps the target if it can. */
function offerLanguages() {
  const { from, to } = element, chosen = directions[direction];
  const targets = directions.filter((each) => each.source === chosen.source).map((each) => each.target);
  offer(from, [...new Set(directions.map((each) => each.source))], chosen.source);
  offer(to, targets, chosen.target);
  showLanguages(chosen);
}

function offer(list, codes, chosen) {
  list.replaceChildren(...codes.map((code) => new Option(nameOf(code), code, code === chosen, code === chosen)));
}

function chooseLanguages() {
  const [from, to] = [element.from.value, element.to.value];
  const possible = directions.filter((each) => each.source === from);
  direction = directions.indexOf(possible.find((each) => each.target === to) ?? possible[0]);
  offerLanguages();
  edited();
}

function showLanguages(config) {
  languages = { source: tagOf(config.source), target: tagOf(config.target) };
  for (const [field, label, side] of [[source, "from", "source"], [output, "to", "target"]]) {
    if (!directions.length) element[label].textContent = nameOf(config[side]);
    field.lang = languages[side];
    field.dir = directionOf(config[side]);
  }
  Object.assign(backdrop, { lang: source.lang, dir: source.dir });
}

const KEYS = { "/": () => source.focus(), c: copyTranslation };
document.addEventListener("keydown", (event) => {
  const isTyping = event.target === source;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
  else if (event.key === "Escape" && isTyping) source.blur();
  else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

worker.addEventListener("message", ({ data }) => receive[data.kind](data));
const UNKNOWN = "A file of this page cannot be loaded."; // browsers do not tell which one
worker.addEventListener("error", ({ message = UNKNOWN }) => receive.failed({ message }));
const config = await fetchJson("config.json");
directions = config.directions ?? [];
if (directions.length) {
  offerLanguages();
  for (const each of [element.from, element.to]) each.addEventListener("change", chooseLanguages);
} else showLanguages(config);
source.addEventListener("input", edited);
copy.addEventListener("click", copyTranslation);
clear.addEventListener("click", clearText);
if (source.value) edited();
