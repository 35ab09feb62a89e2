"""Synthetic pairs: which are made, and which are left out for which reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dragoman
from dragoman.corpus.pair import Pair
from dragoman.engines import ENGINES
from dragoman.synthesis.back_translator import METHODS, BackTranslator, RoundTrip
from dragoman.text.noise import FILLER
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.translator import Translator

LONG = " ".join(["viele"] + [f"Wort{number}" for number in range(200)])
WRONG = {
    "Leer ist das hier.": Translation(""),
    "Das dreht sich im Kreis.": Translation("round and round and round and round and round and round and round"),
    "Dieser ganze Satz wird nur kopiert.": Translation("Dieser ganze Satz wird nur kopiert."),
    "Der Platzhalter {0} fehlt.": Translation("The placeholder is gone.", problems=["missing: {0}"]),
    "Ein Zeichen ist kaputt.": Translation("a char\N{REPLACEMENT CHARACTER}cter is broken"),
    LONG: Translation("many words", truncated=True),
}
REASONS = {
    "empty": 1,
    "loop": 1,
    "copied": 1,
    "placeholders, URLs or numbers": 1,
    "longer than the model reads": 1,
    "broken characters": 1,
}


USUAL = Pair("A woman in a blue coat reads a long book.", "Eine Frau in einem blauen Mantel liest ein langes Buch.")
UNUSUAL = [
    ("too long", Pair("This is a translation with very many words which nobody would expect for one word.", "Kurz.")),
    (
        "too short",
        Pair("A.", "Ein Mann in einem Boot, mit einem Hund, sieht einen Vogel auf einem Baum neben dem Haus."),
    ),
    ("other language", Pair("A woman in a coat reads a long book.", "Une femme en manteau lit un très long livre.")),
    (
        "other language",
        Pair("Une femme en manteau lit un très long livre.", "Eine Frau im Mantel liest ein langes Buch."),
    ),
]


def into_english(text: str) -> str:
    """The translation of a text that no table has."""
    return f"This is the translation of a sentence with the words {' and '.join(text.split()[1:5])}"


class FakeTranslator:
    """Translates by a table, and other texts with `into_english`."""

    def __init__(self, translator: Translator, table: dict[str, Translation]) -> None:
        self.bundle, self.decoding, self.table = translator.bundle, translator.decoding, table

    def stream(self, texts: Iterable[str]) -> Iterator[Translation]:
        return (self.table.get(text, Translation(into_english(text))) for text in texts)


@pytest.fixture
def make_fake(translator: Translator) -> Any:
    return lambda **table: FakeTranslator(translator, {**WRONG, **table})


def test_each_filter_leaves_out_what_it_says(make_fake: Any) -> None:
    good = ["Ein Hund läuft.", "Eine Frau liest ein Buch."]
    block = BackTranslator(make_fake()).make([Pair("", text) for text in [good[0], "", *WRONG, "  ", good[1]]])
    assert block.pairs == [Pair(into_english(text), text) for text in good]
    assert block.left_out == {**REASONS, "blank": 2}


def test_lengths_and_languages_are_checked_at_the_end(make_fake: Any) -> None:
    several = [USUAL._replace(source=USUAL.source + number * " indeed") for number in range(4)]
    finish = BackTranslator(make_fake()).compared_with(40 * several)
    assert finish(USUAL) == USUAL
    assert [finish(pair) for _, pair in UNUSUAL] == [reason for reason, _ in UNUSUAL]
    unknown = BackTranslator(make_fake()).compared_with(several)
    lengths = [pair for reason, pair in UNUSUAL if reason != "other language"]
    assert [unknown(pair) for pair in lengths] == lengths, "too few pairs show what is usual"


def test_targets_are_kept(make_fake: Any) -> None:
    pairs = [Pair("A dog.", "Ein Hund", weight=2.0), Pair(into_english("das gleiche"), "das gleiche")]
    block = BackTranslator(make_fake()).make(pairs)
    assert block.pairs == [Pair(into_english("Ein Hund"), "Ein Hund", weight=2.0)]
    assert block.left_out == {"already in the text": 1}


def test_round_trip_leaves_out_what_is_not_translated_back(make_fake: Any, translator: Translator) -> None:
    lost, kept = "Ein Mann sieht einen Vogel.", "Eine Frau liest ein Buch."
    back = FakeTranslator(
        translator, {into_english(kept): Translation(kept), into_english(lost): Translation("Etwas anderes.")}
    )
    pairs = [Pair("", lost), Pair("", kept)]
    for minimum, expected in ((0.0, [lost, kept]), (60.0, [kept])):
        maker = BackTranslator(make_fake(), round_trip=RoundTrip(back, minimum))  # type: ignore[arg-type]
        block = maker.make(pairs)
        assert [pair.target for pair in block.pairs] == expected
        assert block.left_out["round trip"] == 2 - len(expected)


def test_noise_depends_on_the_pair_only(make_fake: Any) -> None:
    lines = [f"Ein Hund läuft mit {number} Frauen schnell über die große Wiese im Park" for number in range(40)]
    plain = [Pair(into_english(line), line) for line in lines]
    finish = BackTranslator(make_fake(), noised=True).compared_with(plain)
    noised = [finish(pair) for pair in plain]
    assert all(isinstance(pair, Pair) and pair.target == line for pair, line in zip(noised, lines, strict=True))
    assert sum(one != other for one, other in zip(noised, plain, strict=True)) > 35
    assert any(FILLER in pair[0] for pair in noised)
    assert [finish(pair) for pair in reversed(plain)] == noised[::-1]


def test_identity_contains_what_decides_the_pairs(translator: Translator, finished_run: Path) -> None:
    other = type(translator)(translator.bundle, {"beam_size": 2})
    makers = [
        BackTranslator(translator),
        BackTranslator(other),
        *(
            BackTranslator(dragoman.load(finished_run, engine=name))
            for name in ENGINES
            if name != translator.engine.name
        ),
        BackTranslator(dragoman.load(finished_run, engine="ctranslate2", compute_type="int8")),
        *(BackTranslator(translator, round_trip=RoundTrip(translator, minimum)) for minimum in (10, 20)),
    ]
    identities = [maker.identity for maker in makers]
    assert all(one not in identities[:index] for index, one in enumerate(identities))
    assert BackTranslator(translator, noised=True).identity == identities[0], "blocks contain no noise"


def test_samples_are_the_same_in_any_block(translator: Translator, corpus: Path) -> None:
    lines = (corpus / "test.de").read_text("utf-8").splitlines()
    sampling = BackTranslator(type(translator)(translator.bundle, METHODS["sampling"]))
    whole = [each.text for each in sampling.translator.stream(lines)]
    assert whole == [each.text for line in lines for each in sampling.translator.stream([line])]
    beam = BackTranslator(type(translator)(translator.bundle, METHODS["beam"]))
    assert whole != [each.text for each in beam.translator.stream(lines)]
