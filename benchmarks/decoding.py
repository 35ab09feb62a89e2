"""How fast engines translate with the same bundle: torch (ours), CTranslate2 and Hugging Face, side by side.

python benchmarks/decoding.py runs/quickstart
python benchmarks/decoding.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --beams 1 5

Each repeat measures every engine once, in turn, so that a slow minute of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from ctranslate2 import Translator as Engine
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dragoman.bundle import Bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.engines.ctranslate2.engine import CTranslate2Translator
from dragoman.errors import UserError
from dragoman.evaluation.metrics import corpus_scores
from dragoman.export.ctranslate2 import exporter as ctranslate2
from dragoman.export.run import export
from dragoman.settings import Decoding
from dragoman.system.cpu import usable_cores
from dragoman.translator import Translator

BATCH = 64
"""Sentences in a batch of Hugging Face's; larger ones are slower."""

Translate = Callable[[Sequence[str]], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--sentences", type=int, default=1000, help="how many of them")
    parser.add_argument("--alone", type=int, default=50, help="how many of them to translate one by one too")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--engines", nargs="+", default=[""], help="only those whose names begin so")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    bundle = Bundle.load(arguments.bundle)
    data = bundle.recipe.data
    pairs = islice(
        read_corpus(arguments.corpus, source_language=data.source_language, target_language=data.target_language),
        arguments.sentences,
    )
    sources, references = zip(*((pair.source, pair.target) for pair in pairs), strict=True)
    print("engine                   beam  seconds (median)  sentences/s  one alone (ms)  BLEU")
    with tempfile.TemporaryDirectory() as directory:
        for beam in arguments.beams:
            engines = build_engines(bundle, beam, Path(directory))
            engines = {name: each for name, each in engines.items() if name.startswith(tuple(arguments.engines))}
            measure(engines, beam, sources, references, arguments.repeats, arguments.alone)


def build_engines(bundle: Bundle, beam: int, directory: Path) -> dict[str, Translate]:
    decoding = bundle.recipe.decoding.model_copy(update={"beam_size": beam, "n_best": 1})
    engines: dict[str, Translate] = {"torch": texts_of(Translator(bundle, decoding))}
    for compute_type in ctranslate2.COMPUTE_TYPES:
        place = directory / compute_type
        if not place.exists():
            place.mkdir()
            ctranslate2.write(bundle, place, compute_type)
        ours = CTranslate2Translator(bundle, place, decoding, compute_type, token_scores=False)
        engines[f"ctranslate2 {compute_type}"] = texts_of(ours)
        engines[f"called directly {compute_type}"] = call_directly(bundle, place, decoding, compute_type)
    try:
        export(bundle, "huggingface", directory / "huggingface")
    except UserError as error:
        print(f"no Hugging Face: {error}")
    else:
        engines["huggingface"] = generate_with(bundle, beam, directory / "huggingface")
    return engines


def texts_of(translator: Translator) -> Translate:
    return lambda texts: [str(translation) for translation in translator.stream(texts)]


def call_directly(bundle: Bundle, place: Path, decoding: Decoding, compute_type: str) -> Translate:
    """CTranslate2 as anyone would call it, with our tokenizers; its length penalty is another."""
    engine = Engine(str(place), compute_type=compute_type, inter_threads=usable_cores(), intra_threads=1)
    source, target = bundle.source.vocabulary.tokens, bundle.target.vocabulary.ids

    def translate(texts: Sequence[str]) -> list[str]:
        tokens = [[source[token] for token in ids] for ids in bundle.source.encode(texts)]
        limits = {"max_batch_size": 1024, "batch_type": "tokens", "max_decoding_length": decoding.max_length}
        found = engine.translate_batch(tokens, beam_size=decoding.beam_size, **limits)
        return [bundle.target.decode([target[token] for token in result.hypotheses[0]]) for result in found]

    return translate


def generate_with(bundle: Bundle, beam: int, directory: Path) -> Translate:
    """`generate` of transformers on batches of like length; its length penalty is another, so BLEU differs a little."""
    model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    decoding = bundle.recipe.decoding

    def translate(texts: Sequence[str]) -> list[str]:
        lengths = np.array([len(ids) + 1 for ids in bundle.source.encode(texts)])
        translated = [""] * len(texts)
        order = np.argsort(lengths, kind="stable")
        for batch in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
            inputs = tokenizer([texts[index] for index in batch], return_tensors="pt", padding=True)
            limit = int(lengths[batch].max() * decoding.max_length_ratio) + decoding.max_length_offset
            found = model.generate(**inputs, num_beams=beam, max_length=min(limit, decoding.max_length) + 1)
            for index, text in zip(batch, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                translated[index] = text.strip()
        return translated

    return translate


def measure(
    engines: dict[str, Translate],
    beam: int,
    sources: Sequence[str],
    references: Sequence[str],
    repeats: int,
    alone: int,
) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    single: dict[str, list[float]] = {name: [] for name in engines}
    texts = {name: translate(sources) for name, translate in engines.items()}  # warm
    for _ in range(repeats):
        for name, translate in engines.items():
            seconds[name].append(timed(translate, [sources]))
            single[name].append(timed(translate, [[text] for text in sources[:alone]]))
    for name in engines:
        median = statistics.median(seconds[name])
        milliseconds = 1000 * statistics.median(single[name]) / max(1, min(alone, len(sources)))
        bleu = corpus_scores(texts[name], list(references))["bleu"]
        rate = len(sources) / median
        print(f"{name:24} {beam:4}  {median:16.2f}  {rate:11.1f}  {milliseconds:14.1f}  {bleu:.2f}")


def timed(translate: Translate, groups: Sequence[Sequence[str]]) -> float:
    started = time.perf_counter()
    for texts in groups:
        translate(texts)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
