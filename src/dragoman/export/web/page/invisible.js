// Invisible characters, which text from PDF files and word processors contains, make translations worse.

import { INVISIBLE } from "./tables.js";

const PATTERN = new RegExp(INVISIBLE, "gv");

/** The text without soft hyphens, marks of direction and the like, as `dragoman.text.normalization.remove_invisible`. */
export const removeInvisible = (text) => text.replace(PATTERN, "");
