"""From marks to findings: how many, which lines, and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.doctor.data.alignment import Stretch
from dragoman.doctor.data.chunked_reader import Chunk, Reader
from dragoman.doctor.data.corpus_statistics import Marks
from dragoman.doctor.findings.explanations import DATA, found
from dragoman.doctor.findings.finding import Finding, Severity

LINES = 20  # line numbers of a finding
SHOWN = 3  # examples of a finding
LENGTH = 160  # characters of an example
MANY = 0.01  # share of the pairs from which a nuisance is worth a warning

WHAT = {
    "empty-side": "have an empty side",
    "invalid-utf8": "are not valid UTF-8, and training refuses them",
    "encoding-damage": "were decoded with the wrong encoding",
    "control-characters": "hold control characters, and training refuses them",
    "over-long": "are too long to be a sentence",
    "copied-source": "have the source as their target",
    "duplicates": "were there before",
    "length-ratio": "have a side far longer than the other should be",
    "wrong-script": "have a side in another script than the rest",
    "misaligned": "are in stretches where source and target have come apart",
    "swapped-sides": "have source and target exchanged",
}


class Examples:
    """The first few pairs of each code."""

    def __init__(self) -> None:
        self.pairs: dict[str, list[dict[str, Any]]] = {}

    def add(self, chunk: Chunk, marks: Mapping[str, Marks]) -> None:
        """Take from a chunk what is still wanted."""
        for code, values in marks.items():
            kept = self.pairs.setdefault(code, [])
            for place in values.nonzero()[0][: SHOWN - len(kept)].tolist():
                texts = {"source": chunk.sources[place][:LENGTH], "target": chunk.targets[place][:LENGTH]}
                kept.append({"line": chunk.first + place, **texts})


def tell_lines(reader: Reader) -> Iterator[Finding]:
    """Whether both files have as many lines."""
    source, target = reader.lines
    if source != target:
        yield found(
            "line-counts-differ",
            f"{reader.name}: {source:,} source lines and {target:,} target lines; only the first "
            f"{min(source, target):,} were paired",
            corpus=reader.name,
            source_lines=source,
            target_lines=target,
        )


def tell_languages(reader: Reader, wrong: str | None) -> Iterator[Finding]:
    """Whether the whole corpus is in other languages than it should be."""
    languages = f"{reader.source_language} and {reader.target_language}"
    if wrong == "exchanged":
        message = f"{reader.name}: all of it: the sides are not {languages} but the other way round"
        yield found("swapped-sides", message, severity="error", corpus=reader.name, share=1.0)
    elif wrong == "script":
        message = f"{reader.name}: all of it: a side is not in the script of its language, {languages}"
        yield found("wrong-script", message, severity="error", corpus=reader.name, share=1.0)


def tell_pairs(
    reader: Reader, marks: Mapping[str, Marks], stretches: Sequence[Stretch], examples: Examples
) -> Iterator[Finding]:
    """One finding for each code that marks any pair."""
    for code, values in marks.items():
        count, size = int(values.sum()), len(values)
        if not count:
            continue
        lines = (values.nonzero()[0][:LINES] + 1).tolist()
        measured: dict[str, Any] = {"corpus": reader.name, "count": count, "share": count / size, "lines": lines}
        where = f"line{'s' if count > 1 else ''} {_join(lines[:5], count)}"
        if code == "misaligned":
            measured["stretches"] = [{"first": s.first, "last": s.last, "shift": s.shift} for s in stretches]
            where = "; ".join(map(_describe, stretches[:5])) + (" …" if len(stretches) > 5 else "")
        yield found(
            code,
            f"{reader.name}: {count:,} of {size:,} pairs ({count / size:.2%}) {WHAT[code]}: {where}",
            severity=_severity(code, count / size, stretches),
            examples=examples.pairs[code],
            **measured,
        )


def tell_overlap(reader: Reader, marks: Marks) -> Iterator[Finding]:
    """How much of a test or validation corpus is among the training pairs."""
    count, size = int(marks.sum()), len(marks)
    if count:
        lines = (marks.nonzero()[0][:LINES] + 1).tolist()
        yield found(
            "test-overlap",
            f"{reader.name}: {count:,} of {size:,} pairs ({count / size:.2%}) are also trained on: line"
            f"{'s' if count > 1 else ''} {_join(lines[:5], count)}",
            severity="error" if count / size >= MANY else "warning",
            corpus=reader.name,
            count=count,
            share=count / size,
            lines=lines,
        )


def _severity(code: str, share: float, stretches: Sequence[Stretch]) -> Severity:
    usual = DATA[code].severity
    if code == "misaligned":
        shifted = any(stretch.shift for stretch in stretches)
        return "error" if shifted or share >= 0.05 else "warning"
    if usual == "warning" and share < MANY:
        return "note"
    return usual


def _describe(stretch: Stretch) -> str:
    lines = f"lines {stretch.first:,} to {stretch.last:,}"
    if stretch.shift is None:
        return f"{lines} (no shift mends it)"
    by = f"{abs(stretch.shift)} line{'s' if abs(stretch.shift) > 1 else ''}"
    return f"{lines} (the target of each stands {by} further {'down' if stretch.shift > 0 else 'up'})"


def _join(lines: Sequence[int], count: int) -> str:
    return ", ".join(f"{line:,}" for line in lines) + (", …" if count > len(lines) else "")
