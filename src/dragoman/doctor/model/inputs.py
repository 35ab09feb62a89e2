"""What a prediction must depend on: every word of the source, and where words stand."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.model.leaks import SOURCE, TARGET
from dragoman.doctor.model.probe import BY_PRECISION, Probe, Tolerance, compare

IGNORED = 1e-7  # of the spread of log-probabilities; in equal shapes what is ignored changes nothing at all
SOURCE_BLIND = 0.003  # effect of another order over that of other words; 0.04 and more in sound models
ABSOLUTE = 1e-4  # of the spread; at least 0.02 where positions are added to the embeddings
TARGET_BLIND = 0.015  # at 128 ids: at most 0.007 without positions, at least 0.024 with relative ones
LONG, SHORTEST = 128, 96  # ids
ROWS = 8


def source_ignored(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Change all words of the source, then one at a time."""
    source, target = probe.source(SOURCE, SOURCE), probe.target(1, TARGET).expand(SOURCE, TARGET)
    source[:] = source[:1]
    changed = probe.changed(source, probe.source_words)
    base = probe.predict(source, target)
    effect = compare(base, probe.predict(changed, target))
    if effect.relative <= IGNORED:
        yield found(
            "source-ignored",
            "other words in the source change no prediction",
            relative=effect.relative,
            probability=effect.probability,
        )
        return
    places = _ignored_places(probe, source, changed, target, base)
    if places and tolerance == BY_PRECISION[torch.float32]:  # less precision rounds small effects away
        yield found(
            "source-ignored",
            f"of {SOURCE} source ids, those at {', '.join(map(str, places))} change no prediction",
            cause="the mask of the source is shifted or too short, or the source is cut",
            places=places,
        )


def _ignored_places(probe: Probe, source: Tensor, changed: Tensor, target: Tensor, base: Tensor) -> list[int]:
    """At which places another id changes nothing; row i of the batch is to have its id i changed."""
    one = source.clone()
    one.fill_diagonal_(0).add_(torch.diag(changed.diagonal()))
    one[-1] = source[-1]
    one[-1, -1] = probe.source_words[0]  # in place of eos
    after = probe.predict(one, target)
    return [place for place in range(SOURCE) if compare(base[place], after[place]).relative <= IGNORED]


def source_position_blind(probe: Probe) -> Iterator[Finding]:
    """Put the words of the source in another order, and compare with the effect of other words."""
    source, target = probe.source(4, SOURCE), probe.target(4, TARGET)
    base = probe.predict(source, target)
    replaced = compare(base, probe.predict(probe.changed(source, probe.source_words), target))
    turned = torch.cat([source[:, :-1].flip(1), source[:, -1:]], dim=1)
    moved = compare(base, probe.predict(turned, target))
    share = moved.relative / max(replaced.relative, 1e-12)
    if replaced.relative > IGNORED and share < SOURCE_BLIND:
        yield found(
            "position-blind",
            f"turning the order of the source's words round does {share:.2g} of what other words do: the encoder does "
            "not know where words stand",
            side="source",
            share=share,
        )


def target_position_blind(probe: Probe, tolerance: Tolerance) -> Iterator[Finding]:
    """Look for absolute positions in a target of one word only, then for relative ones with one other word in it."""
    length = min(LONG, probe.longest["target"])
    if length < SHORTEST or tolerance != BY_PRECISION[torch.float32]:
        return
    source = probe.source(ROWS, SOURCE)
    words = torch.stack([probe.words[torch.randperm(len(probe.words), generator=probe.generator)[:3]] for _ in source])
    same = probe.predict(source, words[:, :1].expand(ROWS, TARGET))
    if compare(same[:, 1:], same[:, :-1]).relative > ABSOLUTE:
        return  # all positions are alike but for what is added to them
    share = _share_of_place(probe, source, words, length)
    if share < TARGET_BLIND:
        yield found(
            "position-blind",
            f"moving a word of the target by one place does {share:.2g} of what another word does: the decoder does "
            "not know where words stand, except for what the causal mask tells",
            side="target",
            share=share,
        )


def _share_of_place(probe: Probe, source: Tensor, words: Tensor, length: int) -> float:
    """What moving one word among many equal ones does to the last prediction, over what exchanging it does.

    Relative positions show when the word moves by one place near the end. Without any, the causal mask alone tells
    a little of the order, the less the longer the target is.

    Args:
        probe: Asks the model.
        source: Sources, (rows, source).
        words: The equal words, the one among them and the one to exchange it for, (rows, 3).
        length: Ids of the target.
    """

    def last_prediction(word: int, before_end: int) -> Tensor:
        target = words[:, :1].repeat(1, length)
        target[:, 0] = probe.subject.bos_id
        target[:, length - 1 - before_end] = words[:, word]
        return probe.predict(source, target)[:, -1]

    base = last_prediction(1, 2)
    exchanged = compare(base, last_prediction(2, 2)).relative
    moved = max(compare(base, last_prediction(1, place)).relative for place in (1, 3))
    return moved / max(exchanged, 1e-12)
