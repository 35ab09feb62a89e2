"""Whether a search is greedy search, or a beam search with a beam of 1: the most probable token, again and again.

The search is compared with one that computes the whole target in each step, without cache and one sentence at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.doctor.findings.finding import Finding, Findings, errors_first
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.doctor.model.calling import choose_way
from dragoman.doctor.model.examine import examined_model
from dragoman.doctor.model.probe import SOURCE_LENGTH, ExaminedModel, Forward, Probe, modules_of
from dragoman.errors import UserError
from dragoman.system.user_code import blamed

ROWS = 6
MAX_LENGTH = 12
MARGIN = 1e-3  # of logits
TALKATIVE = 3.0
"""Times the logits of an untrained model, which otherwise repeats one token, and a bonus for eos."""

INPUTS: dict[str, Callable[[Callable[..., Any], Tensor], list[Any]]] = {
    "translate(source)": lambda translate, source: list(translate(source)),
    "translate(one sentence of shape (1, length))": lambda translate, source: [
        _only(translate(row[None])) for row in source
    ],
    "translate(one list of ids)": lambda translate, source: [_only(translate(row.tolist())) for row in source],
}
"""How searches take source ids, (batch, source)."""


def examine_search(
    translate: Callable[..., Any],
    forward: Forward,
    *,
    vocabulary_size: int,
    pad_id: int,
    bos_id: int,
    eos_id: int,
    source_vocabulary_size: int | None = None,
    max_length: int | None = None,
) -> Findings:
    """Find what is wrong with greedy search, or with beam search with a beam of 1.

    Args:
        translate: Source ids (batch, source), int64 -> the ids of a translation for each row: lists or a tensor, with
            or without bos, and up to eos. It uses the model `forward` and should stop after about `max_length` tokens.
        forward: The model, or a function that calls it, as for `dragoman.doctor.examine`.
        vocabulary_size: Size of the target vocabulary.
        pad_id: Id of padding.
        bos_id: Id at the start of a target.
        eos_id: Id at the end of a sentence.
        source_vocabulary_size: Size of the source vocabulary, if it is different.
        max_length: The number of tokens that are compared, 12 if not given.

    Returns:
        The findings, errors first.

    Raises:
        UserError: The model or the search fails, or the arguments are wrong, as for `dragoman.doctor.examine`.
    """
    if not callable(translate):
        raise UserError(f"translate: expected a function of source ids, not {translate!r}")
    model = examined_model(
        forward,
        vocabulary_size=vocabulary_size,
        pad_id=pad_id,
        bos_id=bos_id,
        eos_id=eos_id,
        parameters=None,
        source_vocabulary_size=source_vocabulary_size,
        max_length=None,
    )
    modes = [(module, module.training) for root in modules_of(forward) for module in root.modules()]
    for module, _ in modes:
        module.training = False
    try:
        model = replace(model, call=choose_way(model).call)
    finally:
        for module, training in modes:
            module.training = training
    search = _Search(translate, model, max_length or MAX_LENGTH)
    with _talkative(model):
        return Findings(errors_first(search.check()))


def _only(found: Any) -> Any:
    """The translation of the only sentence: searches for one sentence return it with or without a batch."""
    if isinstance(found, Tensor):
        return found[0] if found.dim() == 2 else found
    if isinstance(found, list | tuple) and len(found) == 1 and isinstance(found[0], list | tuple | Tensor):
        return found[0]
    return found


def _talkative(model: ExaminedModel) -> ExitStack:
    """A context in which the last module that returns logits makes them larger, and eos more probable."""
    last: list[nn.Module] = []
    modules = [module for root in modules_of(model.forward) for module in root.modules()]

    def remember(module: nn.Module, inputs: Any, output: Any) -> None:
        is_dense = isinstance(output, Tensor) and not output.is_nested
        if is_dense and output.shape[-1:] == (model.vocabulary_size,) and not list(module.children()):
            last[:] = [module]

    with ExitStack() as hooks:
        for module in modules:
            hooks.callback(module.register_forward_hook(remember).remove)
        probe = Probe(model)
        with torch.no_grad():
            probe.call(probe.random_sources(1, SOURCE_LENGTH), probe.random_targets(1, SOURCE_LENGTH))

    def change(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        changed = TALKATIVE * output
        changed[..., model.eos_id] += TALKATIVE
        changed[..., [model.pad_id, model.bos_id]] -= 100.0
        return changed

    stack = ExitStack()
    for module in last:
        stack.callback(module.register_forward_hook(change).remove)
    return stack


@dataclass
class _Search:
    """A search, and the model that it uses."""

    translate: Callable[..., Any]
    model: ExaminedModel
    max_length: int
    form: str = "translate(source)"

    def check(self) -> Iterator[Finding]:
        """All checks; each error is found once."""
        sources = Probe(self.model).random_sources(ROWS, SOURCE_LENGTH)
        first = self.choose_form(sources)
        if self.form != "translate(source)":
            yield make_finding("called-as", self.form, {"line": self.form})
        if self.found(sources) != first or self.found(sources) != first:
            message = "the same sources lead to other translations"
            yield make_finding("search-not-repeatable", message, {})
            return
        yield from self.check_ends(first)
        expected = [self.greedy(source) for source in sources]
        different = [row for row in range(ROWS) if not self.agree(first[row], expected[row])]
        alone = [self.found(sources[[row]])[0] for row in different]
        batch = [row for row, ids in zip(different, alone, strict=True) if self.agree(ids, expected[row])]
        if batch or (not different and (padded := self.changed_by_padding(sources, first))):
            why = "in a batch of others" if batch else f"with padding after its source ({padded} ids)"
            yield make_finding("search-batch", f"a sentence has another translation {why} than alone", {"rows": batch})
        elif different:
            yield self.describe(sources[different[0]], first[different[0]], expected[different[0]])
        elif stopped := self.stopped_by_others(sources, first, expected):
            message = f"a sentence of a batch ends after {len(first[stopped[0]])} ids, without eos, but is longer alone"
            yield make_finding("search-batch", message, {"rows": stopped})

    def stopped_by_others(
        self, sources: Tensor, first: Sequence[list[int]], expected: Sequence[list[int]]
    ) -> list[int]:
        """The rows that end without eos in the batch, and are longer alone: the first eos of a batch stopped them."""
        short = [
            row for row in range(ROWS) if self.words(first[row]) == first[row] and len(first[row]) < len(expected[row])
        ]
        return [row for row in short if len(self.found(sources[[row]])[0]) > len(first[row])]

    def choose_form(self, sources: Tensor) -> list[list[int]]:
        """The translations in the first form with which the search does not fail.

        Raises:
            UserError: It fails with all forms, or returns something other than ids.
        """
        failure = None
        for form in INPUTS:
            self.form = form
            try:
                return self.found(sources)
            except UserError as error:
                failure = failure or error
        assert failure is not None
        raise failure

    def found(self, sources: Tensor) -> list[list[int]]:
        """The ids of the translations, without bos and what follows eos in a tensor."""
        device = Probe(self.model).device
        remedy = (
            "; pass a function of source ids that returns a list of ids for each sentence: translate=lambda source: …"
        )
        with blamed(f"the search fails for source ids {tuple(sources.shape)}", remedy):
            rows = INPUTS[self.form](self.translate, sources.to(device))
            ids = [[int(token) for token in (row.tolist() if isinstance(row, Tensor) else row)] for row in rows]
        if len(ids) != len(sources):
            raise UserError(f"the search returns {len(ids)} translations of {len(sources)} sources")
        return [self.trimmed(row) for row in ids]

    def trimmed(self, ids: list[int]) -> list[int]:
        """Ids without bos at the start and padding at the end."""
        ids = ids[1:] if ids[:1] == [self.model.bos_id] else ids
        while ids and ids[-1] == self.model.pad_id and self.model.pad_id != self.model.eos_id:
            ids = ids[:-1]
        return ids

    def check_ends(self, translations: Sequence[list[int]]) -> Iterator[Finding]:
        """Look for bos, and for tokens after eos."""
        eos, bos = self.model.eos_id, self.model.bos_id
        if any(bos in ids for ids in translations):
            yield make_finding("search-stop", "a translation contains bos", {})
        if any(eos in ids[:-1] for ids in translations):
            yield make_finding("search-stop", "a translation continues after eos", {})

    def greedy(self, source: Tensor, start: int | None = None, place: int = -1) -> list[int]:
        """The translation by greedy search, up to eos; the whole target is computed in each step."""
        ids = [self.model.bos_id if start is None else start]
        while len(ids) <= self.max_length and (len(ids) == 1 or ids[-1] != self.model.eos_id):
            logits = self.logits(source, ids)
            first, second = logits[max(place, -len(logits))].topk(2).values.tolist()
            if first - second < MARGIN:
                break  # rounding may exchange them
            ids.append(int(logits[max(place, -len(logits))].argmax()))
        return ids[1:]

    def logits(self, source: Tensor, ids: list[int]) -> Tensor:
        """The logits of each next token, (target, vocabulary)."""
        probe = Probe(self.model)
        probe.without_dropout = True
        with torch.no_grad():
            return probe.call(source[None], torch.tensor([ids]))[0].cpu()

    def agree(self, ids: list[int], expected: list[int]) -> bool:
        """Whether two translations are the same up to eos; those without eos are only the beginning of one."""
        words, right = self.words(ids), self.words(expected)
        if len(right) < len(expected):
            return words == right
        shorter = min(len(words), len(right))
        return words[:shorter] == right[:shorter] and shorter >= min(4, len(right))

    def words(self, ids: list[int]) -> list[int]:
        """Ids before eos."""
        return ids[: ids.index(self.model.eos_id)] if self.model.eos_id in ids else ids

    def changed_by_padding(self, sources: Tensor, first: Sequence[list[int]]) -> int:
        """The number of ids of padding that change a translation; 0 for none."""
        padding = torch.full((ROWS, 3), self.model.pad_id)
        padded = self.found(torch.cat([sources, padding], dim=1))
        return 0 if all(self.agree(*pair) for pair in zip(padded, first, strict=True)) else 3

    def describe(self, source: Tensor, ids: list[int], expected: list[int]) -> Finding:
        """Why a translation differs from greedy search: the first variant of it that gives the same."""
        variants: dict[str, dict[str, int]] = {
            "it starts with eos instead of bos": {"start": self.model.eos_id},
            "it starts with padding instead of bos": {"start": self.model.pad_id},
            "it reads the logits of the last position but one": {"place": -2},
            "it reads the logits of the first position": {"place": -1000},
        }
        same = (why for why, options in variants.items() if self.agree(ids, self.greedy(source, **options)))
        why = next(same, "")
        words, right = self.words(ids), self.words(expected)
        pairs = enumerate(zip(words, right, strict=False))
        equal = next((place for place, (word, other) in pairs if word != other), min(len(words), len(right)))
        if not why:
            why = (
                "the first token is right, so that the cache, the positions or the mask of later steps are wrong"
                if equal
                else "the first token differs already"
            )
        return make_finding(
            "search-differs",
            f"greedy search without a cache gives {expected}, this search {ids}: {why}",
            {"expected": expected, "found": ids, "equal": equal},
        )
