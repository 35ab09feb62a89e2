"""Explanations of translations: attention, alternatives, the beam search, and pages that show them."""
