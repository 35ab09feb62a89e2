"""Looking into a translator: attention, alternatives, the beam search, and two translators side by side."""
