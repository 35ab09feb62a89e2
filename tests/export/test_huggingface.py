"""Hugging Face's format: Marian and Pegasus with our logits, our tokens and our greedy translations."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from random_bundles import make_bundle, sentences

from dragoman.errors import UserError
from dragoman.export.parity import Sample
from dragoman.export.run import export

transformers = pytest.importorskip("transformers")

MARIAN = {"model__norm": "post", "model__final_norm": False}
EXPRESSED: dict[str, dict[str, Any]] = {
    "Pegasus": {},
    "Pegasus, untied, bias": {"model__tie": "none", "model__output_bias": True, "model__activation": "gelu"},
    "Pegasus, unigram, no biases": {"text__tokenizer": "unigram", "model__tie": "target", "model__qkv_bias": False},
    "Marian": MARIAN,
    "Marian, untied, bias": {**MARIAN, "model__tie": "none", "model__output_bias": True, "model__encoder_layers": 1},
    "Marian, target tied": {**MARIAN, "model__tie": "target", "model__activation": "gelu", "model__decoder_layers": 3},
}
REFUSED = {
    "pre-norm, rotary": ["model.positions = 'rotary'"],
    "pre-norm, no final norm": ["model.final_norm = false"],
    "post-norm, final norm": ["model.final_norm = true", "model.norm_epsilon = 1e-06"],
    "rotary, swiglu": ["model.positions = 'rotary'", "model.activation = 'swiglu'"],
    "learned positions, gelu": ["model.positions = 'learned'"],
    "words": ["text.tokenizer = 'whitespace'", "text.joint = false"],
    "split words": ["text.pre_tokenizer = 'whitespace'"],
}


@pytest.mark.parametrize("variant", EXPRESSED)
def test_logits_and_greedy_translations_are_ours(variant: str, tmp_path: Path) -> None:
    bundle = make_bundle(**EXPRESSED[variant])
    measured = export(bundle, "huggingface", tmp_path / "out", sample=Sample(sentences()))
    assert measured.compared == "logits"
    assert measured.largest_difference < 1e-4
    assert measured.values > 300 * len(bundle.target.vocabulary)
    assert measured.same_text > 0.9
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    assert type(model).__name__.startswith(variant[:6])


@pytest.mark.parametrize("variant", REFUSED)
def test_what_it_cannot_express_is_refused_by_name_and_together(variant: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        export(make_bundle(variant), "huggingface", tmp_path / "out")
    for reason in REFUSED[variant]:
        assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1 + len(REFUSED[variant])
    assert not (tmp_path / "out").exists()


def test_int8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--compute-type int8"):
        export(make_bundle(), "huggingface", tmp_path / "out", "int8")


def test_tokens_are_ours_even_of_text_like_specials(tmp_path: Path) -> None:
    bundle = make_bundle()
    export(bundle, "huggingface", tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = [*sentences(), "</s> Hund <pad>", "Ａ\u00a0b  c", "e\u0301 <0x41>", "\u2581 x"]
    eos = bundle.source.vocabulary.eos
    ours = [[*ids, eos] for ids in bundle.source.encode(texts)]
    assert tokenizer(texts)["input_ids"] == ours
    decoded = [" ".join(text.split()) for text in tokenizer.batch_decode(ours, skip_special_tokens=True)]
    assert decoded == [bundle.source.decode(ids) for ids in ours]


def test_the_model_card_s_program_works_without_dragoman(tmp_path: Path) -> None:
    export(make_bundle(), "huggingface", tmp_path / "out")
    program = re.findall(r"```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text("utf-8"), re.DOTALL)[0]
    program += "\nimport sys\nassert 'dragoman' not in sys.modules"
    command = [sys.executable, "-c", program.replace("…", sentences()[0])]
    done = subprocess.run(command, cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['")
