"""ONNX: the logits of ours, one step at a time, and a program of others that decodes with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from random_bundles import VARIANTS, make_bundle, sentences

from dragoman.errors import UserError
from dragoman.export.parity import Sample
from dragoman.export.run import export
from dragoman.settings import Decoding
from dragoman.translator import Translator

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_greedy.py"


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_ours_in_every_variant(variant: str, tmp_path: Path) -> None:
    bundle = make_bundle(variant)
    measured = export(bundle, "onnx", tmp_path / "out", sample=Sample(sentences()))
    assert measured.compared == "logits"
    assert measured.largest_difference < 1e-4
    assert measured.values > 300 * len(bundle.target.vocabulary)
    assert measured.same_text > 0.9


def test_a_shared_matrix_is_stored_once(tmp_path: Path) -> None:
    sizes = {}
    for tie in ("all", "none"):
        bundle = make_bundle(model__tie=tie)
        export(bundle, "onnx", tmp_path / tie)
        sizes[tie] = (tmp_path / tie / "decoder.onnx").stat().st_size
    matrix = 4 * bundle.model.output.weight.numel()
    assert sizes["none"] - sizes["all"] == pytest.approx(matrix, rel=0.05)


def test_rows_of_a_batch_do_not_mix(tmp_path: Path) -> None:
    """The decoder takes beams as rows: those of one sentence differ only by what was fed."""
    bundle = make_bundle("pre-norm, rotary")
    export(bundle, "onnx", tmp_path / "out")
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / "out" / f"{part}.onnx") for part in ("encoder", "decoder")
    )
    names = ["memory_keys", "memory_values", "memory_mask"]
    source = np.array([[7, 8, 9, 3], [9, 3, 1, 1]])
    memory = dict(zip(names, encoder.run(names, {"source": source}), strict=True))
    repeated = {name: value.repeat(2, axis=0 if name == "memory_mask" else 1) for name, value in memory.items()}
    empty = np.zeros((2, 4, 4, 0, 8), np.float32)
    tokens = np.array([2, 11, 2, 12])
    logits = decoder.run(["logits"], {**repeated, "keys": empty, "values": empty, "tokens": tokens})[0]
    with torch.inference_mode():
        ours = bundle.model(torch.tensor(source).repeat_interleave(2, dim=0), torch.tensor(tokens)[:, None])[:, 0]
    np.testing.assert_allclose(logits, ours.numpy(), atol=1e-4)


def test_the_example_decodes_without_dragoman(tmp_path: Path) -> None:
    bundle = make_bundle("pre-norm, rotary")
    export(bundle, "onnx", tmp_path / "out")
    text = sentences()[0]
    done = subprocess.run([sys.executable, str(EXAMPLE), str(tmp_path / "out"), text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "dragoman" not in [line.split()[1] for line in EXAMPLE.read_text().splitlines() if line.startswith("import")]
    ours = Translator(bundle, Decoding(beam_size=1, max_length=150))(text)
    assert done.stdout.split()[:5] == ours.text.split()[:5], "the rest may differ where eos is forced"


def test_models_that_no_file_holds_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dragoman.export.onnx.exporter.LARGEST", 1000)
    with pytest.raises(UserError, match="bytes of weights; a file holds 1,000"):
        export(make_bundle(), "onnx", tmp_path / "out")
