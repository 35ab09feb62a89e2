// The encoder and the decoder, computed by onnxruntime in WebAssembly.

import * as ort from "./ort.wasm.bundle.min.mjs";
import { fetchBinary } from "./files.js";

ort.env.wasm.numThreads = 1; // more need HTTP headers that few servers send
ort.env.logLevel = "error";

/** Load the model. */
export async function loadModel() {
  const names = ["ort-wasm-simd-threaded.wasm.gz", "encoder.onnx.gz", "decoder.onnx.gz"];
  const [wasm, ...graphs] = await Promise.all(names.map(fetchBinary));
  ort.env.wasm.wasmBinary = wasm;
  const sessions = [];
  for (const graph of graphs) sessions.push(await ort.InferenceSession.create(graph)); // one at a time starts the runtime
  return new Model(...sessions);
}

class Model {
  #encoder;
  #decoder;
  #emptyCache;

  constructor(encoder, decoder) {
    [this.#encoder, this.#decoder] = [encoder, decoder];
    const [layers, , heads, , size] = decoder.inputMetadata.find(({ name }) => name === "keys").shape;
    this.#emptyCache = (rows) => new ort.Tensor("float32", [], [layers, rows, heads, 0, size]);
  }

  /** Encode sentences, lists of ids that end with eos; returns the state with one hypothesis for each. */
  async start(sentences, pad) {
    const length = Math.max(...sentences.map((ids) => ids.length));
    const ids = new BigInt64Array(sentences.length * length).fill(BigInt(pad));
    sentences.forEach((sentence, row) => ids.set(sentence.map(BigInt), row * length));
    const memory = await this.#encoder.run({ source: new ort.Tensor("int64", ids, [sentences.length, length]) });
    const empty = this.#emptyCache(sentences.length);
    return new State(memory, { keys: empty, values: empty }, [...sentences.keys()]);
  }

  /** Feed one token to every hypothesis; returns the logits of the next one, a row for each. */
  async step(tokens, state) {
    const ids = new ort.Tensor("int64", BigInt64Array.from(tokens, BigInt), [tokens.length]);
    const output = await this.#decoder.run({ tokens: ids, ...state.memory, ...state.cache });
    state.cache = { keys: output.new_keys, values: output.new_values };
    const { data, dims: [, size] } = output.logits;
    return tokens.map((_, row) => data.subarray(row * size, (row + 1) * size));
  }
}

/** What the decoder has computed of each hypothesis, and what it reads of its sentence. */
class State {
  constructor(memory, cache, sentences) {
    Object.assign(this, { memory, cache, sentences });
  }

  /** Keep these hypotheses, in this order; one may be repeated. */
  select(rows) {
    const sentences = rows.map((row) => this.sentences[row]);
    const isSame = String(sentences) === String(this.sentences);
    const isAll = rows.length === this.sentences.length && rows.every((row, index) => row === index);
    if (!isSame) this.memory = takeRows(this.memory, rows);
    if (!isAll) this.cache = takeRows(this.cache, rows);
    this.sentences = sentences;
  }
}

/** These rows of all tensors: the second dimension of keys and values, the first of the mask. */
function takeRows(tensors, rows) {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, takeTensorRows(tensor, rows)]));
}

function takeTensorRows({ type, data, dims }, rows) {
  const axis = dims.length === 2 ? 0 : 1;
  const outer = axis ? dims[0] : 1, before = dims[axis], size = dims.slice(axis + 1).reduce((one, other) => one * other, 1);
  const taken = new data.constructor(outer * rows.length * size);
  for (let layer = 0, place = 0; layer < outer; layer++) {
    for (const row of rows) {
      const start = (layer * before + row) * size;
      taken.set(data.subarray(start, start + size), place);
      place += size;
    }
  }
  return new ort.Tensor(type, taken, dims.map((length, index) => (index === axis ? rows.length : length)));
}
