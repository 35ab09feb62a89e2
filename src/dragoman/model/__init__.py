"""The Transformer: ids in, logits out."""
