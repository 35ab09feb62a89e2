"""Compare how fast engines translate with the same bundle: ours, CTranslate2 called directly, and Hugging Face.

python benchmarks/decoding.py runs/quickstart
python benchmarks/decoding.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --beams 1 5
python benchmarks/decoding.py runs/multi30k-de-en --engines torch "ctranslate2 float32" --repeats 7

"Equal" is the share of translations that are the same as those of the first engine. A repeat measures every engine
once, in turn, so that changes in the speed of the machine affect all equally.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import ctranslate2
import numpy as np
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.engines import EngineRequest, open_engine
from dragoman.engines.choose import ComputeType
from dragoman.engines.ctranslate2.convert import write_model
from dragoman.engines.torch_engine import StepEngine
from dragoman.errors import UserError
from dragoman.evaluation.metrics import corpus_scores
from dragoman.export.run import export
from dragoman.kernels import KERNELS, accelerated
from dragoman.system.cpu import usable_cores
from dragoman.translator import Translator

COMPUTE_TYPES: tuple[ComputeType, ...] = ("float32", "int8")
BATCH = 64
"""Sentences per batch of Hugging Face; larger batches are slower."""

Translate = Callable[[Sequence[str]], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--sentences", type=int, default=1000, help="number of pairs")
    parser.add_argument("--single", type=int, default=50, help="number of texts that are also translated one by one")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--engines", nargs="+", default=[""], help="only engines whose names begin like this")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    sources, references = read_texts(Bundle.load(arguments.bundle), arguments.corpus, arguments.sentences)
    print("engine                   beam  seconds (median)  sentences/s  of ctranslate2  single (ms)  BLEU  equal")
    with tempfile.TemporaryDirectory() as directory:
        for beam in arguments.beams:
            engines = build_engines(find_bundle(arguments.bundle), beam, Path(directory))
            engines = {name: each for name, each in engines.items() if name.startswith(tuple(arguments.engines))}
            measure(engines, beam, sources, references, arguments)


def read_texts(bundle: Bundle, corpus: str, sentences: int) -> tuple[list[str], list[str]]:
    data = bundle.recipe.data
    pairs = read_corpus(corpus, source_language=data.source_language, target_language=data.target_language)
    chosen = list(islice(pairs, sentences))
    return [pair.source for pair in chosen], [pair.target for pair in chosen]


def build_engines(path: Path, beam: int, directory: Path) -> dict[str, Translate]:
    bundle = Bundle.load(path)
    decoding = bundle.recipe.decoding.model_copy(update={"beam_size": beam, "n_best": 1})
    request = EngineRequest(bundle, decoding, path=path, token_scores=False)
    engines = {"torch": translate_with(request, "torch"), "torch, plain weights": translate_with_plain_weights(request)}
    for compute_type in COMPUTE_TYPES:
        engines[f"ctranslate2 {compute_type}"] = translate_with(
            replace(request, compute_type=compute_type), "ctranslate2"
        )
        engines[f"called directly {compute_type}"] = call_directly(request, directory / compute_type, compute_type)
    try:
        export(bundle, "huggingface", directory / "huggingface")
    except UserError as error:
        print(f"no Hugging Face: {error}")
    else:
        engines["huggingface"] = generate_with(request, directory / "huggingface")
    return engines


def translate_with(request: EngineRequest, name: str) -> Translate:
    translator = Translator(request.bundle, request.decoding, engine=open_engine(request, name))
    return lambda texts: [str(translation) for translation in translator.stream(texts)]


def translate_with_plain_weights(request: EngineRequest) -> Translate:
    """The engine torch without prepacked weights."""
    model = accelerated(request.bundle.model, kernels=KERNELS.keys() - {"prepacked"})
    translator = Translator(request.bundle, request.decoding, engine=StepEngine("torch", model, request, model))
    return lambda texts: [str(translation) for translation in translator.stream(texts)]


def call_directly(request: EngineRequest, directory: Path, compute_type: ComputeType) -> Translate:
    """CTranslate2 as most programs call it, with our tokenizers; its length penalty is defined differently."""
    bundle, decoding = request.bundle, request.decoding
    if not directory.exists():
        directory.mkdir()
        write_model(bundle, directory, compute_type)
    engine = ctranslate2.Translator(
        str(directory), compute_type=compute_type, inter_threads=usable_cores(), intra_threads=1
    )
    source, target = bundle.source.vocabulary.tokens, bundle.target.vocabulary.ids

    def translate(texts: Sequence[str]) -> list[str]:
        tokens = [[source[token] for token in ids] for ids in bundle.source.encode(texts)]
        limits = {"max_batch_size": 1024, "batch_type": "tokens", "max_decoding_length": decoding.max_length}
        found = engine.translate_batch(tokens, beam_size=decoding.beam_size, **limits)
        return [bundle.target.decode([target[token] for token in result.hypotheses[0]]) for result in found]

    return translate


def generate_with(request: EngineRequest, directory: Path) -> Translate:
    """`generate` of transformers on batches of similar length; its length penalty is defined differently."""
    model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    bundle, decoding = request.bundle, request.decoding

    def translate(texts: Sequence[str]) -> list[str]:
        lengths = np.array([len(ids) + 1 for ids in bundle.source.encode(texts)])
        translated = [""] * len(texts)
        order = np.argsort(lengths, kind="stable")
        for batch in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
            inputs = tokenizer([texts[index] for index in batch], return_tensors="pt", padding=True)
            limit = int(lengths[batch].max() * decoding.max_length_ratio) + decoding.max_length_offset
            limits = {"max_length": min(limit, decoding.max_length) + 1}
            found = model.generate(**inputs, num_beams=decoding.beam_size, **limits)
            for index, text in zip(batch, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                translated[index] = text.strip()
        return translated

    return translate


def measure(
    engines: dict[str, Translate],
    beam: int,
    sources: Sequence[str],
    references: Sequence[str],
    arguments: argparse.Namespace,
) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    single: dict[str, list[float]] = {name: [] for name in engines}
    texts = {name: translate(sources) for name, translate in engines.items()}  # not measured: the first call is slower
    for _ in range(arguments.repeats):
        for name, translate in engines.items():
            seconds[name].append(timed(translate, [sources]))
            single[name].append(timed(translate, [[text] for text in sources[: arguments.single]]))
    baseline = statistics.median(seconds.get("ctranslate2 float32", [float("nan")]))
    for name in engines:
        median = statistics.median(seconds[name])
        milliseconds = 1000 * statistics.median(single[name]) / max(1, min(arguments.single, len(sources)))
        equal = statistics.mean(map(str.__eq__, texts[name], next(iter(texts.values()))))
        bleu = corpus_scores(texts[name], list(references))["bleu"]
        print(
            f"{name:24} {beam:4}  {median:16.2f}  {len(sources) / median:11.1f}  {baseline / median:14.2f}  "
            f"{milliseconds:11.1f}  {bleu:.2f}  {equal:.3f}"
        )


def timed(translate: Translate, groups: Sequence[Sequence[str]]) -> float:
    started = time.perf_counter()
    for texts in groups:
        translate(texts)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
