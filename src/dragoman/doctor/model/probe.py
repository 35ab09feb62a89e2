"""A model as a black box: random ids to feed it, its predictions, and how much two predictions differ."""

from __future__ import annotations

import dis
import inspect
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from operator import index
from types import CodeType
from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from dragoman.errors import UserError, counted
from dragoman.system.user_code import blamed

Forward = Callable[[Tensor, Tensor], Tensor]
"""Source ids (batch, source) and target ids (batch, target), int64 -> logits (batch, target, vocabulary)."""

Side = Literal["source", "target"]
NamedParameters = tuple[tuple[str, Tensor], ...]

SOURCE_LENGTH, TARGET_LENGTH = 7, 10  # ids of an ordinary sentence, including eos or bos


@dataclass(frozen=True)
class ExaminedModel:
    """The model to examine; the other attributes are explained in `dragoman.doctor.examine`.

    Attributes:
        forward: What was given: a model, or a function that uses one.
        call: How it is called, from source and target ids to logits; `forward` itself for None.
        parameters_given: The parameters belong to a model that was given, or were given themselves: they must get
            gradients. Otherwise, they were found in a function, which may translate without gradients.
    """

    forward: Forward
    vocabulary_size: int
    source_vocabulary_size: int
    pad_id: int
    bos_id: int
    eos_id: int
    parameters: NamedParameters
    max_length: int
    call: Forward | None = None
    parameters_given: bool = True


class Probe:
    """Feeds random sentences to a model and returns its predictions.

    Attributes:
        model: The model to examine.
        device: The device of the model's inputs.
        generator: Random numbers for the sentences.
        words: Ids of the target vocabulary without pad, bos and eos.
        source_words: Ids of the source vocabulary without pad, bos and eos.
        max_lengths: Ids that a source and a target may have; `check_length_limit` lowers them.
        without_dropout: Call the model without dropout; `check_not_deterministic` sets it.
        fixed_seed: Reset torch's random numbers before each call; `check_not_deterministic` sets it.
        without_gradients: Gradients cannot be computed; `check_training_fails` sets it.
        one_at_a_time: Feed one sentence per call; `check_batch_leak` sets it.
        returns_probabilities: The model returns probabilities; `check_not_logits` sets it.
        changed_ids: Whether the model has changed its source ids or its target ids, in copies of those of the checks.
    """

    def __init__(self, model: ExaminedModel) -> None:
        self.model = model
        self.device = next((tensor.device for _, tensor in model.parameters), torch.device("cpu"))
        self.generator = torch.Generator().manual_seed(1)
        self.words = self._words(model.vocabulary_size)
        self.source_words = self._words(model.source_vocabulary_size)
        if model.max_length < TARGET_LENGTH:
            raise UserError(
                f"max_length = {model.max_length}: at least {TARGET_LENGTH} ids are needed to examine a model"
            )
        self.max_lengths: dict[Side, int] = {"source": model.max_length, "target": model.max_length}
        self.without_dropout = False
        self.fixed_seed = False
        self.without_gradients = False
        self.one_at_a_time = False
        self.returns_probabilities = False
        self.changed_ids: set[Side] = set()

    def _words(self, vocabulary_size: int) -> Tensor:
        specials = {self.model.pad_id, self.model.bos_id, self.model.eos_id}
        words = [index for index in range(vocabulary_size) if index not in specials]
        if len(words) < 4:
            raise UserError(
                f"vocabulary_size = {vocabulary_size}: too small to examine the model; at least 4 ids besides pad, bos "
                "and eos are needed"
            )
        return torch.tensor(words)

    def random_sources(self, rows: int, length: int) -> Tensor:
        """Random words and eos, (rows, length)."""
        ids = self._random_words(self.source_words, rows, length)
        ids[:, -1] = self.model.eos_id
        return ids

    def random_targets(self, rows: int, length: int) -> Tensor:
        """bos and random words, (rows, length)."""
        ids = self._random_words(self.words, rows, length)
        ids[:, 0] = self.model.bos_id
        return ids

    def _random_words(self, words: Tensor, rows: int, length: int) -> Tensor:
        return words[torch.randint(len(words), (rows, length), generator=self.generator)]

    def replace_words(self, ids: Tensor, words: Tensor) -> Tensor:
        """Replace each id that is among `words` by a different one of them; other ids stay."""
        steps = torch.randint(1, len(words), ids.shape, generator=self.generator)
        indices = torch.searchsorted(words, ids.contiguous()).clamp(max=len(words) - 1)
        return torch.where(words[indices] == ids, words[(indices + steps) % len(words)], ids)

    def pad(self, ids: Tensor, width: int) -> Tensor:
        """Ids with padding at the end, (rows, width)."""
        return torch.nn.functional.pad(ids, (0, width - ids.shape[1]), value=self.model.pad_id)

    def call(self, source: Tensor, target: Tensor) -> Tensor:
        """The output of the model, (batch, target, vocabulary).

        Raises:
            UserError: The model fails; its own exception is the cause.
        """
        given: dict[Side, Tensor] = {"source": source, "target": target}
        copies = {side: ids.to(self.device, copy=True) for side, ids in given.items()}
        output = self._call_forward(copies["source"], copies["target"])
        self.changed_ids |= {side for side, ids in given.items() if not torch.equal(copies[side].cpu(), ids)}
        return output

    def _call_forward(self, source: Tensor, target: Tensor) -> Tensor:
        dropout = WithoutDropout() if self.without_dropout else nullcontext()
        with torch.random.fork_rng(enabled=self.fixed_seed), warnings.catch_warnings(), dropout:
            warnings.simplefilter("ignore")  # the user sees the model's warnings whenever the model is used
            if self.fixed_seed:
                torch.manual_seed(1)
            shapes = f"source ids {tuple(source.shape)} and target ids {tuple(target.shape)}"
            with blamed(f"the model fails for {shapes}"):
                return (self.model.call or self.model.forward)(source, target)

    def predict(self, source: Tensor, target: Tensor, *, without: int | None = None, gradients: bool = False) -> Tensor:
        """Log-probabilities of each next token in float64, (batch, target, vocabulary).

        Args:
            source: Source ids, (batch, source).
            target: Target ids, (batch, target).
            without: An id to leave out of the vocabulary.
            gradients: Call the model as in training, with gradients.
        """
        with torch.set_grad_enabled(gradients):
            if not self.one_at_a_time:
                return self._log_probabilities(self.call(source, target), without)
            calls = (self.call(source[row, None], target[row, None]) for row in range(len(source)))
            return torch.cat([self._log_probabilities(output, without) for output in calls])

    def _log_probabilities(self, output: Tensor, without: int | None) -> Tensor:
        values = output.detach().cpu().double()
        logits = values.clamp_min(1e-30).log() if self.returns_probabilities else values
        if without is not None:
            logits = logits[..., torch.arange(logits.shape[-1]) != without]
        return logits.log_softmax(dim=-1).clamp_min(-60.0)

    def tolerance(self, output: Tensor) -> Tolerance:
        """What rounding can explain, given the precision that the parameters and an output of the model show."""
        dtypes = {output.dtype, *(tensor.dtype for _, tensor in self.model.parameters)}
        for dtype in (torch.bfloat16, torch.float16):
            rounded_output = output.to(dtype).to(output.dtype)  # unchanged if it was computed in this precision
            if dtype in dtypes or torch.equal(rounded_output, output):
                return TOLERANCES[dtype]
        return TOLERANCES[torch.float32]


_OWN_ATTRIBUTES = frozenset(vars(nn.Module()))  # the registries of nn.Module itself


def plain_modules(forward: Forward) -> dict[str, list[nn.Module]]:
    """Modules in plain attributes, such as lists, that are not registered anywhere, by class and attribute."""
    registered = {id(module) for root in modules_of(forward) for module in root.modules()}
    found = {name: list(filter(_can_record_calls, values)) for name, values in plain_attributes(forward)}
    return {name: modules for name, modules in found.items() if modules and registered.isdisjoint(map(id, modules))}


def plain_tensors(forward: Forward) -> list[str]:
    """Attributes, by class and name, that hold tensors that are neither parameters nor buffers."""
    return [name for name, values in plain_attributes(forward) if any(map(_is_plain_tensor, values))]


def _can_record_calls(value: Any) -> TypeGuard[nn.Module]:
    """Whether a value is a module that takes hooks: those of TorchScript, which traced models keep, do not."""
    return isinstance(value, nn.Module) and not isinstance(value, torch.jit.ScriptModule)


def _is_plain_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, nn.Parameter)


def plain_attributes(forward: Forward) -> Iterator[tuple[str, list[Any]]]:
    """The plain attributes of all modules, by class and name, and what they contain."""
    for root in modules_of(forward):
        for module in root.modules():
            for name, value in vars(module).items():
                if name not in _OWN_ATTRIBUTES:
                    yield f"{type(module).__name__}.{name}", list(_elements(value))


def _elements(value: Any) -> Iterator[Any]:
    """The elements of nested lists, tuples and dictionaries."""
    if isinstance(value, list | tuple | Mapping):
        for element in value.values() if isinstance(value, Mapping) else value:
            yield from _elements(element)
    else:
        yield value


def modules_of(forward: Forward) -> list[nn.Module]:
    """The model, or the models that a function uses, which may have decorators such as torch.no_grad()."""
    return list(_named_modules_of(forward).values())


def submodules_of(forward: Forward) -> Iterator[tuple[str, nn.Module]]:
    """All modules that a function uses, with the names of its variables if it uses several models."""
    roots = _named_modules_of(forward)
    for variable, root in roots.items():
        for name, module in root.named_modules():
            yield ".".join(filter(None, (variable if len(roots) > 1 else "", name))), module


def parameters_of(forward: Forward) -> NamedParameters:
    """The parameters of the model, or of the models that a function uses, each once."""
    modules = _named_modules_of(forward)
    found: dict[int, tuple[str, Tensor]] = {}
    for variable, module in modules.items():
        for name, tensor in module.named_parameters():
            found.setdefault(id(tensor), (name if len(modules) == 1 else f"{variable}.{name}", tensor))
    return tuple(found.values())


def _named_modules_of(forward: Forward) -> dict[str, nn.Module]:
    """The model, or the models that a function uses, by the names of variables."""
    function = inspect.unwrap(forward)
    values: dict[str, Any] = {"model": forward, "self": getattr(forward, "__self__", None)}
    if inspect.isfunction(function):
        used = {name: value for name, value in function.__globals__.items() if name in _names(function.__code__)}
        values |= used | dict(inspect.getclosurevars(function).nonlocals)
    return {name: value for name, value in values.items() if isinstance(value, nn.Module)}


def _names(code: CodeType) -> set[str]:
    """The global names that a function uses, also in its comprehensions and inner functions; attributes are none."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*inner)


def as_integer(name: str, value: Any) -> int:
    """A whole number, also of NumPy or torch.

    Raises:
        UserError: It is something else.
    """
    try:
        return index(value)
    except TypeError:
        raise UserError(f"{name} = {value!r}: expected an integer") from None


def as_id(name: str, value: Any, size_name: str, size: int) -> int:
    """The id of a token in a vocabulary.

    Raises:
        UserError: It is no integer, or not in the vocabulary.
    """
    number = as_integer(name, value)
    if not 0 <= number < size:
        raise UserError(
            f"{name} = {number}: not an id of the vocabulary; {size_name} = {size}, so ids are 0 to {size - 1}"
        )
    return number


_DROPOUT = {
    *(F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout),
    *(torch.dropout, torch.dropout_, torch.alpha_dropout, torch.feature_dropout, torch.feature_alpha_dropout),
}
_ATTENTION = {F.multi_head_attention_forward: 10, F.scaled_dot_product_attention: 4}
"""Functions that apply dropout to attention weights, and the position of their argument dropout_p."""


class WithoutDropout(TorchFunctionMode):
    """Dropout returns its input unchanged, also inside attention functions."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch without its dropout."""
        kwargs = dict(kwargs or {})
        if func in _DROPOUT:
            return args[0] if args else kwargs["input"]
        if func in _ATTENTION:
            position = _ATTENTION[func]
            if len(args) > position:
                args = (*args[:position], 0.0, *args[position + 1 :])
            else:
                kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


@dataclass(frozen=True)
class PredictionDifference:
    """How much predictions differ.

    Attributes:
        relative: Root mean square of the differences of log-probabilities, divided by the standard deviation of the
            log-probabilities in the vocabulary.
        probability: The largest difference of a probability.
    """

    relative: float
    probability: float


@dataclass(frozen=True)
class Tolerance:
    """The largest difference that rounding can explain."""

    relative: float
    probability: float

    def exceeded_by(self, difference: PredictionDifference) -> bool:
        """Whether a difference is more than rounding."""
        return difference.relative > self.relative or difference.probability > self.probability


SAME_SHAPE = Tolerance(1e-5, 1e-5)
"""For inputs of the same shape, for which correct models return the same numbers, or numbers that differ only in their
last bits: a smaller difference cannot be distinguished from rounding, and has no effect on training."""

# Measured on correct, randomly initialized models: at most 6e-7 in float32 and 0.014 in bfloat16.
TOLERANCES = {
    torch.float32: Tolerance(2e-5, 1e-4),
    torch.float16: Tolerance(0.01, 1.0),
    torch.bfloat16: Tolerance(0.06, 1.0),
}
"""For inputs of different shapes, by the precision of the model."""


def measure_difference(log_probabilities: Tensor, others: Tensor) -> PredictionDifference:
    """The difference of log-probabilities of the same shape, (…, vocabulary)."""
    if not log_probabilities.numel():
        return PredictionDifference(0.0, 0.0)
    spread = max(float(log_probabilities.std(dim=-1).mean()), 1e-12)
    rms = float((log_probabilities - others).square().mean().sqrt())
    return PredictionDifference(rms / spread, float((log_probabilities.exp() - others.exp()).abs().max()))


def largest(differences: list[PredictionDifference]) -> PredictionDifference:
    """The difference with the largest relative value."""
    return max(differences, key=lambda difference: difference.relative)


SHOWN_NAMES = 5  # modules in a message
MIN_GAIN = 0.5  # mean of a vector that can be the gain of a norm; biases are smaller


def named_parameters(parameters: Any) -> NamedParameters:
    """The names and tensors of a model's parameters.

    Raises:
        UserError: Something else was passed, such as ``model.parameters()``.
    """
    if isinstance(parameters, nn.Module) or callable(parameters) or not isinstance(parameters, Iterable):
        raise _not_named(f"an object of type {type(parameters).__name__}")
    pairs = tuple(parameters.items() if isinstance(parameters, Mapping) else parameters)
    for pair in pairs:
        if isinstance(pair, Tensor):
            raise _not_named("tensors without names, as from model.parameters()")
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Tensor)):
            raise _not_named(f"objects of type {type(pair).__name__}")
    if pairs and isinstance(parameters, Mapping) and not any(tensor.requires_grad for _, tensor in pairs):
        raise _not_named("tensors without gradients, as from model.state_dict()")
    return tuple((str(name), tensor) for name, tensor in pairs)


def _not_named(given: str) -> UserError:
    return UserError(f"parameters: expected pairs of names and tensors, not {given}; pass model.named_parameters()")


def looks_untrained(parameters: NamedParameters) -> bool:
    """Whether the gains of the norms, or most gains and biases, have their initial values, which training changes.

    The gain of a norm is a vector of ones, or a single one, and its bias zero. Linear layers of torch start with random
    biases, so that a model with few norms may have few vectors of equal numbers.
    """
    vectors = [tensor.detach() for _, tensor in parameters if tensor.dim() == 1]
    gains = [tensor for tensor in vectors if float(tensor.float().mean()) > MIN_GAIN]
    initial_gains = sum(bool((tensor == 1).all()) for tensor in gains)
    longer = [tensor for tensor in vectors if len(tensor) > 1]
    constant = sum(bool((tensor == tensor[0]).all()) for tensor in longer)
    return 2 * initial_gains > len(gains) or 2 * constant > len(longer)


def group_by_module(names: Sequence[str], all_names: Sequence[str]) -> dict[str, list[str]]:
    """Names of parameters by the largest module whose parameters are all among them.

    Args:
        names: Names to group.
        all_names: Names of all parameters of the model.
    """
    totals = _count_by_module(all_names)
    counts = _count_by_module(names)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        complete = (module for module in _modules_of(name) if counts[module] == totals[module])
        groups[next(complete, name)].append(name)
    return groups


def describe_groups(groups: Mapping[str, Sequence[str]]) -> str:
    """Groups of parameters in a message: modules that differ only in numbers, such as layers, are one entry."""
    merged: dict[str, list[str]] = defaultdict(list)
    for module in groups:
        merged[re.sub(r"\d+", "*", module)].append(module)
    entries = []
    for pattern, modules in merged.items():
        label = pattern if len(modules) > 1 else modules[0]
        names = [name for module in modules for name in groups[module]]
        entries.append(names[0] if len(names) == 1 else f"{label} ({counted(len(names), 'parameter')})")
    return list_names(entries)


def list_names(names: Iterable[str]) -> str:
    """The first names in a message, and the number of others."""
    shown = list(names)
    more = len(shown) - SHOWN_NAMES
    return ", ".join(shown[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def skipped_layers(groups: Iterable[str], all_names: Sequence[str]) -> set[str]:
    """The modules among `groups` that are all elements of a list except its last one.

    This is what remains if each layer of a stack gets the same input and only the output of the last one is used.

    Args:
        groups: Modules without an effect.
        all_names: Names of all parameters of the model.
    """
    lists: dict[str, set[int]] = defaultdict(set)
    for name in all_names:
        for module in _modules_of(name):
            parent, _, number = module.rpartition(".")
            if number.isdecimal():
                lists[parent].add(int(number))
    unused = set(groups)
    skipped = ({f"{parent}.{number}" for number in numbers - {max(numbers)}} for parent, numbers in lists.items())
    return {module for modules in skipped if modules <= unused for module in modules}


def _count_by_module(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for name in names:
        for module in _modules_of(name):
            counts[module] += 1
    return counts


def _modules_of(name: str) -> list[str]:
    """The modules that contain a parameter, the outermost first, without the model itself."""
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def perturb(tensors: Sequence[Tensor], generator: torch.Generator) -> None:
    """Add random numbers with standard deviation 1 in place."""
    with torch.no_grad():
        for tensor in tensors:
            tensor.add_(torch.randn(tensor.shape, generator=generator).to(tensor))
