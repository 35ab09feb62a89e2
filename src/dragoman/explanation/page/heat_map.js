"use strict";
// Heat maps with labels; the selected map of attention, enlarged; and the controls of the attention section.

const MANY_KEYS = 30; // a map with more columns gets the whole width of the page
const LABEL_SIZE = 13, SMALLEST_LABEL = 10; // of the font of labels, in pixels

let layout = null; // of the enlarged map of attention

// Left, top, width and height of a map, the size of a cell, and labels, in pixels. The map fills the width of its element
// at most. If its columns are narrower than labels, only every `step`-th has one.
function computeLayout(element, rows, columns) {
  const available = element.clientWidth, label = Math.min(130, available / 4), pen = penFor(LABEL_SIZE);
  const longest = (tokens) => Math.min(label, Math.max(...tokens.map((token) => pen.measureText(token).width)));
  const left = longest(rows) + 10;
  const slant = longest(columns) * 0.72; // width and height of the rotated labels
  const top = slant + 20;
  const cell = Math.min(46, (available - left - slant - 4) / columns.length);
  const row = Math.max(SMALLEST_LABEL + 2, cell); // a page can be long, but not wide
  const size = Math.max(SMALLEST_LABEL, Math.min(LABEL_SIZE, cell - 2));
  const step = Math.ceil((size * 1.15) / cell);
  return { left, top, cell, row, slant, label, size, step, width: cell * columns.length, height: row * rows.length };
}

// Draw a map with labels; `select` is called with the row and the column at the pointer, null outside of the map.
function drawHeatMap(element, rows, columns, levels, select) {
  const drawn = computeLayout(element, rows, columns);
  const { left, top, slant, size, width, height } = drawn;
  const canvas = document.createElement("canvas");
  paint(canvas, levels, rows.length, columns.length);
  const svg = svgElement("svg", { width: left + width + slant + 4, height: top + height + 4 });
  svg.style.fontSize = `${size}px`;
  svg.append(
    svgElement("image", { href: canvas.toDataURL(), x: left, y: top, width, height, preserveAspectRatio: "none" }),
    svgElement("rect", { class: "frame", x: left, y: top, width, height }),
    ...mapLabels(drawn, rows, columns), svgElement("rect", { class: "row-mark" }), svgElement("rect", { class: "column-mark" }));
  const selectAtPointer = (event) => {
    const box = svg.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - top) / drawn.row);
    const column = Math.floor((event.clientX - box.left - left) / drawn.cell);
    select(row >= 0 && row < rows.length ? row : null, column >= 0 && column < columns.length ? column : null);
  };
  svg.addEventListener("mousemove", selectAtPointer);
  svg.addEventListener("click", selectAtPointer);
  element.replaceChildren(svg);
  return drawn;
}

function mapLabels({ left, top, cell, row, label, size }, rows, columns) {
  const pen = penFor(size);
  const columnLabels = columns.map((token, index) => {
    const x = left + (index + 0.5) * cell + 3;
    return svgElement("text", { class: "key", transform: `translate(${x},${top - 6}) rotate(-46)` }, shorten(pen, token, label));
  });
  const rowLabels = rows.map((token, index) => {
    const place = { x: left - 6, y: top + (index + 0.5) * row + 4, "text-anchor": "end" };
    return svgElement("text", { class: "query", ...place }, shorten(pen, token, label));
  });
  return [...columnLabels, ...rowLabels];
}

// Frame a row ("query") or a column ("key") of a map and highlight its label.
function markInMap(element, { left, top, cell, row, step, width, height }, side, index) {
  const isRow = side === "query";
  const box = isRow ? { x: left, y: top + index * row, width, height: row } : { x: left + index * cell, y: top, width: cell, height };
  const marks = [".row-mark", ".column-mark"].map((name) => element.querySelector(name));
  const [shown, hidden] = isRow ? marks : marks.reverse();
  Object.entries(box).forEach(([name, value]) => shown.setAttribute(name, value));
  hidden.setAttribute("width", 0);
  hidden.setAttribute("height", 0);
  for (const name of ["query", "key"]) {
    element.querySelectorAll(`text.${name}`).forEach((label, place) =>
      label.classList.toggle("marked", name === side && place === index));
  }
  element.querySelectorAll("text.key").forEach((label, place) => {
    const isNear = !isRow && place !== index && Math.abs(place - index) < step; // would overlap the marked label
    const isMarked = !isRow && place === index;
    label.classList.toggle("hidden", isNear || (place % step !== 0 && !isMarked));
  });
}

// ---- the enlarged map of attention

const afterMap = []; // functions to call after another map was selected

function drawMap() {
  if (!data) return;
  const { queries, keys } = currentMaps(), element = byId("heat-map");
  document.querySelector(".split.attention").classList.toggle("stacked", keys.length > MANY_KEYS);
  layout = drawHeatMap(element, queries, keys, levelsOf(state.layer, state.head), (row, column) => {
    if (row !== null) selectToken("query", row, column);
    else if (column !== null) selectToken("key", column);
  });
  const title = `${KINDS[state.kind].name}: ${mapName(state.layer, state.head)}`;
  byId("map-title").textContent = title;
  element.setAttribute("aria-label", title);
  document.querySelectorAll("#heads button").forEach((button) => button.setAttribute("aria-pressed", isSelected(button)));
  selectToken(state.side, state.index);
  afterMap.forEach((draw) => draw());
}

// ---- the whole section

function drawAttention() {
  decodedMaps.clear();
  const hasWords = Boolean(data.views.words);
  document.querySelector("input[value=words]").disabled = !hasWords;
  byId("views").title = hasWords ? "" : "Every token is a whole word.";
  if (!hasWords) {
    state.view = "tokens";
    document.querySelector("input[value=tokens]").checked = true;
  }
  const { layers, queries, keys } = currentMaps();
  if (state.layer === undefined || (state.layer !== null && state.layer >= layers)) state.layer = layers - 1;
  if (typeof state.head === "number" && state.head >= data.heads) state.head = "mean";
  state.index = Math.min(state.index, (state.side === "query" ? queries : keys).length - 1);
  byId("kind-hint").textContent = KINDS[state.kind].hint;
  document.querySelectorAll(".legend canvas").forEach((canvas) => {
    paint(canvas, Array.from({ length: 256 }, (_, index) => levelOf(index / 255)), 1, 256);
  });
  drawHeads();
  drawTokens();
  drawMap();
}

document.querySelectorAll("input[name=kind], input[name=view]").forEach((input) =>
  input.addEventListener("change", () => {
    if (state[input.name] !== input.value) Object.assign(state, { [input.name]: input.value, side: "query", index: Math.min(1, state.index) });
    if (data) drawAttention();
  }));
redraws.push(drawAttention);
addEventListener("resize", drawMap);
