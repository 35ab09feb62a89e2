"use strict";
// The selected map, enlarged, with labels; and the controls of the attention section.

const MANY_KEYS = 30; // a map with more columns gets the whole width of the page
const LABEL_SIZE = 13, SMALLEST_LABEL = 10; // of the font of labels, in pixels

let layout = null; // left, top, width and height of the enlarged map, the size of a cell, and labels, in pixels

// The map fills the width of the page at most. If its columns are narrower than labels, only every `step`-th has one.
function computeLayout({ queries, keys }) {
  document.querySelector(".split.attention").classList.toggle("stacked", keys.length > MANY_KEYS);
  const available = byId("heat-map").clientWidth, label = Math.min(130, available / 4), pen = penFor(LABEL_SIZE);
  const longest = (tokens) => Math.min(label, Math.max(...tokens.map((token) => pen.measureText(token).width)));
  const left = longest(queries) + 10;
  const slant = longest(keys) * 0.72; // width and height of the rotated labels
  const top = slant + 20;
  const cell = Math.min(46, (available - left - slant - 4) / keys.length);
  const row = Math.max(SMALLEST_LABEL + 2, cell); // a page can be long, but not wide
  const size = Math.max(SMALLEST_LABEL, Math.min(LABEL_SIZE, cell - 2));
  const step = Math.ceil((size * 1.15) / cell);
  return { left, top, cell, row, slant, label, size, step, width: cell * keys.length, height: row * queries.length };
}

function drawMap() {
  const maps = currentMaps();
  layout = computeLayout(maps);
  const { left, top, slant, size, width, height } = layout;
  const canvas = document.createElement("canvas");
  paint(canvas, levelsOf(state.layer, state.head), maps.queries.length, maps.keys.length);
  const svg = svgElement("svg", { width: left + width + slant + 4, height: top + height + 4 });
  svg.style.fontSize = `${size}px`;
  svg.append(
    svgElement("image", { href: canvas.toDataURL(), x: left, y: top, width, height, preserveAspectRatio: "none" }),
    svgElement("rect", { class: "frame", x: left, y: top, width, height }),
    ...mapLabels(maps), svgElement("rect", { class: "row-mark" }), svgElement("rect", { class: "column-mark" }));
  svg.addEventListener("mousemove", selectAtPointer);
  svg.addEventListener("click", selectAtPointer);
  byId("heat-map").replaceChildren(svg);
  const title = `${KINDS[state.kind].name}: ${mapName(state.layer, state.head)}`;
  byId("map-title").textContent = title;
  byId("heat-map").setAttribute("aria-label", title);
  document.querySelectorAll("#heads button").forEach((button) => button.setAttribute("aria-selected", isSelected(button)));
  selectToken(state.side, state.index);
}

function mapLabels({ queries, keys }) {
  const { left, top, cell, row, label, size } = layout;
  const pen = penFor(size);
  const keyLabels = keys.map((token, index) => {
    const x = left + (index + 0.5) * cell + 3;
    return svgElement("text", { class: "key", transform: `translate(${x},${top - 6}) rotate(-46)` }, shorten(pen, token, label));
  });
  const queryLabels = queries.map((token, index) => {
    const place = { x: left - 6, y: top + (index + 0.5) * row + 4, "text-anchor": "end" };
    return svgElement("text", { class: "query", ...place }, shorten(pen, token, label));
  });
  return [...keyLabels, ...queryLabels];
}

function selectAtPointer(event) {
  const box = event.currentTarget.getBoundingClientRect();
  const { queries, keys } = currentMaps();
  const row = Math.floor((event.clientY - box.top - layout.top) / layout.row);
  const column = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
  const isColumn = column >= 0 && column < keys.length;
  if (row >= 0 && row < queries.length) selectToken("query", row, isColumn ? column : null);
  else if (row < 0 && isColumn) selectToken("key", column);
}

// Frame a row or a column and highlight its label.
function markInMap(side, index) {
  const { left, top, cell, row, step, width, height } = layout;
  const isRow = side === "query";
  const box = isRow ? { x: left, y: top + index * row, width, height: row } : { x: left + index * cell, y: top, width: cell, height };
  const marks = [".row-mark", ".column-mark"].map((name) => document.querySelector(`#heat-map ${name}`));
  const [shown, hidden] = isRow ? marks : marks.reverse();
  Object.entries(box).forEach(([name, value]) => shown.setAttribute(name, value));
  hidden.setAttribute("width", 0);
  hidden.setAttribute("height", 0);
  for (const name of ["query", "key"]) {
    document.querySelectorAll(`#heat-map text.${name}`).forEach((label, place) =>
      label.classList.toggle("marked", name === side && place === index));
  }
  document.querySelectorAll("#heat-map text.key").forEach((label, place) => {
    const isNear = !isRow && place !== index && Math.abs(place - index) < step; // would overlap the marked label
    const isMarked = !isRow && place === index;
    label.classList.toggle("hidden", isNear || (place % step !== 0 && !isMarked));
  });
}

// ---- the whole section

function drawAttention() {
  const { layers, queries, keys } = currentMaps();
  if (state.layer !== null && state.layer >= layers) state.layer = layers - 1;
  state.index = Math.min(state.index, (state.side === "query" ? queries : keys).length - 1);
  byId("kind-hint").textContent = KINDS[state.kind].hint;
  const scale = Array.from({ length: 256 }, (_, index) => levelOf(index / 255));
  paint(document.querySelector("#legend canvas"), scale, 1, 256);
  drawHeads();
  drawTokens();
  drawMap();
}

function startAttention() {
  document.querySelectorAll("input[name=kind], input[name=view]").forEach((input) =>
    input.addEventListener("change", () => {
      if (state[input.name] !== input.value) Object.assign(state, { [input.name]: input.value, side: "query", index: Math.min(1, state.index) });
      drawAttention();
    }));
  if (!data.views.words) {
    document.querySelector("input[value=words]").disabled = true;
    byId("views").title = "Every token is a whole word.";
  }
  state.layer = currentMaps().layers - 1;
  state.index = Math.min(1, currentMaps().queries.length - 1);
  redraws.push(drawAttention);
  addEventListener("resize", drawMap);
}
