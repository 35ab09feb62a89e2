"use strict";
// Shows an explanation in all sections.

function show(index) {
  data = page.explanations[index];
  [sourceLanguage, targetLanguage] = data.languages;
  byId("search-settings").textContent = `${data.name}, ${sourceLanguage} → ${targetLanguage}; ${data.search}`;
  Object.assign(byId("source"), { lang: sourceLanguage, textContent: data.text });
  Object.assign(byId("translation"), { lang: targetLanguage, textContent: data.translation });
  byId("truncated").hidden = !data.truncated;
  for (const id of ["output", "alternatives"]) byId(id).lang = targetLanguage;
  byId("explanation").hidden = false;
  drawOutputTokens();
  drawBeamSearch();
  redraws.forEach((redraw) => redraw());
}

applyTheme();
if (page.explanations.length) show(0);
