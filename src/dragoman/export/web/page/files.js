// Files of this page, some of which are compressed because few servers do it.

/** The content of a file that ends in .gz; a server may already have decompressed it. */
export async function fetchBinary(name) {
  const bytes = new Uint8Array(await (await fetchFile(name)).arrayBuffer());
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error(`${name} is damaged.`);
  }
}

/** The data of a JSON file. */
export const fetchJson = async (name) => (await fetchFile(name)).json();

async function fetchFile(name) {
  const response = await fetch(new URL(name, import.meta.url), { cache: "no-cache" }); // model and tokenizers of the same export
  if (!response.ok) throw new Error(`${name} cannot be loaded (error ${response.status}).`);
  return response;
}
