"""How many texts have warnings: ordinary test sentences, and sentences that were made unusual.

python benchmarks/unusual_texts.py

Describes the training text of each corpus as training does, without training, and prints the share of test sentences
with a warning: as they are, with the other side in their place, with French captions in their place, in capital
letters, and joined to the next sentence. For the changed ones, only the warning for this change counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise

from dragoman.corpus.corpus import read_corpus
from dragoman.doctor.input import TextChecker, describe_text

CORPORA = {
    "multi30k": "test_2016_flickr",
    "libreoffice-de-en": "test",
    "tatoeba-de-en": "test",
    "wmt-news-de-en": "test",
    "europarl-20k-de-en": "test",
    "iitb-hetc-sample-en-hi": "test",
    "hindi-visual-genome": "test",
    "libreoffice-hi-en": "test",
}
"""The test split by corpus."""
OTHER_LANGUAGE = ("target-language", "script", "language")
PAIRS = 10_000  # of the training text


def read_sides(name: str, source: str, target: str) -> tuple[list[str], list[str]]:
    """The sources and targets of a corpus."""
    pairs = list(read_corpus(name, source_language=source, target_language=target, data_directory=None))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def share(checker: TextChecker, texts: Sequence[str], kinds: Sequence[str] = ()) -> float:
    """The share of texts with a warning, or with one of these kinds."""
    found = [checker.check(1, text) for text in texts]
    return sum(any(not kinds or each.kind in kinds for each in warnings) for warnings in found) / len(texts)


def main() -> None:
    """Print a table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    columns = ("training text", "as they are", "other side", "third language", "in capitals", "joined to the next")
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    french, _ = read_sides("multi30k:test_2016_flickr", "fr", "en")
    for corpus, split in CORPORA.items():
        languages = ("hi", "en") if "hi" in corpus.split("-")[-2:] or corpus == "hindi-visual-genome" else ("de", "en")
        for source, target in (languages, languages[::-1]):
            sources, targets = read_sides(f"{corpus}:train", source, target)
            step = max(1, len(sources) // PAIRS)
            trained = describe_text(sources[::step], targets[::step], (source, target))
            checker = TextChecker(trained, (source, target))
            texts, others = read_sides(f"{corpus}:{split}", source, target)
            values = (
                f"{share(checker, texts):.2%}",
                f"{share(checker, others, OTHER_LANGUAGE):.0%}",
                f"{share(checker, french, OTHER_LANGUAGE):.1%}",
                f"{share(checker, [text.upper() for text in texts], ['capitals']):.0%}",
                f"{share(checker, list(map(' '.join, pairwise(texts))), ['several-sentences']):.0%}",
            )
            print(f"| {corpus}, {source} to {target} | {' | '.join(values)} |")


if __name__ == "__main__":
    main()
