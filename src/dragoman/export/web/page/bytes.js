// Tokens of single bytes, such as <0xC3>, for characters that a vocabulary lacks.

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const BYTE = /^<0x([0-9A-F]{2})>$/;

/** The byte tokens of a text, or null if the vocabulary lacks one of them. */
export function bytesOf(text, ids) {
  const tokens = Array.from(encoder.encode(text), (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  return tokens.every((token) => ids.has(token)) ? tokens : null;
}

/** The tokens with text in place of each run of byte tokens, U+FFFD for each byte if they are no UTF-8. */
export function joinBytes(tokens) {
  const joined = [];
  let bytes = [];
  const flush = () => {
    if (bytes.length) joined.push(decode(bytes));
    bytes = [];
  };
  for (const token of tokens) {
    const match = BYTE.exec(token);
    if (match) bytes.push(parseInt(match[1], 16));
    else flush(), joined.push(token);
  }
  flush();
  return joined;
}

function decode(bytes) {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return "\ufffd".repeat(bytes.length);
  }
}
