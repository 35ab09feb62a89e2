"""What is learned from parallel text before there is a model.

- `word_probabilities`: how probable it is that two words translate each other;
- `dictionary` and `lemma_pairs`: the words, and the lemmas, of which this is certain enough;
- `cooccurrence`: vectors of tokens from the pairs, and the neighbors, with which they occur;
- `match_index`, `fuzzy_matches`, `match_context`: finding similar sentences, and giving their translations to a model.
"""
