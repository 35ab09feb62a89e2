// Requests to the server. Texts and keys are in the bodies of requests, never in addresses.

const keyField = document.getElementById("key");
const KEY = "dragoman-api-key";

keyField.value = localStorage.getItem(KEY) ?? "";
keyField.addEventListener("change", () => localStorage.setItem(KEY, keyField.value.trim()));

/** The API key that the user entered. */
export const apiKey = () => keyField.value.trim();

/** What the user sees if a request fails. */
export function describeFailure(status, reply) {
  if (status === 0) return "The server cannot be reached.";
  return reply?.error ?? `The server could not answer (error ${status}).`;
}

async function read(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(describeFailure(0));
  }
  const reply = await response.json().catch(() => null);
  if (response.ok && reply !== null) return reply;
  const error = new Error(describeFailure(response.status, reply));
  error.retryAfter = Number(response.headers.get("Retry-After"));
  throw error;
}

/** The reply to a request without parameters. */
export const get = (path) => read(fetch(path));

/** The reply to a request; `signal` aborts it. */
export function post(path, parameters, signal) {
  const body = JSON.stringify({ ...parameters, api_key: apiKey() });
  return read(fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal }));
}
