"""Measure how often translations use given terms, what this costs, and whether it makes the translations better.

python benchmarks/glossaries.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr

The terms are German words with several English translations (`TERMS`). Each sentence gets the translation that its
reference contains; sentences without one are left out. Times are the shortest of several repetitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.documents.segment import Segment, TranslatedSegment
from dragoman.documents.terms import used_terms
from dragoman.text.glossary import Glossary, Term, contains_term

TERMS = {
    **{"Fahrrad": "bike bicycle", "Straße": "street road", "Junge": "boy kid child", "Kind": "child kid toddler baby"},
    **{"Frau": "woman lady girl female", "Jacke": "jacket coat", "Gruppe": "group bunch", "Mann": "man guy male"},
    **{"Leute": "people", "Hemd": "shirt", "Mädchen": "girl", "Menge": "crowd", "Laden": "store shop"},
    **{"Gehweg": "sidewalk", "Bürgersteig": "sidewalk", "Weg": "path trail road", "Felsen": "rock rocks cliff"},
    **{"Personen": "people persons", "Menschen": "people"},
}
REPETITIONS = 4


def terms_of(pair: Pair) -> tuple[Term, ...]:
    """The terms of a pair, with the translations that its target contains."""
    possible = [Term(source, target) for source, targets in TERMS.items() for target in targets.split()]
    right = {term.source: term for term in reversed(possible) if contains_term(pair.target, term.target)}
    return Glossary(right.values()).terms_in(pair.source)


def timed(texts: dragoman.TextTranslator, segments: Sequence[Segment]) -> tuple[float, list[TranslatedSegment]]:
    """The shortest time in seconds, and the translations."""
    times = []
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        translated = texts.translate_segments(segments)
        times.append(time.perf_counter() - begin)
    return min(times), translated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, help="or a run directory, from German to English")
    parser.add_argument("--corpus", required=True, help="pairs to translate, as recipes name them")
    parser.add_argument("--engine", default="cpu")
    arguments = parser.parse_args()
    texts = dragoman.TextTranslator(dragoman.load(arguments.bundle, device="cpu", engine=arguments.engine))
    corpus = read_corpus(arguments.corpus, source_language="de", target_language="en")
    chosen = [(pair, terms) for pair in corpus if (terms := terms_of(pair))]
    with_terms = [Segment(pair.source, terms=terms) for pair, terms in chosen]
    without = [Segment(pair.source) for pair, _ in chosen]
    references = [pair.target for pair, _ in chosen]
    texts.translate_segments(with_terms[:8])
    plain_seconds, plain = timed(texts, without)
    seconds, found = timed(texts, with_terms)
    total = sum(len(segment.terms) for segment in with_terms)
    unused = [used_terms(one.text, one.terms, each.text)[1] for one, each in zip(with_terms, plain, strict=True)]
    lacking = [index for index, terms in enumerate(unused) if terms]
    print(f"{len(chosen)} sentences with {total} terms; {len(lacking)} translations lack a term without the glossary")
    print(f"terms used: {1 - sum(map(len, unused)) / total:.1%} without the glossary, ", end="")
    print(f"{sum(len(each.terms) for each in found) / total:.1%} with it")
    print(f"all: {plain_seconds:.2f} s without, {seconds:.2f} s with it")
    before, _ = timed(texts, [without[index] for index in lacking])
    after, _ = timed(texts, [with_terms[index] for index in lacking])
    print(f"those that lack a term: {before:.2f} s without, {after:.2f} s with it, {after / before:.2f} times as long")
    for name, indices in (("all", list(range(len(chosen)))), ("those that lack a term", lacking)):
        scores = [
            sacrebleu.corpus_bleu([out[i].text for i in indices], [[references[i] for i in indices]])
            for out in (plain, found)
        ]
        print(f"BLEU of {name}: {scores[0].score:.1f} without, {scores[1].score:.1f} with it")


if __name__ == "__main__":
    main()
