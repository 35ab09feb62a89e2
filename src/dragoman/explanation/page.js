"use strict";
// What all parts of the page share: the data, colours, small helpers, the theme and the keys.

const data = JSON.parse(document.getElementById("data").textContent);
const [sourceLanguage, targetLanguage] = data.languages;
const byId = (id) => document.getElementById(id);
const percent = (share) => (share >= 0.1 ? Math.round(100 * share) : (100 * share).toPrecision(2).replace(/\.?0+$/, "")) + " %";
const tiny = (share) => (share < 0.0001 ? "< 0.01 %" : percent(share));

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawing(tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

// ---- colours: from light to dark, or from dark to light, by the square root of a weight, 0 to 255

let palette = [];

function readPalette() {
  const probe = element("span");
  document.body.append(probe);
  const stops = [0, 1, 2, 3, 4].map((index) => {
    probe.style.color = `var(--heat-${index})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  });
  probe.remove();
  palette = Array.from({ length: 256 }, (_, level) => {
    const place = (level / 255) * 4;
    const below = Math.min(3, Math.floor(place));
    return stops[below].map((value, channel) => Math.round(value + (place - below) * (stops[below + 1][channel] - value)));
  });
}

const levelOf = (share) => Math.round(255 * Math.sqrt(share));

function shade(chip, share) {
  if (share === null) {
    chip.style.background = chip.style.color = "";
    return;
  }
  const colour = palette[levelOf(share)];
  const [red, green, blue] = colour;
  chip.style.background = `rgb(${colour})`;
  chip.style.color = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#10151d" : "#fff";
}

function paint(canvas, levels, rows, columns) {
  canvas.width = columns;
  canvas.height = rows;
  const image = new ImageData(columns, rows);
  levels.forEach((level, index) => image.data.set([...palette[level], 255], 4 * index));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// ---- a row of things of which one is chosen: by pointer, or with the arrow keys

function choosable(items, choose, options = {}) {
  const focus = (index) => {
    items.forEach((item, place) => item.setAttribute("tabindex", place === index ? 0 : -1));
    items[index].focus();
  };
  items.forEach((item, index) => {
    item.setAttribute("tabindex", index === (options.first ?? 0) ? 0 : -1);
    item.addEventListener("click", () => focus(index));
    item.addEventListener("focus", () => choose(index));
    if (options.hover !== false) item.addEventListener("mouseenter", () => choose(index));
    item.addEventListener("keydown", (event) => {
      const next = (options.move ?? sideways)(event.key, index, items.length);
      if (next === undefined) return;
      event.preventDefault();
      focus(next);
    });
  });
}

function sideways(key, index, count) {
  const moves = { ArrowRight: index + 1, ArrowLeft: index - 1, ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: count - 1 };
  return key in moves ? Math.max(0, Math.min(count - 1, moves[key])) : undefined;
}

// ---- theme and keys

const dark = () =>
  document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

const redraws = []; // called when colours have changed

function applyTheme() {
  byId("theme").textContent = dark() ? "Light" : "Dark";
  readPalette();
  redraws.forEach((redraw) => redraw());
}

function switchTheme() {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  applyTheme();
}

byId("theme").addEventListener("click", switchTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const kind = { 1: "encoder", 2: "decoder", 3: "cross" }[event.key];
  if (kind) document.querySelector(`input[value="${kind}"]`).click();
  if (event.key === "w") document.querySelector("input[name=view]:not(:checked)").click();
  if (event.key === "d") switchTheme();
});
