"""What is known about languages: their usual script and some of their stopwords."""

from __future__ import annotations

from collections.abc import Mapping

# Frequent short words that are rare in the other languages listed here.
_STOPWORDS = {
    "cs": "je se že jsem jsou který byl jako aby nebo",
    "da": "og er ikke jeg det til som af har på",
    "de": "der die das und ist nicht ein eine mit auf",
    "en": "the of and is to that with are you was",
    "es": "el los las y que una por con para está",
    "fi": "ja on ei se että hän oli mutta minä kun",
    "fr": "le les des et est une dans que qui pour",
    "hu": "a az és nem hogy egy van volt ez meg",
    "it": "il di che è una per sono della gli nel",
    "nl": "de het een en van is niet zijn op dat",
    "pl": "w i się na nie jest że to jak ale",
    "pt": "o os que uma não com para em é do",
    "ro": "și este un o la nu că din pe care",
    "sv": "och är inte jag det som en att på har",
    "tr": "bir ve bu da ne için çok değil var ben",
}
_SCRIPTS = {
    **dict.fromkeys(_STOPWORDS, "Latin"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "sr"), "Cyrillic"),
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    **dict.fromkeys(("ar", "fa", "ur"), "Arabic"),
    **dict.fromkeys(("zh", "ja"), "Han or Kana"),
    **{"el": "Greek", "he": "Hebrew", "ko": "Hangul", "bn": "Bengali", "as": "Bengali", "gu": "Gujarati"},
    **{"pa": "Gurmukhi", "ta": "Tamil", "te": "Telugu", "kn": "Kannada", "ml": "Malayalam", "si": "Sinhala"},
    **{"th": "Thai", "ka": "Georgian", "hy": "Armenian", "am": "Ethiopic", "km": "Khmer", "my": "Myanmar"},
}


def usual_script(language: str) -> str | None:
    """The name of the script in which a language is usually written, or None if it is not known."""
    return _SCRIPTS.get(language)


def most_likely_language(word_counts: Mapping[str, int]) -> str:
    """The language most of whose stopwords occur among some words."""
    return max(_STOPWORDS, key=lambda language: stopwords_used(word_counts, language) or 0)


def stopwords_used(word_counts: Mapping[str, int], language: str) -> int | None:
    """How many different stopwords of a language occur, or None if its stopwords are not known.

    Different stopwords are better evidence than their share: "a" is frequent in English and in Hungarian. A stopword
    counts if it is at least every 500th word.
    """
    if language not in _STOPWORDS:
        return None
    total = sum(word_counts.values())
    return sum(word_counts.get(word, 0) * 500 >= max(1, total) for word in _STOPWORDS[language].split())


def stopword_share(word_counts: Mapping[str, int], language: str) -> float | None:
    """The fraction of words that are stopwords of a language, or None if its stopwords are not known."""
    if language not in _STOPWORDS:
        return None
    stopwords = sum(word_counts.get(word, 0) for word in _STOPWORDS[language].split())
    return stopwords / max(1, sum(word_counts.values()))
