"""CTranslate2's format: the same probabilities from every kind of model, and files that others can use."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from random_bundles import VARIANTS, make_bundle, sentences

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.export.parity import Sample
from dragoman.export.run import export

ctranslate2 = pytest.importorskip("ctranslate2")


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_has_the_same_probabilities(variant: str, tmp_path: Path) -> None:
    measured = export(make_bundle(variant), "ctranslate2", tmp_path / "out", sample=Sample(sentences()))
    assert measured.largest_difference < 1e-4
    assert measured.values > 300
    assert measured.same_text > 0.9, "near ties of random weights may differ"
    assert json.loads((tmp_path / "out" / "parity.json").read_text()) == measured.to_dict()


def test_probabilities_that_the_engine_reports_are_compared(tmp_path: Path) -> None:
    """A bundle whose weights changed after its export is another translator."""
    from dragoman.export import parity
    from dragoman.export.ctranslate2.exporter import reopen, write

    bundle = make_bundle()
    write(bundle, tmp_path, "float32")
    for name, parameter in list(bundle.model.named_parameters())[::7]:
        before = parameter.detach().clone()
        with torch.no_grad():
            parameter.flatten()[-1] += 0.5
        measured = parity.compare("ctranslate2", bundle, reopen(bundle, tmp_path, "float32"), Sample())
        assert measured.problems, f"nobody saw that {name} is another"
        with torch.no_grad():
            parameter.copy_(before)


def test_int8_is_smaller_and_nearly_the_same(tmp_path: Path) -> None:
    bundle = make_bundle("pre-norm, rotary")
    sizes = {}
    for compute_type in ("float32", "int8"):
        measured = export(bundle, "ctranslate2", tmp_path / compute_type, compute_type)
        sizes[compute_type] = (tmp_path / compute_type / "model.bin").stat().st_size
    assert measured.mean_difference < 0.1
    assert sizes["int8"] < 0.5 * sizes["float32"]


def test_exporting_leaves_the_weights_as_they_are(tmp_path: Path) -> None:
    bundle = make_bundle()
    before = {name: parameter.detach().clone() for name, parameter in bundle.model.named_parameters()}
    export(bundle, "ctranslate2", tmp_path / "out", "int8")
    for name, parameter in bundle.model.named_parameters():
        assert torch.equal(parameter, before[name])


def test_the_page_in_the_export_works_without_dragoman(tmp_path: Path) -> None:
    bundle = make_bundle()
    export(bundle, "ctranslate2", tmp_path / "out")
    program = re.findall(r"```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text("utf-8"), re.DOTALL)[0]
    program = program.replace("…", sentences()[3]).replace("beam_size=5", "beam_size=1, max_decoding_length=7")
    program += "\nimport sys\nassert 'dragoman' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == first_tokens(bundle, sentences()[3], 7)


def first_tokens(bundle: Bundle, text: str, count: int) -> str:
    """What the likeliest first tokens of a translation spell."""
    vocabulary, tokens = bundle.target.vocabulary, [bundle.target.vocabulary.bos]
    source = torch.tensor([[*bundle.source.encode([text])[0], bundle.source.vocabulary.eos]])
    with torch.inference_mode():
        while len(tokens) <= count and tokens[-1] != vocabulary.eos:
            logits = bundle.model(source, torch.tensor([tokens]))[0, -1]
            logits[[vocabulary.unk, vocabulary.pad, vocabulary.bos]] = -np.inf
            tokens.append(int(logits.argmax()))
    return bundle.target.decode(tokens)


def test_what_is_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UserError, match="is there already"):
        export(make_bundle(), "ctranslate2", tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    export(make_bundle(), "ctranslate2", tmp_path / "out", "int8")
    export(make_bundle(), "ctranslate2", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "parity.json").read_text())["compute_type"] == "float32"


def test_unknown_formats_are_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'ctranslate2'"):
        export(make_bundle(), "ctranslate", Path("nowhere"))
