"""dragoman trains a Transformer translator from parallel text, explains its output, and translates with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.system.version import __version__ as __version__

if TYPE_CHECKING:
    from dragoman.corpus.memory import TranslationMemory as TranslationMemory
    from dragoman.documents.translate import TextTranslator as TextTranslator
    from dragoman.text.glossary import Glossary as Glossary
    from dragoman.text.translation import Translation as Translation
    from dragoman.translator import Translator as Translator
    from dragoman.translator import load as load

_LAZY = {
    "Glossary": "dragoman.text.glossary",
    "TextTranslator": "dragoman.documents.translate",
    "Translation": "dragoman.text.translation",
    "TranslationMemory": "dragoman.corpus.memory",
    "Translator": "dragoman.translator",
    "load": "dragoman.translator",
}


def __getattr__(name: str) -> Any:
    """Import modules that need torch on first access."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'dragoman' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names, including those that are not imported yet."""
    return sorted([*globals(), *_LAZY])
