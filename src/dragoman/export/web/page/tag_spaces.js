// Spaces between pairs of tags and what they enclose, as in `dragoman.text.tag_spaces`.

import * as tables from "./tables.js";

const { DOUBLE_QUOTES: DOUBLE, NEAR_TAGS: NEAR, QUOTES } = tables;
const NO_SPACE_AFTER = new RegExp(`^(?:${tables.NO_SPACE_AFTER})`, "v");
const NO_SPACE_BEFORE = new RegExp(`^(?:${tables.NO_SPACE_BEFORE})`, "v");
const MARK = new RegExp(tables.QUOTATION_MARK, "gv");
const TAG = new RegExp(`^(?:${tables.TAG})$`, "sv");

/** A translation in which spaces are moved out of pairs of tags that enclose none in the source.
 *  @param source the sentence, with a character in place of each span
 *  @param translation its translation, with the same characters
 *  @param spans what each character stands for, a Map */
export function placeTagSpaces(source, translation, spans) {
  const tags = [...spans].filter(([, span]) => TAG.test(span));
  const pairs = findPairs(source, tags), between = `[${tags.map(([tag]) => tag).join("")}]{0,${NEAR}}`;
  const isTag = (character) => tags.some(([tag]) => tag === character);
  const has = (pattern) => new RegExp(pattern, "u").test(source);
  const closing = pairs.filter(({ tag, closes }) => closes && !source.includes(` ${tag}`)).map(({ tag }) => tag).join("");
  if (closing) {
    const closingMarks = findClosingMarks(translation);
    const next = `(?=${between}(.{0,2}))`, hasQuotes = has(`[${closing}]${between}\\s?(?:${QUOTES}(?![\\p{L}\\p{N}])|\\p{Pe})`);
    translation = translation.replace(new RegExp(`(?<! ) +([${closing}]+)${next}`, "gsu"), (all, found, after, start, text) => {
      let end = start + all.length;
      while (end < start + all.length + NEAR && isTag(text[end])) end++;
      const closes = hasQuotes && closingMarks.has(end);
      return closes || NO_SPACE_BEFORE.test(after) ? found : `${found} `;
    });
  }
  const opening = pairs.filter(({ tag, closes }) => !closes && !source.includes(`${tag} `)).map(({ tag }) => tag).join("");
  if (opening) {
    const starts = `(?<![${opening}])(?=[${opening}])(?<=(.?)${between})`;
    const closingMarks = findClosingMarks(translation);
    const hasQuotes = has(`(?:${QUOTES}|\\p{Ps})\\s?${between}[${opening}]`);
    translation = translation.replace(new RegExp(`${starts}([${opening}]+) +`, "gsu"), (_, last, found, start, text) => {
      let mark = start - 1;
      while (mark >= start - NEAR && isTag(text[mark])) mark--;
      const opens = hasQuotes && new RegExp(`^${QUOTES}`).test(last) && !closingMarks.has(mark);
      return opens || NO_SPACE_AFTER.test(last) ? found : ` ${found}`;
    });
  }
  return translation;
}

/** The positions of closing quotation marks: those after an open one of their kind, double or single; no apostrophes. */
function findClosingMarks(text) {
  const closing = new Set(), isOpen = new Map();
  for (const match of text.matchAll(MARK)) {
    const kind = DOUBLE.includes(match[0]);
    if (isOpen.get(kind)) closing.add(match.index);
    isOpen.set(kind, !isOpen.get(kind) && !match.groups.after_word);
  }
  return closing;
}

/** The tags of a text with a partner: an opening one and a later closing one have the same name. */
function findPairs(source, tags) {
  const named = tags.map(([tag, span]) => ({ tag, closes: span.startsWith("</"), name: span.match(TAG).groups.name }));
  return named.filter(({ tag, closes, name }) => {
    const places = (wanted, find) => named.filter((other) => other.name === name && other.closes === wanted).map((other) => find(other.tag));
    const first = Math.min(...places(false, (other) => source.indexOf(other)), Infinity);
    const last = Math.max(...places(true, (other) => source.lastIndexOf(other)), -1);
    return closes ? first < source.lastIndexOf(tag) : source.indexOf(tag) < last;
  });
}
