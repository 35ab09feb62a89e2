"use strict";
// Draws the page; runs after all other scripts.

drawOutputTokens();
startAttention();
startBeamSearch();
applyTheme();
