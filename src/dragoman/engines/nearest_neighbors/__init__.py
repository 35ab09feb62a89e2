"""Translation with the nearest neighbors of each context in a corpus (Khandelwal et al. 2021)."""
