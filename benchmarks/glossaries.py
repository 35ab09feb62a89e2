"""Measure how often translations use given terms, what this costs, and whether it makes the translations better.

python benchmarks/glossaries.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr
python benchmarks/glossaries.py runs/en-de --corpus libreoffice-de-en:test wmt-news-de-en:test \
    --lexicon libreoffice-de-en:train wmt-news-de-en:train

Without --lexicon, the terms are German words with several English translations (`TERMS`), and each sentence gets the
translation that its reference contains. With it, they are words and the lemmas of their translations in the reference,
found with a lexicon that is learned from this text: one to three of each sentence. Sentences without a term are left
out. Random terms are those of other sentences as translations of the words of a sentence. Times are the shortest of
several repetitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random

import sacrebleu

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Languages, Pair
from dragoman.dataset.augmentation import TermAligner
from dragoman.documents.segment import Segment
from dragoman.lexicon.lemma_pairs import learn_lexicon
from dragoman.text.glossary import Glossary, Term, term_words
from dragoman.text.lemmas import lemmatizer
from dragoman.text.term_matcher import TermMatcher, contains_term
from dragoman.text.translation import Translation

TERMS = {
    **{"Fahrrad": "bike bicycle", "Straße": "street road", "Junge": "boy kid child", "Kind": "child kid toddler baby"},
    **{"Frau": "woman lady girl female", "Jacke": "jacket coat", "Gruppe": "group bunch", "Mann": "man guy male"},
    **{"Leute": "people", "Hemd": "shirt", "Mädchen": "girl", "Menge": "crowd", "Laden": "store shop"},
    **{"Gehweg": "sidewalk", "Bürgersteig": "sidewalk", "Weg": "path trail road", "Felsen": "rock rocks cliff"},
    **{"Personen": "people persons", "Menschen": "people"},
}
TermsOf = Callable[[Pair], list[Term]]


def listed_terms(pair: Pair) -> list[Term]:
    """The terms of `TERMS` in a pair, with the translations that its target contains."""
    possible = [Term(source, target) for source, targets in TERMS.items() for target in targets.split()]
    right = {term.source: term for term in reversed(possible) if contains_term(pair.target, term.target)}
    return [found.term for found in Glossary(right.values()).find(pair.source)]


def aligned_terms(corpora: Sequence[str], languages: Languages) -> TermsOf:
    """What chooses terms of a pair by a lexicon that is learned from corpora."""
    aligner = TermAligner(
        learn_lexicon(chain.from_iterable(read(name, languages) for name in corpora), languages), languages
    )

    def choose(pair: Pair) -> list[Term]:
        found = aligner.choose(pair.source, pair.target, Random(pair.source))
        return [Term(pair.source[start:end], lemma) for start, end, lemma in found]

    return choose


def read(name: str, languages: Languages) -> Iterator[Pair]:
    """The pairs of a corpus."""
    return iter(read_corpus(name, source_language=languages[0], target_language=languages[1]))


def random_terms(terms: Sequence[Sequence[Term]]) -> list[list[Term]]:
    """The sources of the terms of each sentence, with the targets of others."""
    targets = [term.target for each in terms for term in each]
    Random(0).shuffle(targets)
    remaining = iter(targets)
    return [[Term(term.source, next(remaining)) for term in each] for each in terms]


def forms_of(term: Term, reference: str, language: str) -> set[str]:
    """The forms in which a reference uses a term."""
    lemmatize, words = lemmatizer(language), term_words(reference)
    lemmas = [lemmatize(term.target[start:end]).lower() for start, end in term_words(term.target)]
    texts = [reference[words[at][0] : words[at + len(lemmas) - 1][1]] for at in range(len(words) - len(lemmas) + 1)]
    return {text for text in texts if [lemmatize(text[a:b]).lower() for a, b in term_words(text)] == lemmas}


class Benchmark:
    """Translates sentences with several glossaries.

    Args:
        texts: The translator.
        pairs: The sentences with their references.
        terms: The right terms of each.
        repetitions: How often times are measured.
    """

    def __init__(
        self, texts: dragoman.TextTranslator, pairs: Sequence[Pair], terms: Sequence[list[Term]], repetitions: int
    ) -> None:
        self.texts, self.pairs, self.terms, self.repetitions = texts, pairs, terms, repetitions
        data = texts.translator.bundle.recipe.data
        self.matcher = TermMatcher.of(data.source_language, data.target_language)
        self.language = data.target_language

    def translate(self, terms: Sequence[list[Term]] | None) -> tuple[float, list[Translation]]:
        """The shortest time in seconds, and the translations."""
        glossaries = [None] * len(self.pairs) if terms is None else [Glossary(each) for each in terms]
        segments = [Segment(pair.source, glossary=each) for pair, each in zip(self.pairs, glossaries, strict=True)]
        times = []
        for _ in range(self.repetitions):
            begin = time.perf_counter()
            translated = self.texts.translate_segments(segments)
            times.append(time.perf_counter() - begin)
        return min(times), translated

    def report(self, name: str, terms: Sequence[list[Term]] | None) -> None:
        """Print how many terms are used, BLEU and the time."""
        seconds, found = self.translate(terms)
        uses = [
            use
            for pair, each, out in zip(self.pairs, terms or self.terms, found, strict=True)
            for use in self._uses(pair, each, out.text)
        ]
        bleu = sacrebleu.corpus_bleu([each.text for each in found], [[pair.target for pair in self.pairs]])
        exactly, used, as_reference = (sum(each) / len(uses) for each in zip(*uses, strict=True))
        print(
            f"{name:<16} used {used:6.1%}, as spelled {exactly:6.1%}, as in the reference {as_reference:6.1%}, "
            f"BLEU {bleu.score:5.2f}, {seconds:6.2f} s"
        )

    def lacking(self) -> Benchmark:
        """The sentences whose translation lacks a term if there is no glossary."""
        rows = zip(self.pairs, self.terms, self.translate(None)[1], strict=True)
        chosen = [(pair, own) for pair, own, out in rows if not all(use[1] for use in self._uses(pair, own, out.text))]
        return Benchmark(self.texts, [pair for pair, _ in chosen], [own for _, own in chosen], self.repetitions)

    def _uses(self, pair: Pair, terms: list[Term], translation: str) -> Iterator[tuple[bool, bool, bool]]:
        """Of each term: whether it is used as it is spelled, in any form, and in the form of the reference."""
        for term in terms:
            (checked,) = self.matcher.check(term.source, Glossary([term]), translation)
            forms = forms_of(term, pair.target, self.language)
            as_reference = any(contains_term(translation, form) for form in forms)
            yield checked.used == "exactly", checked.used != "not", as_reference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="or a run directory; from German to English without --lexicon")
    parser.add_argument("--corpus", required=True, nargs="+", help="pairs to translate, as recipes name them")
    parser.add_argument("--lexicon", nargs="+", help="pairs from which a lexicon is learned that finds terms")
    parser.add_argument("--sentences", type=int, default=300, help="of each corpus, evenly spaced")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--max-term-cost", type=float, help="decoding.max_term_cost (default: that of the bundle)")
    arguments = parser.parse_args()
    changes = {} if arguments.max_term_cost is None else {"max_term_cost": arguments.max_term_cost}
    texts = dragoman.TextTranslator(dragoman.load(arguments.bundle, changes, "cpu", arguments.engine))
    data = texts.translator.bundle.recipe.data
    languages = data.source_language, data.target_language
    terms_of = aligned_terms(arguments.lexicon, languages) if arguments.lexicon else listed_terms
    for name in arguments.corpus:
        possible = [(pair, own) for pair in read(name, languages) if (own := unambiguous(terms_of(pair)))]
        chosen = possible[:: max(1, len(possible) // arguments.sentences)][: arguments.sentences]
        terms = [own for _, own in chosen]
        kind = "marked terms" if texts.follows_glossaries else "terms not marked"
        print(f"{name}: {len(chosen)} sentences with {sum(map(len, terms))} terms; {kind}")
        benchmark = Benchmark(texts, [pair for pair, _ in chosen], terms, arguments.repetitions)
        benchmark.translate(None)
        benchmark.report("without", None)
        benchmark.report("right terms", terms)
        benchmark.report("random terms", random_terms(terms))
        lacking = benchmark.lacking()
        print(f"the {len(lacking.pairs)} sentences that lack a term without the glossary:")
        lacking.report("without", None)
        lacking.report("right terms", lacking.terms)


def unambiguous(terms: Sequence[Term]) -> list[Term]:
    """The terms whose source occurs once."""
    sources = [term.source.lower() for term in terms]
    return [term for term in dict.fromkeys(terms) if sources.count(term.source.lower()) == 1]


if __name__ == "__main__":
    main()
