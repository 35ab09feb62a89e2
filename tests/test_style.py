"""One meaning per name, standard terms and plain English.

The table of retired names is exact: each was used by an earlier version for something that has a standard term.
"""

from __future__ import annotations

import ast
import importlib
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dragoman"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CODE = sorted(
    path for part in ("src", "tests", "benchmarks", "docs", "examples") for path in (ROOT / part).rglob("*.py")
)
TABLES = {"corpus/synthetic/caption_tables.py", "corpus/synthetic/captions.py"}
"""Files that are data."""

RETIRED_NAMES = {
    *("PackedTransformer", "PackedCache", "Residual", "Tongues"),
    *("products", "transposed_times", "packed_hidden", "block_attention", "sealed", "cells", "turns", "turn"),
    *("forcing", "keep_going", "temper", "telling", "survey", "judging", "little_words", "break_down"),
}
RETIRED_FUNCTIONS = {"times", "whole", "like", "spread", "tell", "force", "follow", "watch"}
RETIRED_MODULES = {
    *("products", "packed", "block_attention", "sealed", "machine", "information", "breakdown", "problems"),
    *("training/large", "training/text", "text/training", "text/pieces", "export/pieces"),
    *("search/run", "search/scores", "search/forcing", "search/filters"),
    *("doctor/telling", "doctor/survey", "doctor/judging", "doctor/reading", "doctor/watch"),
    *("export/graph", "export/specification", "export/marian", "export/engine", "export/converted"),
}
RETIRED_PHRASES = (
    *("anew", "whoever", "whomever", "mends?", "mended", "in vain", "be it", "beside", "lies", "hitherto", "thereof"),
    *("does the like", "for it is", "of its own", "of their own", "nothing of", "whence", "wherein", "is worth"),
    *("comes apart", "came apart", "what is (?:left|kept|said|read)", "tells (?:which|what|how|the|of|why)", "surer"),
    *("is told", "are told", "tells of", "is at fault", "which is to be", "that is to be", "the house", "licence"),
    *("told", "tells", "begun", "goes on", "asked for", "left in peace", "whatever", "says otherwise"),
    *("learnt", "spelt", "parametrised", "normalise[ds]?", "initialise[ds]?", "synchronised"),
)
SHARED_NAMES = {
    "load",
    "open_corpus",
    "open_engine",
    "recognizes",
    "reopen",
    "named_languages",
    "stated_languages",
    "unsupported",
    "write",
}
"""Functions that every module of a table of extensions has."""


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_possessive_groups_need_the_library_regex() -> None:
    """Python before 3.11.5 matches them wrongly with `re` if a repetition fails in the middle."""
    groups = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")
    modules = [
        importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)) for path in SOURCES
    ]
    patterns = {value.pattern for module in modules for value in vars(module).values() if isinstance(value, re.Pattern)}
    assert len(patterns) > 50
    texts = [each if isinstance(each, str) else each.decode("latin-1") for each in patterns]
    assert not [text for text in texts if groups.search(text)]


def test_model_names_no_machine() -> None:
    for path in (PACKAGE / "model").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?i)onednn|mkldnn|cuda|\bcpu\b|packed|varlen|device\.type", text), path


def test_public_names_have_one_meaning() -> None:
    """No class or function of one name is defined twice; a command of the command line may share one."""
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    for name, paths in places.items():
        outside = [path for path in paths if not path.startswith(("cli/", "reference/"))]
        assert len(outside) <= 1 or name in SHARED_NAMES, f"{name}: {outside}"


def test_retired_names_do_not_return() -> None:
    found = {}
    for path in CODE:
        text = path.read_text(encoding="utf-8")
        module = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).with_suffix("").as_posix()
        retired = {module, path.stem} & RETIRED_MODULES
        retired |= set(re.findall(r"\bdef (\w+)", text)) & RETIRED_FUNCTIONS
        if set(re.findall(r"\w+", text)) & RETIRED_NAMES:  # maybe in a comment or a string, where they may be
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            retired |= {token.string for token in tokens if token.type == tokenize.NAME} & RETIRED_NAMES
        if retired:
            found[str(path.relative_to(ROOT))] = retired
    assert found == {}


def written_texts() -> list[Path]:
    """All files of the project that people read, except data and this one."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.splitlines()]
    data = {PACKAGE / name for name in TABLES} | {Path(__file__), ROOT / "LICENSE"}
    return [
        path for path in paths if path not in data and path.suffix not in (".png", ".svg", ".tsv") and path.is_file()
    ]


def test_retired_phrases_do_not_return() -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(RETIRED_PHRASES)})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in written_texts()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)
