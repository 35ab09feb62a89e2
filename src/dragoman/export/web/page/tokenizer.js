// Subword tokenizers: text to ids and back, equal to those of dragoman in Python.

import { makeBpe } from "./bpe.js";
import { joinBytes } from "./bytes.js";
import { METASPACE, RESERVED, SPACES, TERM_MARKS } from "./tables.js";
import { makeUnigram } from "./unigram.js";

const ANY_SPACES = new RegExp(SPACES, "gv");
const ENDS = /^ +| +$/g;
const MODELS = { BPE: makeBpe, Unigram: makeUnigram };
const CHANGES = {
  NFC: (text) => text.normalize("NFC"),
  NFKC: (text) => text.normalize("NFKC"),
  Lowercase: (text) => Array.from(text, (character) => character.toLowerCase()).join(""),
  Replace: (text) => text.replace(ANY_SPACES, " "),
  Strip: (text) => text.replace(ENDS, ""), // no other white space is left
};

/** The characters that stand for spans, in the order of their kinds. */
export const ALL_RESERVED = [...Object.values(RESERVED).join("")];

export class Tokenizer {
  /** @param data a tokenizer's JSON
   *  @param languages the tokens of languages, which no text is split into */
  constructor({ specials, tokenizer: { model, normalizer }, ...masking }, languages = []) {
    const entries = model.type === "BPE" ? Object.entries(model.vocab) : model.vocab.map(([token], id) => [token, id]);
    this.ids = new Map(entries);
    this.tokens = [];
    for (const [token, id] of entries) this.tokens[id] = token;
    for (const name of ["unk", "pad", "bos", "eos"]) this[name] = this.ids.get(specials[name]);
    /** Forms of numbers that are not masked. */
    this.numbersAsText = masking.numbers_as_text;
    /** Forms of numbers in which the translation exchanges point and comma. */
    this.numbersWithExchange = masking.numbers_with_exchange;
    /** The characters of the training text, if they are known. */
    this.knownCharacters = masking.known_characters;
    /** The usual case of words, if it is known. */
    this.usualCase = masking.usual_case;
    this.isMasked = masking.numbers_as_text !== undefined;
    const hidden = [specials.pad, specials.bos, specials.eos, ...TERM_MARKS, ...(this.isMasked ? [] : ALL_RESERVED)];
    this.#hidden = new Set(hidden.map((token) => this.ids.get(token)));
    this.#changes = normalizer.normalizers.map(({ type }) => CHANGES[type]);
    this.#split = MODELS[model.type](model, this.unk);
    this.#breaks = breaksOf([...Object.values(specials), ...languages], this.isMasked);
  }

  #hidden;
  #changes;
  #split;
  #breaks;

  /** The text as it is split into subwords. */
  normalize(text) {
    return this.#changes.reduce((changed, change) => change(changed), text.replace(/\p{Cs}/gu, "\ufffd"));
  }

  /** The ids of a text, without bos and eos; a text may contain reserved characters. */
  encode(text) {
    const words = this.normalize(text).replaceAll(" ", METASPACE);
    if (!words) return [];
    const started = words.startsWith(METASPACE) ? words : METASPACE + words;
    return started.split(this.#breaks).flatMap(this.#split);
  }

  /** The text of ids on one line, with reserved characters for reserved tokens. */
  decode(ids) {
    const tokens = ids.filter((id) => !this.#hidden.has(id)).map((id) => this.tokens[id]);
    return joinBytes(tokens).join("").replace(ANY_SPACES, " ").replace(ENDS, "");
  }
}

/** Where words are split: before U+2581, around reserved characters, and inside the spellings of special tokens. */
function breaksOf(specials, isMasked) {
  const spellings = [...specials.map((token) => [...token]), ["<", "0x"]];
  const parts = spellings.map(([first, ...rest]) => `(?<=${escape(first)})(?=${escape(rest.join(""))})`);
  const characters = isMasked ? [...ALL_RESERVED, ...TERM_MARKS].join("") : "";
  if (isMasked) parts.push(`(?<=[${characters}])|(?=[${characters}])`);
  return new RegExp([`(?=${METASPACE})`, ...parts].join("|"), "u");
}

const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
