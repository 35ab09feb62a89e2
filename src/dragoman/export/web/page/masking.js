// Reserved characters in place of the spans of a sentence, which the model copies, as in `dragoman.text.masking`.

import { KnownCharacters } from "./known_characters.js";
import { exchangeSeparators, findSpans, numberForm } from "./spans.js";
import { placeTagSpaces } from "./tag_spaces.js";
import { RESERVED, SIGNS, SPAN_KINDS, TERM_MARKS } from "./tables.js";
import { ALL_RESERVED } from "./tokenizer.js";
import { changeCase, UsualCase } from "./usual_case.js";

const CHARACTERS = ALL_RESERVED.join("");
const ANY_RESERVED = new RegExp(`[${CHARACTERS}${TERM_MARKS}]`, "gu");
const RESERVED_PATTERN = new RegExp(`[${CHARACTERS}]`, "g");
const SPACED_RESERVED = new RegExp(` ?([${CHARACTERS}])`, "g");
const ONLY_SIGNS = new RegExp(`^(?:${SIGNS})$`, "v");
const AFTER_SENTENCE = new RegExp(`(?<=[.!?])(?=([${CHARACTERS}]))`, "g");

/** A sentence with reserved characters in place of spans. */
class Mask {
  /** @param text the sentence with reserved characters
   *  @param spans what each reserved character stands for: the span as the translation writes it, a Map
   *  @param letterCase that of the sentence, and of what is restored */
  constructor(text, spans, letterCase = "usual") {
    this.text = text;
    this.spans = spans;
    this.letterCase = letterCase;
  }

  /** A text with the spans in place of reserved characters; those that stand for no span are dropped. */
  restore(text) {
    const known = text.replace(SPACED_RESERVED, (all, character) => (this.spans.has(character) ? all : ""));
    const spaced = known.replace(AFTER_SENTENCE, (_, character) => (this.#followsSpace(character) ? " " : ""));
    const placed = placeTagSpaces(this.text, spaced, this.spans);
    return changeCase(placed, this.letterCase).replace(RESERVED_PATTERN, (character) => this.spans.get(character));
  }

  /** Which spans a translation lacks, repeats or adds, given the tokens of the source and of the translation. */
  problems(source, output) {
    const expected = countReserved(source), found = countReserved(output);
    return ALL_RESERVED.filter((each) => (expected.get(each) ?? 0) !== (found.get(each) ?? 0)).map((each) => {
      const [wanted, got] = [expected.get(each) ?? 0, found.get(each) ?? 0];
      const problem = got < wanted ? "missing" : wanted ? "repeated" : "invented";
      return `${problem}: ${this.spans.get(each) ?? kindOf(each)}`;
    });
  }

  #followsSpace(character) {
    const count = (text, part) => text.split(part).length - 1;
    const all = count(this.text, character);
    return all > 0 && count(` ${this.text}`, ` ${character}`) === all;
  }
}

const kindOf = (character) => `[${SPAN_KINDS.find((kind) => RESERVED[kind].includes(character))}]`;

function countReserved(tokens) {
  const counts = new Map();
  for (const token of tokens) if (ALL_RESERVED.includes(token)) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

/** A function that masks sentences.
 *  @param tokenizer of the source; nothing is masked if it has no reserved tokens */
export function makeMasking(tokenizer) {
  if (!tokenizer.isMasked) return (text) => new Mask(text, new Map());
  const asText = new Set(tokenizer.numbersAsText), withExchange = new Set(tokenizer.numbersWithExchange);
  const characters = tokenizer.knownCharacters;
  const known = characters ? new KnownCharacters(characters, (text) => tokenizer.normalize(text)) : null;
  const usual = tokenizer.usualCase ? new UsualCase(tokenizer.usualCase) : null;

  return (text) => {
    const isMasked = ({ start, end, kind }) => kind !== "number" || !asText.has(numberForm(text.slice(start, end)));
    let spans = findSpans(text).filter(isMasked), spelled = text;
    if (known) {
      const replaced = known.replaceRare(text); // as long as the text
      spans = [...spans, ...known.findCopied(replaced, spans)].sort((one, other) => one.start - other.start);
      spans = joinedSigns(text, spans);
      spelled = between(text, replaced, spans);
    }
    const [written, letterCase] = usual ? usual.apply(spelled, spans) : [spelled, "usual"];
    const assigned = assign(written, spans);
    const mask = new Mask(substitute(written, spans, assigned), new Map([...assigned].map(([span, each]) => [each, span])));
    if (mask.restore(mask.text) === written) {
      const numbers = new Set(spans.filter(({ kind }) => kind === "number").map(({ start, end }) => written.slice(start, end)));
      const translate = (span) => (numbers.has(span) && withExchange.has(numberForm(span)) ? exchangeSeparators(span) : span);
      return new Mask(mask.text, new Map([...mask.spans].map(([each, span]) => [each, translate(span)])), letterCase);
    }
    const whole = RESERVED.emoji[0]; // too many sequences of reserved characters
    return new Mask(whole, new Map([[whole, spelled]]));
  };
}

/** Spans of a text in which a number and the sign of a currency, a percentage or a degree next to it are one. */
function joinedSigns(text, spans) {
  const isSign = ({ start, end }) => ONLY_SIGNS.test(text.slice(start, end));
  const joined = [];
  for (const span of spans) {
    const last = joined.at(-1);
    const isNear = last && ["", " "].includes(text.slice(last.end, span.start));
    if (isNear && (last.kind === "number" ? isSign(span) : isSign(last) && span.kind === "number")) joined[joined.length - 1] = { start: last.start, end: span.end, kind: "number" };
    else joined.push(span);
  }
  return joined;
}

/** A text with its spans, and another text of the same length between them. */
function between(text, replaced, spans) {
  let result = "", last = 0;
  for (const { start, end } of spans) {
    result += replaced.slice(last, start) + text.slice(start, end);
    last = end;
  }
  return result + replaced.slice(last);
}

/** A reserved character for each different span, in order: one of its kind, otherwise of the next kind with any. */
function assign(text, spans) {
  const unused = new Map(SPAN_KINDS.map((kind) => [kind, [...RESERVED[kind]]]));
  const assigned = new Map();
  for (const { start, end, kind } of spans) {
    const span = text.slice(start, end), order = [...SPAN_KINDS.slice(SPAN_KINDS.indexOf(kind)), ...SPAN_KINDS];
    const found = order.find((each) => unused.get(each).length);
    if (!assigned.has(span) && found) assigned.set(span, unused.get(found).shift());
  }
  return assigned;
}

/** The text with reserved characters in place of the spans that have one, and no other reserved characters. */
function substitute(text, spans, assigned) {
  const plain = (part) => part.replace(ANY_RESERVED, "\ufffd");
  let result = "", last = 0;
  for (const { start, end } of spans) {
    const character = assigned.get(text.slice(start, end));
    if (!character) continue;
    result += plain(text.slice(last, start)) + character;
    last = end;
  }
  return result + plain(text.slice(last));
}
