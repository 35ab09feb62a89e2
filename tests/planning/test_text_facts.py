"""What is counted is what a reader of the files would count."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.planning.text_facts import collect_facts

TEXT = [("Ein Hund läuft.", "एक कुत्ता दौड़ता है।"), ("", "nothing"), ("Zwei Hunde", "दो कुत्ते"), ("A", " ")]


def test_complete_pairs_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in TEXT), encoding="utf-8")
    facts = collect_facts([str(path)] * 2, ("de", "hi"), None)
    complete = [pair for pair in TEXT if pair[0].strip() and pair[1].strip()] * 2
    assert facts.pairs == len(complete) == 4
    for side, texts in zip((facts.source, facts.target), zip(*complete, strict=True), strict=True):
        assert side.characters == sum(map(len, texts))
        assert side.words == sum(len(text.split()) for text in texts)
        assert side.has_spaces
    assert (facts.source.script, facts.target.script) == ("Latin", "Devanagari")
    assert not facts.same_script


def test_text_without_spaces_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("我们在公园里散步，然后去吃晚饭。\tWe walk in the park and then have dinner.\n", encoding="utf-8")
    facts = collect_facts([str(path)], ("zh", "en"), None)
    assert (facts.source.has_spaces, facts.target.has_spaces) == (False, True)


def test_text_without_pairs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\t\n\tb\n")
    with pytest.raises(UserError, match=r"no pair with text on both sides|only empty lines"):
        collect_facts([str(tmp_path / "pairs.tsv")], ("de", "en"), None)
