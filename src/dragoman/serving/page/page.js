// Translates while the user types.

import { startFiles } from "./files.js";
import { glossary, onGlossaryChange, showGlossary } from "./glossary.js";
import { directionOf, englishName, tagOf } from "./languages.js";
import { startMenu } from "./menu.js";
import { apiKey, get, post } from "./server.js";
import { focusWord, showPlain, showSource, showWords, slice } from "./words.js";

const AUTO = "auto";
const UNKNOWN = "unknown";
const PAUSE = 250; // milliseconds without a key before a request
const LOW_CONFIDENCE = 0.3;
const PROBLEMS = {
  empty: "there is no translation",
  "no words": "the translation has neither letters nor digits",
  "broken characters": "the translation contains characters that could not be shown",
  loop: "the translation repeats the same words",
  copied: "the translation is a copy of the text",
  "too short": "the translation is unusually short",
  "too long": "the translation is unusually long",
  "other language": "the text seems to be in another language",
};
const element = Object.fromEntries([...document.querySelectorAll("[id]")].map((each) => [each.id, each]));
const { source, output, from, to, error, notes, status, count, copy, clear } = element;

let languages = []; // {code, name, targets}
let limit = Infinity; // characters
let timer = 0;
let request = null; // the AbortController of the last request
let detected = ""; // the language of the text, if it is to be detected
let wanted = ""; // the language into which the user translates, except texts that are in it
let translated = ""; // the text that is shown in words
let translation = "";
let prefixes = {}; // beginnings of translations that the user chose, by sentence

// ---- Languages

const nameOf = (code) => languages.find((each) => each.code === code)?.name ?? englishName(code);
const language = () => (from.value === AUTO ? detected : from.value);
const targets = () => languages.find((each) => each.code === language())?.targets ?? allTargets();
const sources = () => languages.filter((each) => each.targets.length);
const allTargets = () => [...new Set(languages.flatMap((each) => each.targets))];

function showLanguages() {
  from.options[0].text = detected && from.value === AUTO ? `${nameOf(detected)} (auto)` : "Detect language";
  const kept = to.value;
  const names = (from.value === AUTO ? allTargets() : targets()).map((code) => new Option(nameOf(code), code));
  to.replaceChildren(...names.sort((one, other) => one.text.localeCompare(other.text)));
  if (names.some((each) => each.value === kept)) to.value = kept;
  if (wanted) showGlossary(to.value); // not before the first target is chosen
  setLanguage(source, language());
  setLanguage(output, source.value && !language() ? "" : to.value); // a text in an unknown language is copied
  element.swap.disabled = !reverse();
  element.swap.title = reverse() ? "Swap languages (s)" : `This server does not translate from ${nameOf(to.value)}`;
}

function setLanguage(field, code) {
  field.lang = code && tagOf(code);
  field.dir = code ? directionOf(code) : "auto";
  if (field === source) Object.assign(element.backdrop, { lang: field.lang, dir: field.dir });
}

function changeLanguages() {
  prefixes = {};
  wanted = to.value;
  localStorage.setItem("dragoman-languages", `${from.value} ${wanted}`);
  showLanguages();
  translate();
}

/** The language that would be the source after swapping, if the server translates from it. */
const reverse = () => sources().find((each) => each.code === to.value);

function swap() {
  const [before, after, other] = [language(), to.value, reverse()];
  if (!other) return;
  if (translation) source.value = translation;
  from.value = after;
  detected = "";
  showLanguages();
  to.value = other.targets.includes(before) ? before : other.targets[0];
  showSource(source.value);
  showPlain("");
  changeLanguages();
}

// ---- Translation

function edited() {
  showSource(source.value);
  showCount();
  if (source.value.trim()) translateSoon();
  else translate();
}

function translateSoon() {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

/** Translate the text; when done, the word at the position `focused` gets the focus. */
async function translate(focused = -1) {
  clearTimeout(timer);
  request?.abort();
  if (!to.value) return; // `start` translates as soon as it knows the languages
  const text = source.value;
  if (!text.trim()) return show(text, null);
  if (isTooLong()) {
    show("", null);
    error.textContent = `The text is too long: at most ${limit.toLocaleString("en")} characters are translated at once.`;
    return;
  }
  const own = (request = new AbortController());
  output.ariaBusy = "true";
  try {
    const parameters = { q: text, source: from.value, target: to.value, prefixes, glossary: glossary() };
    const reply = await post("page/translate", parameters, own.signal);
    if (!own.signal.aborted) show(text, reply);
    if (focused >= 0) focusWord(focused);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    translation = ""; // that of another text
    copy.hidden = true;
    showPlain("");
    showNotes(text, null);
    const needsKey = !element["key-form"].hidden && !apiKey();
    error.textContent = needsKey ? "Enter an API key at the top of the page; the operator of the server creates keys." : failure.message;
    if (failure.retryAfter) timer = setTimeout(translate, 1000 * failure.retryAfter);
  }
  if (request === own) output.ariaBusy = "false";
}

function show(text, reply) {
  error.textContent = "";
  detected = reply?.detectedLanguage.language ?? "";
  if (detected === UNKNOWN) detected = "";
  [translated, translation] = [text, reply?.translatedText ?? ""];
  copy.hidden = clear.hidden = !reply;
  showLanguages();
  if (reply?.segments.length) showWords(text, reply, prefixes);
  else showPlain(translation);
  showNotes(text, reply);
  status.textContent = "";
  if (!reply) output.ariaBusy = "false";
  else if (from.value === AUTO) changeTarget(detected === wanted && targets().length ? targets()[0] : wanted);
}

/** Translate into another language until the text is in another one. */
function changeTarget(code) {
  if (code === to.value) return;
  to.value = code;
  prefixes = {};
  showLanguages();
  translate();
}

function showNotes(text, reply) {
  const reason = reply && from.value === AUTO ? whyCopied() : "";
  const general = [reason, ...(reply?.problems ?? [])].filter(Boolean);
  const notesOfSentences = (reply?.segments ?? []).flatMap((segment) => notesOf(slice(text, ...segment.source), segment));
  const lines = [...general, ...notesOfSentences];
  const items = [...new Set(lines)].map((line) => {
    const [item, times] = [document.createElement("li"), lines.filter((each) => each === line).length];
    item.textContent = times > 1 ? `${line} (${times} times)` : line;
    return item;
  });
  notes.replaceChildren(...items);
}

function notesOf(sentence, { problems, confidence }) {
  const quoted = `“${sentence.length > 60 ? `${sentence.slice(0, 60)} …` : sentence}”`;
  const low = confidence !== null && confidence < LOW_CONFIDENCE;
  const doubt = low ? [`the translation is probably wrong (confidence ${Math.min(Math.round(100 * confidence), 100 * LOW_CONFIDENCE - 1)}%)`] : [];
  return [...problems.map((each) => PROBLEMS[each] ?? each), ...doubt].map((problem) => `${quoted}: ${problem}`);
}

/** Why a text whose language was to be detected is not translated; empty if it is. */
function whyCopied() {
  const known = sources();
  if (known.some((each) => each.code === detected)) return "";
  if (detected) return `The text seems to be in ${nameOf(detected)}; this server does not translate from it.`;
  if (known.length === 1) return `The language was not recognized; this server translates only from ${known[0].name}.`;
  return "The language was not recognized. Choose it above.";
}

const isTooLong = () => [...source.value].length > limit;

function showCount() {
  const characters = [...source.value].length;
  count.textContent = characters ? `${characters.toLocaleString("en")} / ${limit.toLocaleString("en")}` : "";
  count.classList.toggle("over", isTooLong());
}

async function copyTranslation() {
  if (!translation) return;
  if (navigator.clipboard) await navigator.clipboard.writeText(translation);
  else {
    getSelection().selectAllChildren(output); // pages that are not served by HTTPS have no access to the clipboard
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  status.textContent = "Copied";
}

function clearText() {
  source.value = "";
  prefixes = {};
  edited();
  source.focus();
}

// ---- Events

source.addEventListener("input", edited);
from.addEventListener("change", changeLanguages);
to.addEventListener("change", changeLanguages);
element["key-form"].addEventListener("change", () => translate());
element["key-form"].addEventListener("submit", (event) => event.preventDefault());
element.swap.addEventListener("click", swap);
copy.addEventListener("click", copyTranslation);
clear.addEventListener("click", clearText);
onGlossaryChange(translateSoon);

const KEYS = { "/": () => source.focus(), s: swap, c: copyTranslation, f: () => element.chosen.click() };
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("textarea, input, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
  else if (event.key === "Escape" && event.target === source) source.blur();
  else if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

async function start() {
  try {
    const settings = await get("frontend/settings");
    languages = await get("languages");
    limit = settings.charLimit > 0 ? settings.charLimit : Infinity;
    element["key-form"].hidden = !settings.keyRequired;
    from.replaceChildren(new Option("Detect language", AUTO), ...sources().map((each) => new Option(each.name, each.code)));
    const [before, after] = (localStorage.getItem("dragoman-languages") ?? "").split(" ");
    from.value = sources().some((each) => each.code === before) ? before : AUTO;
    showLanguages();
    const known = [after, settings.language.target.code].find((code) => targets().includes(code));
    if (known) to.value = known;
    showLanguages();
    wanted = to.value;
    showGlossary(wanted);
    startFiles(settings.supportedFilesFormat, () => ({ source: from.value, target: to.value }));
    startMenu(
      () => ({ text: translated, source: language(), target: to.value, translation, prefixes }),
      (sentence, prefix, word) => {
        prefixes[sentence] = prefix;
        translate(word);
      },
    );
    edited();
  } catch (failure) {
    error.textContent = failure.message;
  }
}

start();
