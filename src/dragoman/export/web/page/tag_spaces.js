// Spaces next to tags in translations, as in `dragoman.text.tag_spaces`.

/** A translation whose tags enclose no space where those of the source enclose none: it is moved out of them.
 *  @param source the sentence, with a character in place of each span
 *  @param translation its translation, with the same characters
 *  @param spans what each character stands for, a Map */
export function placeTagSpaces(source, translation, spans) {
  const isTag = (span) => span.startsWith("<") && span.endsWith(">");
  const others = [...spans].filter(([, span]) => !isTag(span)).map(([character]) => character);
  const word = `[\\p{L}\\p{M}\\p{N}${others.join("")}]`;
  for (const [tag, span] of spans) {
    if (!isTag(span) || span.endsWith("/>")) continue;
    const isClosing = span.startsWith("</"), inside = isClosing ? ` ${tag}` : `${tag} `;
    if (!translation.includes(inside) || source.includes(inside)) continue;
    const outside = (text) => new RegExp(isClosing ? `${text}(?=${word})` : `(?<=${word})${text}`, "gu");
    if (!outside(tag).test(source)) translation = translation.replace(outside(inside), isClosing ? `${tag} ` : ` ${tag}`);
    translation = translation.replaceAll(inside, tag);
  }
  return translation;
}
