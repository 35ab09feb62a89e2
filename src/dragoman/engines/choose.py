"""What an engine does, and choosing and opening one: the same for Python, the command line and the server."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.errors import UserError, nearest
from dragoman.search.hypothesis import BeamTrace, Hypothesis
from dragoman.settings import Decoding
from dragoman.system.device import CPU, Device, compute_dtype

if TYPE_CHECKING:
    from dragoman.model.transformer import Transformer

Ids = Sequence[int]
"""The token ids of a sentence, without bos and eos."""

Copies = Mapping[int, int]
"""The ids of reserved tokens in the target vocabulary, and how often a translation must contain each."""

ComputeType = Literal["auto", "float32", "bfloat16", "int8"]
"""Data types of an engine's weights; auto is bfloat16 on a GPU that supports it, otherwise float32."""

NOT_IMPORTED = "this environment, because its package cannot be imported"
"""How a reason against an engine begins; if another engine translates because of it, a warning says so."""


class TargetScores(NamedTuple):
    """A target's tokens and its end, given the source and the tokens before each.

    `log_probabilities` are those of the tokens and of eos; `predictions` are the most probable tokens in their places.
    """

    log_probabilities: list[float]
    predictions: list[int]


class Engine(Protocol):
    """Source ids in, hypotheses out."""

    @property
    def name(self) -> str:
        """The engine's name in `ENGINES`, or 'ensemble'."""
        ...

    @property
    def max_length(self) -> int:
        """Maximum length of sources and translations in tokens, eos included."""
        ...

    @property
    def weight_type(self) -> ComputeType:
        """Data type of the weights and matrix products."""
        ...

    @property
    def model(self) -> Transformer:
        """The bundle's model in evaluation mode, not in half precision, on the engine's device; shared by threads.

        Of an ensemble, the model of the first bundle.
        """
        ...

    def translate(
        self,
        sources: Sequence[Ids],
        prefixes: Sequence[Ids] | None = None,
        trace: BeamTrace | None = None,
        copies: Sequence[Copies] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first; all samples with minimum Bayes risk.

        Args:
            sources: Ids of each sentence, at least one and at most max_length - 1.
            prefixes: Ids that each translation must begin with.
            trace: Records the beam search.
            copies: Reserved tokens that the translations of each sentence must contain; they contain no others.
        """
        ...

    def score(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[TargetScores]:
        """The probabilities of given translations, in float32, each token given the tokens before it.

        Unknown words have the probability of unk. Every engine computes this by `score_targets`.

        Args:
            sources: Ids of each source, at most max_length - 1.
            targets: Ids of the target of each source, at most max_length - 1.
        """
        ...

    def attention(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[NDArray[np.float32]]:
        """The attention of given translations to their sources, (target + 1, source), the mean over the heads.

        It is that of the layer that aligns words, see `Bundle.attention_rows`. A row is that of the input that predicts
        a token; the last one predicts eos.

        Args:
            sources: Ids of each source, at least one and at most max_length - 1.
            targets: Ids of the target of each source, at least one and at most max_length - 1.
        """
        ...


@dataclass(frozen=True)
class EngineRequest:
    """What an engine must support.

    Args:
        bundle: The translator.
        decoding: Settings of the search.
        device: Where to compute.
        path: The bundle's directory, if it was read from disk and has the same weights.
        compute_type: Data type of the engine's weights and matrix products, see `weight_type`.
        token_scores: Whether hypotheses need log-probabilities of their tokens.
        ensemble: More bundles with the same tokenizers; the predictions of all models are averaged.
        threads: How many threads an engine with its own threads has; by default as many as torch.
    """

    bundle: Bundle
    decoding: Decoding
    device: Device = CPU
    path: Path | None = None
    compute_type: ComputeType = "auto"
    token_scores: bool = True
    ensemble: Sequence[Bundle] = ()
    threads: int | None = None

    @property
    def max_length(self) -> int:
        """Maximum length of sources and translations in tokens, eos included."""
        return self.bundle.recipe.model.max_length

    @property
    def weight_type(self) -> ComputeType:
        """The compute type, with the data type that 'auto' selects on the device."""
        if self.compute_type != "auto":
            return self.compute_type
        if self.device.type != "cuda":
            return "float32"
        return "bfloat16" if str(compute_dtype("auto", self.device)) == "torch.bfloat16" else "float32"


ENGINES = {
    "ctranslate2": "dragoman.engines.ctranslate2.engine",
    "torch": "dragoman.engines.torch_engine",
}
"""Engines in order of preference, with the module that has `unsupported(request)` and `open_engine(request)`."""

FORMER = {"cpu": "torch"}
"""Names of engines of earlier versions, with the engine that does their work now."""


@dataclass(frozen=True)
class Choice:
    """The chosen engine, and the reasons against each engine before it in `ENGINES`."""

    name: str
    rejected: dict[str, list[str]]

    def __str__(self) -> str:
        reasons = [f"{name} does not support {', '.join(what)}" for name, what in self.rejected.items()]
        return f"{self.name} ({'; '.join(reasons)})" if reasons else self.name


Announce = Callable[[Choice], None]
"""Receives the choice that is made, for `--verbose`."""


def choose(request: EngineRequest, name: str | None = None) -> Choice:
    """The first engine in `ENGINES` that supports the request, or the engine with this name.

    Raises:
        UserError: There is no such engine or data type, or the engine does not support the request.
    """
    if name in FORMER:
        warnings.warn(f"the engine {name} is a part of the engine {FORMER[name]} now, which is used", stacklevel=2)
        name = FORMER[name]
    if name is not None and (not isinstance(name, str) or name not in ENGINES):
        hint = nearest(str(name), ENGINES)
        raise UserError(f"engine {str(name)!r}: no such engine; choose from {', '.join(ENGINES)}{hint}")
    if request.compute_type not in (types := get_args(ComputeType)):
        raise UserError(f"compute_type = {request.compute_type!r}: choose from {', '.join(types)}")
    rejected: dict[str, list[str]] = {}
    for candidate in ENGINES if name is None else (name,):
        reasons = import_module(ENGINES[candidate]).unsupported(request)
        if not reasons:
            for other, why in rejected.items():
                if why[0].startswith(NOT_IMPORTED):
                    message = f"{candidate} translates, because {other}, which is faster, does not support {why[0]}"
                    warnings.warn(message, stacklevel=2)
            return Choice(candidate, rejected)
        rejected[candidate] = reasons
    raise UserError("\n  ".join(_refusal(rejected)))


def open_engine(request: EngineRequest, name: str | None = None, announce: Announce | None = None) -> Engine:
    """Open the engine that `choose` returns.

    Raises:
        UserError: There is no such engine, or it cannot be opened.
    """
    choice = choose(request, name)
    if announce is not None:
        announce(choice)
    return cast(Engine, import_module(ENGINES[choice.name]).open_engine(request))


def _refusal(rejected: dict[str, list[str]]) -> list[str]:
    if len(rejected) == 1:
        ((name, reasons),) = rejected.items()
        return [f"the engine {name} does not support {', '.join(reasons)}"]
    lines = [f"{name} does not support {', '.join(reasons)}" for name, reasons in rejected.items()]
    return ["no engine can translate with these settings:", *lines]
