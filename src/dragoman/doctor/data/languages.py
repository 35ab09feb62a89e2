"""What is known about languages: their usual script and some of their stopwords."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import langcodes
import numpy as np
from langcodes.tag_parser import LanguageTagError
from numpy.typing import NDArray

from dragoman.doctor.data.scripts import SCRIPT_OF_CODE
from dragoman.doctor.data.words import hash_word
from dragoman.text.world_languages import primary_language

# Frequent short words of at least two letters that are rare in most of the other languages listed here.
_STOPWORDS = {
    "cs": "je se že jsem jsou který která které byl byla bylo jako aby nebo ale jeho není také po při před tak "
    "ve na do za pro si to by už ze má jeden dva ho jejich pod nad kde když",
    "da": "og er ikke jeg det til som af har på en et den der de med for han hun at vi blev fra også var kan mig",
    "de": "der die das und ist nicht ein eine mit auf sich den dem zu von im für auch es ich wir sie er aus "
    "einen einer bei",
    "en": "the of and is to that with are you was in on for he she it this his her from by at be have not which",
    "es": "el los las que una por con para está la de en un del se su es lo como más pero al hay sus sobre muy",
    "fi": "ja on ei se että hän oli mutta minä kun ovat niin kuin joka myös mitä tämä olen voi sen hänen ole jos",
    "fr": "le les des et est une dans que qui pour un du la de sur en avec il elle au pas se sont par ne ce cette aux",
    "hu": "az és nem hogy egy van volt ez meg is de csak azt mint már még el ki vagy ha kell lesz",
    "it": "il di che una per sono della gli nel la un in con non del le si alla da più dei delle anche al ha",
    "nl": "de het een en van is niet zijn op dat ik te in met voor die aan er om ook maar hij bij naar wordt uit",
    "pl": "się na nie jest że to jak ale do po przez są od tak jego być dla czy za był przy",
    "pt": "os que uma não com para em do da de um no na as dos por se mais ao foi sua seu como",
    "ro": "și este un la nu că din pe care în de cu se sunt pentru mai au fost lui sau prin al",
    "sv": "och är inte jag det som en att på har av för med den till ett de han hon om var från kan vi sig",
    "tr": "bir ve bu da ne için çok değil var ben de ile gibi daha ama kadar olarak sonra her mi olan",
}
_SEVERAL_SCRIPTS = {"az", "kk", "ks", "ku", "ky", "mn", "ms", "sd", "sr", "tg", "tk", "tt", "ug", "uz"}
"""Languages of which several scripts are usual."""
LANGUAGES_WITH_STOPWORDS = tuple(_STOPWORDS)


def usual_script(language: str) -> str | None:
    """The name of the script in which a language is usually written, or None if it is not known, or several are usual.

    Args:
        language: Its code, perhaps with a script or a region: ``sr-Latn`` is written in Latin script.
    """
    primary = primary_language(language)
    try:
        tag, likely = langcodes.get(language), langcodes.get(primary).maximize()
    except LanguageTagError:
        return None
    is_known = (
        primary == "en" or likely.territory != "US"
    )  # of unknown languages, langcodes says the same as of English
    if not tag.script and (primary in _SEVERAL_SCRIPTS or not is_known):
        return None
    return SCRIPT_OF_CODE.get(tag.maximize().script or "")


def most_likely_language(word_counts: Mapping[str, int]) -> str:
    """The language most of whose stopwords occur among some words."""
    return max(_STOPWORDS, key=lambda language: stopwords_used(word_counts, language) or 0)


def stopwords_used(word_counts: Mapping[str, int], language: str) -> int | None:
    """How many different stopwords of a language occur, or None if its stopwords are not known.

    Different stopwords are better evidence than their share: "a" is frequent in English and in Hungarian. A stopword
    counts if it is at least every 500th word.
    """
    if not stopwords(language):
        return None
    total = sum(word_counts.values())
    return sum(word_counts.get(word, 0) * 500 >= max(1, total) for word in stopwords(language))


def stopwords(language: str) -> list[str]:
    """The stopwords of a language; none if they are not known."""
    return _STOPWORDS.get(primary_language(language), "").split()


@cache
def stopword_hashes(language: str) -> NDArray[np.int64]:
    """The hashes of the stopwords of a language in ascending order; none if they are not known."""
    return np.unique(np.array([hash_word(word) for word in stopwords(language)], np.int64))


def stopword_share(word_counts: NDArray[np.int64], language: str) -> float | None:
    """The fraction of words that are stopwords of a language, or None if its stopwords are not known.

    Args:
        word_counts: How often each word occurs, by its hash, (hashes,).
        language: Code of the language.
    """
    if not stopwords(language):
        return None
    return float(word_counts[stopword_hashes(language)].sum() / max(1, word_counts.sum()))
