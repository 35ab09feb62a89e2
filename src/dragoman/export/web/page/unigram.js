// The likeliest segmentation by a unigram language model (Kudo 2018), as the library `tokenizers` finds it.

import { bytesOf } from "./bytes.js";

const UNKNOWN_PENALTY = 10;

/** A function that splits a word into ids, see `makeBpe`. */
export function makeUnigram({ vocab, byte_fallback: usesBytes }, unk) {
  const ids = new Map(vocab.map(([piece], id) => [piece, id]));
  const scores = vocab.map(([, score]) => score);
  const longest = vocab.reduce((length, [piece]) => Math.max(length, [...piece].length), 0);
  const unknownScore = scores.reduce((lowest, score) => Math.min(lowest, score), Infinity) - UNKNOWN_PENALTY;

  /** For each position after a character, the best segmentation that ends there: its score and its last piece. */
  function bestEnds(characters) {
    const ends = [{ score: 0 }];
    const offer = (start, end, known, score) => {
      if (!ends[end] || score > ends[end].score) ends[end] = { score, start, known };
    };
    for (let start = 0; start < characters.length; start++) {
      const before = ends[start].score;
      let piece = "";
      for (let end = start + 1; end <= Math.min(characters.length, start + longest); end++) {
        piece += characters[end - 1];
        if (ids.has(piece)) offer(start, end, true, before + scores[ids.get(piece)]);
      }
      if (!ids.has(characters[start])) offer(start, start + 1, false, before + unknownScore);
    }
    return ends;
  }

  function idsOf(piece) {
    if (ids.has(piece)) return [ids.get(piece)];
    const bytes = usesBytes && bytesOf(piece, ids);
    return bytes ? bytes.map((byte) => ids.get(byte)) : [unk];
  }

  return (word) => {
    const characters = [...word], ends = bestEnds(characters), pieces = [];
    for (let end = characters.length; end > 0; end = ends[end].start) {
      const { start, known } = ends[end], piece = characters.slice(start, end).join("");
      if (!known && pieces[0]?.known === false) pieces[0].piece = piece + pieces[0].piece; // unknown ones are joined
      else pieces.unshift({ piece, known });
    }
    return pieces.flatMap(({ piece }) => idsOf(piece));
  };
}
