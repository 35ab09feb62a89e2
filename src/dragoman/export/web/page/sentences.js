// Splits a text into sentences that the model can translate one by one.

const ABBREVIATION = /(?:^|[\p{White_Space}(])(?:\p{L}|\p{Lu}\p{Ll}{1,2})\.\p{White_Space}*$/u; // z. B., Dr., Nr.
const PLACES = [/[,;:–—]\p{White_Space}+/gu, /\p{White_Space}+/gu, /(?=.)/gsu]; // where long sentences are divided

/** The sentences of a text, with the white space before and after each.
 *  @param language the code of the language
 *  @param isTooLong whether a sentence must be divided */
export function splitText(text, language, isTooLong) {
  const segments = [];
  let isAbbreviated = false;
  for (const { segment } of new Intl.Segmenter(language, { granularity: "sentence" }).segment(text)) {
    if (isAbbreviated) segments.push(segments.pop() + segment);
    else segments.push(segment);
    isAbbreviated = ABBREVIATION.test(segment);
  }
  return segments.flatMap((segment) => divide(segment, isTooLong)).map((segment) => {
    const sentence = segment.trim(), start = segment.length - segment.trimStart().length;
    return { before: segment.slice(0, start), sentence, after: segment.slice(start + sentence.length) };
  });
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
