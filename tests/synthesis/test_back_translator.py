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
    "Kurz.": Translation("This is a translation with very many words which nobody would expect for one word."),
    "Ein Mann in einem Boot, mit einem Hund, sieht einen Vogel auf einem Baum neben dem Haus.": Translation("A."),
    "Der Platzhalter {0} fehlt.": Translation("The placeholder is gone.", problems=["missing: {0}"]),
    "Ein Zeichen ist kaputt.": Translation("a char\N{REPLACEMENT CHARACTER}cter is broken"),
    LONG: Translation("many words", truncated=True),
}
REASONS = {
    "empty": 1,
    "loop": 1,
    "copied": 1,
    "too long": 1,
    "too short": 1,
    "placeholders, URLs or numbers": 1,
    "longer than the model reads": 1,
    "broken characters": 1,
}


class FakeTranslator:
    """Translates by a table; other texts are translated into the same letters in reverse order."""

    def __init__(self, translator: Translator, table: dict[str, Translation]) -> None:
        self.bundle, self.decoding, self.table = translator.bundle, translator.decoding, table

    def stream(self, texts: Iterable[str]) -> Iterator[Translation]:
        return (self.table.get(text, Translation(text[::-1])) for text in texts)


@pytest.fixture
def make_fake(translator: Translator) -> Any:
    return lambda **table: FakeTranslator(translator, {**WRONG, **table})


def test_each_filter_leaves_out_what_it_says(make_fake: Any) -> None:
    good = ["Ein Hund läuft.", "Eine Frau liest ein Buch."]
    block = BackTranslator(make_fake()).make([Pair("", text) for text in [good[0], "", *WRONG, "  ", good[1]]])
    assert block.pairs == [Pair(text[::-1], text) for text in good]
    assert block.left_out == {**REASONS, "blank": 2}


def test_targets_are_kept(make_fake: Any) -> None:
    pairs = [Pair("Ein Hund.", "a dog", weight=2.0), Pair("ehcielg sad", "das gleiche")]
    block = BackTranslator(make_fake()).make(pairs)
    assert block.pairs == [Pair("god a", "a dog", weight=2.0)]
    assert block.left_out == {"already in the text": 1}


def test_round_trip_leaves_out_what_is_not_translated_back(make_fake: Any, translator: Translator) -> None:
    lost, kept = "Ein Mann sieht einen Vogel.", "Eine Frau liest ein Buch."
    back = FakeTranslator(translator, {kept[::-1]: Translation(kept), lost[::-1]: Translation("Etwas anderes.")})
    pairs = [Pair("", lost), Pair("", kept)]
    for minimum, expected in ((0.0, [lost, kept]), (60.0, [kept])):
        maker = BackTranslator(make_fake(), round_trip=RoundTrip(back, minimum))  # type: ignore[arg-type]
        block = maker.make(pairs)
        assert [pair.target for pair in block.pairs] == expected
        assert block.left_out["round trip"] == 2 - len(expected)


def test_noise_depends_on_the_pair_only(make_fake: Any) -> None:
    lines = [f"Ein Hund läuft mit {number} Frauen schnell über die große Wiese im Park" for number in range(40)]
    pairs = [Pair("", line) for line in lines]
    plain, maker = BackTranslator(make_fake()).make(pairs), BackTranslator(make_fake(), noised=True)
    block = maker.make(pairs)
    assert [pair.target for pair in block.pairs] == lines
    assert sum(one != other for one, other in zip(block.pairs, plain.pairs, strict=True)) > 35
    assert any(FILLER in pair.source for pair in block.pairs)
    single = [pair for line in reversed(pairs) for pair in maker.make([line]).pairs]
    assert single == block.pairs[::-1]


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
        BackTranslator(translator, noised=True),
        *(BackTranslator(translator, round_trip=RoundTrip(translator, minimum)) for minimum in (10, 20)),
    ]
    identities = [maker.identity for maker in makers]
    assert all(one not in identities[:index] for index, one in enumerate(identities))
    assert BackTranslator(translator).identity == identities[0]


def test_samples_are_the_same_in_any_block(translator: Translator, corpus: Path) -> None:
    lines = (corpus / "test.de").read_text("utf-8").splitlines()
    sampling = BackTranslator(type(translator)(translator.bundle, METHODS["sampling"]))
    whole = [each.text for each in sampling.translator.stream(lines)]
    assert whole == [each.text for line in lines for each in sampling.translator.stream([line])]
    beam = BackTranslator(type(translator)(translator.bundle, METHODS["beam"]))
    assert whole != [each.text for each in beam.translator.stream(lines)]
