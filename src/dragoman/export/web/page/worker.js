// Translates in a separate thread, so that the page always reacts.

import { removeInvisible } from "./invisible.js";
import { joinTranslations, splitText } from "./sentences.js";
import { loadTranslators } from "./translator.js";

const REMEMBERED = 2000; // sentences besides those of the text, so that only new ones are translated while the user types
const remembered = new Map(); // translations by direction and sentence
const loading = loadTranslators();
let latest = 0;

loading.then(() => postMessage({ kind: "ready" })).catch(fail);
addEventListener("message", ({ data }) => translate(data).catch(fail));

function fail(error) {
  postMessage({ kind: "failed", message: error.message });
}

async function translate({ id, text, language, direction = 0 }) {
  latest = id;
  const translator = (await loading)(direction);
  const key = (sentence) => `${direction} ${sentence}`;
  if (latest !== id) return; // the text was changed meanwhile; two searches at once would share the sessions
  const parts = splitText(removeInvisible(text), language, translator.isTooLong);
  const sentences = new Set(parts.map(({ sentence }) => sentence).filter(Boolean));
  const unknown = [...sentences].filter((sentence) => !remembered.has(key(sentence)));
  report(id, parts, key, !unknown.length);
  let missing = unknown.length;
  for await (const results of translator.translate(unknown)) {
    for (const { index, ...result } of results) remembered.set(key(unknown[index]), result);
    missing -= results.length;
    await nextTask();
    if (latest !== id) return;
    report(id, parts, key, !missing);
  }
  const shown = new Set([...sentences].map(key));
  const others = [...remembered.keys()].filter((each) => !shown.has(each));
  for (const each of others.slice(0, Math.max(0, others.length - REMEMBERED))) remembered.delete(each);
}

/** Send the page the translation of all sentences that are translated. */
function report(id, parts, key, isDone) {
  const found = (sentence) => remembered.get(key(sentence));
  const shown = (sentence) => (found(sentence) ? found(sentence).translation || sentence : "…");
  const text = joinTranslations(parts, shown); // what the model leaves empty stays as it is
  const notes = parts.flatMap(({ sentence }) => found(sentence)?.problems.map((each) => [sentence, each]) ?? []);
  postMessage({ kind: "translation", id, text, notes, isDone });
}

/** Let messages arrive. */
const nextTask = () => new Promise((resolve) => setTimeout(resolve));
