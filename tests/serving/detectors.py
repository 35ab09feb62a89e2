"""A detector of German and English."""

from __future__ import annotations

from functools import cache

from dragoman.corpus.synthetic.captions import captions
from dragoman.serving.detection import LanguageDetector
from dragoman.text.language_profile import NgramClassifier, count_ngrams


@cache
def german_or_english() -> LanguageDetector:
    """A detector that knows the words of the captions."""
    german, english = zip(*captions("train")[:2000], strict=True)
    return LanguageDetector(NgramClassifier({"de": count_ngrams(german), "en": count_ngrams(english)}))
