// Translates sentences: masks spans, searches in batches of similar length, and restores the spans.

import { fetchJson } from "./files.js";
import { makeMasking } from "./masking.js";
import { loadModel } from "./model.js";
import { search } from "./search.js";
import { ALL_RESERVED, Tokenizer } from "./tokenizer.js";

const BATCH_HYPOTHESES = 32; // more are not faster
const BATCH_TOKENS = 2048; // of the sources, padding included, times the size of the beam
const ENCODER = new TextEncoder();
const LETTER = /\p{L}/u;

/** Load the model; returns a function for the translator of a direction, which is a number in the order of the config. */
export async function loadTranslators() {
  const names = ["config.json", "source.tokenizer.json", "target.tokenizer.json"];
  const [model, config, source, target] = await Promise.all([loadModel(), ...names.map(fetchJson)]);
  const translators = new Map();
  return (direction = 0) => {
    if (!translators.has(direction)) {
      const own = { ...config, ...config.directions?.[direction] };
      const tokenizers = [source, target].map((each) => new Tokenizer({ ...each, ...own.masking }, own.spellings));
      translators.set(direction, new Translator(model, own, ...tokenizers));
    }
    return translators.get(direction);
  };
}

export class Translator {
  #model;
  #config;
  #source;
  #target;
  #mask;
  #settings;

  constructor(model, config, source, target) {
    [this.#model, this.#config, this.#source, this.#target] = [model, config, source, target];
    this.#mask = makeMasking(source);
    this.#settings = {
      beamSize: config.decoding.beam_size,
      lengthPenalty: config.decoding.length_penalty,
      pad: source.pad,
      sourceEos: source.eos,
      bos: target.bos,
      eos: target.eos,
      forbidden: [target.unk, target.pad, target.bos, ...(config.never ?? [])],
    };
  }

  /** Whether a text must be divided: it is much longer than the training text, or the model reads only its beginning. */
  isTooLong = (text) => {
    const { max_length: tokens } = this.#config, characters = this.#config.max_characters ?? Infinity;
    const bytes = ENCODER.encode(this.#source.normalize(text)).length;
    if (bytes + 1 < Math.min(tokens, characters)) return false; // fast: at most a token for each byte, and one for the start
    const masked = this.#mask(text).text;
    return [...masked].length > characters || this.#encode(masked).length >= tokens;
  };

  /** The ids of a masked text, after the token that says the target language, if the model has several. */
  #encode(masked) {
    const ids = this.#source.encode(masked);
    return ids.length ? [...(this.#config.first ?? []), ...ids] : ids;
  }

  /** Translate texts; yields groups of results as they are found: the `index` of a text, its `translation`, `problems`. */
  async *translate(texts) {
    const sentences = texts.map((text, index) => {
      const mask = this.#mask(text);
      return { index, mask, ids: this.#encode(mask.text).slice(0, this.#config.max_length - 1) };
    });
    // Without masks the model would have to translate numbers, and loses some, so a text without a letter stays as it is.
    const isCopied = ({ index, ids }) => !ids.length || (!this.#source.isMasked && !LETTER.test(texts[index]));
    yield sentences.filter(isCopied).map(({ index, ids }) => ({ index, translation: ids.length ? texts[index] : "", problems: [] }));
    for (const batch of this.#batches(sentences.filter((each) => !isCopied(each)))) {
      const results = await this.#search(batch, false);
      const faulty = batch.filter((_, row) => results[row].problems.length);
      const repeated = faulty.length ? await this.#search(faulty, true) : [];
      yield results.map((result) => repeated.find(({ index }) => index === result.index) ?? result);
    }
  }

  async #search(batch, requiresSpans) {
    const { max_length: longest, decoding } = this.#config;
    const limits = batch.map(({ ids }) => {
      const bySource = Math.trunc((ids.length + 1) * decoding.max_length_ratio) + decoding.max_length_offset;
      return Math.min(bySource, decoding.max_length, longest);
    });
    const required = batch.map(({ ids }) => (requiresSpans ? this.#copies(ids) : null));
    const found = await search(this.#model, batch.map(({ ids }) => ids), this.#settings, limits, required);
    return found.map((target, row) => {
      const { index, mask, ids } = batch[row], text = this.#target.decode(target);
      if (!this.#source.isMasked) return { index, translation: text, problems: [] };
      const tokens = [ids.map((id) => this.#source.tokens[id]), target.map((id) => this.#target.tokens[id])];
      return { index, translation: mask.restore(text), problems: mask.problems(...tokens) };
    });
  }

  /** How often a translation must contain each reserved token of the target. */
  #copies(ids) {
    return new Map(
      ALL_RESERVED.map((character) => {
        const id = this.#source.ids.get(character);
        return [this.#target.ids.get(character), ids.filter((each) => each === id).length];
      }),
    );
  }

  *#batches(sentences) {
    const { beamSize } = this.#settings, size = Math.max(1, Math.floor(BATCH_HYPOTHESES / beamSize));
    let batch = [];
    for (const sentence of sentences.sort((one, other) => one.ids.length - other.ids.length)) {
      const isFull = batch.length === size || (batch.length + 1) * beamSize * sentence.ids.length > BATCH_TOKENS;
      if (batch.length && isFull) {
        yield batch;
        batch = [];
      }
      batch.push(sentence);
    }
    if (batch.length) yield batch;
  }
}
