"use strict";
// The controls of the served page: edit the text, leave out words, switch off heads and layers, save the page.

const WAIT = 400; // milliseconds without typing before the server is asked
const changes = { without: [], off: page.served.names.map(() => ({ heads: [], layers: [] })) };
let running = null; // the controller that aborts what is asked now
let timer = null;

const parts = (id) => id.split(".").map((part, index) => (index ? Number(part) : part));
const request = () => ({
  q: byId("text").value, without: changes.without,
  off: changes.off.map(({ heads, layers }) => ({ heads: heads.map(parts), layers: layers.map(parts) })),
});
const shownIndex = () => Math.max(0, page.explanations.indexOf(data));

async function post(path, parameters, signal) {
  const body = JSON.stringify(parameters);
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  if (response.ok) return response;
  const reply = await response.json().catch(() => null);
  throw new Error(reply?.error ?? `The server could not answer (error ${response.status}).`);
}

// Ask for explanations, show them, and then ask for what takes longer.
async function ask() {
  clearTimeout(timer);
  running?.abort();
  byId("error").textContent = "";
  byId("save").disabled = true;
  if (!byId("text").value.trim()) {
    byId("status").textContent = byId("translation").textContent = "";
    byId("explanation").hidden = true;
    return;
  }
  const { signal } = (running = new AbortController());
  const parameters = request();
  byId("status").textContent = "Translating …";
  try {
    const reply = await (await post("explain", parameters, signal)).json();
    const index = shownIndex();
    page.explanations = reply.explanations;
    drawWords(reply.words);
    byId("influence-waiting").hidden = false;
    show(index);
    byId("status").textContent = "Removing words …";
    const { influences } = await (await post("influence", parameters, signal)).json();
    influences.forEach((influence, place) => { page.explanations[place].influence = influence; });
    byId("influence-waiting").hidden = true;
    drawInfluence();
    drawComparison();
    byId("status").textContent = "";
    byId("save").disabled = false;
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("status").textContent = "";
    byId("error").textContent = error instanceof TypeError ? "The server cannot be reached." : error.message;
  }
}

// ---- the source

function drawWords(words) {
  byId("words").replaceChildren(...words.map((word, index) => {
    const button = htmlElement("button", { type: "button", "aria-pressed": changes.without.includes(index) }, word);
    button.addEventListener("click", () => toggle(changes.without, index));
    return button;
  }));
}

// Add an item to a list, or remove it, and ask again.
function toggle(list, item) {
  const place = list.indexOf(item);
  if (place < 0) list.push(item);
  else list.splice(place, 1);
  ask();
}

byId("text").addEventListener("input", () => {
  changes.without = []; // other words
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT);
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    ask();
  }
});
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});

// ---- heads and layers

// Buttons for the selected head and its layer.
function drawSwitches() {
  const { layer, head, kind } = state, off = changes.off[shownIndex()];
  byId("switches").replaceChildren(...(layer === null ? [] : [
    ...(typeof head === "number" ? [switchButton(off.heads, headId(kind, layer, head), describeHead(headId(kind, layer, head)))] : []),
    switchButton(off.layers, layerId(kind, layer), describeLayer(layerId(kind, layer))),
  ]));
}

function switchButton(list, id, name) {
  const button = htmlElement("button", { type: "button" }, `Switch ${list.includes(id) ? "on" : "off"}: ${name}`);
  button.addEventListener("click", () => toggle(list, id));
  return button;
}

function describeHead(id) {
  const [kind, layer, head] = id.split(".");
  return `head ${Number(head) + 1} of layer ${Number(layer) + 1}, ${KINDS[kind].name.toLowerCase()}`;
}

function describeLayer(id) {
  const [part, layer] = id.split(".");
  return `${part} layer ${Number(layer) + 1}`;
}

// ---- what the changes do to the earlier translation

function drawChange() {
  const { change } = data, { heads, layers } = changes.off[shownIndex()];
  byId("change").hidden = !change;
  if (!change) return;
  const words = [...byId("words").children].map((button) => button.textContent);
  const items = [
    ...changes.without.map((index) => [changes.without, index, words[index]]),
    ...heads.map((id) => [heads, id, describeHead(id)]),
    ...layers.map((id) => [layers, id, describeLayer(id)]),
  ];
  const buttons = items.map(([list, item, name]) => {
    const button = htmlElement("button", { type: "button", "aria-label": `Undo: without ${name}` }, "✕ ", htmlElement("bdi", {}, name));
    button.addEventListener("click", () => toggle(list, item));
    return button;
  });
  byId("change-list").replaceChildren("Without: ", ...buttons);
  byId("change-translation").textContent = change.translation || "(empty)";
  const [before, after] = change.totals.map((total) => formatNats(total));
  byId("change-total").textContent = `The log-probability of the whole translation changes from ${before} to ${after}.`;
  byId("change-tokens").replaceChildren(...change.tokens.map((token, index) => {
    const values = [change.before[index], change.after[index]];
    const chip = htmlElement("span", { class: "chip" }, token,
      ...values.map(probabilityBar), htmlElement("small", { dir: "ltr" }, values.map(formatSmallPercent).join(" → ")));
    chip.classList.toggle("fallen", values[1] < values[0] / 2);
    return chip;
  }));
}

// ---- saving

byId("save").addEventListener("click", async () => {
  try {
    const saved = await (await post("page", request())).blob();
    const link = htmlElement("a", { href: URL.createObjectURL(saved), download: "inspect.html" });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    byId("error").textContent = error.message;
  }
});

afterMap.push(drawSwitches);
redraws.push(drawChange);
if (page.served.text) ask();
