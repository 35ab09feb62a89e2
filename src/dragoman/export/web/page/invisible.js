// Invisible characters, which text from PDF files and word processors contains, make translations worse.

import { WITHOUT_SPACES } from "./spans.js";

const INVISIBLE = new RegExp(
  String.raw`[\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]` +
    String.raw`|(?<![${WITHOUT_SPACES}])\u200b` + // between such letters, it separates words
    String.raw`|(?<=\p{Script=Latin})\u200c`, // against ligatures
  "gv",
);

/** The text without soft hyphens, marks of direction and the like, as `dragoman.text.normalization.remove_invisible`. */
export const removeInvisible = (text) => text.replace(INVISIBLE, "");
