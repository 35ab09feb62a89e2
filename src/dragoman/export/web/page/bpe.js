// Byte-pair encoding (Sennrich et al. 2016), as the library `tokenizers` does it.

import { bytesOf } from "./bytes.js";

/** A function that splits a word into ids.
 *  @param model `model` in the JSON of the library
 *  @param unk the id of what the vocabulary cannot express */
export function makeBpe({ vocab, merges, byte_fallback: usesBytes }, unk) {
  const ids = new Map(Object.entries(vocab));
  const ranks = new Map(merges.map(([first, second], rank) => [`${first} ${second}`, rank]));

  function start(character) {
    if (ids.has(character)) return [character];
    return (usesBytes && bytesOf(character, ids)) || [""]; // no merge contains the empty piece
  }

  return (word) => {
    let pieces = [...word].flatMap(start);
    for (;;) {
      let best = Infinity;
      for (let i = 1; i < pieces.length; i++) best = Math.min(best, ranks.get(`${pieces[i - 1]} ${pieces[i]}`) ?? Infinity);
      if (best === Infinity) return pieces.map((piece) => ids.get(piece) ?? unk);
      pieces = mergeAll(pieces, merges[best]);
    }
  };
}

/** The pieces with a pair joined, wherever it occurs. */
function mergeAll(pieces, [first, second]) {
  const merged = [];
  for (let i = 0; i < pieces.length; i++) {
    if (pieces[i] === first && pieces[i + 1] === second) merged.push(first + pieces[++i]);
    else merged.push(pieces[i]);
  }
  return merged;
}
