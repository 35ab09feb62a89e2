"""From `step(tokens, cache) -> logits` to hypotheses.

- `decode`: chooses the search by the settings; one sentence or sampling, and minimum Bayes risk
- `beam`: beam search of many sentences at once
- `logits_processors`: forbidden, required and repeated tokens, limits of the length
- `hypothesis`: what a search finds, and a record of what it considered; `description`: a search in words, for
  every setting; an engine refuses a setting that it does not follow
- `log_probabilities`: the numbers that both searches add up
"""
