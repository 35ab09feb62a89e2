"use strict";
// The logit lens: what each decoder layer would predict in place of each token of the translation.

function drawLens() {
  const { lens } = data;
  byId("lens").hidden = !lens;
  if (!lens) return;
  const { targets, layers, probabilities } = lens;
  const cells = [];
  const rows = layers.map((predictions, layer) => {
    const row = predictions.map((best, position) => {
      const cell = htmlElement("td", { role: "gridcell", "aria-label": describePrediction(layer, position) }, best[0][0]);
      cell.classList.toggle("right", best[0][0] === targets[position]);
      shade(cell, best[0][1]);
      cells.push(cell);
      return cell;
    });
    return htmlElement("tr", { role: "row" }, htmlElement("th", { scope: "row", role: "rowheader" }, layerName(layer)), ...row);
  });
  const head = targets.map((token) => htmlElement("th", { scope: "col", role: "columnheader", lang: targetLanguage }, token));
  byId("lens-table").replaceChildren(
    htmlElement("thead", { role: "rowgroup" }, htmlElement("tr", { role: "row" }, htmlElement("td", { role: "gridcell" }), ...head)),
    htmlElement("tbody", { role: "rowgroup", lang: targetLanguage }, ...rows.reverse()));
  const select = (index) => {
    cells.forEach((cell, place) => cell.classList.toggle("selected", place === index));
    byId("lens-summary").textContent = describePrediction(Math.floor(index / targets.length), index % targets.length);
  };
  const move = (key, index, count) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: targets.length, ArrowDown: -targets.length };
    const next = index + moves[key];
    return key in moves ? (next >= 0 && next < count ? next : index) : undefined;
  };
  makeSelectable(cells, select, { move });
  select(0);

  // A layer that is switched off predicts what the layer before it predicts.
  function layerName(layer) {
    return `Layer ${layer + 1}${isOff("cross", layer) ? " (switched off)" : ""}`;
  }

  function describePrediction(layer, position) {
    const best = layers[layer][position].map(([token, probability]) => `${token} ${formatSmallPercent(probability)}`).join(", ");
    const own = formatSmallPercent(probabilities[layer][position]);
    return `${layerName(layer)} would predict ${best}; the translation has ${targets[position]} here, with ${own}.`;
  }
}

redraws.push(drawLens);
