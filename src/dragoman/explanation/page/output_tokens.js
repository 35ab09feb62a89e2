"use strict";
// The tokens of the translation with their probabilities, and the alternatives of the selected one.

const formatSmallPercent = (probability) => (probability < 0.0001 ? "< 0.01 %" : formatPercent(probability));
const probabilityBar = (probability) =>
  htmlElement("span", { class: "bar" }, htmlElement("span", { style: `width: ${100 * probability}%` }));

function drawOutputTokens() {
  const chips = data.output.map(({ token, probability }) =>
    htmlElement("span", { class: "chip", role: "option", title: formatPercent(probability) }, token, probabilityBar(probability)));
  byId("output").replaceChildren(...chips);
  const select = (index) => {
    markSelected(chips, index);
    listAlternatives(data.output[index]);
  };
  makeSelectable(chips, select);
  select(0);
}

function listAlternatives({ token, alternatives }) {
  const rows = alternatives.map(([alternative, probability]) =>
    htmlElement("div", { class: alternative === token ? "row chosen" : "row" },
      htmlElement("b", { lang: targetLanguage, dir: "auto" }, alternative),
      probabilityBar(probability),
      htmlElement("span", { class: "number" }, formatSmallPercent(probability))));
  byId("alternatives").replaceChildren(...rows);
}
