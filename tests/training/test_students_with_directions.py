"""Students with several directions: what each direction is learned from, and that interrupted runs are exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import torch
from killed_stages import Killed, kill_at
from many_bundles import make_many
from many_bundles import texts as sentences

from conftest import TINY
from dragoman.corpus.corpus import read_texts
from dragoman.corpus.pair import Languages, Pair
from dragoman.corpus.references import to_toml
from dragoman.dataset.pairs import find_training_corpora, read_pairs
from dragoman.errors import UserError, counted
from dragoman.planning.student import StudentPlan, data_of_directions, plan_student
from dragoman.recipe import build_recipe, save_recipe
from dragoman.settings import Distillation
from dragoman.synthesis import block
from dragoman.synthesis.block import PairBlock
from dragoman.system.files import sha256
from dragoman.system.progress import ProgressLine
from dragoman.text.multilingual import name_direction
from dragoman.training.run.run import train
from dragoman.training.stages.pairs import RunTeachers, SyntheticCorpus, synthetic_corpora
from dragoman.training.stages.text import collect_text

if TYPE_CHECKING:
    from dragoman.settings import Data, Recipe

pytestmark = pytest.mark.usefixtures("bare_runs")

PAIRS = (("de", "en"), ("de", "szl"), ("en", "szl"))
ALL = [each for pair in PAIRS for each in (pair, pair[::-1])]
CHOSEN = [
    ALL,
    [("de", "en"), ("en", "de")],
    [("de", "szl"), ("en", "szl")],
    [("szl", "de"), ("en", "szl"), ("de", "en")],
]
"""Directions of students; in all but the first, some text is in none of them."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """The text of a teacher with six directions; each two languages have other sentences, of which some are in two."""
    directory = tmp_path_factory.mktemp("texts")
    corpora = []
    for number, languages in enumerate(PAIRS):
        for code in languages:
            lines = sentences(count=140)[code][number * 40 :][:60]
            (directory / f"{'-'.join(languages)}.{code}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        source, target = (f"{directory}/{'-'.join(languages)}.{code}" for code in languages)
        corpora.append({"source": source, "target": target, "languages": list(languages)})
    return build_recipe(TINY | {"data": {"train": corpora, "validation_pairs": 9}}).data


@pytest.fixture(scope="module")
def make(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Recipe]:
    """Makes tiny recipes of students with some of these directions."""
    teacher = tmp_path_factory.mktemp("teacher")
    make_many(decoding__max_length=12).save(teacher / "bundle")

    def make(directions: Sequence[Languages], *overrides: str) -> Recipe:
        document = TINY | {
            "text": {"vocabulary_size": 400, "joint": True},
            "data": data_of_directions(data, directions),
            "distillation": {"teachers": [str(teacher)], "candidates": 2},
        }
        return build_recipe(document, ("training.steps=4", "training.validations=1", *overrides))

    return make


def corpora_of(recipe: Recipe, directory: Path) -> tuple[Data, list[SyntheticCorpus]]:
    """The copied text of a run, and what the teachers make of it."""
    with ProgressLine("text") as line:
        data = collect_text(recipe, None, directory / "text", line).data(recipe)
    held_out = read_pairs(data.validation, data, None)
    return data, synthetic_corpora(RunTeachers(recipe, directory, torch.device("cpu")), data, directory, held_out)


@pytest.mark.parametrize("directions", CHOSEN[:1] + CHOSEN[2:], ids=str)
def test_each_direction_is_learned_from_all_text_in_its_source_language(
    directions: Sequence[Languages], make: Callable[..., Recipe], tmp_path: Path
) -> None:
    (tmp_path / "mono.de").write_text("Ein neuer Satz.\n", "utf-8")
    mono = [f"distillation.mono=['{tmp_path}/mono.de']"] if "de" in dict(directions) else []
    data, corpora = corpora_of(make(directions, *mono), tmp_path)
    assert {corpus.languages for corpus in corpora} == set(directions) == set(data.directions)
    assert len({corpus.path for corpus in corpora}) == len({corpus.name for corpus in corpora}) == len(corpora)
    known = set(find_training_corpora(data, None))
    for direction in directions:
        pairs = [pair for corpus in corpora if corpus.languages == direction for pair in corpus.read()]
        assert {pair.direction for pair in pairs} == {direction}
        complete = {(pair.source, pair.target) for pair in pairs if pair.complete}
        assert complete == {(pair.source, pair.target) for pair in known if pair.direction == direction}
        texts = {text for pair in known for text in sides(pair)[direction[0]]}
        assert {pair.source for pair in pairs} == texts | ({"Ein neuer Satz."} if direction[0] == "de" else set())
        assert Counter(pair.source for pair in pairs).most_common(1)[0][1] == 1, "nothing is translated twice"


def make_teacher(directory: Path, data: Mapping[str, Any]) -> str:
    """A run with six directions, whose text is this."""
    make_many(decoding__max_length=12).save(directory / "bundle")
    recipe = build_recipe(TINY | {"text": {"vocabulary_size": 400, "joint": True}, "data": dict(data)})
    save_recipe(recipe, directory / "recipe.toml")
    return str(directory)


def plan_of(teacher: str, directions: Sequence[Languages], *mono: str) -> StudentPlan:
    return StudentPlan(
        "tiny", None, Distillation(teachers=(teacher,), mono=mono), tuple(map(name_direction, directions))
    )


@pytest.mark.parametrize("directions", [*CHOSEN, [("de", "en")], [("szl", "de")]], ids=str)
def test_text_that_corpora_have_in_common_is_counted_and_translated_once(
    directions: Sequence[Languages], data: Data, tmp_path: Path
) -> None:
    teacher, said = make_teacher(tmp_path / "teacher", data.model_dump(mode="json", exclude_none=True)), list[str]()
    known, mono = list(find_training_corpora(data, None)), tmp_path / f"mono.{directions[0][0]}"
    own = [text for pair in known for text in sides(pair)[directions[0][0]]]
    mono.write_text("".join(f"{text}\n" for text in (*own, "", "Neu.", "Neu.")), "utf-8")
    recipe = plan_student(plan_of(teacher, directions, str(mono)), [], None, said.append)
    for direction in directions:
        texts = {text for pair in known for text in sides(pair)[direction[0]]}
        number = len(texts) - 60 + (direction[0] == directions[0][0])
        described = f": 60 training pairs and {counted(number, 'monolingual text')}"
        where = "tiny" if len(directions) == 1 else name_direction(direction)
        assert any(line.startswith(where + described) for line in said), (direction, number, said)
    _, corpora = corpora_of(recipe, tmp_path)
    read = Counter((corpus.languages, pair.source) for corpus in corpora for pair in corpus.read())
    assert set(read.values()) == {1}, "nothing is translated twice"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("files", None),
        ("listed twice", None),
        ("pattern", None),
        ("unnamed", "its name states no language"),
        ("gone", "there is no such file"),
        ("utf-16", "it is not in a separate UTF-8 file"),
        ("table", "it is not in a separate UTF-8 file"),
        ("other language", "lines do not look like de"),
        ("by a machine", None),
    ],
)
@pytest.mark.parametrize("directions", [[("de", "en")], [("de", "en"), ("en", "de")]], ids=["one", "two"])
def test_text_of_other_directions_is_learned_from_or_named(
    kind: str, reason: str | None, directions: Sequence[Languages], data: Data, tmp_path: Path
) -> None:
    lines, encoding = sentences(count=140), "utf-16" if kind == "utf-16" else "utf-8"
    pattern = f"{tmp_path}/{{lang}}-other" if kind == "unnamed" else f"{tmp_path}/other.{{lang}}"
    source, target = (pattern.format(lang=code) for code in ("de", "szl"))
    corpus: dict[str, Any] = {"source": source, "target": target, "languages": ["de", "szl"]}
    if kind != "gone":
        for code, name in (("de", source), ("szl", target)):
            Path(name).write_text("".join(f"{line}\n" for line in lines[code][60:]), encoding)
    if kind == "utf-16":
        corpus["encoding"] = encoding
    if kind == "pattern":
        corpus = {"file": pattern, "languages": ["de", "szl"]}
    if kind == "table":
        (tmp_path / "other.tsv").write_text("".join(map("{}\t{}\n".format, lines["de"], lines["szl"])), "utf-8")
        corpus = {"file": f"{tmp_path}/other.tsv", "languages": ["de", "szl"]}
    if kind == "other language":
        Path(source).write_text("".join(f"{line}\n" for line in lines["en"]), "utf-8")
    if kind == "by a machine":
        corpus |= {"source": target, "target": source, "languages": ["szl", "de"]}
        corpus = {"corpus": corpus, "one_way": True}
    section = data.model_dump(mode="json", exclude_none=True)
    section["train"] = [section["train"][0], *[corpus] * (1 + (kind == "listed twice"))]
    other = [["szl", "de"]] if kind == "by a machine" else [["de", "szl"], ["szl", "de"]]
    section["directions"] = [["de", "en"], ["en", "de"], *other]
    teacher, said = make_teacher(tmp_path / "teacher", section), list[str]()
    recipe = plan_student(plan_of(teacher, directions), [], None, said.append)
    is_named = reason is not None and not (kind == "unnamed" and len(directions) == 1)
    assert recipe.distillation.mono == (() if is_named or kind == "by a machine" else (source,))
    lacking = [line for line in said if "is not used" in line]
    assert len(lacking) == is_named
    assert all(reason and reason in line for line in lacking)


@pytest.mark.parametrize("directions", [[("de", "en")], [("de", "en"), ("en", "de")]], ids=["one", "two"])
def test_text_that_is_set_replaces_all_text_of_the_teacher(
    directions: Sequence[Languages], data: Data, tmp_path: Path
) -> None:
    section = data.model_dump(mode="json", exclude_none=True)
    teacher = make_teacher(tmp_path / "teacher", section)
    own, *others = map(to_toml, section["train"])
    recipe = plan_student(plan_of(teacher, directions), [f"data.train=[{own}]"], None)
    assert (len(recipe.data.train), recipe.distillation.mono) == (1, ())
    assert [*recipe.data.directions] == (directions if len(directions) > 1 else [])
    with pytest.raises(UserError, match=r"de-szl"):
        plan_student(plan_of(teacher, directions), [f"data.train=[{own}, {others[0]}]"], None)


@pytest.mark.parametrize("directions", [[("de", "szl")], [("de", "szl"), ("de", "en")]], ids=str)
def test_directions_from_shared_lines_only_need_the_corpora_that_share_them(
    directions: Sequence[Languages], data: Data, tmp_path: Path
) -> None:
    section = data.model_dump(mode="json", exclude_none=True)
    section["train"] = [each for each in section["train"] if each["languages"] != ["de", "szl"]]
    teacher = make_teacher(tmp_path / "teacher", section)
    with pytest.raises(
        UserError, match="no corpus is in de-szl, which was learned from lines that other corpora share"
    ):
        plan_student(plan_of(teacher, directions), [], None)
    more = [*directions, *({("de", "en"), ("en", "szl")} - {*directions})]
    assert set(plan_student(plan_of(teacher, more), [], None).data.directions) == set(more)


def sides(pair: Pair) -> dict[str, list[str]]:
    """The texts of a pair by language."""
    assert pair.direction
    found: dict[str, list[str]] = {"de": [], "en": [], "szl": []}
    for code, text in zip(pair.direction, (pair.source, pair.target), strict=True):
        found[code].append(text)
    return found


@pytest.mark.parametrize("directions", CHOSEN, ids=str)
def test_text_that_is_held_out_is_in_no_translation_of_any_direction(
    directions: Sequence[Languages], make: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A teacher translates everything into a held-out sentence of one language."""
    recipe = make(directions)
    data, _ = corpora_of(recipe, tmp_path)
    held_out = read_pairs(data.validation, data, None)
    assert held_out

    class Maker:
        identity: ClassVar[dict[str, Any]] = {}
        target = "Other."

        def make(self, pairs: Sequence[Pair]) -> PairBlock:
            return PairBlock([pair._replace(target=self.target) for pair in pairs], Counter())

        def compared_with(self, made: Sequence[Pair]) -> Callable[[Pair], Pair | str]:
            return lambda pair: pair

    monkeypatch.setattr(RunTeachers, "open_given", lambda *arguments: Maker())
    _, corpora = corpora_of(recipe, tmp_path)
    texts: dict[str, set[str]] = {"de": set(), "en": set(), "szl": set()}
    for pair in held_out:
        for code, found in sides(pair).items():
            texts[code].update(found)
    for corpus in corpora:
        assert corpus.languages
        source, target = corpus.languages
        maker, read = corpus.open_maker(), list(corpus.read())
        assert not texts[source] & {pair.source for pair in maker.make(read).pairs}
        mono = [Pair(text, "", direction=corpus.languages) for text in (*texts[source], "New.")]
        assert [pair.source for pair in maker.make(mono).pairs] == ["New."]
        for text in texts[target]:
            monkeypatch.setattr(Maker, "target", text)
            assert not maker.make([Pair("New.", "", direction=corpus.languages)]).pairs
        monkeypatch.setattr(Maker, "target", "Other.")


@pytest.mark.parametrize("directions", CHOSEN, ids=str)
def test_text_of_machines_is_no_target_of_the_opposite_direction(
    directions: Sequence[Languages], make: Callable[..., Recipe], tmp_path: Path
) -> None:
    data, corpora = corpora_of(make(directions), tmp_path)
    for corpus in corpora:
        for side in ("source", "target"):
            Path(f"{corpus.path}.{side}").write_text("A.\n", "utf-8")
    learned = data.model_copy(update={"train": tuple(corpus.reference for corpus in corpora)})
    pairs = list(find_training_corpora(learned, None))
    assert Counter(pair.direction for pair in pairs) == Counter(corpus.languages for corpus in corpora)
    assert all(pair.one_way for pair in pairs)


@pytest.mark.slow
def test_an_interrupted_student_has_the_same_weights(
    make: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "BLOCK", 20)
    monkeypatch.setattr("dragoman.synthesis.pair_checks.PairFilter._problems", lambda *arguments: iter(()))
    monkeypatch.setattr("dragoman.training.run.run.compare_student", lambda *arguments: True)
    directions = CHOSEN[-1]
    recipe, run, resumed = make(directions, "training.checkpoint_minutes=0.0001"), tmp_path / "run", 0
    assert train(recipe, tmp_path / "whole")
    for moment in (4, 9, 8, 100):  # while it translates, twice, and while it trains
        with monkeypatch.context() as patch:
            kill_at(patch, moment)
            try:
                assert train(recipe, run, resume="auto")
            except Killed:
                resumed += 1
    assert resumed == 3
    assert sha256(run / "bundle/model.safetensors") == sha256(tmp_path / "whole" / "bundle/model.safetensors")
    for direction in directions:
        name = f"synthetic/distillation-{name_direction(direction)}-mono"
        sources, targets = read_texts(run / f"{name}.source", run / f"{name}.target")
        assert sources
        assert all(targets)
