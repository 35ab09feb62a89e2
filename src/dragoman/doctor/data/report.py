"""Turn flagged pairs into findings: how many, on which lines, with examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Literal

from dragoman.doctor.data.chunked_reader import Chunk, ChunkedReader
from dragoman.doctor.data.foreign_blocks import ForeignBlock, count_outside
from dragoman.doctor.data.line_statistics import Flags
from dragoman.doctor.data.second_language import SecondLanguage
from dragoman.doctor.data.stretches import Stretch
from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.doctor.findings.finding import Finding, Severity
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.errors import counted

MEASURED_LINES = 20  # line numbers in the measurements of a finding
MESSAGE_LINES = 5  # line numbers, or stretches, in the message of a finding
MAX_EXAMPLES = 3  # pairs
MAX_EXAMPLE_CHARACTERS = 160
MESSAGE_CHARACTERS = 60  # of each side of the example in a message
WARNING_SHARE = 0.01  # of the pairs; fewer are only a note
ERROR_SHARE = 0.05  # of the pairs that are misaligned or in a wrong language
COPIED_ERROR_SHARE = 0.5  # of the pairs

PROBLEMS = {
    "empty-side": "with an empty side",
    "invalid-utf8": "with invalid UTF-8, which training rejects",
    "encoding-damage": "decoded with the wrong encoding, or with lost letters",
    "markup": "with HTML entities, or with HTML tags on only one side",
    "control-characters": "with control characters, which training rejects",
    "over-long": "too long for a sentence",
    "copied-source": "with a copy of the source as the target",
    "duplicates": "that occurred before, apart from case and punctuation",
    "length-ratio": "with one side much longer than the other suggests",
    "cut-off": "of which the second half of a side is missing",
    "repeated-side": "of which one side contains its text twice",
    "second-language": "with a side in a second language",
    "test-similar": "nearly equal to a validation or test pair: one side is equal, or only one word differs",
    "wrong-script": "with a side in a different script from the rest",
    "wrong-language": "with a side in a different language from the rest",
    "misaligned": "in stretches where source and target are misaligned",
    "swapped-sides": "with source and target swapped",
    "test-overlap": "also found in the training corpora, apart from case and punctuation",
}
"""How messages continue after the number of pairs."""


class Examples:
    """The first few pairs with each problem."""

    def __init__(self) -> None:
        self.pairs: dict[str, list[dict[str, Any]]] = {}

    def add(self, chunk: Chunk, flags: Mapping[str, Flags]) -> None:
        """Add pairs of a chunk until there are enough of each code."""
        for code, values in flags.items():
            pairs = self.pairs.setdefault(code, [])
            for index in values.nonzero()[0][: MAX_EXAMPLES - len(pairs)].tolist():
                source, target = (side[index][:MAX_EXAMPLE_CHARACTERS] for side in (chunk.sources, chunk.targets))
                pairs.append({"line": chunk.first_line + index, "source": source, "target": target})


def report_line_counts(reader: ChunkedReader) -> Iterator[Finding]:
    """Report files with different numbers of lines."""
    source, target = reader.line_counts
    if source != target:
        yield make_finding(
            "line-counts-differ",
            f"{reader.name}: {source:,} source lines and {target:,} target lines; only the first "
            f"{min(source, target):,} were paired",
            {"corpus": reader.name, "source_lines": source, "target_lines": target},
        )


def report_languages(
    reader: ChunkedReader,
    code: Literal["swapped-sides", "wrong-script", "wrong-language"] | None,
    others: Mapping[str, str],
) -> Iterator[Finding]:
    """Report the problem that `check_languages` found with the languages of the whole corpus.

    Args:
        reader: Reads the corpus.
        code: The problem, if there is one.
        others: The languages that `foreign_sides` found.
    """
    if code is None:
        return
    source, target = reader.source_language, reader.target_language
    messages = {
        "swapped-sides": f"the whole corpus is swapped: the source is in {target} and the target is in {source}",
        "wrong-script": f"a side of the whole corpus is not in the usual script of its language ({source}, {target})",
        "wrong-language": " and ".join(
            f"the whole {side} looks like {other}, not {source if side == 'source' else target}"
            for side, other in others.items()
        ),
    }
    options = {}
    if code == "wrong-language":
        options["cause"] = "a file is in another language than its name, the recipe or --languages states"
        options["fix"] = "use the right file, or state the language that the file is in"
    measured = {"corpus": reader.name, "share": 1.0}
    yield make_finding(code, f"{reader.name}: {messages[code]}", measured, severity="error", **options)


def report_flags(
    reader: ChunkedReader,
    flags: Mapping[str, Flags],
    stretches: Sequence[Stretch],
    blocks: Sequence[ForeignBlock],
    second_languages: Sequence[SecondLanguage | None],
    examples: Examples,
) -> Iterator[Finding]:
    """Report each problem that any pair has.

    Args:
        reader: Reads the corpus.
        flags: For each code, the pairs that have the problem.
        stretches: The misaligned stretches.
        blocks: The blocks in another language.
        second_languages: The second language of each side, if there is one.
        examples: Pairs with each problem.
    """
    for code, values in flags.items():
        measured = _measure(reader, values)
        if not measured["count"]:
            continue
        where = _describe_lines(measured, reader.unit)
        if code == "misaligned":
            measured["stretches"] = [asdict(stretch) for stretch in stretches]
            elsewhere = measured["count"] - sum(each.last - each.first + 1 for each in stretches)
            where = _join(_describe_stretch(stretch, reader.unit) for stretch in stretches) or where
            if stretches and elsewhere > 0:
                where += f"; and {counted(elsewhere, reader.unit)} elsewhere"
            elif not stretches:
                where += " (their translations are on lines around them)"
        if code == "second-language":
            described = [
                (side, each) for side, each in zip(("source", "target"), second_languages, strict=True) if each
            ]
            measured["languages"] = {side: {"own": each.own, "other": each.other} for side, each in described}
            where += "".join(
                f" (in the {side}, instead of {_quote(', '.join(each.own[:4]))}, they have "
                f"{_quote(', '.join(each.other[:4]))})"
                for side, each in described
            )
        if code == "wrong-language" and blocks:
            measured["blocks"] = [asdict(block) for block in blocks]
            elsewhere = count_outside(values, blocks)
            where = _join(_describe_block(block, reader.unit) for block in blocks)
            where += f"; and {counted(elsewhere, reader.unit)} elsewhere" if elsewhere else ""
        measured["examples"] = examples.pairs[code]
        message = f"{_describe_count(code, measured, len(values))}: {where}{_describe_example(measured)}"
        yield make_finding(code, message, measured, severity=_severity(code, measured["share"], stretches))


def report_overlap(reader: ChunkedReader, overlap: Flags) -> Iterator[Finding]:
    """Report pairs of a validation or test corpus that are also in the training corpora."""
    measured = _measure(reader, overlap)
    if measured["count"]:
        message = f"{_describe_count('test-overlap', measured, len(overlap))}: {_describe_lines(measured, reader.unit)}"
        severity: Severity = "error" if measured["share"] >= WARNING_SHARE else "warning"
        yield make_finding("test-overlap", message, measured, severity=severity)


def _measure(reader: ChunkedReader, flags: Flags) -> dict[str, Any]:
    lines = (flags.nonzero()[0][:MEASURED_LINES] + 1).tolist()
    count = int(flags.sum())
    return {"corpus": reader.name, "count": count, "share": count / max(1, len(flags)), "lines": lines}


def _severity(code: str, share: float, stretches: Sequence[Stretch]) -> Severity:
    usual = DATA_FINDINGS[code].severity
    if code == "misaligned":
        shifted = any(stretch.shift for stretch in stretches)
        return "error" if shifted or share >= ERROR_SHARE else "warning"
    if code == "wrong-language" and share >= ERROR_SHARE:
        return "error"
    if code == "copied-source" and share >= COPIED_ERROR_SHARE:
        return "error"
    return "note" if usual == "warning" and share < WARNING_SHARE else usual


def _describe_count(code: str, measured: Mapping[str, Any], size: int) -> str:
    pairs = counted(measured["count"], "pair")
    return f"{measured['corpus']}: {pairs} {PROBLEMS[code]} ({measured['share']:.2%} of {size:,})"


def _describe_lines(measured: Mapping[str, Any], unit: str) -> str:
    numbers = ", ".join(f"{line:,}" for line in measured["lines"][:MESSAGE_LINES])
    if measured["count"] == 1:
        return f"{unit} {numbers}"
    return f"{unit}s {numbers}" + (", …" if measured["count"] > MESSAGE_LINES else "")


def _describe_example(measured: Mapping[str, Any]) -> str:
    """The texts of the first pair."""
    if not (pairs := measured["examples"]):
        return ""
    beginning = ": " if measured["count"] == 1 else ", such as "
    return f"{beginning}{_quote(pairs[0]['source'])} with {_quote(pairs[0]['target'])}"


def _quote(text: str) -> str:
    """The beginning of a text, with escaped control characters, which could change what a terminal shows."""
    shown = text if len(text) <= MESSAGE_CHARACTERS else text[: MESSAGE_CHARACTERS - 1] + "…"
    return f'"{"".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)}"'


def _join(descriptions: Iterable[str]) -> str:
    """The first descriptions of ranges."""
    shown = list(islice(descriptions, MESSAGE_LINES + 1))
    return "; ".join(shown[:MESSAGE_LINES]) + (" …" if len(shown) > MESSAGE_LINES else "")


def _describe_block(block: ForeignBlock, unit: str) -> str:
    place = f"{unit}s {block.first:,} to {block.last:,}"
    return f"{place} (the {block.side} looks like {block.language})" if block.language else place


def _describe_stretch(stretch: Stretch, unit: str) -> str:
    place = f"{unit}s {stretch.first:,} to {stretch.last:,}"
    if stretch.shift is None:
        return f"{place} (no shift aligns them)"
    count = counted(abs(stretch.shift), unit)
    return f"{place} (the translations are {count} further {'down' if stretch.shift > 0 else 'up'})"
