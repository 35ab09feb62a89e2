"""How many human translations are reported because they lack a number or another span of their source.

python benchmarks/lost_spans.py wmt-news-de-en:train --languages de-en --show 20

Most human translations are right, so nearly all of these reports are false, except where people made mistakes or pairs
do not fit. --show prints some reports, to judge them.
"""

from __future__ import annotations

import argparse
import random
import time

from dragoman.corpus.corpus import read_corpus
from dragoman.documents.copied_spans import check_spans, lost_numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", metavar="CORPUS")
    parser.add_argument("--languages", required=True, metavar="SOURCE-TARGET")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print this many random reports of each check")
    arguments = parser.parse_args()
    source, target = arguments.languages.split("-")
    pairs = list(read_corpus(arguments.corpus, source_language=source, target_language=target))
    with_digits = sum(any(map(str.isdecimal, pair.source)) for pair in pairs)
    print(f"{len(pairs):,} pairs, {with_digits:,} sources with a digit")
    checks = {"numbers, models that mask spans": lost_numbers, "all spans, models that do not": check_spans}
    for name, check in checks.items():
        start = time.process_time()
        reports = [(found, pair) for pair in pairs if (found := list(check(pair.source, pair.target)))]
        microseconds = (time.process_time() - start) / len(pairs) * 1e6
        share = len(reports) / max(with_digits, 1)
        print(f"{name}: {len(reports):,} reported ({share:.1%} of those with a digit), {microseconds:.0f} µs a pair")
        for found, pair in random.Random(1).sample(reports, min(arguments.show, len(reports))):
            print(f"  {found}\n    {pair.source}\n    {pair.target}")


if __name__ == "__main__":
    main()
