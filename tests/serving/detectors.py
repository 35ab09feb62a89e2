"""A detector of German and English."""

from __future__ import annotations

from functools import cache

from dragoman.corpus.synthetic.captions import captions
from dragoman.languages.identify import LanguageProfile, count_ngrams
from dragoman.serving.detection import LanguageDetector


@cache
def german_or_english() -> LanguageDetector:
    """A detector that knows the words of the captions."""
    german, english = zip(*captions("train")[:2000], strict=True)
    return LanguageDetector(LanguageProfile({"de": count_ngrams(german), "en": count_ngrams(english)}))
