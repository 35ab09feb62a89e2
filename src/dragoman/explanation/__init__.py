"""Why a translation was found: attention, alternatives, the beam search, and pages that show them."""
