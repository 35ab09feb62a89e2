"""Every German sentence that the documentation shows is a caption, and `dragoman quickstart` learns to translate it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

import dragoman
from dragoman.corpus.synthetic.captions import Activity, Adjective, CaptionGenerator, Noun, Place, RejectedDraw
from dragoman.recipe import load_recipe
from dragoman.training.run.run import train

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dragoman"
SENTENCE = re.compile(r"(?<![\w-])(?:Der|Die|Das|Eine?|Zwei|Drei|Einige|Viele)(?:,? [A-Za-zÄÖÜäöüß]+)+\.?")
DRAWS = 50_000

_Item = TypeVar("_Item")


def shown_texts() -> Iterator[tuple[str, str]]:
    """The code of the pages, the command line with its help, calls in docstrings, examples, and the web pages."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(?:sh|bash|python)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        yield page.name, "\n".join([*blocks, *re.findall(r"`dragoman [^`]+`", text)])
    for module in sorted(SOURCE.rglob("*.py")):
        calls = re.findall(r"^ *>>> .*translat\w+\(.*$", module.read_text(encoding="utf-8"), re.MULTILINE)
        yield module.name, "\n".join(calls)
    pages = [path for name in ("serving/page", "system/translation_page") for path in (SOURCE / name).iterdir()]
    for path in sorted([*(SOURCE / "cli").glob("*.py"), *(ROOT / "examples").iterdir(), *pages]):
        if path.is_file():
            yield path.name, path.read_text(encoding="utf-8")


def shown_sentences() -> dict[str, str]:
    """The sentences without tags and marks, each with a file that shows it."""
    return {
        sentence: name
        for name, text in shown_texts()
        for sentence in SENTENCE.findall(re.sub(r"<[^<>\n]*>|\*\*", "", text).replace(r"\n", "\n"))
    }


class GuidedGenerator(CaptionGenerator):
    """Draws captions from the words of one German sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(seed=1)
        self._sentence = sentence
        self._words = set(re.findall(r"\w+", sentence))

    def find_translation(self) -> str | None:
        """The English translation of the sentence; None if it is not one of the grammar's."""
        for _ in range(DRAWS):
            try:
                german, english = self._pick(self._patterns)()
            except RejectedDraw:
                continue
            if german[0].upper() + german[1:] + "." == self._sentence:
                return english[0].upper() + english[1:] + "."
        return None

    def _pick(self, items: Sequence[_Item]) -> _Item:
        return super()._pick([item for item in items if self._fits(item)])

    def _fits(self, item: object) -> bool:
        match item:
            case Noun():
                return not self._words.isdisjoint((item.singular, item.oblique, item.plural, item.plural + "n"))
            case Adjective():
                return any(word.startswith(item.stem) for word in self._words)
            case Place():
                return self._fits(item.noun)
            case Activity():
                forms = (item.verb.infinitive, item.verb.singular)
                return any(word.endswith(forms) for word in self._words)
            case _:
                return True


def test_the_documentation_shows_sentences_of_the_grammar() -> None:
    sentences = shown_sentences()
    assert {"Ein Hund läuft.", "Ein Mann schläft.", "Zwei Frauen lesen ein Buch."} <= sentences.keys()
    unknown = [each for each in sentences.items() if GuidedGenerator(each[0]).find_translation() is None]
    assert unknown == []


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Ein Hund läuft.", "A dog is running."),
        ("Zwei Frauen lesen ein Buch.", "Two women are reading a book."),
        ("Ein Mann schläft.", "A man is sleeping."),
        ("Eine Frau hebt einen Hut auf.", "A woman is picking up a hat."),
        ("Ein Hund laufen.", None),
        ("Ein Hund.", None),
        ("Ein Hund läuft", None),
        ("Eine Frau liest einen Hund.", None),
    ],
)
def test_only_sentences_of_the_grammar_have_a_translation(german: str, english: str | None) -> None:
    assert GuidedGenerator(german).find_translation() == english


@pytest.mark.slow
def test_the_quickstart_translates_every_shown_sentence_right(tmp_path: Path) -> None:
    """With about as many steps as two cores make in its three minutes."""
    recipe = load_recipe(Path("quickstart"), ["training.minutes=none", "training.steps=1500"])
    train(recipe, tmp_path / "run")
    sentences = list(shown_sentences())
    expected = {sentence: GuidedGenerator(sentence).find_translation() for sentence in sentences}
    translations = dragoman.load(tmp_path / "run")(sentences)
    assert {one: found.text for one, found in zip(sentences, translations, strict=True)} == expected
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    scores = [line for line in map(json.loads, lines) if line["kind"] == "test"]
    assert scores[-1]["bleu"] >= 98.5
