"""How many human translations are reported because they lack a quantity or another span of their source.

python benchmarks/lost_spans.py wmt-news-de-en:train --languages de-en --show 20

Most human translations are right, so nearly all of these reports are false, except where people made mistakes or pairs
do not fit. --show prints some reports, to judge them. With --changed, one number of each of so many translations that
are not reported is changed, in digits or in words, and the share of these that is reported is shown.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import regex

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.documents.copied_spans import check_spans
from dragoman.languages.number_words import number_words
from dragoman.text.quantities import check_quantities

_DIGITS = regex.compile(r"\d+")
_WORDS = regex.compile(r"\w+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("--languages", required=True, metavar="SOURCE-TARGET")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print this many random reports of each check")
    parser.add_argument("--changed", type=int, default=0, metavar="N", help="change a number in so many translations")
    arguments = parser.parse_args()
    source, target = arguments.languages.split("-")
    languages = source, target
    pairs = list(read_corpus(arguments.corpus, source_language=source, target_language=target))
    with_digits = sum(any(map(str.isdecimal, pair.source)) for pair in pairs)
    print(f"{len(pairs):,} pairs, {with_digits:,} sources with a digit")
    checks = {"quantities, models that mask spans": check_quantities, "all spans, models that do not": check_spans}
    for name, check in checks.items():
        start = time.process_time()
        reports = [(found, pair) for pair in pairs if (found := list(check(pair.source, pair.target, languages)))]
        microseconds = (time.process_time() - start) / len(pairs) * 1e6
        share, of_all = len(reports) / max(with_digits, 1), len(reports) / len(pairs)
        print(
            f"{name}: {len(reports):,} reported ({of_all:.2%} of all, {share:.1%} of those with a digit), "
            f"{microseconds:.0f} µs a pair"
        )
        for found, pair in random.Random(1).sample(reports, min(arguments.show, len(reports))):
            print(f"  {found}\n    {pair.source}\n    {pair.target}")
    if arguments.changed:
        _measure_changed(pairs, languages, arguments.changed, arguments.show)


def _measure_changed(pairs: Sequence[Pair], languages: tuple[str, str], count: int, shown: int) -> None:
    """Print how many of translations with one changed number are reported."""
    generator = random.Random(2)
    right = [pair for pair in pairs if not any(check_quantities(pair.source, pair.target, languages))]
    changed = {"digits": _changed_digits, "words": _changed_words}
    for name, change in changed.items():
        generator.shuffle(right)
        made = ((pair, change(pair.target, languages[1], generator)) for pair in right)
        planted = [(pair, text) for pair, text in made if text][:count]
        missed = [(pair, text) for pair, text in planted if not any(check_quantities(pair.source, text, languages))]
        found = len(planted) - len(missed)
        print(f"changed {name}: {found:,} of {len(planted):,} reported ({found / max(len(planted), 1):.1%})")
        for pair, text in missed[:shown]:
            print(f"    {pair.source}\n    {text}")


def _changed_digits(text: str, language: str, generator: random.Random) -> str:
    """The text with another number in place of one in digits; empty if it has none."""
    numbers = list(_DIGITS.finditer(text))
    if not numbers:
        return ""
    number = generator.choice(numbers)
    other = str(int(number[0]) + generator.choice((1, 2, 3, 5)))
    return text[: number.start()] + other + text[number.end() :]


def _changed_words(text: str, language: str, generator: random.Random) -> str:
    """The text with another number word in place of one; empty if it has none."""
    known = number_words(language)
    certain = {word: value for word, value in known.certain.items() if value > 1} if known else {}
    words = [word for word in _WORDS.finditer(text) if word[0].lower() in certain]
    if not words:
        return ""
    word = generator.choice(words)
    other = generator.choice([each for each, value in certain.items() if value != certain[word[0].lower()]])
    return text[: word.start()] + other + text[word.end() :]


if __name__ == "__main__":
    main()
