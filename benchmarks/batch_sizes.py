"""Check that batch size and order never change a translation, and measure how speed depends on the batch size.

The corpus is translated at once, in batches of similar length, and then in random order, a few sentences at a time.

python benchmarks/batch_sizes.py runs/quickstart
python benchmarks/batch_sizes.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --engine ctranslate2
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.engines import EngineRequest, open_engine
from dragoman.engines.choose import ENGINES
from dragoman.translator import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--engine", choices=ENGINES, default="torch")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 8, 1])
    arguments = parser.parse_args()
    bundle = Bundle.load(arguments.bundle)
    data = bundle.recipe.data
    corpus = read_corpus(arguments.corpus, source_language=data.source_language, target_language=data.target_language)
    sources = [pair.source for pair in corpus]
    print("beam  batch      sentences/s  different translations")
    for beam in arguments.beams:
        decoding = bundle.recipe.decoding.model_copy(update={"beam_size": beam, "n_best": 1})
        request = EngineRequest(bundle, decoding, path=find_bundle(arguments.bundle), token_scores=False)
        translator = Translator(bundle, decoding, engine=open_engine(request, arguments.engine))
        expected: list[str] = []
        for size in (len(sources), *arguments.sizes):
            order = list(range(len(sources)))
            if expected:
                random.Random(size).shuffle(order)
            texts = [""] * len(sources)
            started = time.perf_counter()
            for start in range(0, len(order), size):
                chosen = order[start : start + size]
                for index, translation in zip(chosen, translator([sources[one] for one in chosen]), strict=True):
                    texts[index] = translation.text
            seconds = time.perf_counter() - started
            expected = expected or texts
            changed = sum(one != other for one, other in zip(texts, expected, strict=True))
            batch = str(size) if size < len(sources) else "all"
            print(f"{beam:4}  {batch:9}  {len(sources) / seconds:11.1f}  {changed}")


if __name__ == "__main__":
    main()
