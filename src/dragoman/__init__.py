"""dragoman trains a Transformer translator from parallel text, shows why it says what it says, and serves it."""

from __future__ import annotations

__version__ = "0.1.0"
