"""The languages that py3langid knows: they show that a text is in none of the languages of a few bundles."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection
from functools import cache

import langcodes
from langcodes.tag_parser import LanguageTagError
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from dragoman.errors import UserError

MIN_WORDS = 4  # of shorter texts in German and English, up to 5 % look like another language
MAX_PROBABILITY = 0.02  # of lines of ten corpora in German, English and Hindi, at most 0.7 % are below

RIGHT_TO_LEFT_SCRIPTS = frozenset(("Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Syrc", "Thaa"))


@cache
def primary_language(language: str) -> str:
    """The code of a language without its region or script, two letters if it has them: "de" for "de-AT" and "deu".

    The most usual member of a group of languages has the code of the group: "zh" for "cmn".
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    if len(code) != 3:
        return code
    try:
        short = langcodes.get(langcodes.standardize_tag(code, macro=True)).language or ""
    except LanguageTagError:
        return code
    return short if len(short) == 2 else code


def is_right_to_left(language: str) -> bool:
    """Whether most texts in a language are written from right to left, or in the script that its code has."""
    try:
        return langcodes.get(language).maximize().script in RIGHT_TO_LEFT_SCRIPTS
    except LanguageTagError:
        return False


def is_foreign(text: str, language: str, others: Collection[str]) -> bool:
    """Whether a text is probably neither in a language nor in some others.

    False if py3langid does not know the language, which it would take for a similar one.

    Args:
        text: A text of at least `MIN_WORDS` words.
        language: Code of the likeliest language, such as "pt" or "pt-BR".
        others: Codes of the others.
    """
    identifier = load_identifier()
    known = {primary_language(code) for code in (language, *others)}
    if primary_language(language) not in map(primary_language, identifier.labels):
        return False
    probability = math.fsum(share for code, share in identifier.rank(text) if primary_language(code) in known)
    return probability < MAX_PROBABILITY


@cache
def load_identifier() -> LanguageIdentifier:
    """What knows the languages; the first call takes half a second and 100 MB.

    Raises:
        UserError: The temporary directory is full or cannot be written to.
    """
    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # py3langid decompresses its model there; without a name, it seems to be standard output
        raise UserError(f"the temporary directory {tempfile.gettempdir()}: {error.strerror}") from error
