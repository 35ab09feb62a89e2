"""The codes of the languages of NLLB-200 and M2M100 models, and their scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

import regex

from dragoman.languages.codes import primary_language

_NLLB_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # such as hin_Deva: ISO 639-3 and ISO 15924

_USUAL_CODES = {"fuv": "ff", "pbt": "ps", "prs": "prs", "quy": "qu", "tgl": "tl", "twi": "tw"}
"""Of languages for which `primary_language` has another code than M2M100, or that of another language of NLLB-200."""

_SEVERAL_SCRIPTS = {"Jpan": ("Hira", "Kana", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}


def nllb_languages(tokens: Iterable[str]) -> dict[str, str]:
    """The tokens of languages among all tokens, by the usual code: ``hi`` for ``hin_Deva``.

    If a language has several scripts, they are part of the code: ``zh-Hans`` and ``zh-Hant``.
    """
    found = [token for token in tokens if _NLLB_CODE.fullmatch(token)]
    codes = {token: _USUAL_CODES.get(token[:3], primary_language(token[:3])) for token in found}
    scripts = Counter(codes.values())
    return {code if scripts[code] == 1 else f"{code}-{token[4:]}": token for token, code in codes.items()}


def m2m100_languages(family: str) -> dict[str, str]:
    """The tokens of the languages of M2M100 models, by code, in the order of their ids.

    Args:
        family: ``language_codes`` in tokenizer_config.json, 'm2m100' or 'wmt21'.
    """
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    return {code: f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES[family]}


def script_of(code: str, token: str) -> str:
    """The script of a language: that in NLLB-200's token, or in its token for an M2M100 language, otherwise Latin."""
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    if _NLLB_CODE.fullmatch(token):
        return token[4:]
    scripts = {name.partition("-")[0]: each[4:] for name, each in nllb_languages(FAIRSEQ_LANGUAGE_CODES).items()}
    return scripts.get(code, "Latn")


def tokens_in_scripts(tokens: Iterable[str], scripts: Collection[str]) -> list[str]:
    """The tokens without letters of other scripts than these (ISO 15924); digits and punctuation have no script."""
    names = {name for script in scripts for name in _SEVERAL_SCRIPTS.get(script, (script,))}
    allowed = "".join(rf"\p{{Script={name}}}" for name in ("Common", "Inherited", *sorted(names)))
    pattern = regex.compile(f"[{allowed}]*")
    return [token for token in tokens if pattern.fullmatch(token)]
