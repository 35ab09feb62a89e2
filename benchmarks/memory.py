"""Measure what a translation memory improves: a corpus is translated with its own training text as the memory.

Two translators are trained in the same time, without and with fuzzy matches. Scores are BLEU and chrF of the text that
is not in the memory; the last lines state them by the similarity of the best match.

python benchmarks/memory.py --minutes 20 --split dev
python benchmarks/memory.py --minutes 20 --split test --seed 2 --runs runs
python benchmarks/memory.py --minutes 20 --variants plain --neighbors 0.5 0.9
python benchmarks/memory.py --speed 1000000
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import dragoman
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.evaluation.metrics import corpus_scores
from dragoman.lexicon.match_index import MatchIndex
from dragoman.planning.plan import Texts, plan_recipe
from dragoman.text.id_store import IdStore
from dragoman.training.run.run import train

LANGUAGES = ("de", "en")
BANDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
VARIANTS = {"plain": [], "matches": ["training.augmentation.fuzzy_matches=0.25"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="libreoffice-de-en", help="a corpus with a name, such as multi30k")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--split", default="dev", choices=["dev", "test"])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="runs that are finished are not repeated")
    parser.add_argument(
        "--neighbors", type=float, nargs="+", default=[], metavar="WEIGHT", help="also translate with nearest neighbors"
    )
    parser.add_argument("--start-from", metavar="BUNDLE")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="settings")
    parser.add_argument("--speed", type=int, metavar="PAIRS", help="only measure how long it takes to find matches")
    arguments = parser.parse_args()
    if arguments.speed:
        measure_speed(arguments.speed)
        return
    memory = dragoman.TranslationMemory.read(f"{arguments.corpus}:train", LANGUAGES)
    pairs = list(read(f"{arguments.corpus}:{arguments.split}"))
    unknown = [pair for pair in pairs if memory.find(pair.source) is None]
    print(f"{len(memory):,} segments in the memory; {len(unknown):,} of {len(pairs):,} are not in it")
    for name in arguments.variants:
        run = arguments.runs / f"memory-{arguments.corpus}-{arguments.minutes:g}-{arguments.seed}-{name}"
        if not (run / "bundle").is_dir():
            settings = [*VARIANTS[name], f"training.seed={arguments.seed}", *arguments.settings]
            texts = Texts(LANGUAGES, [f"{arguments.corpus}:train"], [f"{arguments.corpus}:dev"])
            plan = plan_recipe(texts, arguments.minutes, None, start_from=arguments.start_from)
            assert train(plan.recipe(settings), run)
        translator = dragoman.load(run)
        plain = translate(dragoman.TextTranslator(translator), unknown)
        show(f"{name}, without the memory", plain, unknown)
        if translator.bundle.recipe.training.augmentation.fuzzy_matches:
            found = translate(dragoman.TextTranslator(translator, memory=memory), unknown)
            show(f"{name}, with the memory", found, unknown)
            show_bands(plain, found, unknown)
        for weight in arguments.neighbors:
            translator = dragoman.load(run, neighbors=f"{arguments.corpus}:train", neighbor_weight=weight)
            found = translate(dragoman.TextTranslator(translator), unknown)
            show(f"{name}, neighbors with weight {weight:g}", found, unknown)


def read(reference: str) -> list[Pair]:
    pairs = read_corpus(reference, source_language=LANGUAGES[0], target_language=LANGUAGES[1])
    return [pair for pair in pairs if pair.complete]


def translate(texts: dragoman.TextTranslator, pairs: Sequence[Pair]) -> list[dragoman.Translation]:
    started = time.perf_counter()
    found = list(texts.stream(pair.source for pair in pairs))
    print(f"translated in {time.perf_counter() - started:.1f} s")
    return found


def show(name: str, translations: Sequence[dragoman.Translation], pairs: Sequence[Pair]) -> None:
    scores = corpus_scores([each.text for each in translations], [pair.target for pair in pairs])
    print(f"{name}: {len(pairs):,} sentences, BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}", flush=True)


def show_bands(
    plain: Sequence[dragoman.Translation], found: Sequence[dragoman.Translation], pairs: Sequence[Pair]
) -> None:
    for low, high in pairwise(BANDS):
        chosen = [index for index, each in enumerate(found) if low <= each.match.score < high]
        if chosen:
            for name, translations in (("without", plain), ("with", found)):
                show(
                    f"  match {low:g} to {high:g}, {name}",
                    [translations[i] for i in chosen],
                    [pairs[i] for i in chosen],
                )


def measure_speed(count: int) -> None:
    """The time to index random sentences, which repeat words as often as real text, and to find matches."""
    generator = random.Random(1)
    vocabulary = [int(8000 * generator.random() ** 3) for _ in range(2**20)]
    sentences = [generator.choices(vocabulary, k=generator.randint(3, 40)) for _ in range(count)]
    started = time.perf_counter()
    index = MatchIndex(IdStore.of(sentences))
    print(f"{count:,} sentences: indexed in {time.perf_counter() - started:.1f} s")
    times = []
    for sentence in generator.choices(sentences, k=1000):
        text = [token if generator.random() < 0.8 else generator.choice(vocabulary) for token in sentence]
        started = time.perf_counter()
        index.find(text)
        times.append(time.perf_counter() - started)
    print(f"a match: {1000 * statistics.mean(times):.2f} ms on average, {1000 * max(times):.2f} ms at most")


if __name__ == "__main__":
    main()
