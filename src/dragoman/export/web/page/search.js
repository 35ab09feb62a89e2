// Beam search over a batch of sentences, as in `dragoman.search.beam`. With one hypothesis it is greedy.

/** The best translation of each sentence, as ids.
 *  @param model predicts tokens, see `Model`
 *  @param sources ids of each sentence, without eos
 *  @param settings `beamSize`, `lengthPenalty`, `pad`, the `sourceEos`, `bos` and `eos`, `forbidden` ids
 *  @param limits most tokens of each translation, eos included
 *  @param required for each sentence, how often each reserved id must occur, or null */
export async function search(model, sources, settings, limits, required) {
  const sentences = limits.map((limit, index) => new Sentence(limit, required[index], settings));
  const state = await model.start(sources.map((ids) => [...ids, settings.sourceEos]), settings.pad);
  let live = sentences;
  while (live.length) {
    const hypotheses = live.flatMap((sentence) => sentence.live);
    const logits = await model.step(hypotheses.map(({ tokens }) => tokens.at(-1) ?? settings.bos), state);
    hypotheses.forEach((hypothesis, row) => Object.assign(hypothesis, { row, logits: logits[row] }));
    live = live.filter((sentence) => sentence.advance());
    if (live.length) state.select(live.flatMap((sentence) => sentence.live.map(({ row }) => row)));
  }
  return sentences.map((sentence) => sentence.best().tokens);
}

/** The search for the translation of one sentence. */
class Sentence {
  #limit;
  #required;
  #settings;
  #ended = [];

  constructor(limit, required, settings) {
    this.live = [{ tokens: [], score: 0 }];
    [this.#limit, this.#required, this.#settings] = [limit, required, settings];
  }

  /** The ended hypothesis with the highest score. */
  best() {
    return this.#ended.reduce((best, each) => (each.score > best.score ? each : best));
  }

  /** Continue all live hypotheses by one token; returns whether the search continues. */
  advance() {
    const { beamSize, eos } = this.#settings, length = this.live[0].tokens.length;
    const candidates = this.live.flatMap((hypothesis) => this.#continuations(hypothesis));
    candidates.sort((one, other) => other.score - one.score);
    for (const { from, token, score } of candidates.slice(0, beamSize)) {
      if (token === eos) this.#ended.push({ tokens: from.tokens, score: score / this.#penalty(length + 1) });
    }
    const kept = candidates.slice(0, 2 * beamSize).filter(({ token }) => token !== eos).slice(0, beamSize);
    this.live = kept.map(({ from, token, score }) => ({ tokens: [...from.tokens, token], score, row: from.row }));
    return length + 1 < this.#limit && !this.#isSettled(kept[0]?.score ?? -Infinity);
  }

  /** Whether no live hypothesis can still be the best: log-probabilities are never positive. */
  #isSettled(score) {
    if (this.#ended.length >= this.#settings.beamSize) return true;
    return this.#ended.length > 0 && this.best().score >= score / this.#penalty(this.#limit);
  }

  #penalty(length) {
    return ((5 + length) / 6) ** this.#settings.lengthPenalty;
  }

  #continuations(from) {
    const { beamSize, eos, forbidden } = this.#settings, { logits } = from;
    for (const id of forbidden) logits[id] = -Infinity;
    const total = beamSize > 1 ? logSumExp(logits) : 0; // a single hypothesis needs no score
    const isLast = from.tokens.length + 1 >= this.#limit;
    const tokens = isLast ? [eos] : largest(this.#restrict(from), beamSize + 1);
    return tokens.map((token) => ({ from, token, score: from.score + logits[token] - total }));
  }

  /** The logits with -Infinity for tokens that the required ones exclude, see `RequiredTokens` in Python. */
  #restrict({ tokens, logits }) {
    if (!this.#required) return logits;
    const missing = new Map(this.#required);
    for (const token of tokens) if (missing.has(token)) missing.set(token, missing.get(token) - 1);
    const count = [...missing.values()].reduce((sum, each) => sum + Math.max(0, each), 0);
    const isNearEnd = tokens.length + count + 1 >= this.#limit;
    const onlyMissing = count > 0 && (isNearEnd || largest(logits, 1)[0] === this.#settings.eos);
    const restricted = onlyMissing ? new Float32Array(logits.length).fill(-Infinity) : logits.slice();
    for (const [id, number] of missing) restricted[id] = number > 0 ? logits[id] : -Infinity;
    if (count > 0) restricted[this.#settings.eos] = -Infinity;
    return restricted;
  }
}

function logSumExp(values) {
  let highest = -Infinity, sum = 0;
  for (const value of values) if (value > highest) highest = value;
  for (const value of values) sum += Math.exp(value - highest);
  return highest + Math.log(sum);
}

/** The indices of the largest values that are not -Infinity, in order. */
function largest(values, count) {
  const found = [];
  let lowest = -Infinity;
  for (let index = 0; index < values.length; index++) {
    if (!(values[index] > lowest)) continue;
    let place = found.length;
    while (place && values[index] > values[found[place - 1]]) place--;
    found.splice(place, 0, index);
    if (found.length > count) found.pop();
    if (found.length === count) lowest = values[found.at(-1)];
  }
  return found;
}
