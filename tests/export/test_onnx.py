"""Export to ONNX: the same logits step by step, files without traces of this machine, and a program that uses them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from random_bundles import make_bundle, sentences

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.export.parity import Parity, Sample
from dragoman.export.run import export
from dragoman.settings import Decoding
from dragoman.translator import Translator

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_greedy.py"
FILES = ("encoder.onnx", "decoder.onnx")

VARIANTS = (
    "post-norm, two vocabularies",
    "rotary, swiglu",
    *(
        pytest.param(variant, marks=pytest.mark.slow)
        for variant in ("pre-norm, tied", "post-norm, final norm", "learned positions, gelu", "torch's layers")
    ),
)
"""They have every kind of layer; the other variants of `random_bundles` differ in the text, or combine these kinds."""


class Export(NamedTuple):
    bundle: Bundle
    directory: Path
    parity: Parity

    def sessions(self) -> list[Any]:
        return [onnxruntime.InferenceSession(self.directory / name) for name in FILES]


Exported = Callable[[str], Export]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The export of a variant with one encoder layer; exporting takes seconds, so each variant is exported once."""

    @cache
    def export_variant(variant: str) -> Export:
        bundle, directory = make_bundle(variant, model__encoder_layers=1), tmp_path_factory.mktemp("onnx") / "out"
        return Export(bundle, directory, export(bundle, "onnx", directory, sample=Sample(sentences())))

    return export_variant


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_has_the_same_logits(variant: str, exported: Exported) -> None:
    bundle, _, parity = exported(variant)
    assert parity.compared == "logits"
    assert parity.largest_difference < 1e-4
    assert parity.values > 300 * len(bundle.target.vocabulary)
    assert parity.same_text > 0.9


@pytest.mark.parametrize("variant", VARIANTS)
def test_inputs_and_outputs_are_those_of_the_readme(variant: str, exported: Exported) -> None:
    cache, memory = ([2, "batch", 4, length, 8] for length in ("time", "source"))
    encoder, decoder = exported(variant).sessions()
    assert {each.name: each.shape for each in encoder.get_inputs()} == {"source": ["batch", "source"]}
    assert {each.name: each.shape for each in encoder.get_outputs()} == {
        "memory_keys": memory,
        "memory_values": memory,
        "memory_mask": ["batch", "source"],
    }
    assert {each.name: each.shape for each in decoder.get_inputs()} == {
        "tokens": ["batch"],
        "keys": cache,
        "values": cache,
        "memory_keys": memory,
        "memory_values": memory,
        "memory_mask": ["batch", "source"],
    }
    longer = [2, "batch", 4, "time + 1", 8]
    size = len(exported(variant).bundle.target.vocabulary)
    assert {each.name: each.shape for each in decoder.get_outputs()} == {
        "logits": ["batch", size],
        "new_keys": longer,
        "new_values": longer,
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_are_stored_once(variant: str, exported: Exported) -> None:
    """Each file contains the weights that it uses, and little more: 3 position tables, names and operations."""
    bundle, directory, _ = exported(variant)
    model = bundle.model
    encoder = [model.source_embedding, model.encoder, model.encoder_norm]
    memory = [layer.memory_attention.qkv.weight[:64] for layer in model.decoder_layers]
    decoder = [model.target_embedding, model.output, model.decoder, model.decoder_norm]
    encoder_size = sum(parameter.numel() for parameter in torch.nn.ModuleList(encoder).parameters())
    encoder_size += sum(weight.numel() for weight in memory)
    decoder_size = sum(parameter.numel() for parameter in torch.nn.ModuleList(decoder).parameters())
    decoder_size -= sum(weight.numel() for weight in memory)
    table = 150 * 32
    for name, size in zip(FILES, (encoder_size, decoder_size), strict=True):
        assert (directory / name).stat().st_size < 4 * (size + table) + 25_000, name


@pytest.mark.parametrize("variant", ["rotary, swiglu", pytest.param("pre-norm, tied", marks=pytest.mark.slow)])
def test_int8_is_smaller_and_nearly_as_exact(variant: str, exported: Exported, tmp_path: Path) -> None:
    """Norms and biases remain float32."""
    bundle, directory, exact = exported(variant)
    parity = export(bundle, "onnx", tmp_path / "out", "int8", Sample(sentences()))
    assert exact.largest_difference < parity.largest_difference < 0.3
    assert parity.mean_difference < 0.05
    for name in FILES:
        model = onnx.load(tmp_path / "out" / name)
        onnx.checker.check_model(model, full_check=True)
        assert not {node.op_type for node in model.graph.node} & {"MatMulInteger", "DynamicQuantizeLinear"}
        assert (tmp_path / "out" / name).stat().st_size < 0.6 * (directory / name).stat().st_size


def test_a_model_is_converted_again_if_its_weights_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.export.onnx import convert

    monkeypatch.setattr(convert, "_convert_both", lambda model: {"encoder": onnx.ModelProto()})
    model = make_bundle().model
    first = convert.convert_to_onnx(model)
    assert convert.convert_to_onnx(model) is first
    with torch.no_grad():
        next(model.parameters()).mul_(2)
    assert convert.convert_to_onnx(model) is not first


def test_a_weight_in_int8_differs_by_half_a_step(exported: Exported) -> None:
    from dragoman.export.onnx.exporter import quantize_matrices

    model = onnx.load(exported("rotary, swiglu").directory / "decoder.onnx")
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in quantize_matrices(model).graph.initializer}
    matrices = [name for name in weights if f"{name}_int8" in stored]
    assert matrices
    for name in matrices:
        scales = stored[f"{name}_scales"]
        assert (np.abs(stored[f"{name}_int8"] * scales - weights[name]) <= 0.5001 * scales).all()
        assert 1 in scales.shape


def test_files_are_readable_by_onnxruntime_1_20_and_contain_no_paths(exported: Exported) -> None:
    directory = exported("rotary, swiglu").directory
    for name in FILES:
        model = onnx.load(directory / name)
        onnx.checker.check_model(model, full_check=True)
        assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
        assert model.ir_version <= 10
        assert model.producer_name == "dragoman"
        assert all(node.name for node in model.graph.node), "older versions need distinct names"
        data = (directory / name).read_bytes()
        for trace in (b".py", b"site-packages", b"stack_trace", b"fx_node", str(Path.home()).encode()):
            assert trace not in data


def test_rows_of_a_batch_do_not_mix(exported: Exported) -> None:
    """The hypotheses of a sentence can be rows of a batch: they differ only in the tokens that were fed."""
    bundle = exported("rotary, swiglu").bundle
    encoder, decoder = exported("rotary, swiglu").sessions()
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


@pytest.mark.parametrize("variant", ["rotary, swiglu", pytest.param("learned positions, gelu", marks=pytest.mark.slow)])
def test_sources_can_be_as_long_as_the_model_allows(variant: str, exported: Exported) -> None:
    bundle = exported(variant).bundle
    encoder, decoder = exported(variant).sessions()
    limit = bundle.model.settings.max_length
    generator = np.random.default_rng(1)
    source, target = (generator.integers(4, 300, (1, limit)) for _ in range(2))
    names = ["memory_keys", "memory_values", "memory_mask"]
    state = dict(zip(names, encoder.run(names, {"source": source}), strict=True))
    state["keys"] = state["values"] = np.zeros((2, 1, 4, 0, 8), np.float32)
    for tokens in target.T:
        logits, state["keys"], state["values"] = decoder.run(None, {**state, "tokens": tokens})
    with torch.inference_mode():
        ours = bundle.model(torch.from_numpy(source), torch.from_numpy(target))[:, -1]
    np.testing.assert_allclose(logits, ours.numpy(), atol=1e-4)


def test_the_example_decodes_without_dragoman(exported: Exported) -> None:
    bundle, directory, _ = exported("rotary, swiglu")
    text = sentences()[0]
    finished = subprocess.run([sys.executable, str(EXAMPLE), str(directory), text], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "dragoman" not in [line.split()[1] for line in EXAMPLE.read_text().splitlines() if line.startswith("import")]
    ours = Translator(bundle, Decoding(beam_size=1, max_length=150))(text)
    assert finished.stdout.strip() == ours.text


@pytest.mark.parametrize("arguments", [[], ["no such directory", "Ein Hund"]])
def test_the_example_explains_its_arguments(arguments: list[str]) -> None:
    finished = subprocess.run([sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True)
    assert finished.returncode == 1
    assert finished.stderr.startswith("usage: python ")
    assert "Traceback" not in finished.stderr


@pytest.mark.slow
def test_exporting_prints_and_logs_nothing(tmp_path: Path) -> None:
    bundle = make_bundle(model__encoder_layers=1, model__decoder_layers=1)
    bundle.save(tmp_path / "bundle")
    program = (
        "import sys; from pathlib import Path; from dragoman.bundle import Bundle\n"
        "from dragoman.export.onnx.exporter import write\n"
        "Path('out').mkdir(); write(Bundle.load(Path('bundle')), Path('out'), 'float32')"
    )
    finished = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_models_larger_than_a_file_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dragoman.export.onnx.exporter.MAX_BYTES", 1000)
    with pytest.raises(UserError, match="bytes of weights; a file can contain 1,000"):
        export(make_bundle(), "onnx", tmp_path / "out")
