// Translates in a separate thread, so that the page always reacts.

import { removeInvisible } from "./invisible.js";
import { joinTranslations, splitText } from "./sentences.js";
import { loadTranslator } from "./translator.js";

const REMEMBERED = 2000; // sentences besides those of the text, so that only new ones are translated while the user types
const remembered = new Map();
const loading = loadTranslator();
let latest = 0;

loading.then(() => postMessage({ kind: "ready" })).catch(fail);
addEventListener("message", ({ data }) => translate(data).catch(fail));

function fail(error) {
  postMessage({ kind: "failed", message: error.message });
}

async function translate({ id, text, language }) {
  latest = id;
  const translator = await loading;
  if (latest !== id) return; // the text was changed meanwhile; two searches at once would share the sessions
  const parts = splitText(removeInvisible(text), language, translator.isTooLong);
  const sentences = new Set(parts.map(({ sentence }) => sentence).filter(Boolean));
  const unknown = [...sentences].filter((sentence) => !remembered.has(sentence));
  report(id, parts, !unknown.length);
  let missing = unknown.length;
  for await (const results of translator.translate(unknown)) {
    for (const { index, ...result } of results) remembered.set(unknown[index], result);
    missing -= results.length;
    await nextTask();
    if (latest !== id) return;
    report(id, parts, !missing);
  }
  const others = [...remembered.keys()].filter((sentence) => !sentences.has(sentence));
  for (const sentence of others.slice(0, Math.max(0, others.length - REMEMBERED))) remembered.delete(sentence);
}

/** Send the page the translation of all sentences that are translated. */
function report(id, parts, isDone) {
  const shown = (sentence) => (remembered.has(sentence) ? remembered.get(sentence).translation || sentence : "…");
  const text = joinTranslations(parts, shown); // what the model leaves empty stays as it is
  const notes = parts.flatMap(({ sentence }) => remembered.get(sentence)?.problems.map((each) => [sentence, each]) ?? []);
  postMessage({ kind: "translation", id, text, notes, isDone });
}

/** Let messages arrive. */
const nextTask = () => new Promise((resolve) => setTimeout(resolve));
