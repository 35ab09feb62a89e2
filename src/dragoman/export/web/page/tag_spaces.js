// Spaces between pairs of tags and what they enclose, as in `dragoman.text.tag_spaces`.

const NO_SPACE_AFTER = /^(?:$|(?![„‚])[\s\p{Ps}¿¡])/u, NO_SPACE_BEFORE = /^(?:$|[\s\p{Pe}]|[.,;:!?…%](?![\p{L}\p{N}]))/u;
const DOUBLE = '"„“”«»', SINGLE = "'‚‘’‹›", QUOTES = `[${DOUBLE}${SINGLE}]`;
const TAG = /^<\/?([\p{L}\p{M}\p{N}\p{Pc}:.-]+)(?:.*[^/])?>$/su;
const NEAR = 50;

/** A translation in which spaces are moved out of pairs of tags that enclose none in the source.
 *  @param source the sentence, with a character in place of each span
 *  @param translation its translation, with the same characters
 *  @param spans what each character stands for, a Map */
export function placeTagSpaces(source, translation, spans) {
  const tags = [...spans].filter(([, span]) => TAG.test(span));
  const pairs = findPairs(source, tags), between = `[${tags.map(([tag]) => tag).join("")}]{0,${NEAR}}`;
  const has = (pattern) => new RegExp(pattern, "u").test(source);
  const closing = pairs.filter(({ tag, closes }) => closes && !source.includes(` ${tag}`)).map(({ tag }) => tag).join("");
  if (closing) {
    const next = `(?=${between}(.{0,2}))`, hasQuotes = has(`[${closing}]${between}\\s?(?:${QUOTES}(?![\\p{L}\\p{N}])|\\p{Pe})`);
    translation = translation.replace(new RegExp(`(?<! ) +([${closing}]+)${next}`, "gsu"), (all, found, after, start, text) => {
      const closes = hasQuotes && isClosingQuote(after.slice(0, 1), text.slice(0, start + all.length));
      return closes || NO_SPACE_BEFORE.test(after) ? found : `${found} `;
    });
  }
  const opening = pairs.filter(({ tag, closes }) => !closes && !source.includes(`${tag} `)).map(({ tag }) => tag).join("");
  if (opening) {
    const starts = `(?<![${opening}])(?=[${opening}])(?<=(.?)${between})`;
    const hasQuotes = has(`(?:${QUOTES}|\\p{Ps})\\s?${between}[${opening}]`);
    translation = translation.replace(new RegExp(`${starts}([${opening}]+) +`, "gsu"), (_, last, found, start, text) => {
      const before = text.slice(0, start).replace(new RegExp(`[${tags.map(([tag]) => tag).join("")}]+$`, "u"), "");
      const opens = hasQuotes && new RegExp(`^${QUOTES}`).test(last) && !isClosingQuote(last, before.slice(0, -1));
      return opens || NO_SPACE_AFTER.test(last) ? found : ` ${found}`;
    });
  }
  return translation;
}

/** Whether a character is a closing quotation mark: after an odd number of marks of its kind, without apostrophes. */
function isClosingQuote(mark, before) {
  const kind = [DOUBLE, SINGLE].find((marks) => mark && marks.includes(mark));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])[${kind}]|[${kind}](?![\\p{L}\\p{N}])`, "gu");
  return kind !== undefined && [...before.matchAll(pattern)].length % 2 === 1;
}

/** The tags of a text with a partner: an opening one and a later closing one have the same name. */
function findPairs(source, tags) {
  const named = tags.map(([tag, span]) => ({ tag, closes: span.startsWith("</"), name: span.match(TAG)[1] }));
  return named.filter(({ tag, closes, name }) => {
    const places = (wanted, find) => named.filter((other) => other.name === name && other.closes === wanted).map((other) => find(other.tag));
    const first = Math.min(...places(false, (other) => source.indexOf(other)), Infinity);
    const last = Math.max(...places(true, (other) => source.lastIndexOf(other)), -1);
    return closes ? first < source.lastIndexOf(tag) : source.indexOf(tag) < last;
  });
}
