"""The settings of a recipe, each declared once with its default, its bounds and its description.

A recipe is a TOML file with the sections of `Recipe`. Unknown keys, wrong types and values out of
bounds are rejected, and all of them are reported together. A condition on several keys is a `Rule` in the `rules` of
its section, or a function that does the same.

The sections are `data`, `text`, `model`, `training`, `synthesis` and `decoding`, and `recipe` contains all of them;
`serving` are the settings of the server. `base` is the class of all sections, and `recipe_errors` describes problems.
"""

from dragoman.settings.base import Settings
from dragoman.settings.data import CorpusFile, CorpusReference, Data, FilePair, WeightedCorpus
from dragoman.settings.decoding import Decoding
from dragoman.settings.model import Model
from dragoman.settings.recipe import Recipe
from dragoman.settings.synthesis import Backtranslation, Distillation, Diversification, Teachers
from dragoman.settings.text import Specials, Text
from dragoman.settings.training import Augmentation, Training

__all__ = [
    "Augmentation",
    "Backtranslation",
    "CorpusFile",
    "CorpusReference",
    "Data",
    "Decoding",
    "Distillation",
    "Diversification",
    "FilePair",
    "Model",
    "Recipe",
    "Settings",
    "Specials",
    "Teachers",
    "Text",
    "Training",
    "WeightedCorpus",
]
