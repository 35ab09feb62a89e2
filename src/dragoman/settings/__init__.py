"""Every setting of a recipe, declared once: its default, its bounds and its help.

A recipe is a TOML file with the sections of `Recipe`. Unknown keys, wrong types and values out of
bounds are refused, all of them together. What must hold between keys is a rule: a function from the settings to a
problem or None, listed in its section's `rules`.
"""

from dragoman.settings.base import Settings
from dragoman.settings.data import CorpusReference, Data, FilePair
from dragoman.settings.decoding import Decoding
from dragoman.settings.model import Model
from dragoman.settings.recipe import Recipe
from dragoman.settings.text import Specials, Text
from dragoman.settings.training import Training

__all__ = [
    "CorpusReference",
    "Data",
    "Decoding",
    "FilePair",
    "Model",
    "Recipe",
    "Settings",
    "Specials",
    "Text",
    "Training",
]
