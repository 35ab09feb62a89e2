"use strict";
// Two models side by side: their translations and maps. The other sections show one of them.

function drawComparison() {
  const explanations = page.explanations;
  byId("comparison").hidden = explanations.length < 2;
  if (explanations.length < 2) return;
  const choices = explanations.map((explanation, index) => {
    const radio = htmlElement("input", { type: "radio", name: "model", value: index });
    radio.checked = explanation === data;
    radio.addEventListener("change", () => show(index));
    return htmlElement("label", {}, radio, htmlElement("span", {}, explanation.name));
  });
  byId("models").replaceChildren(htmlElement("legend", {}, "Details of"), ...choices);
  const sides = explanations.map(() => htmlElement("div", { class: "side" }));
  byId("sides").replaceChildren(...sides);
  explanations.forEach((explanation, index) => fillSide(sides[index], explanation));
}

function fillSide(side, { name, languages, translation, output, influence }) {
  const chips = output.map(({ token, probability }) =>
    htmlElement("span", { class: "chip", title: formatPercent(probability) }, token, probabilityBar(probability)));
  side.append(
    htmlElement("h3", {}, name),
    htmlElement("p", { class: "translation", lang: languages[1], dir: "auto" }, translation || "(empty)"),
    htmlElement("div", { class: "chips", lang: languages[1], dir: "auto" }, ...chips));
  if (!influence) return;
  const maps = ["Without a source word", "Attention, mean of all layers and heads"].map((title) => {
    const element = htmlElement("div", { class: "scroll heat-map", tabindex: 0, role: "img", "aria-label": `${name}: ${title}` });
    side.append(htmlElement("h4", {}, title), element);
    return element;
  });
  const drawn = drawWordMaps(influence, maps, (row) => {
    if (row !== null) drawn.forEach(([element, place]) => markInMap(element, place, "query", row));
  });
  drawn.forEach(([element, place]) => markInMap(element, place, "query", 0));
}

redraws.push(drawComparison);
addEventListener("resize", () => data && drawComparison());
