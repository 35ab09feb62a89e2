"""What a prediction must depend on: every word of the source, and where words stand."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from dragoman.doctor.explanations import found
from dragoman.doctor.finding import Finding
from dragoman.doctor.leaks import SOURCE, TARGET
from dragoman.doctor.probe import BY_PRECISION, Probe, Tolerance, compare

IGNORED = 1e-7  # of the spread of log-probabilities; in equal shapes what is ignored changes nothing at all
SOURCE_BLIND = 0.003  # effect of another order over that of other words; 0.04 and more in sound models
ABSOLUTE = 1e-4  # of the spread; at least 0.02 where positions are added to the embeddings
TARGET_BLIND = 0.015  # at 128 ids: at most 0.007 without positions, at least 0.024 with relative ones
LONG, SHORTEST = 128, 96


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
    one = source.clone()
    one.fill_diagonal_(0).add_(torch.diag(changed.diagonal()))
    one[-1] = source[-1]
    one[-1, -1] = probe.source_words[0]  # in place of eos
    after = probe.predict(one, target)
    places = [place for place in range(SOURCE) if compare(base[place], after[place]).relative <= IGNORED]
    if places and tolerance == BY_PRECISION[torch.float32]:  # less precision rounds small effects away
        yield found(
            "source-ignored",
            f"of {SOURCE} source ids, those at {', '.join(map(str, places))} change no prediction",
            cause="the mask of the source is shifted or too short, or the source is cut",
            places=places,
        )


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
    """Look for absolute positions in a target of one word only, then for relative ones with one other word in it.

    In the first, all positions are alike but for what is added to them. Relative positions show when the other word
    moves by one place near the end of a long target. Without any, the causal mask alone tells a little of the order,
    the less the longer the target is.
    """
    length = min(LONG, probe.longest["target"])
    if length < SHORTEST or tolerance != BY_PRECISION[torch.float32]:
        return
    rows = 8
    source = probe.source(rows, SOURCE)
    words = probe.target(rows, 4)
    filler, other = words[:, 1:2], probe.changed(words[:, 1:2], probe.words)
    another = torch.where(words[:, 3:] == filler, other, words[:, 3:])
    another = torch.where(another == other, probe.changed(another, probe.words), another)
    same = probe.predict(source, filler.expand(rows, TARGET))
    if compare(same[:, 1:], same[:, :-1]).relative > ABSOLUTE:
        return
    target = filler.repeat(1, length)
    target[:, 0] = probe.subject.bos_id

    def at_end(word: torch.Tensor, before_end: int) -> torch.Tensor:
        changed = target.clone()
        changed[:, length - 1 - before_end] = word[:, 0]
        return probe.predict(source, changed)[:, -1]

    base = at_end(other, 2)
    replaced = compare(base, at_end(another, 2)).relative
    share = max(compare(base, at_end(other, place)).relative for place in (1, 3)) / max(replaced, 1e-12)
    if share < TARGET_BLIND:
        yield found(
            "position-blind",
            f"moving a word of the target by one place does {share:.2g} of what another word does: the decoder does "
            "not know where words stand, except for what the causal mask tells",
            side="target",
            share=share,
        )
