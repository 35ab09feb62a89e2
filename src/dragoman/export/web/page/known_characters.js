// The characters of the training text: others are copied, by the same rules as `dragoman.text.known_characters`.

import { COMBINED, COPIED, SPELLINGS, WITHOUT_SPACES } from "./tables.js";

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const MARK = /\p{M}/u;
const SPACE = /[▁\p{Zs}\p{Zl}\p{Zp}\p{Cc}\p{Cf}\p{Cs}\p{Cn}]/u;
const SCRIPT_WITHOUT_SPACES = new RegExp(`[${WITHOUT_SPACES}]`, "v");
const COMBINED_PATTERN = new RegExp(COMBINED, "gv");
const WIDE = /[\u3000\uff01-\uffef]/u; // characters of double or half width

// What is copied, in the classes of characters: w known letter, r rare letter, o rare letter of a script without
// spaces, s rare symbol.
const COPIED_CLASSES = new RegExp(COPIED, "gv");

export class KnownCharacters {
  #all;
  #normalize;

  /** @param characters all of them
   *  @param normalize how the tokenizer changes a character */
  constructor(characters, normalize) {
    const cases = Array.from(characters, (each) => [each, each.toLowerCase(), each.toUpperCase()]);
    this.#all = new Set([...cases.flat(), " "]);
    this.#normalize = normalize;
  }

  /** The text with ASCII quotes and hyphens, and letters of ordinary width, in place of others that are not known. */
  replaceRare(text) {
    return Array.from(text, (character) => this.#spelling(character)).join("");
  }

  /** The parts of a text with characters that are not known, between other spans. */
  findCopied(text, spans) {
    const characters = [...text], classes = this.#classes(text, characters), places = [0];
    for (const character of characters) places.push(places.at(-1) + character.length);
    const found = [];
    let last = 0;
    for (const { start, end } of [...spans, { start: text.length, end: text.length }]) {
      const part = classes.slice(0, places.indexOf(start));
      COPIED_CLASSES.lastIndex = places.indexOf(last);
      for (let match; (match = COPIED_CLASSES.exec(part)); ) {
        found.push({ start: places[match.index], end: places[COPIED_CLASSES.lastIndex], kind: "emoji" });
      }
      last = end;
    }
    return found;
  }

  #spelling(character) {
    if (this.#isKnown(character)) return character;
    const spelling = WIDE.test(character) ? character.normalize("NFKC") : SPELLINGS[character];
    return this.#all.has(spelling) ? spelling : character;
  }

  #isKnown(character) {
    const forms = [character, character.toLowerCase()];
    return forms.some((form) => this.#all.has(form)) || [...this.#normalize(character)].every((each) => this.#all.has(each));
  }

  /** The class of each character; combining characters belong to the letter before them. */
  #classes(text, characters) {
    const starts = new Map(Array.from(text.matchAll(COMBINED_PATTERN), (match) => [match.index, match[0].normalize("NFC")]));
    let place = 0;
    return characters
      .map((character) => {
        const [composed] = starts.get(place) ?? character;
        place += character.length;
        return this.#classOf(composed);
      })
      .join("");
  }

  #classOf(character) {
    if (MARK.test(character)) return "w";
    if (LETTER_OR_DIGIT.test(character)) {
      return this.#isKnown(character) ? "w" : SCRIPT_WITHOUT_SPACES.test(character) ? "o" : "r";
    }
    if (character === " " || character === "-") return character;
    return SPACE.test(character) || this.#isKnown(character) ? "." : "s";
  }
}
