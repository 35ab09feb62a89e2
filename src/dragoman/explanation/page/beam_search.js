"use strict";
// The tree of candidates of the beam search, and the hypotheses that ended.

const WIDTH = 104, HEIGHT = 40, GAP = 34, TOP = 20, SPACING = HEIGHT + 8; // of the boxes, in pixels
let steps = []; // the nodes of each step, the root first
const ended = () => steps.flat().filter((node) => node.status === "ended").sort((one, two) => two.final - one.final);
const pathTo = (node) => (node ? [...pathTo(node.parent), node] : []);

// Link each candidate to its parent and its children, and mark the path to the translation.
function buildTree() {
  steps = [[{ token: data.bos, status: "kept", score: 0, children: [], step: 0, rank: 0 }]];
  data.steps.forEach((candidates, index) => steps.push(candidates.map((candidate, rank) => {
    const parent = steps[index][candidate.parent];
    const node = { ...candidate, parent, children: [], step: index + 1, rank };
    parent.children.push(node);
    return node;
  })));
  pathTo(ended()[0]).forEach((node) => { node.isWinner = true; });
}

// ---- drawing

const cornerOf = (node) => [2 + node.step * (WIDTH + GAP), TOP + node.rank * SPACING];
const heightOf = (nodes) => TOP + (1 + Math.max(...nodes.map((node) => node.rank))) * SPACING + 4;
const classOf = (node) => `${node.status} ${node.isWinner ? "winner" : ""}`;

function edgeOf(node) {
  const [x, y] = cornerOf(node);
  const [parentX, parentY] = cornerOf(node.parent);
  const [startX, startY, endY] = [parentX + WIDTH, parentY + HEIGHT / 2, y + HEIGHT / 2];
  const curve = `${startX + GAP / 2},${startY} ${x - GAP / 2},${endY}`;
  return svgElement("path", { class: classOf(node), d: `M${startX},${startY} C${curve} ${x},${endY}` });
}

function boxOf(node, pen) {
  const [x, y] = cornerOf(node);
  const middle = { x: x + WIDTH / 2, "text-anchor": "middle" };
  const box = svgElement("g", { class: classOf(node), role: "treeitem", "aria-description": describe(node) });
  box.append(
    svgElement("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }),
    svgElement("text", { ...middle, y: y + 18 }, shorten(pen, node.token, WIDTH - 12)),
    svgElement("text", { ...middle, class: "sum", y: y + 33 }, node.score.toFixed(2)));
  return box;
}

function drawTree() {
  const nodes = steps.flat();
  const svg = svgElement("svg", { width: steps.length * (WIDTH + GAP), height: heightOf(nodes) });
  const pen = penFor(14);
  for (const node of nodes) {
    if (node.parent) node.edge = edgeOf(node);
    node.box = boxOf(node, pen);
  }
  const titles = steps.slice(1).map((_, index) =>
    svgElement("text", { class: "step", x: 4 + (index + 1) * (WIDTH + GAP), y: 12 }, `step ${index + 1}`));
  svg.append(...nodes.filter((node) => node.edge).map((node) => node.edge), ...titles, ...nodes.map((node) => node.box));
  byId("tree").replaceChildren(svg);
  makeSelectable(nodes.map((node) => node.box), (index) => selectNode(nodes[index]), { move: moveInTree(nodes) });
}

const isShown = (node) => node && (byId("dropped").checked || node.status !== "dropped");

// Left and right follow parents and children, up and down the candidates of a step.
function moveInTree(nodes) {
  return (key, index) => {
    const node = nodes[index];
    const step = steps[node.step].filter(isShown);
    const place = step.indexOf(node);
    const targets = {
      ArrowLeft: node.parent, ArrowRight: node.children.find((child) => child.isWinner) ?? node.children.find(isShown),
      ArrowUp: step[place - 1], ArrowDown: step[place + 1],
    };
    return isShown(targets[key]) ? nodes.indexOf(targets[key]) : key in targets ? index : undefined;
  };
}

// ---- the selected candidate, in words

function describe(node) {
  if (!node.parent) return "beginning of sentence";
  const final = node.final === null ? "" : `, final score ${node.final.toFixed(3)}`;
  return `${formatPercent(node.probability)}, ${node.status}${final}`;
}

function selectNode(node) {
  const path = pathTo(node);
  steps.flat().forEach((each) => {
    each.box.classList.toggle("on-path", path.includes(each));
    each.edge?.classList.toggle("on-path", path.includes(each));
  });
  describeBelow(node);
}

function describeBelow(node) {
  if (!node.parent) return byId("candidate").replaceChildren("Beginning of sentence: no token has been generated yet.");
  const reason = {
    kept: "kept: the next step continues it",
    ended: `ended: final score ${node.final?.toFixed(3)}, the sum divided by the length penalty`,
    dropped: node.step === steps.length - 1 ? "dropped: the search was complete" : "dropped: other candidates scored higher",
  }[node.status];
  const sum = `sum of log-probabilities ${node.score.toFixed(3)}`;
  byId("candidate").replaceChildren(
    htmlElement("b", { lang: targetLanguage, dir: "auto" }, node.text || "(empty)"),
    ` – step ${node.step}, “${node.token}” with probability ${formatPercent(node.probability)}; ${sum}; ${reason}.`);
}

// ---- hypotheses

function listHypotheses() {
  const head = ["Text", "Tokens", "Sum of log-probabilities", "Final score"].map((name) => htmlElement("th", { scope: "col" }, name));
  const rows = ended().map((node, index) => htmlElement("tr", index ? {} : { class: "winner" },
    htmlElement("td", { lang: targetLanguage, dir: "auto" }, node.text || "(empty)"),
    ...[String(node.step), node.score.toFixed(3), node.final.toFixed(3)].map((value) => htmlElement("td", {}, value))));
  byId("hypotheses").replaceChildren(
    htmlElement("thead", {}, htmlElement("tr", {}, ...head)), htmlElement("tbody", {}, ...rows));
}

function drawBeamSearch() {
  const isBeamSearch = data.steps.length > 0;
  byId("search-details").hidden = !isBeamSearch;
  byId("sampled").hidden = isBeamSearch;
  if (!isBeamSearch) return byId("tree").replaceChildren();
  buildTree();
  drawTree();
  listHypotheses();
  describeBelow(ended()[0]);
  hideDropped();
}

function hideDropped() {
  byId("tree").classList.toggle("without-dropped", !byId("dropped").checked);
  document.querySelector("#tree svg").setAttribute("height", heightOf(steps.flat().filter(isShown)));
}

byId("dropped").addEventListener("change", hideDropped);
