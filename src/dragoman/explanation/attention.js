"use strict";
// The attention: small multiples of every layer and head, one of them enlarged, and where each token looks.

const KINDS = {
  encoder: {
    name: "Encoder self-attention",
    hint: "How the source is read: each of its tokens looks at all of them.",
    query: "Source token that looks …", key: "… at source tokens",
    languages: [sourceLanguage, sourceLanguage],
  },
  decoder: {
    name: "Decoder masked self-attention",
    hint: "How the translation so far is read: each token looks at itself and at those before. The future is masked.",
    query: "Target token just read that looks …", key: "… at target tokens read so far",
    languages: [targetLanguage, targetLanguage],
  },
  cross: {
    name: "Cross-attention",
    hint: "About to say a target token, the decoder looks at what the encoder made of the source tokens.",
    query: "Target token about to be said, looking …", key: "… at source tokens",
    languages: [targetLanguage, sourceLanguage],
  },
};
const OVERALL = { mean: "Mean of all", max: "Maximum of all", rollout: "Rollout" };
const state = { kind: "cross", view: "tokens", layer: null, head: "mean", side: "query", index: 0 };
const decoded = new Map();

// The maps of a kind in a view: rows (queries), columns (keys), and the levels of all of them in one array.
function maps() {
  const name = `${state.view} ${state.kind}`;
  if (!decoded.has(name)) {
    const { queries, keys, layers, weights } = data.views[state.view].maps[state.kind];
    decoded.set(name, { queries, keys, layers, levels: Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0)) });
  }
  return decoded.get(name);
}

// The levels of one map; layer null stands for all of them.
function levels(layer, head) {
  const { queries, keys, layers, levels: all } = maps();
  const columns = [...Array(data.heads).keys(), "mean", "max"];
  const index = layer === null ? layers * columns.length + Object.keys(OVERALL).indexOf(head) : layer * columns.length + columns.indexOf(head);
  const size = queries.length * keys.length;
  return all.subarray(index * size, (index + 1) * size);
}

const share = (query, key) => (levels(state.layer, state.head)[query * maps().keys.length + key] / 255) ** 2;
const nameOf = (layer, head) =>
  layer === null ? OVERALL[head] + (head === "rollout" ? " through all layers" : " layers and heads")
    : `Layer ${layer + 1}, ${{ mean: "mean of its heads", max: "maximum of its heads" }[head] ?? `head ${head + 1}`}`;

// ---- small multiples

function drawHeads() {
  const { layers, queries, keys } = maps();
  const heads = [...Array(data.heads).keys(), "mean", "max"];
  const grid = byId("heads");
  grid.replaceChildren(element("span"));
  grid.style.gridTemplateColumns = `minmax(1.2rem, max-content) repeat(${heads.length}, minmax(0, 1fr))`;
  heads.forEach((head) => grid.append(element("span", { class: "name" }, typeof head === "number" ? `${head + 1}` : head)));
  const buttons = [];
  const add = (parent, layer, head, ...label) => {
    const canvas = element("canvas");
    const button = element("button", { type: "button", role: "gridcell", "aria-label": nameOf(layer, head), title: nameOf(layer, head) }, canvas, ...label);
    paint(canvas, levels(layer, head), queries.length, keys.length);
    button.dataset.map = `${layer} ${head}`;
    button.choice = { layer, head };
    parent.append(button);
    buttons.push(button);
    return button;
  };
  for (let layer = 0; layer < layers; layer++) {
    grid.append(element("span", { class: "name row", title: `layer ${layer + 1}` }, `${layer + 1}`));
    heads.forEach((head) => add(grid, layer, head));
  }
  const overall = element("div", { class: "overall" });
  Object.entries(OVERALL).forEach(([head, name]) => add(overall, null, head, name).classList.add("wide"));
  grid.append(overall);
  const first = buttons.findIndex((button) => button.choice.layer === state.layer && button.choice.head === state.head);
  const move = (key, index, count) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: heads.length, ArrowUp: -heads.length };
    return key in steps ? Math.max(0, Math.min(count - 1, index + steps[key])) : undefined;
  };
  choosable(buttons, (index) => { Object.assign(state, buttons[index].choice); drawMap(); }, { first, move, hover: false });
}

// ---- tokens: which one looks at which

function drawTokens() {
  const { queries, keys } = maps();
  const kind = KINDS[state.kind];
  byId("query-label").textContent = kind.query;
  byId("key-label").textContent = kind.key;
  [["queries", queries, "query"], ["keys", keys, "key"]].forEach(([id, tokens, side], place) => {
    const chips = tokens.map((token) => element("span", { class: "chip", role: "option" }, token));
    byId(id).lang = kind.languages[place];
    byId(id).replaceChildren(...chips);
    choosable(chips, (index) => choose(side, index));
  });
}

function choose(side, index, other = null) {
  Object.assign(state, { side, index });
  const { queries, keys } = maps();
  const looks = side === "query" ? keys.map((_, key) => share(index, key)) : queries.map((_, query) => share(query, index));
  const chips = { query: [...byId("queries").children], key: [...byId("keys").children] };
  chips[side].forEach((chip, place) => {
    chip.classList.toggle("chosen", place === index);
    chip.setAttribute("aria-selected", place === index);
    shade(chip, null);
  });
  chips[side === "query" ? "key" : "query"].forEach((chip, place) => {
    chip.classList.toggle("chosen", place === other);
    chip.setAttribute("aria-selected", place === other);
    chip.title = percent(looks[place]);
    shade(chip, looks[place]);
  });
  read(side, index, looks);
  mark(side, index);
}

// The same in words: the tokens that count most.
function read(side, index, looks) {
  const { queries, keys } = maps();
  const [own, others] = side === "query" ? [queries, keys] : [keys, queries];
  const best = looks.map((value, place) => [value, place]).sort((one, two) => two[0] - one[0]).slice(0, 4).filter(([value]) => value >= 0.01);
  const said = best.map(([value, place]) => `${others[place]} ${percent(value)}`).join(", ");
  const target = data.views[state.view];
  const name = (token) => element("b", {}, token);
  const who = state.kind === "encoder" || side === "key"
    ? [name(own[index])]
    : ["Having read ", name(target.read[index]), " and about to say ", name(target.predicted[index]), ", it"];
  byId("reading").replaceChildren(...who, side === "query" ? " looks at " : " is looked at by ", said || "nothing in particular", ".");
}

// ---- one map enlarged

let place = null; // where things are in the enlarged map

function drawMap() {
  const { queries, keys } = maps();
  const holder = byId("heat");
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "13px system-ui, 'Noto Sans', sans-serif";
  const widest = (tokens) => Math.min(130, Math.max(...tokens.map((token) => pen.measureText(token).width)));
  const left = widest(queries) + 10;
  const slant = widest(keys) * 0.72;
  const top = slant + 16;
  const cell = Math.max(15, Math.min(46, Math.floor((holder.clientWidth - left - slant - 4) / keys.length)));
  const width = cell * keys.length;
  const height = cell * queries.length;
  place = { left, top, cell, width, height };
  const svg = drawing("svg", { width: left + width + slant + 4, height: top + height + 4 });
  const canvas = document.createElement("canvas");
  const current = levels(state.layer, state.head);
  paint(canvas, current, queries.length, keys.length);
  svg.append(drawing("image", { href: canvas.toDataURL(), x: left, y: top, width, height, preserveAspectRatio: "none" }));
  svg.append(drawing("rect", { class: "frame", x: left, y: top, width, height }));
  keys.forEach((token, index) => {
    const x = left + (index + 0.5) * cell + 3;
    svg.append(drawing("text", { class: "key", transform: `translate(${x},${top - 6}) rotate(-46)` }, token));
  });
  queries.forEach((token, index) => {
    const y = top + (index + 0.5) * cell + 4;
    svg.append(drawing("text", { class: "query", x: left - 6, y, "text-anchor": "end" }, token));
  });
  svg.append(drawing("rect", { class: "row-mark" }), drawing("rect", { class: "column-mark" }));
  svg.addEventListener("mousemove", point);
  svg.addEventListener("click", point);
  holder.replaceChildren(svg);
  const title = `${KINDS[state.kind].name}: ${nameOf(state.layer, state.head)}`;
  byId("map-title").textContent = title;
  holder.setAttribute("aria-label", title);
  document.querySelectorAll("#heads button").forEach((button) =>
    button.setAttribute("aria-selected", button.choice.layer === state.layer && button.choice.head === state.head));
  choose(state.side, state.index);
}

function point(event) {
  const box = event.currentTarget.getBoundingClientRect();
  const { queries, keys } = maps();
  const row = Math.floor((event.clientY - box.top - place.top) / place.cell);
  const column = Math.floor((event.clientX - box.left - place.left) / place.cell);
  if (row >= 0 && row < queries.length) choose("query", row, column >= 0 && column < keys.length ? column : null);
  else if (row < 0 && column >= 0 && column < keys.length) choose("key", column);
}

function mark(side, index) {
  const { left, top, cell, width, height } = place;
  const row = document.querySelector("#heat .row-mark");
  const column = document.querySelector("#heat .column-mark");
  const box = side === "query" ? { x: left, y: top + index * cell, width, height: cell } : { x: left + index * cell, y: top, width: cell, height };
  const [on, off] = side === "query" ? [row, column] : [column, row];
  Object.entries(box).forEach(([name, value]) => on.setAttribute(name, value));
  off.setAttribute("width", 0);
  off.setAttribute("height", 0);
  document.querySelectorAll("#heat text.query").forEach((text, i) => text.classList.toggle("marked", side === "query" && i === index));
  document.querySelectorAll("#heat text.key").forEach((text, i) => text.classList.toggle("marked", side === "key" && i === index));
}

// ---- all of it

function drawAttention() {
  const last = maps();
  if (state.layer !== null && state.layer >= last.layers) state.layer = last.layers - 1;
  state.index = Math.min(state.index, (state.side === "query" ? last.queries : last.keys).length - 1);
  byId("kind-hint").textContent = KINDS[state.kind].hint;
  paint(document.querySelector("#legend canvas"), Array.from({ length: 256 }, (_, share) => levelOf(share / 255)), 1, 256);
  drawHeads();
  drawTokens();
  drawMap();
}

document.querySelectorAll("input[name=kind], input[name=view]").forEach((input) =>
  input.addEventListener("change", () => {
    if (state[input.name] !== input.value) Object.assign(state, { [input.name]: input.value, side: "query", index: Math.min(1, state.index) });
    drawAttention();
  }));
if (!data.views.words) {
  document.querySelector("input[value=words]").disabled = true;
  byId("views").title = "Here every token is a word.";
}
state.layer = maps().layers - 1;
state.index = Math.min(1, maps().queries.length - 1);
redraws.push(drawAttention);
addEventListener("resize", drawMap);
