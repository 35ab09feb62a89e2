"use strict";
// The attention of all layers and heads as small maps, and the weights of the selected token.

const KINDS = {
  encoder: {
    name: "Encoder self-attention",
    hint: "Each source token attends to all source tokens.",
    query: "From source token (query)", key: "To source tokens (keys)",
    languages: [0, 0],
  },
  decoder: {
    name: "Decoder masked self-attention",
    hint: "Each target token that the decoder has read attends to itself and to the tokens before it. Later tokens are masked.",
    query: "From the last target token read (query)", key: "To the target tokens read so far (keys)",
    languages: [1, 1],
  },
  cross: {
    name: "Cross-attention",
    hint: "To predict a target token, the decoder attends to the encoder's output for the source tokens.",
    query: "From the target token to predict (query)", key: "To source tokens (keys)",
    languages: [1, 0],
  },
};
const OVERALL = { mean: "Mean of all", max: "Maximum of all", rollout: "Rollout" };
const headsOfLayer = () => [...Array(data.heads).keys(), "mean", "max"]; // the maps of a layer
const SUMMARIZED = 4; // tokens named in the summary, at most
const state = { kind: "cross", view: "tokens", layer: undefined, head: "mean", side: "query", index: 1 }; // layer null: all
const decodedMaps = new Map();

// The maps of the selected kind and view: labels of rows (queries) and columns (keys), and the levels of all maps.
function currentMaps() {
  const name = `${state.view} ${state.kind}`;
  if (!decodedMaps.has(name)) {
    const { weights, ...labels } = data.views[state.view].maps[state.kind];
    decodedMaps.set(name, { ...labels, levels: Uint8Array.from(atob(weights), (byte) => byte.charCodeAt(0)) });
  }
  return decodedMaps.get(name);
}

// The levels of one map; layer null means all layers.
function levelsOf(layer, head) {
  const { queries, keys, layers, levels } = currentMaps(), heads = headsOfLayer();
  const index = layer === null
    ? layers * heads.length + Object.keys(OVERALL).indexOf(head)
    : layer * heads.length + heads.indexOf(head);
  const size = queries.length * keys.length;
  return levels.subarray(index * size, (index + 1) * size);
}

const weightOf = (query, key) => (levelsOf(state.layer, state.head)[query * currentMaps().keys.length + key] / 255) ** 2;

function mapName(layer, head) {
  if (layer === null) return OVERALL[head] + (head === "rollout" ? " through all layers" : " layers and heads");
  return `Layer ${layer + 1}, ${{ mean: "mean over heads", max: "maximum over heads" }[head] ?? `head ${head + 1}`}`;
}

// The names of a layer and of a head, for switching them off.
const layerId = (kind, layer) => `${kind === "encoder" ? "encoder" : "decoder"}.${layer}`;
const headId = (kind, layer, head) => `${kind}.${layer}.${head}`;

// Whether a head, or its layer, is switched off.
function isOff(kind, layer, head) {
  const { heads = [], layers = [] } = data.off ?? {};
  return heads.some((parts) => parts.join(".") === headId(kind, layer, head)) || layers.some((parts) => parts.join(".") === layerId(kind, layer));
}

// ---- small maps of all layers and heads

function mapButton(layer, head, ...label) {
  const { queries, keys } = currentMaps();
  const name = mapName(layer, head) + (isOff(state.kind, layer, head) ? ", switched off" : "");
  const canvas = htmlElement("canvas");
  paint(canvas, levelsOf(layer, head), queries.length, keys.length);
  const button = htmlElement("button", { type: "button", "aria-label": name, title: name }, canvas, ...label);
  button.choice = { layer, head };
  button.classList.toggle("off", isOff(state.kind, layer, head));
  return button;
}

function drawHeads() {
  const grid = byId("heads");
  const heads = headsOfLayer();
  const columnNames = heads.map((head) => htmlElement("span", { class: "name" }, typeof head === "number" ? `${head + 1}` : head));
  grid.style.gridTemplateColumns = `minmax(1.2rem, max-content) repeat(${heads.length}, minmax(0, 1fr))`;
  grid.replaceChildren(htmlElement("span"), ...columnNames);
  const buttons = [];
  for (let layer = 0; layer < currentMaps().layers; layer++) {
    const row = heads.map((head) => mapButton(layer, head));
    grid.append(htmlElement("span", { class: "name row", title: `layer ${layer + 1}` }, `${layer + 1}`), ...row);
    buttons.push(...row);
  }
  const overall = Object.entries(OVERALL).map(([head, name]) => mapButton(null, head, name));
  overall.forEach((button) => button.classList.add("wide"));
  grid.append(htmlElement("div", { class: "overall" }, ...overall));
  makeMapsSelectable([...buttons, ...overall]);
}

const isSelected = (button) => button.choice.layer === state.layer && button.choice.head === state.head;

function makeMapsSelectable(buttons) {
  const select = (index) => {
    Object.assign(state, buttons[index].choice);
    drawMap();
  };
  const move = (key, index, count) => {
    const heads = headsOfLayer().length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: heads, ArrowUp: -heads };
    return key in steps ? Math.max(0, Math.min(count - 1, index + steps[key])) : undefined;
  };
  makeSelectable(buttons, select, { first: buttons.findIndex(isSelected), move, hover: false });
}

// ---- tokens and the weights of the selected one

function drawTokens() {
  const { queries, keys } = currentMaps();
  const kind = KINDS[state.kind];
  byId("query-label").textContent = kind.query;
  byId("key-label").textContent = kind.key;
  [["queries", queries, "query"], ["keys", keys, "key"]].forEach(([id, tokens, side], place) => {
    const chips = tokens.map((token) => htmlElement("span", { class: "chip", role: "option" }, token));
    byId(id).lang = data.languages[kind.languages[place]];
    byId(id).replaceChildren(...chips);
    makeSelectable(chips, (index) => selectToken(side, index));
  });
}

// Show the weights from a query or to a key; `other` also marks a token of the other side.
function selectToken(side, index, other = null) {
  Object.assign(state, { side, index });
  const { queries, keys } = currentMaps();
  const weights = side === "query" ? keys.map((_, key) => weightOf(index, key)) : queries.map((_, query) => weightOf(query, index));
  const chips = { query: [...byId("queries").children], key: [...byId("keys").children] };
  const others = chips[side === "query" ? "key" : "query"];
  markSelected(chips[side], index);
  markSelected(others, other);
  chips[side].forEach((chip) => shade(chip, null));
  others.forEach((chip, place) => {
    chip.title = formatPercent(weights[place]);
    shade(chip, weights[place]);
  });
  summarize(side, index, weights);
  markInMap(byId("heat-map"), layout, side, index);
}

// One sentence with the largest weights.
function summarize(side, index, weights) {
  const { queries, keys } = currentMaps();
  const [own, others] = side === "query" ? [queries, keys] : [keys, queries];
  const largest = weights.map((weight, place) => [weight, place]).sort((one, two) => two[0] - one[0])
    .slice(0, SUMMARIZED).filter(([weight]) => weight >= 0.01);
  const list = largest.flatMap(([weight, place], index) =>
    [index ? ", " : "", htmlElement("bdi", {}, others[place]), ` ${formatPercent(weight)}`]);
  const view = data.views[state.view];
  const bold = (token) => htmlElement("b", { dir: "auto" }, token);
  const subject = state.kind === "encoder" || side === "key"
    ? [bold(own[index])]
    : ["After reading ", bold(view.target_input[index]), ", to predict ", bold(view.target_output[index]), ", the decoder"];
  const verb = side === "query" ? " attends to " : " receives attention from ";
  byId("summary").replaceChildren(...subject, verb, ...(list.length ? list : ["no token with a weight of 1 % or more"]), ".");
}
