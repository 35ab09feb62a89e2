"""An exported model in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from dragoman.bundle import Bundle
from dragoman.dataset.batch import pad
from dragoman.engines.protocol import EngineRequest
from dragoman.engines.text_search import TextSearch
from dragoman.engines.torch_engine import StepEngine
from dragoman.export.onnx.decoder import OnnxDecoder
from dragoman.export.protocol import OutputKind, Outputs
from dragoman.settings import Decoding


class OnnxModel:
    """The encoder and the decoder step of a bundle with our search, see `ExportedModel`.

    Args:
        bundle: The original.
        graphs: The content of the files of the encoder and the decoder, by name.
        decoding: Settings of the search.
    """

    output_kind: OutputKind = "logits"

    def __init__(self, bundle: Bundle, graphs: Mapping[str, bytes], decoding: Decoding) -> None:
        self.decoding = decoding
        self._bundle, self._decoder = bundle, OnnxDecoder(graphs)
        engine = StepEngine("onnx", self._decoder, EngineRequest(bundle, decoding))
        self._search = TextSearch(bundle, engine, decoding)

    def outputs(self, sources: Sequence[list[int]], targets: Sequence[list[int]]) -> list[Outputs]:
        """Logits after every target token; all pairs are one batch, which is fed one target token per step."""
        source, target = self._bundle.source.vocabulary, self._bundle.target.vocabulary
        cache = self._decoder.start(pad(sources, first=None, last=source.eos, pad=source.pad))
        inputs = pad(targets, first=target.bos, last=None, pad=target.pad)  # (batch, target)
        steps = [self._decoder.step(tokens, cache) for tokens in inputs.T]
        logits = torch.stack(steps, dim=1).numpy()  # (batch, target, vocabulary)
        return [row[: len(tokens) + 1] for row, tokens in zip(logits, targets, strict=True)]

    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translations of texts."""
        sources = self._search.encode(texts)
        return [
            self._search.translation(*pair).text for pair in zip(sources, self._search.search(sources), strict=True)
        ]
