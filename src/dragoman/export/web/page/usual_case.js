// The usual case of words, in which sentences in capital letters are translated, as in `dragoman.text.usual_case`.

import * as tables from "./tables.js";

const { MIN_CHANGED, MIN_LOWERED, MIN_WORDS, NEAR_SENTENCES: NEAR } = tables;
const CASELESS = new RegExp(tables.CASELESS, "v");
const WORD = new RegExp(tables.WORD, "gv");
const START = /(?<=(?<!\P{White_Space})[^\p{L}\p{M}\p{N}\p{White_Space}]*)(?<![\p{L}\p{M}])[\p{L}\p{M}]+/gu;
const LOWER_START = new RegExp(tables.LOWER_START, "v");
const FIRST_LETTER = /(?<!\P{White_Space})([^\p{L}\p{N}\p{White_Space}]*)(\p{L})/gu;
const LINE_START = new RegExp(`^(?:${tables.LINE_START})$`, "v");
const SENTENCE_START = new RegExp(tables.SENTENCE_START, "v");

export class UsualCase {
  #usual;
  #hasTitles;

  /** @param data words as they are usually written, and whether sentences in title case are usual */
  constructor({ words, has_titles: hasTitles }) {
    this.#usual = new Map(words.split(" ").map((word) => [word.toLowerCase(), word]));
    this.#hasTitles = hasTitles;
  }

  /** A sentence as it is usually written, of the same length, and its case: "usual", "upper" or "title". */
  apply(text, spans) {
    const letters = spans.reduce((all, { start, end }) => all.slice(0, start) + "0".repeat(end - start) + all.slice(end), text);
    if (CASELESS.test(letters)) return [text, "usual"];
    if (/\p{Uppercase}/u.test(letters) && !/[\p{Lowercase}\p{Lt}]/u.test(letters)) {
      const words = [...letters.matchAll(WORD)];
      const usual = words.map((word) => [word, this.#usual.get(word[0].toLowerCase()) ?? word[0].toLowerCase()]);
      const isKnown = words.some(([word]) => (this.#usual.get(word.toLowerCase()) ?? word) !== word);
      const changed = respell(text, usual);
      return isKnown && changed !== text ? [changed, "upper"] : [text, "usual"];
    }
    const starts = this.#hasTitles || LOWER_START.test(letters) ? [] : [...letters.matchAll(START)];
    if (starts.filter(([word]) => /^\p{Uppercase}/u.test(word)).length >= MIN_WORDS) {
      const lowered = starts.filter(([word]) => this.#isLowered(word));
      const changed = respell(text, lowered.map((word) => [word, word[0].toLowerCase()]));
      const count = lowered.filter(({ index }) => changed[index] !== text[index]).length;
      if (count >= Math.max(MIN_LOWERED, MIN_CHANGED * starts.length)) return [changed, "title"];
    }
    return [text, "usual"];
  }

  #isLowered(word) {
    const [first] = word, lower = word.toLowerCase();
    return word.slice(first.length) === lower.slice(first.length) && word !== lower && this.#usual.get(lower) === lower;
  }
}

/** A text in the case of another. */
export function changeCase(text, name) {
  if (name === "upper") return text.toUpperCase();
  if (name === "usual") return text;
  return text.replace(FIRST_LETTER, (all, before, letter) => {
    if (/\p{Script=Georgian}/u.test(letter)) return all; // whose capital letters are not used at the start of words
    const [first, ...others] = letter.toUpperCase(); // of ß, two letters
    return before + first + others.join("").toLowerCase();
  });
}

/** The text with other spellings of words, unless their length differs; sentences start as before. */
function respell(text, spellings) {
  for (const [{ 0: word, index }, spelling] of spellings) {
    if (spelling.length !== word.length) continue;
    const [first] = startsSentence(text, index) ? text.slice(index) : spelling;
    text = text.slice(0, index) + first + spelling.slice(first.length) + text.slice(index + word.length);
  }
  return text;
}

function startsSentence(text, start) {
  const before = text.slice(Math.max(0, start - NEAR), start);
  return (start <= NEAR && LINE_START.test(before)) || SENTENCE_START.test(before);
}
