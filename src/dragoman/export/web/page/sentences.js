// Splits a text into sentences that the model can translate one by one, and joins their translations.

import { findSpans } from "./spans.js";
import { ORDINAL_POINTS, WITHOUT_SPACES } from "./tables.js";

// What the browser takes for the end of a sentence: single letters as in "z. B.", and words before a name or a number.
const ABBREVIATION =
  /(?<!\p{L})(?:\p{L}|abb|abs|bd|bzw|ca|dr|evtl|fr|hr|inkl|jr|mlle|mme|mrs?|ms|mt|nr|prof|sra?|str?|tel|vgl|vs|zzgl)\.\p{Zs}*$/iu;
const ORDINAL = /(?<![\p{L}\d.,])(?:\d{1,2}|#|%(?:\d\$)?[diu])\.\p{Zs}*$/u; // "der 2. Weltkrieg", "der %d. Hund"
const NO_SPACE = /[!-~]$/; // "?" in an address: after such a mark, only white space ends a sentence
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const SPACES_AT_END = /[\p{White_Space}\x1c-\x1f]+$/u; // those that Python strips
const BULLETS = /^\s*(?:(?:[-*+•‣◦▪–—·>]|#{1,6})\s+(?=\S))*/u;
const LABEL = /\(?(?:\d{1,3}|[A-Za-z]|[ivx]{2,5})\)\s+(?=\S)/uy; // "a) "
const NUMBER = /(?:\d{1,3}\.)*(\d{1,3})\.\s+(?=\S)/uy; // "1.2. "
const ITEM_LINES = 10; // that an item of a list may have
const LINE_ENDS = /(?<=\n|\r(?!\n)|[\v\f\u0085\u2028\u2029])/u, TAB_ENDS = /(?<=\t)/u;
const ESCAPED_BREAK = /^(?:\\r)?\\[nrt]$/; // a line break or a tab as programs write them
const ENDS_WITHOUT_SPACE = new RegExp(`[${WITHOUT_SPACES}\\u3000-\\u303f\\uff01-\\uff65]$`, "u");
const ENDS_WITH_STOP = /[.!?]$/, ENDS_WITH_DIGIT = /\p{N}$/u;
const PLACES = [/[,;:–—]\p{White_Space}+/gu, /\p{White_Space}+/gu, /(?=.)/gsu]; // where long sentences are divided

/** The sentences of a text, with the white space, bullets and numbers of lists before each and the white space after
 *  it. Where a part has no letter and no digit, as emoji, its sentence is empty, so that it is not translated.
 *  @param language the code of the language
 *  @param isTooLong whether a sentence must be divided */
export function splitText(text, language, isTooLong) {
  const lines = text.split(LINE_ENDS), starts = contentStarts(lines, language);
  return lines.flatMap((line, index) => {
    const content = line.slice(starts[index]), start = LETTER_OR_DIGIT.test(content) ? starts[index] : 0;
    const cells = cellsOf(line.slice(start));
    const [first, ...others] = cells.flatMap((cell) => (ESCAPED_BREAK.test(cell) ? kept(cell) : splitCell(cell, language, isTooLong)));
    return first ? [{ ...first, before: line.slice(0, start) + first.before }, ...others] : [];
  });
}

const hasOrdinalPoints = (language) => ORDINAL_POINTS.includes(language.toLowerCase().split(/[-_]/)[0]);

const kept = (text) => ({ before: text, sentence: "", after: "" });

/** The texts of a line: a tab separates them, as in tables and menus, and so does a line break or tab that is written
 *  as in a program, which is a text by itself here. */
function cellsOf(line) {
  const spans = line.includes("\\") ? findSpans(line) : [], cells = [];
  let last = 0;
  for (const { start, end } of spans.filter(({ start, end }) => ESCAPED_BREAK.test(line.slice(start, end)))) {
    cells.push(...line.slice(last, start).split(TAB_ENDS), line.slice(start, end));
    last = end;
  }
  return [...cells, ...line.slice(last).split(TAB_ENDS)];
}

/** Where the text of each line begins, after its bullets, and number or letter, by the most frequent
 *  rules of `dragoman.documents.sentences`: in languages that write a point after ordinal numbers, "2." may be one. */
function contentStarts(lines, language) {
  const starts = [], numbered = [];
  let rank = 0; // of the lines that are not empty
  for (const [index, line] of lines.entries()) {
    const start = line.match(BULLETS)[0].length;
    if (line.trim()) rank++;
    NUMBER.lastIndex = LABEL.lastIndex = start;
    const number = NUMBER.exec(line);
    if (number) numbered.push({ index, rank, number: Number(number[1]), end: NUMBER.lastIndex });
    starts.push(!number && LABEL.test(line) ? LABEL.lastIndex : start);
  }
  const isList = (one, other) => {
    const distance = other.rank - one.rank;
    return distance === 1 || (distance <= ITEM_LINES && other.number === one.number + 1);
  };
  const isListed = (each, place) =>
    (place > 0 && isList(numbered[place - 1], each)) ||
    (place + 1 < numbered.length && isList(each, numbered[place + 1]));
  for (const each of hasOrdinalPoints(language) ? numbered.filter(isListed) : numbered) starts[each.index] = each.end;
  return starts;
}

function splitCell(text, language, isTooLong) {
  const isOrdinal = (part) => hasOrdinalPoints(language) && ORDINAL.test(part); // numbers of lists are not in the text
  const continues = (part) => NO_SPACE.test(part) || ABBREVIATION.test(part) || isOrdinal(part);
  const segments = [];
  let isContinued = false;
  for (const { segment } of new Intl.Segmenter(language, { granularity: "sentence" }).segment(text)) {
    if (isContinued) segments.push(segments.pop() + segment);
    else segments.push(segment);
    isContinued = continues(segment);
  }
  return segments.flatMap((segment) => divide(segment, isTooLong)).map((segment) => {
    if (!LETTER_OR_DIGIT.test(segment)) return kept(segment);
    const [before] = segment.match(BULLETS), sentence = segment.slice(before.length).replace(SPACES_AT_END, "");
    return { before, sentence, after: segment.slice(before.length + sentence.length) };
  });
}

/** A text with a translation in place of each sentence, by the same rules as `dragoman.documents.sentences`: a space is
 *  added between sentences if only the source needs none there, and a final point that a translation lacks if another
 *  sentence follows on the line.
 *  @param parts the parts of the text, as of `splitText`
 *  @param translate returns the translation of a sentence */
export function joinTranslations(parts, translate) {
  let joined = "", between = "", last = null; // the sentence before, with its translation
  for (const { before, sentence, after } of parts) {
    between += before;
    if (sentence) {
      const translation = translate(sentence);
      if (last && !between.includes("\n")) joined += lostStop(last);
      if (last && !between && isSeparatorLost(last)) joined += " ";
      joined += between + translation;
      [last, between] = [{ sentence, translation }, ""];
    }
    between += after;
  }
  return joined + between;
}

/** Whether the source needs no space after a sentence, but the translation does. */
function isSeparatorLost({ sentence, translation }) {
  return ENDS_WITHOUT_SPACE.test(sentence) && !ENDS_WITHOUT_SPACE.test(translation);
}

/** The last character of a sentence if it is a final point, and its translation ends in a letter or a digit. */
function lostStop({ sentence, translation }) {
  const end = [...translation.slice(-2)].at(-1) ?? "";
  const hasStops = ENDS_WITH_DIGIT.test(end) || end.toLowerCase() !== end.toUpperCase(); // scripts without case have others
  return hasStops && ENDS_WITH_STOP.test(sentence) ? sentence.at(-1) : "";
}

/** A text in parts that are not too long, divided as near to the middle as possible. */
function divide(text, isTooLong) {
  if (!isTooLong(text)) return [text];
  const middle = text.length / 2;
  for (const pattern of PLACES) {
    const places = Array.from(text.matchAll(pattern), (match) => match.index + match[0].length);
    const inside = places.filter((place) => place > 0 && place < text.length);
    if (!inside.length) continue;
    const best = inside.reduce((one, other) => (Math.abs(other - middle) < Math.abs(one - middle) ? other : one));
    return [text.slice(0, best), text.slice(best)].flatMap((part) => divide(part, isTooLong));
  }
  return [text];
}
