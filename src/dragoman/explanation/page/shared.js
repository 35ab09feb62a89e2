"use strict";
// Shared by all scripts of the page: the data, element creation, colors, selection, theme and keyboard shortcuts.

const page = JSON.parse(document.getElementById("data").textContent);
let data = null; // what is shown: one of page.explanations
let sourceLanguage = "", targetLanguage = "";
const byId = (id) => document.getElementById(id);
const formatPercent = (value) => (value >= 0.1 ? Math.round(100 * value) : (100 * value).toPrecision(2).replace(/\.?0+$/, "")) + " %";

function htmlElement(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}

function svgElement(tag, attributes = {}, text = "") {
  const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.textContent = text;
  return created;
}

// A context of a canvas that measures text of a size in pixels.
function penFor(size) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}

// Shorten a token to a width in pixels, never within a character.
function shorten(pen, token, width) {
  if (pen.measureText(token).width <= width) return token;
  const characters = [...new Intl.Segmenter().segment(token)].map(({ segment }) => segment);
  while (characters.length > 1 && pen.measureText(characters.join("") + "…").width > width) characters.pop();
  return characters.join("") + "…";
}

// Mark one of several chips as selected; null selects none.
function markSelected(chips, selected) {
  chips.forEach((chip, index) => {
    chip.classList.toggle("selected", index === selected);
    chip.setAttribute("aria-selected", index === selected);
  });
}

// ---- colors: a level from 0 to 255 is 255 times the square root of a weight

let palette = []; // red, green and blue of each level

function readPalette() {
  const probe = htmlElement("span");
  document.body.append(probe);
  const stops = [0, 1, 2, 3, 4].map((index) => {
    probe.style.color = `var(--heat-${index})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  });
  probe.remove();
  palette = Array.from({ length: 256 }, (_, level) => {
    const position = (level / 255) * 4;
    const below = Math.min(3, Math.floor(position));
    return stops[below].map((value, channel) => Math.round(value + (position - below) * (stops[below + 1][channel] - value)));
  });
}

const levelOf = (weight) => Math.round(255 * Math.sqrt(weight));

// The relative luminance of a color, from 0 to 1 (Web Content Accessibility Guidelines 2.2).
function luminanceOf(color) {
  const [red, green, blue] = color.map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Color a chip by a weight; null removes the color.
function shade(chip, weight) {
  if (weight === null) {
    chip.style.background = chip.style.color = "";
    return;
  }
  const color = palette[levelOf(weight)];
  chip.style.background = `rgb(${color})`;
  chip.style.color = luminanceOf(color) > 0.179 ? "#000" : "#fff"; // either way, the contrast is at least 4.5
}

// Draw levels with one pixel each.
function paint(canvas, levels, rows, columns) {
  canvas.width = columns;
  canvas.height = rows;
  const image = new ImageData(columns, rows);
  levels.forEach((level, index) => image.data.set([...palette[level], 255], 4 * index));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// ---- selection of one of several items, by pointer or with the arrow keys

// `move` maps a key, an index and the number of items to the next index; undefined if the key does nothing.
function makeSelectable(items, select, { first = 0, move = moveLinearly, hover = true } = {}) {
  const focus = (index) => {
    items.forEach((item, other) => item.setAttribute("tabindex", other === index ? 0 : -1));
    items[index].focus();
  };
  items.forEach((item, index) => {
    item.setAttribute("tabindex", index === first ? 0 : -1);
    item.addEventListener("click", () => focus(index));
    item.addEventListener("focus", () => select(index));
    if (hover) item.addEventListener("mouseenter", () => select(index));
    item.addEventListener("keydown", (event) => {
      const next = move(event.key, index, items.length);
      if (next === undefined) return;
      event.preventDefault();
      focus(next);
    });
  });
}

function moveLinearly(key, index, count) {
  const moves = { ArrowRight: index + 1, ArrowLeft: index - 1, ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: count - 1 };
  return key in moves ? Math.max(0, Math.min(count - 1, moves[key])) : undefined;
}

// ---- theme and keyboard shortcuts

const isDark = () =>
  document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

const redraws = []; // functions that draw in colors of the theme

function applyTheme() {
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  readPalette();
  if (data) redraws.forEach((redraw) => redraw());
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  applyTheme();
}

byId("theme").addEventListener("click", switchTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea")) return;
  const kind = { 1: "encoder", 2: "decoder", 3: "cross" }[event.key];
  if (kind) document.querySelector(`input[value="${kind}"]`).click();
  if (event.key === "w") document.querySelector("input[name=view]:not(:checked)").click();
  if (event.key === "d") switchTheme();
});
