"""Export to Hugging Face: Marian and Pegasus models with the same logits, tokens and greedy translations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from random_bundles import make_bundle, sentences
from readme_program import run_readme_program

from dragoman.errors import UserError
from dragoman.export.parity import Sample
from dragoman.export.run import export, load_exporter
from dragoman.settings import Decoding
from dragoman.translator import Translator

transformers = pytest.importorskip("transformers")

MARIAN = {"model__norm": "post", "model__final_norm": False}
SUPPORTED: dict[str, dict[str, Any]] = {
    "Pegasus": {},
    "Pegasus, untied, bias": {"model__tie": "none", "model__output_bias": True, "model__activation": "gelu"},
    "Pegasus, unigram, no biases": {"text__tokenizer": "unigram", "model__tie": "target", "model__qkv_bias": False},
    "Marian": MARIAN,
    "Marian, untied, bias": {**MARIAN, "model__tie": "none", "model__output_bias": True, "model__encoder_layers": 1},
    "Marian, target tied": {**MARIAN, "model__tie": "target", "model__activation": "gelu", "model__decoder_layers": 3},
}
UNSUPPORTED = {
    "pre-norm, rotary": ["model.positions = 'rotary'"],
    "pre-norm, no final norm": ["model.final_norm = false"],
    "post-norm, final norm": ["model.final_norm = true", "model.norm_epsilon = 1e-06"],
    "rotary, swiglu": ["model.positions = 'rotary'", "model.activation = 'swiglu'"],
    "learned positions, gelu": ["model.positions = 'learned'"],
    "words": ["text.tokenizer = 'whitespace'", "text.joint = false"],
    "split words": ["text.pre_tokenizer = 'whitespace'"],
}


@pytest.mark.parametrize("variant", SUPPORTED)
def test_logits_and_greedy_translations_are_the_same(variant: str, tmp_path: Path) -> None:
    bundle = make_bundle(**SUPPORTED[variant])
    parity = export(bundle, "huggingface", tmp_path / "out", sample=Sample(sentences()))
    assert parity.compared == "logits"
    assert parity.largest_difference < 1e-4
    assert parity.values > 300 * len(bundle.target.vocabulary)
    assert parity.same_text > 0.9
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert type(model).__name__.startswith(variant[:6])


@pytest.mark.parametrize("variant", UNSUPPORTED)
def test_all_unsupported_settings_are_named_together(variant: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        export(make_bundle(variant), "huggingface", tmp_path / "out")
    for reason in UNSUPPORTED[variant]:
        assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1 + len(UNSUPPORTED[variant])
    assert not (tmp_path / "out").exists()


def test_int8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--compute-type int8"):
        export(make_bundle(), "huggingface", tmp_path / "out", "int8")


def test_tokens_are_the_same_even_for_text_like_special_tokens(tmp_path: Path) -> None:
    bundle = make_bundle()
    load_exporter("huggingface").write(bundle, tmp_path, "float32")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = [*sentences(), "</s> Hund <pad>", "Ａ\u00a0b  c", "e\u0301 <0x41>", "\u2581 x"]
    eos = bundle.source.vocabulary.eos
    ids = [[*tokens, eos] for tokens in bundle.source.encode(texts)]
    assert tokenizer(texts)["input_ids"] == ids
    decoded = [" ".join(text.split()) for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
    assert decoded == [bundle.source.decode(tokens) for tokens in ids]


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"decoding__max_length": 7}, 7),
        ({"decoding__max_length": 999}, 150),
        ({"decoding__max_length": 100, "decoding__max_length_ratio": 0.1, "decoding__max_length_offset": 2}, 17),
    ],
)
def test_the_generation_config_has_the_limit_of_the_longest_source(
    options: dict[str, Any], limit: int, tmp_path: Path
) -> None:
    """Both programs force eos at the limit, and transformers counts bos too."""
    bundle = make_bundle(**options)
    exporter = load_exporter("huggingface")
    exporter.write(bundle, tmp_path, "float32")
    exported = exporter.load(bundle, tmp_path, "float32")
    assert exported.decoding.max_length == limit
    greedy = Decoding(beam_size=1, max_length=limit, max_length_offset=limit)
    expected = Translator(bundle, greedy)(sentences())
    assert max(len(translation.tokens) for translation in expected) == limit - 1
    assert exported.translate(sentences()) == [str(translation) for translation in expected]


@pytest.mark.parametrize(
    "options",
    [
        {"decoding__min_length": 20},
        {"decoding__no_repeat_ngram": 2},
        {"decoding__min_length": 9, "decoding__no_repeat_ngram": 1, "decoding__max_length": 10},
    ],
    ids=str,
)
def test_minimum_length_and_repeated_ngrams_are_in_the_generation_config(
    options: dict[str, Any], tmp_path: Path
) -> None:
    bundle, exporter = make_bundle(**options), load_exporter("huggingface")
    exporter.write(bundle, tmp_path, "float32")
    exported = exporter.load(bundle, tmp_path, "float32")
    expected = [str(translation) for translation in Translator(bundle, exported.decoding)(sentences())]
    assert exported.translate(sentences()) == expected, "without control characters, too"
    plain = exported.decoding.model_copy(update={"min_length": 0, "no_repeat_ngram": 0})
    assert expected != [str(translation) for translation in Translator(bundle, plain)(sentences())]


def test_the_program_in_the_model_card_needs_no_dragoman(tmp_path: Path) -> None:
    bundle = make_bundle(decoding__beam_size=1, decoding__max_length_offset=30)
    load_exporter("huggingface").write(bundle, tmp_path, "float32")
    generate = 'model.generate(**tokenizer([text], return_tensors="pt"))'
    texts = sentences()[:4]
    translations = run_readme_program(
        tmp_path, texts, f"' '.join(tokenizer.decode({generate}[0], skip_special_tokens=True).split())"
    )
    assert translations == [str(translation) for translation in Translator(bundle).stream(texts)]


def test_exporting_leaves_the_progress_bars_of_transformers_enabled(tmp_path: Path) -> None:
    logging = transformers.utils.logging
    before = logging.is_progress_bar_enabled()
    logging.enable_progress_bar()
    try:
        load_exporter("huggingface").write(make_bundle(), tmp_path, "float32")
        assert logging.is_progress_bar_enabled()
    finally:
        if not before:
            logging.disable_progress_bar()
