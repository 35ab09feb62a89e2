"""Export to ONNX: an encoder, and one step of the decoder with its cache, for onnxruntime in any language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.export.decoding import list_other_settings
from dragoman.export.masking import describe_masking
from dragoman.export.onnx.convert import convert_to_onnx
from dragoman.export.onnx.exported_model import OnnxModel
from dragoman.export.onnx.int8 import quantize_matrices
from dragoman.export.protocol import ExportedModel
from dragoman.export.readme import write_readme
from dragoman.settings import Decoding
from dragoman.text.multilingual import language_ids
from dragoman.text.registry import save_tokenizers

COMPUTE_TYPES = ("float32", "int8")

GRAPHS = ("encoder", "decoder")

README = Path(__file__).with_name("README.md.j2")

POSITIONS = ("sinusoidal", "fairseq", "learned", "rotary")
"""Position encodings that are known to work with a length that is only known at run time."""

MAX_BYTES = 2_000_000_000
"""Largest size of the weights: an ONNX file cannot exceed 2 GiB."""


def unsupported(bundle: Bundle) -> list[str]:
    """What ONNX cannot express, see `Exporter.unsupported`."""
    positions = bundle.recipe.model.positions
    size = 4 * sum(parameter.numel() for parameter in bundle.model.parameters())
    reasons = {
        f"model.positions = {positions!r}: must be one of {', '.join(POSITIONS)}": positions not in POSITIONS,
        "several languages: the program that reads the files puts no language in front": bool(
            language_ids(bundle.source)
        ),
        "text.specials: bos and eos must be different tokens": bundle.target.vocabulary.bos
        == bundle.target.vocabulary.eos,
        f"the model: it has {size:,} bytes of weights; a file can contain {MAX_BYTES:,}": size >= MAX_BYTES,
    }
    return [reason for reason, applies in reasons.items() if applies]


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write encoder, decoder, tokenizers, config and README into an existing directory."""
    for name, graph in make_graphs(bundle, compute_type).items():
        (directory / f"{name}.onnx").write_bytes(graph)
    save_tokenizers(directory, bundle.source, bundle.target)
    (directory / "config.json").write_text(json.dumps(_config(bundle), indent=2), encoding="utf-8")
    values = {"name": bundle.recipe.name, "settings": list_other_settings(bundle.recipe.decoding, ())}
    values["placeholders"] = describe_masking(bundle)
    write_readme(directory, README, values)


def make_graphs(bundle: Bundle, compute_type: str) -> dict[str, bytes]:
    """The content of the files of `GRAPHS`."""
    change = quantize_matrices if compute_type == "int8" else lambda graph: graph
    graphs = convert_to_onnx(bundle.model)
    return {name: change(graphs[name]).SerializeToString() for name in GRAPHS}


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Load what `write` wrote with onnxruntime."""
    graphs = {name: (directory / f"{name}.onnx").read_bytes() for name in GRAPHS}
    return OnnxModel(bundle, graphs, Decoding(beam_size=1))


def _config(bundle: Bundle) -> dict[str, Any]:
    settings, source, target = bundle.model.settings, bundle.source.vocabulary, bundle.target.vocabulary
    return {
        "source": {"eos": source.eos, "pad": source.pad, "unk": source.unk},
        "target": {"bos": target.bos, "eos": target.eos, "pad": target.pad, "unk": target.unk},
        "cache": [settings.decoder_layers, settings.heads, settings.d_model // settings.heads],
        "max_length": settings.max_length,
    }
