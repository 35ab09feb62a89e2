// Finds the parts of a sentence that translators copy, by the patterns of `dragoman.text.placeholders`.

import { BRACKETS, LONG_NUMBER, PUNCTUATION, SPAN_HINT, SPAN_KINDS, SPANS } from "./tables.js";

const HINT = new RegExp(SPAN_HINT, "v"); // occurs in every text with a span, and is much faster to search
const PATTERN = new RegExp(SPANS, "gv");
const DIGITS = /\p{Nd}+/gu;

/** The spans of a text, in order: where each starts and ends, and its kind. */
export function findSpans(text) {
  if (!HINT.test(text)) return [];
  return Array.from(text.matchAll(PATTERN), (match) => {
    const kind = SPAN_KINDS.find((name) => match.groups[name] !== undefined);
    const found = kind === "link" ? withoutPunctuation(match[0]) : match[0];
    return { start: match.index, end: match.index + found.length, kind };
  });
}

/** A link without the punctuation that ends the sentence, and without a bracket that it does not open. */
function withoutPunctuation(link) {
  for (;;) {
    const last = link.at(-1);
    const closes = BRACKETS[last] && count(link, last) > count(link, BRACKETS[last]);
    if (!PUNCTUATION.includes(last) && !closes) return link;
    link = link.slice(0, -1);
  }
}

const count = (text, character) => text.split(character).length - 1;

/** The form of a number: its number of digits, or its first two separators and the kind of its groups. */
export function numberForm(number) {
  const [first, ...others] = number.match(DIGITS).map((group) => [...group].length);
  if (others.reduce((sum, length) => sum + length, first) >= LONG_NUMBER) return "0".repeat(LONG_NUMBER);
  if (!others.length) return "0".repeat(Math.min(first, 3));
  const groups = others.every((length) => length === 3) ? "000" : others.at(-1) === 4 ? "0000" : "0";
  return `0${number.split(DIGITS).slice(1, -1).join("").slice(0, 2)}${groups}`;
}

/** The number with commas for points and points for commas. */
export const exchangeSeparators = (number) => number.replace(/[.,]/g, (each) => (each === "." ? "," : "."));
