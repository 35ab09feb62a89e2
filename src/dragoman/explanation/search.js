"use strict";
// What was said, with its alternatives; and the tree of what the beam search considered.

function drawSaid() {
  const chips = data.said.map(({ token, probability }) => {
    const bar = element("span", { class: "bar" }, element("span", { style: `width: ${100 * probability}%` }));
    return element("span", { class: "chip", role: "option", title: percent(probability) }, token, bar);
  });
  byId("said").replaceChildren(...chips);
  const show = (index) => {
    chips.forEach((chip, place) => {
      chip.classList.toggle("chosen", place === index);
      chip.setAttribute("aria-selected", place === index);
    });
    const { token, alternatives } = data.said[index];
    byId("alternatives").replaceChildren(...alternatives.map(([other, probability]) =>
      element("div", { class: other === token ? "row said" : "row" },
        element("b", { lang: targetLanguage, dir: "auto" }, other),
        element("span", { class: "bar" }, element("span", { style: `width: ${100 * probability}%` })),
        element("span", { class: "number" }, tiny(probability)))));
  };
  choosable(chips, show);
  show(0);
}

// ---- the tree

const WIDTH = 104, HEIGHT = 40, GAP = 34, TOP = 20;
const nodes = []; // of each step, root first

// Parents, children and the way to the best that ended.
function plant() {
  nodes.push([{ token: data.beginning, fate: "kept", score: 0, children: [], step: 0, rank: 0 }]);
  data.steps.forEach((step, index) => nodes.push(step.map((each, rank) => {
    const parent = nodes[index][each.parent];
    const node = { ...each, parent, children: [], step: index + 1, rank };
    parent.children.push(node);
    return node;
  })));
  for (let node = ended()[0]; node; node = node.parent) node.winner = true;
}

const ended = () => nodes.flat().filter((node) => node.fate === "ended").sort((one, two) => two.final - one.final);

function path(node) {
  return node ? [...path(node.parent), node] : [];
}

function shorten(pen, token, room) {
  if (pen.measureText(token).width <= room) return token;
  const letters = [...new Intl.Segmenter().segment(token)].map(({ segment }) => segment);
  while (letters.length > 1 && pen.measureText(letters.join("") + "…").width > room) letters.pop();
  return letters.join("") + "…";
}

const heightOf = (shown) => TOP + (1 + Math.max(...shown.map((node) => node.rank))) * (HEIGHT + 8) + 4;

function drawTree() {
  const svg = drawing("svg", { width: nodes.length * (WIDTH + GAP), height: heightOf(nodes.flat()) });
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "14px system-ui, 'Noto Sans', sans-serif";
  const corner = (node) => [2 + node.step * (WIDTH + GAP), TOP + node.rank * (HEIGHT + 8)];
  for (const node of nodes.flat().filter((node) => node.parent)) {
    const [x, y] = corner(node);
    const [fromX, fromY] = corner(node.parent);
    const [start, end] = [`${fromX + WIDTH},${fromY + HEIGHT / 2}`, `${x},${y + HEIGHT / 2}`];
    const bend = `${fromX + WIDTH + GAP / 2},${fromY + HEIGHT / 2} ${x - GAP / 2},${y + HEIGHT / 2}`;
    node.edge = drawing("path", { class: `${node.fate} ${node.winner ? "winner" : ""}`, d: `M${start} C${bend} ${end}` });
    svg.append(node.edge);
  }
  nodes.forEach((step, index) => index && svg.append(drawing("text", { class: "step", x: 4 + index * (WIDTH + GAP), y: 12 }, `step ${index}`)));
  const all = nodes.flat();
  for (const node of all) {
    const [x, y] = corner(node);
    node.box = drawing("g", { class: `${node.fate} ${node.winner ? "winner" : ""}`, role: "treeitem", "aria-label": describe(node) });
    node.box.append(
      drawing("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
      drawing("text", { x: x + WIDTH / 2, y: y + 18, "text-anchor": "middle" }, shorten(pen, node.token, WIDTH - 12)),
      drawing("text", { class: "sum", x: x + WIDTH / 2, y: y + 33, "text-anchor": "middle" }, node.score.toFixed(2)));
    svg.append(node.box);
  }
  byId("tree").replaceChildren(svg);
  const visible = (node) => node && !(byId("dropped").checked === false && node.fate === "dropped");
  const move = (key, index) => {
    const node = all[index];
    const step = nodes[node.step].filter(visible);
    const next = {
      ArrowLeft: node.parent, ArrowRight: node.children.find((child) => child.winner) ?? node.children.find(visible),
      ArrowUp: step[step.indexOf(node) - 1], ArrowDown: step[step.indexOf(node) + 1],
    };
    return visible(next[key]) ? all.indexOf(next[key]) : key in next ? index : undefined;
  };
  choosable(all.map((node) => node.box), (index) => light(all[index]), { move });
}

function describe(node) {
  if (!node.parent) return "beginning of sentence";
  const final = node.final === null ? "" : `, final score ${node.final.toFixed(3)}`;
  return `${node.token}, ${percent(node.probability)}, ${node.fate}${final}`;
}

function light(node) {
  const way = path(node);
  nodes.flat().forEach((each) => {
    each.box.classList.toggle("lit", way.includes(each));
    if (each.edge) each.edge.classList.toggle("lit", way.includes(each));
  });
  tell(node);
}

// A candidate in words.
function tell(node) {
  if (!node.parent) return byId("candidate").replaceChildren("The beginning: nothing has been said yet.");
  const sum = `sum of log-probabilities ${node.score.toFixed(3)}`;
  const fate = {
    kept: "kept: the next step continues it", ended: `ended here: final score ${node.final?.toFixed(3)}, the sum over the length penalty`,
    dropped: node.step === nodes.length - 1 ? "dropped: the search was over" : "dropped: others were better",
  }[node.fate];
  byId("candidate").replaceChildren(
    element("b", { lang: targetLanguage, dir: "auto" }, node.text || "nothing"), ` – step ${node.step}, “${node.token}” with ${percent(node.probability)}; ${sum}; ${fate}.`);
}

function listHypotheses() {
  const head = ["Text", "Tokens", "Sum of log-probabilities", "Final score"].map((name) => element("th", { scope: "col" }, name));
  const rows = ended().map((node, index) => element("tr", index ? {} : { class: "winner" },
    element("td", { lang: targetLanguage, dir: "auto" }, node.text || "nothing"),
    ...[String(node.step), node.score.toFixed(3), node.final.toFixed(3)].map((value) => element("td", {}, value))));
  byId("hypotheses").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

byId("dropped").addEventListener("change", (event) => {
  byId("tree").classList.toggle("only", !event.target.checked);
  const shown = nodes.flat().filter((node) => event.target.checked || node.fate !== "dropped");
  document.querySelector("#tree svg").setAttribute("height", heightOf(shown));
});
drawSaid();
if (data.steps.length) {
  plant();
  drawTree();
  listHypotheses();
  tell(ended()[0]);
} else {
  byId("search").replaceChildren(element("p", { class: "hint" }, "This translation was sampled: there was no beam search."));
}
applyTheme();
