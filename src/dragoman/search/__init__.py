"""Search: from step(tokens, cache) -> logits to hypotheses."""
