"use strict";
// Which source words each target word depends on: the probability without each source word, next to attention.

let influenceIndex = 0; // the selected target word

// The share by which the probability falls if its logarithm decreases by some nats; 0 if it rises.
const fallOf = (decrease) => 1 - Math.exp(-Math.max(0, decrease));
const levelsOfRows = (rows, weightOfValue) => rows.flat().map((value) => levelOf(weightOfValue(value)));
const formatNats = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

// Draw influence and attention between the same words in two elements; returns their layouts.
function drawWordMaps(influence, [byRemoval, byAttention], select) {
  const { targets, words, decreases, attention } = influence;
  return [
    [byRemoval, drawHeatMap(byRemoval, targets, words, levelsOfRows(decreases, fallOf), select)],
    [byAttention, drawHeatMap(byAttention, targets, words, levelsOfRows(attention, (weight) => weight), select)],
  ];
}

function drawInfluence() {
  const { influence } = data;
  byId("influence").hidden = !influence && !page.served;
  byId("influence-details").hidden = !influence;
  if (!influence) return;
  const { targets, words, totals } = influence;
  influenceIndex = Math.min(influenceIndex, targets.length - 1);
  document.querySelector("#influence .pair").hidden = page.explanations.length > 1; // they are shown side by side
  const maps = drawWordMaps(influence, [byId("influence-map"), byId("word-attention-map")], (row) => {
    if (row !== null) selectInfluence(row);
  });
  const chipsOf = (tokens, attributes) => tokens.map((token) => htmlElement("span", { class: "chip", ...attributes }, token));
  const targetChips = chipsOf(targets, { role: "option" }), sourceChips = chipsOf(words, {});
  byId("influence-targets").lang = targetLanguage;
  byId("influence-sources").lang = sourceLanguage;
  byId("influence-targets").replaceChildren(...targetChips);
  byId("influence-sources").replaceChildren(...sourceChips);

  function selectInfluence(index) {
    influenceIndex = index;
    markSelected(targetChips, index);
    sourceChips.forEach((chip, place) => shade(chip, fallOf(influence.decreases[index][place])));
    maps.forEach(([element, drawn]) => markInMap(element, drawn, "query", index));
    describeInfluence(influence, index);
  }

  makeSelectable(targetChips, selectInfluence, { first: influenceIndex });
  selectInfluence(influenceIndex);
  byId("influence-total").replaceChildren("The whole translation depends most on ", ...listed(largest(totals), (place) =>
    [bold(words[place]), ` (${formatNats(totals[place])} nats)`]), ".");
}

const bold = (token) => htmlElement("b", { dir: "auto" }, token);
const largest = (values) => values.map((value, place) => [value, place]).sort((one, two) => two[0] - one[0]).slice(0, 3).map(([, place]) => place);
const listed = (places, describe) => places.flatMap((place, index) => [index ? ", " : "", ...describe(place)]);

function describeInfluence({ words, targets, probabilities, decreases }, index) {
  const probability = probabilities[index];
  const changes = listed(largest(decreases[index]), (place) => {
    const without = Math.min(1, probability * Math.exp(-decreases[index][place]));
    return ["without ", bold(words[place]), ` ${formatSmallPercent(without)}`];
  });
  byId("influence-summary").replaceChildren(
    bold(targets[index]), ` has a probability of ${formatSmallPercent(probability)}; `, ...changes, ".");
}

redraws.push(drawInfluence);
addEventListener("resize", () => data && drawInfluence());
