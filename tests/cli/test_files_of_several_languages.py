"""Files of text in several languages on the command line: which belong together, and what becomes of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from many_bundles import make_many
from many_bundles import texts as many_texts

from dragoman.cli.text_references import FileOptions, FoundTexts, find_held_out, find_texts, pair_files
from dragoman.cli.training_texts import TrainingTexts
from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.pair import Languages
from dragoman.errors import UserError
from dragoman.planning.write import recipe_text
from dragoman.recipe import parse_recipe
from dragoman.settings import CorpusFile, FilePair

TMX = """<tmx version="1.4"><header srclang="de"/><body>
<tu><tuv xml:lang="de"><seg>Hund</seg></tuv><tuv xml:lang="hsb"><seg>pos</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Katze</seg></tuv><tuv xml:lang="dsb"><seg>kocka</seg></tuv></tu>
</body></tmx>"""
PO = 'msgid ""\nmsgstr "Language: hsb\\n"\n\nmsgid "dog"\nmsgstr "pos"\n'
WORDS = {"de": ["Hund", "Haus", "Baum"], "hsb": ["pos", "dom", "štom"], "dsb": ["pjas", "dom", "bom"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Line-aligned files, a memory and tables in three languages."""
    monkeypatch.chdir(tmp_path)
    for pair in ("de-hsb", "de-dsb", "dsb-hsb"):
        (tmp_path / pair).mkdir()
        for code in pair.split("-"):
            (tmp_path / pair / f"train.{code}").write_text("".join(f"{word} {pair}\n" for word in WORDS[code]), "utf-8")
    for code, words in WORDS.items():
        (tmp_path / f"all.{code}").write_text("\n".join(words) + "\n", "utf-8")
    for code in ("de", "en", "pt-BR", "pt-PT", "sr", "sr-Latn", "sr-Cyrl"):
        (tmp_path / f"v.{code}").write_text(f"a text in {code}\n", "utf-8")
    (tmp_path / "memory.tmx").write_text(TMX, "utf-8")
    rows = ["\t".join(WORDS), *("\t".join(words) for words in zip(*WORDS.values(), strict=True))]
    (tmp_path / "table.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    pairs = list(zip(WORDS["hsb"], WORDS["de"], strict=True))
    for suffix, separator in ((".tsv", "\t"), (".csv", ",")):
        lines = [separator.join(row) for row in [("hsb", "de"), *pairs]]
        (tmp_path / f"reversed{suffix}").write_text("\n".join(lines) + "\n", "utf-8")
        (tmp_path / f"unnamed{suffix}").write_text("\n".join(lines[1:]) + "\n", "utf-8")
    for name, keys in (("reversed", ("hsb", "de")), ("sides", ("source", "target"))):
        records = (json.dumps(dict(zip(keys, pair, strict=True))) for pair in pairs)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(records) + "\n", "utf-8")
    sides = [("source_file", "target_file"), *[("a.xml", "b.xml")] * 3]
    lines = ["\t".join([row, *files]) for row, files in zip(rows, sides, strict=True)]
    (tmp_path / "files.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    places = {"source": "a.xml", "target": "b.xml"}
    texts = [dict(zip(WORDS, words, strict=True)) for words in zip(*WORDS.values(), strict=True)]
    (tmp_path / "files.jsonl").write_text("".join(json.dumps(each | places) + "\n" for each in texts), "utf-8")
    (tmp_path / "codes.tsv").write_text("de\ten\tfr\nHund\tdog\tchien\n", "utf-8")
    (tmp_path / "words.tsv").write_text("Tag\tday\nSohn\tson\n", "utf-8")
    (tmp_path / "src.jsonl").write_text('{"src": "Hund", "tgt": "dog"}\n', "utf-8")
    (tmp_path / "messages.po").write_text(PO, "utf-8")
    (tmp_path / "damaged.tmx").write_text(TMX[:60], "utf-8")
    for name, code in (("one", "hsb"), ("two", "de")):
        (tmp_path / name).write_text("\n".join(WORDS[code]) + "\n", "utf-8")
    return tmp_path


TABLES = (".tsv", ".csv", ".jsonl")
PATHS = ["de-hsb/train.de", "de-hsb/train.hsb", "de-dsb/train.de", "de-dsb/train.dsb"]


@pytest.mark.parametrize(
    ("files", "pairs"),
    [
        (PATHS, [("de", "hsb"), ("de", "dsb")]),
        (["a.de", "a.fr", "a.en"], [("de", "fr"), ("de", "en"), ("fr", "en")]),
        (["a.de", "a.en", "a.en", "a.fr"], [("de", "en"), ("en", "fr")]),
        (["a.de", "a.hsb", "a.dsb", "a.hsb"], [("de", "hsb"), ("dsb", "hsb")]),
        (["a.de.gz", "a.hsb.gz", "b.dsb.gz", "b.hsb.gz"], [("de", "hsb"), ("dsb", "hsb")]),
        (["one", "two", "three", "four"], [("one", "two"), ("three", "four")]),
        (["a.de", "b.de", "a.hsb", "b.dsb"], [("de", "hsb"), ("de", "dsb")]),
        (["from.de", "to.hsb", "x.de", "y.dsb"], [("de", "hsb"), ("de", "dsb")]),
        (["a.de", "s", "a.hsb", "t"], [("de", "hsb"), ("s", "t")]),
    ],
)
def test_files_belong_together_by_their_names(files: list[str], pairs: list[Languages]) -> None:
    found = pair_files(files)
    assert [tuple(file.removesuffix(".gz").rpartition(".")[2] for file in pair) for pair in found] == pairs


def read(found: FoundTexts) -> dict[Languages, int]:
    """The languages that the corpora state, and how many pairs they have."""
    counts: dict[Languages, int] = {}
    for reference in found.references:
        assert not isinstance(reference, str)
        (corpus,) = find_corpora([reference], source_language="xx", target_language="yy")
        assert reference.languages
        counts[reference.languages] = sum(pair.complete for pair in corpus.read())
    return counts


@pytest.mark.filterwarnings("ignore:.* units lack")
@pytest.mark.parametrize(
    ("files", "languages", "expected"),
    [
        (PATHS, None, {("de", "hsb"): 3, ("de", "dsb"): 3}),
        ([*PATHS, "all.hsb", "all.de"], None, {("de", "hsb"): 3, ("de", "dsb"): 3}),
        ([*PATHS, "reversed.jsonl"], None, {("de", "hsb"): 3, ("de", "dsb"): 3}),
        (["all.de", "all.hsb", "all.dsb"], None, {("de", "hsb"): 3, ("de", "dsb"): 3, ("hsb", "dsb"): 3}),
        (["memory.tmx"], "de,hsb,dsb", {("de", "hsb"): 1, ("de", "dsb"): 1}),
        (["table.tsv"], "de,hsb,dsb", {("de", "hsb"): 3, ("de", "dsb"): 3, ("hsb", "dsb"): 3}),
        (["all.{lang}"], "hsb,de", {("hsb", "de"): 3}),
        *(
            (["reversed" + suffix, "v.en", "v.de"], "de,en,hsb", {("de", "hsb"): 3, ("en", "de"): 1})
            for suffix in TABLES
        ),
        (["reversed.jsonl", *PATHS[2:]], None, {("hsb", "de"): 3, ("de", "dsb"): 3}),
        (["words.tsv"], "de,en", {("de", "en"): 2}),
        (["files.tsv"], "de,hsb,dsb", {("de", "hsb"): 3, ("de", "dsb"): 3, ("hsb", "dsb"): 3}),
        (["files.jsonl"], "de,hsb,dsb", {("de", "hsb"): 3, ("de", "dsb"): 3, ("hsb", "dsb"): 3}),
        (["messages.po", "v.de", "v.en"], "en,hsb,de", {("en", "hsb"): 1, ("de", "en"): 1}),
        (["unnamed.tsv"], "hsb,de", {("hsb", "de"): 3}),
        (["one", "two"], "hsb,de", {("hsb", "de"): 3}),
        *(
            (["all.de", "all.hsb", file], "hsb,de", {("de", "hsb"): 3, ("hsb", "de"): 3})
            for file in ("unnamed.tsv", "unnamed.csv", "sides.jsonl")  # read by their order
        ),
        (["v.en", "v.pt-BR", "v.pt-PT"], None, {("en", "pt-BR"): 1, ("en", "pt-PT"): 1, ("pt-BR", "pt-PT"): 1}),
        (
            ["v.en", "v.sr-Latn", "v.sr-Cyrl"],
            "en,sr-Cyrl,sr-Latn",
            {("en", "sr-Latn"): 1, ("en", "sr-Cyrl"): 1, ("sr-Latn", "sr-Cyrl"): 1},
        ),
        (["v.en", "v.sr", "v.sr-Latn"], None, {("en", "sr"): 1, ("en", "sr-Latn"): 1, ("sr", "sr-Latn"): 1}),
        (["v.en", "v.pt-BR", "all.de", "all.hsb"], None, {("en", "pt"): 1, ("de", "hsb"): 3}),
        (["v.en", "v.pt-BR"], "en,pt", {("en", "pt"): 1}),
        (["v.en", "v.pt-BR"], "en,pt-BR", {("en", "pt-BR"): 1}),
    ],
)
def test_every_pair_of_languages_that_files_have_is_used(
    files: list[str], languages: str | None, expected: dict[Languages, int], folder: Path
) -> None:
    found = find_texts(files, FileOptions(languages))
    assert read(found) == expected
    assert set(found.directions) == {each for pair in expected for each in (pair, pair[::-1])}
    assert found.name == "-".join(sorted({code for pair in expected for code in pair}))


@pytest.mark.parametrize(
    ("training", "validation"),
    [
        ("de en", "words.tsv"),
        ("de en", "src.jsonl"),
        ("en-GB de", "en-US de"),
        ("no de", "nb de"),
        ("nno de", "no de"),
        ("tl de", "fil de"),
        ("he de", "iw de"),
        ("zh-TW de", "zh-CN de"),
        ("pt-BR en", "pt-PT en"),
    ],
)
def test_text_to_validate_on_may_be_in_variants(training: str, validation: str, folder: Path) -> None:
    train = find_texts([f"a.{code}" for code in training.split()], FileOptions())
    files = [validation] if "." in validation else [f"b.{code}" for code in validation.split()]
    (held_out,) = find_held_out(files, FileOptions(), train)
    if isinstance(held_out, FilePair):
        assert [held_out] == find_held_out(files[::-1], FileOptions(), train), "in the direction of the training"
        assert [held_out.source, held_out.target] == files
    assert not find_texts(["v.de", "v.en", "words.tsv", "src.jsonl"], FileOptions()).directions


def test_two_languages_of_a_group_are_told_apart(folder: Path) -> None:
    """The code of the group could stand for either."""
    train = find_texts(["a.nb", "a.nn"], FileOptions())
    assert find_held_out(["b.nn", "b.nb"], FileOptions(), train) == [FilePair(source="b.nb", target="b.nn")]
    with pytest.raises(UserError, match="text in no-nn; the training text is in nb-nn"):
        find_held_out(["b.no", "b.nn"], FileOptions(), train)


@pytest.mark.parametrize(
    ("header", "languages", "is_read"),
    [
        ("A\tB", ("de", "hsb"), True),
        ("source\ttarget", ("de", "hsb"), True),
        ("hsb\tde", ("hsb", "de"), True),
        ("hsb\tde", ("de", "en"), False),
        ("hsb\tde", ("en", "de"), False),
        ("raw\tnew", ("en", "de"), True),
    ],
)
def test_a_declared_header_may_have_other_names(
    header: str, languages: Languages, is_read: bool, tmp_path: Path
) -> None:
    (tmp_path / "t.tsv").write_text(f"{header}\nHund\tpos\n", "utf-8")
    file = CorpusFile(file=str(tmp_path / "t.tsv"), header=True, languages=languages)
    (corpus,) = find_corpora([file], source_language="xx", target_language="yy")
    if is_read:
        assert [pair[:2] for pair in corpus.read()] == [("Hund", "pos")]
    else:
        with pytest.raises(
            UserError, match=f"columns are named 'hsb' and 'de', not '{languages[0]}' and '{languages[1]}'"
        ):
            list(corpus.read())


def test_columns_may_be_chosen_in_addition_to_languages(folder: Path) -> None:
    assert read(find_texts(["files.tsv"], FileOptions("de,hsb", columns="de,hsb"))) == {("de", "hsb"): 3}


def test_several_files_of_the_same_languages_have_one_direction(folder: Path) -> None:
    found = find_texts(["de-hsb/train.de", "de-hsb/train.hsb", "all.hsb", "all.de"], FileOptions())
    assert (found.languages, found.directions, found.name) == (("de", "hsb"), (), "de-hsb")
    corpora = find_corpora(found.references, source_language="de", target_language="hsb")
    assert [next(corpus.read())[:2] for corpus in corpora] == [("Hund de-hsb", "pos de-hsb"), ("Hund", "pos")]


@pytest.mark.parametrize(
    ("files", "languages", "message"),
    [
        ([*PATHS, "all.de"], None, "all.de: a text file needs a second one"),
        (
            ["all.de", "v.en", "all.hsb", "v.sr-Latn", "de-hsb/train.de"],
            None,
            "train.de: a text file needs a second one",
        ),
        (PATHS, "de-hsb", "de-dsb/train.dsb are in de-dsb"),
        (
            [*PATHS, "v.en", "v.pt-PT"],
            "de,hsb,dsb",
            "v.en and v.pt-PT: text in en-pt-PT; --languages lists only de, hsb, dsb: list",
        ),
        (["all.de", "all.hsb", "one", "two"], "de,hsb,dsb", "one and two: no text in two of the languages was found"),
        (["v.de", "v.en"], "de,hsb", "v.de and v.en: text in de-en; --languages lists only de, hsb"),
        *(
            ([f"missing{suffix}"], "de,hsb,dsb", f"missing{suffix}: no such file")
            for suffix in (*TABLES, ".xlsx", ".tmx", ".xlf", ".po", ".zip", ".tsv.gz")
        ),
        (["al.{lang}"], "de,hsb,dsb", "al.de: no such file; did you mean 'all.de'?"),
        (["damaged.tmx"], "de,hsb,dsb", "damaged.tmx line 2: not well-formed XML"),
        (["multi30k:trian"], "de,en,fr", "did you mean 'train'?"),
        (["multi30:train"], "de,en,fr", "did you mean 'multi30k'?"),
        (["memory.tmx"], "de,hsb,fr", "no file has text in fr"),
        (["unnamed.tsv"], "de,hsb,dsb", "or it does not name both"),
        (
            ["messages.po"],
            "de,hsb,dsb",
            "convert it: dragoman convert messages.po 'converted.{lang}' --languages de-hsb",
        ),
        (["sides.jsonl"], "de,hsb,dsb", "or it does not name both"),
        (["memory.tmx"], "de-hsb-dsb", "by commas, such as de,hsb,dsb"),
        (["memory.tmx"], "en-pt-br", "of which one has a region by a colon, such as pt-BR:en"),
        (["codes.tsv"], None, "for all of them, list them: --languages de,en,fr"),
        (
            [*PATHS, "all.de", "v.en"],
            None,
            "all.de: a text file needs a second one with the translation of each line; if",
        ),
        (["memory.tmx"], "de,de", "a language is named twice"),
        (["memory.tmx"], None, "for all of them, list them: --languages de,hsb,dsb"),
        (["reversed.jsonl"], "de,dsb", "reversed.jsonl: text in hsb-de; --languages lists only de, dsb: list"),
        (["memory.tmx"], "de,", "expected language codes"),
    ],
)
def test_what_cannot_be_used_is_named(files: list[str], languages: str | None, message: str, folder: Path) -> None:
    with pytest.raises(UserError) as refused:
        find_texts(files, FileOptions(languages))
    assert message in str(refused.value)


def test_pairs_of_files_of_two_languages_are_turned_round(folder: Path) -> None:
    found = find_texts(["all.hsb", "all.de", "de-hsb/train.de", "de-hsb/train.hsb"], FileOptions("de-hsb"))
    corpora = find_corpora(found.references, source_language="de", target_language="hsb")
    assert [next(corpus.read())[:2] for corpus in corpora] == [("Hund", "pos"), ("Hund de-hsb", "pos de-hsb")]


def test_held_out_text_is_in_a_direction_of_the_training_text(folder: Path) -> None:
    train = find_texts(PATHS, FileOptions())
    assert len(find_held_out(["all.hsb", "all.de"], FileOptions(), train)) == 1
    assert len(find_held_out(["all.de", "all.hsb", "all.dsb"], FileOptions(), train)) == 2, "without dsb-hsb"
    with pytest.raises(UserError, match="text in de-en; the directions are de-hsb"):
        find_held_out(["all.de", "all.hsb", "v.de", "v.en"], FileOptions(), train)
    with pytest.raises(UserError, match="one and two: no text in two of the languages was found"):
        find_held_out(["all.de", "all.hsb", "one", "two"], FileOptions(), train)
    german = find_texts(PATHS[:2], FileOptions())
    for other in (["all.de", "all.dsb"], ["all.dsb", "all.hsb"]):
        with pytest.raises(UserError, match=r"text in (de-dsb|dsb-hsb); the training text is in de-hsb"):
            find_held_out(other, FileOptions(), german)
    assert find_held_out(["all.hsb", "all.de"], FileOptions(), german) == [FilePair(source="all.de", target="all.hsb")]
    portuguese = find_texts(["v.en", "v.pt-BR", "v.pt-PT"], FileOptions())
    (reference,) = find_held_out(["v.en", "v.pt-PT"], FileOptions(), portuguese)
    assert isinstance(reference, FilePair)
    assert reference.languages == ("en", "pt-PT")


@pytest.mark.parametrize("held_out", ["validation", "test"])
def test_held_out_text_may_be_in_a_direction_of_shared_lines(
    held_out: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"validation": (), "test": (), held_out: ["all.dsb", "all.hsb"]}
    texts = TrainingTexts(PATHS, files["validation"], files["test"], FileOptions(), 1.0, None, keep_all=True)
    with pytest.raises(UserError, match=r"all.dsb and all.hsb.* text in dsb-hsb, but .* share too few lines"):
        texts.plan()
    for code in ("hsb", "dsb"):
        (folder / f"de-{code}" / "train.de").write_text("".join(f"{word}\n" for word in WORDS["de"]), "utf-8")
    monkeypatch.setattr("dragoman.dataset.joined.LEAST_SHARED", 3)
    data = texts.plan().recipe().data
    assert ("hsb", "dsb") in data.directions
    assert [each.languages for each in getattr(data, held_out)] == [("dsb", "hsb")]


def test_held_out_text_may_be_in_a_direction_of_the_bundle_to_start_from(folder: Path) -> None:
    make_many().save(folder / "bundle")
    texts = TrainingTexts(["all.de", "all.hsb"], ["v.en", "v.de"], (), FileOptions(), 1.0, None, start_from="bundle")
    (held_out,) = texts.texts().validation
    assert isinstance(held_out, FilePair)
    assert held_out.languages == ("en", "de")


@pytest.mark.parametrize("file", ["unnamed.tsv", "unnamed.csv", "sides.jsonl", "one two"])
def test_text_without_languages_is_in_no_direction_of_several(file: str, folder: Path) -> None:
    def languages(directions: list[Languages], given: str | None = None) -> Languages:
        start = "-".join(directions[-1])
        make_many(directions).save(folder / start)
        return TrainingTexts(file.split(), (), (), FileOptions(given), 1.0, None, start_from=start).texts().languages

    with pytest.raises(UserError, match=r"of de-szl \(de-en, de-szl\), or others: --languages de-en"):
        languages([("de", "en"), ("de", "szl")])
    assert languages([("de", "en"), ("en", "de")]) == ("de", "en")
    assert languages([("de", "en"), ("szl", "de")], "hsb-de") == ("hsb", "de")


def test_directions_whose_old_text_is_missing_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_many([("de", "en"), ("en", "de")]).save(folder / "bundle")  # whose text was in files that do not exist
    texts = TrainingTexts(
        ["de-hsb/train.de", "de-hsb/train.hsb"], (), (), FileOptions(), 1.0, None, keep_all=True, start_from="bundle"
    )
    assert set(texts.plan().recipe().data.directions) == {("de", "hsb"), ("hsb", "de")}
    messages = capsys.readouterr().err
    assert "is not mixed in" in messages
    assert "not trained again, because there is no old text in that direction: de-en, en-de;" in messages


def test_the_plan_counts_old_text(folder: Path) -> None:
    make_many([("de", "en"), ("en", "de")]).save(folder / "bundle")
    for code, lines in many_texts("train", 30).items():
        (folder / f"train.{code}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    texts = TrainingTexts(
        ["de-hsb/train.de", "de-hsb/train.hsb"], (), (), FileOptions(), 1.0, None, keep_all=True, start_from="bundle"
    )
    planned = texts.plan()
    recipe = planned.recipe()
    assert planned.facts.old_share == pytest.approx(1.0, rel=0.01)
    assert recipe.data.temperature == 1
    assert set(recipe.data.directions) == {("de", "hsb"), ("hsb", "de"), ("de", "en"), ("en", "de")}
    assert "training pairs in 2 directions: " in planned.summary(recipe)
    for shown in (planned.summary(recipe), recipe_text(planned.name, planned.choices)):
        assert re.findall(r"de-hsb\b.*? (\d+%)", shown)[:1] == ["25%"]
        assert re.findall(r"de-en\b.*? (\d+%)", shown)[:1] == ["25%"]
    read = re.findall(r"(\w+-\w+): (\d+) pairs, 25% of the steps, read ([\d.]+) times", planned.summary(recipe))
    pairs = {name: (int(number), float(times)) for name, number, times in read}
    assert pairs["de-hsb"][0] == pairs["hsb-de"][0] == 3
    assert pairs["de-en"][0] == 30
    assert pairs["de-hsb"][1] == pytest.approx(planned.expect(recipe).epochs, abs=0.1)
    assert pairs["de-en"][1] == pytest.approx(pairs["de-hsb"][1] / 10, rel=0.02)


def test_the_plan_has_all_directions_and_its_recipe_can_be_read(folder: Path) -> None:
    (folder / "mono.dsb").write_text("To jo.\n", "utf-8")
    for file, message in (("none.dsb", "no such file"), ("v.en", r"does not end with .* \(de, hsb, dsb\)")):
        with pytest.raises(UserError, match=message):
            TrainingTexts(PATHS, (), (), FileOptions(), 1.0, None, mono=[file]).plan()
    texts = TrainingTexts(PATHS, (), (), FileOptions(), 1.0, None, keep_all=True, mono=["mono.dsb"])
    planned = texts.plan()
    recipe = parse_recipe(recipe_text(planned.name, planned.choices), (), "written")
    assert recipe == planned.recipe()
    assert recipe.data.directions == (("de", "hsb"), ("hsb", "de"), ("de", "dsb"), ("dsb", "de"))
    assert (recipe.data.temperature > 1, recipe.backtranslation.mono) == (True, ("mono.dsb",))
    summary = planned.summary(recipe)
    assert all(f"{name}: 3 pairs, 25% of the steps" in summary for name in ("de-hsb", "hsb-de", "de-dsb", "dsb-de"))
    assert re.search(r"^tokens per word: de \d\.\d\d, hsb \d\.\d\d, dsb \d\.\d\d$", summary, re.MULTILINE)
