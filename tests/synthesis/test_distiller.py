"""Distilled pairs: which candidate is chosen, and which pairs are left out for which reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.corpus.pair import Pair
from dragoman.engines.choose import ENGINES
from dragoman.errors import UserError
from dragoman.settings import Distillation
from dragoman.synthesis.back_translator import METHODS
from dragoman.synthesis.bundle_ensemble import BundleEnsemble
from dragoman.synthesis.distiller import Distiller, open_distiller
from dragoman.text.translation import Translation

if TYPE_CHECKING:
    from dragoman.translator import Translator

LOOP = "round and round and round and round and round and round and round"
SOURCE = "Ein Hund läuft."
CANDIDATES = ("A dog  walks.", LOOP, "A dog runs.", "A dog is running.")


class FakeTranslator:
    """Translates by a table of candidates, best first; other texts are translated into themselves in reverse order."""

    def __init__(self, translator: Translator, **table: tuple[str, ...]) -> None:
        self.bundle, self.decoding, self.table = translator.bundle, translator.decoding, table

    def stream(self, texts: Iterable[str]) -> Iterator[Translation]:
        for text in texts:
            candidates = self.table.get(text, (text[::-1],))
            first, *others = (Translation(each, score=-float(rank)) for rank, each in enumerate(candidates))
            yield replace(first, alternatives=others)


@pytest.fixture
def make_maker(translator: Translator, finished_run: Path) -> Any:
    def make(back: FakeTranslator | None = None, **table: tuple[str, ...]) -> Distiller:
        teachers = BundleEnsemble.load([str(finished_run)], ("de", "en"))
        fake: Any = FakeTranslator(translator, **{SOURCE: CANDIDATES, **table})
        other: Any = back
        return Distiller(teachers, fake, other)

    return make


@pytest.mark.parametrize("reference", ["A dog runs.", "A dog is running.", "A dog walks."])
def test_the_candidate_most_similar_to_the_reference_is_chosen(reference: str, make_maker: Any) -> None:
    made = make_maker().make([Pair(SOURCE, reference, weight=2.0)])
    assert made.pairs == [Pair(SOURCE, reference, weight=2.0)]
    assert not made.left_out


def test_the_best_candidate_is_chosen_among_those_without_problems(make_maker: Any) -> None:
    maker = make_maker()
    assert maker.make([Pair(SOURCE, LOOP)]).pairs[0].target != LOOP
    assert maker.make([Pair(SOURCE, "")]).pairs == [Pair(SOURCE, "A dog walks.")], "by the score of the teacher"


def test_without_a_reference_the_round_trip_decides(make_maker: Any, translator: Translator) -> None:
    back = FakeTranslator(translator, **{"A dog is running.": (SOURCE,)})
    assert make_maker(back).make([Pair(SOURCE, "")]).pairs == [Pair(SOURCE, "A dog is running.")]
    assert make_maker(back).make([Pair(SOURCE, "A dog runs.")]).pairs == [Pair(SOURCE, "A dog runs.")]


def test_pairs_without_a_good_candidate_are_left_out(make_maker: Any) -> None:
    maker = make_maker(**{"Nur Unsinn kommt.": (LOOP, ""), "Leer ist das.": ("", LOOP)})
    sources = ["Nur Unsinn kommt.", "", SOURCE, "Leer ist das.", "Noch ein Satz."]
    made = maker.make([Pair(source, "A dog runs.") for source in sources])
    assert [pair.source for pair in made.pairs] == [SOURCE, "Noch ein Satz."]
    assert made.left_out == {"loop": 1, "blank": 1, "empty": 1}


def test_blocks_do_not_change_the_pairs(finished_run: Path, corpus: Path) -> None:
    """The candidates of a real teacher in float32, for all pairs at once and one by one."""
    teachers = BundleEnsemble.load([str(finished_run)], ("de", "en"))
    maker = Distiller(teachers, teachers.open(torch.device("cpu"), "float32", n_best=5, beam_size=5))
    lines = [(corpus / f"test.{language}").read_text("utf-8").splitlines()[:8] for language in ("de", "en")]
    pairs = [Pair(*texts) for texts in zip(*lines, strict=True)]
    assert maker.make(pairs).pairs == [made for pair in pairs for made in maker.make([pair]).pairs]


def test_identity_contains_what_decides_the_pairs(finished_run: Path) -> None:
    run = str(finished_run)
    settings = [
        Distillation(teachers=(run,)),
        Distillation(teachers=(run, run)),
        Distillation(teachers=(run,), candidates=2),
    ]
    makers = [open_distiller(each, ("de", "en"), torch.device("cpu")) for each in settings]
    makers.append(replace(makers[0], back=makers[0].translator))
    identities = [maker.identity for maker in makers]
    assert all(one not in identities[:index] for index, one in enumerate(identities))
    assert open_distiller(settings[0], ("de", "en"), torch.device("cpu")).identity == identities[0]


@pytest.mark.parametrize(
    "changed", [{"sampling": True, "top_k": 5}, {"mbr_samples": 4, "top_p": 0.9}, {"sampling": True}], ids=str
)
def test_teachers_that_sample_by_default_search(changed: dict[str, Any], finished_run: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    decoding = bundle.recipe.decoding.model_copy(update=changed)
    replace(bundle, recipe=bundle.recipe.model_copy(update={"decoding": decoding})).save(tmp_path / "sampling")
    found = []
    for teacher in (finished_run, tmp_path / "sampling"):
        settings, device = Distillation(teachers=(str(teacher),)), torch.device("cpu")
        opened = BundleEnsemble.load([str(teacher)], ("de", "en")).open(device, **METHODS["beam"])
        found.append((open_distiller(settings, ("de", "en"), device).translator.decoding, opened.decoding))
    assert found[0] == found[1]


def test_teachers_compute_in_int8_if_an_engine_does(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")
    run, device = str(finished_run), torch.device("cpu")

    def engine(*teachers: str) -> list[str]:
        opened = open_distiller(Distillation(teachers=teachers), ("de", "en"), device).translator.engine
        return [opened.name, opened.weight_type]

    assert engine(run) == ["ctranslate2", "int8"]
    assert engine(run, run)[1] == "float32", "an ensemble needs the engine torch"
    monkeypatch.setattr(import_module("dragoman.engines.choose"), "ENGINES", {"torch": ENGINES["torch"]})
    assert engine(run) == ["torch", "float32"]


def test_a_conversion_that_fails_is_not_hidden(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")

    def fail(*arguments: object) -> Path:
        raise UserError("the disk is full")

    monkeypatch.setattr("dragoman.engines.ctranslate2.engine.convert", fail)
    with pytest.raises(UserError, match="the disk is full"):
        open_distiller(Distillation(teachers=(str(finished_run),)), ("de", "en"), torch.device("cpu"))


def test_the_round_trip_needs_the_other_direction(finished_run: Path) -> None:
    settings = Distillation(teachers=(str(finished_run),), round_trip=str(finished_run))
    with pytest.raises(UserError, match="translates from de to en, not from en to de"):
        open_distiller(settings, ("de", "en"), torch.device("cpu"))
