"""Translating with a model of several directions: which languages there are, and which one a text is in."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from many_bundles import CODES, DIRECTIONS, make_many, texts

import dragoman
from dragoman.bundle import AttentionRows, Bundle, choose_direction, each_direction, recognize_sources
from dragoman.cli.options import in_direction
from dragoman.cli.translate import TranslateInput, recognize_source
from dragoman.corpus.memory import TranslationMemory
from dragoman.corpus.pair import Pair
from dragoman.doctor.input import check_texts
from dragoman.errors import UserError
from dragoman.evaluation.evaluate import evaluate
from dragoman.evaluation.scoring import score
from dragoman.recipe import build_recipe
from dragoman.settings import Distillation
from dragoman.text.multilingual import language_tokens, name_direction
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command

CENTERED = [("de", "en"), ("en", "de"), ("szl", "en"), ("en", "szl")]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of all six directions. Tests must not change it."""
    path = tmp_path_factory.mktemp("many") / "bundle"
    make_many(decoding__max_length=12).save(path)
    return path


# ---- Bundles


def test_each_direction_has_its_own_facts(many: Path) -> None:
    bundle = Bundle.load(many)
    assert bundle.directions == DIRECTIONS
    assert bundle.is_undecided
    tokens = language_tokens(bundle.source)
    for source, target in DIRECTIONS:
        view = choose_direction(bundle, source, target)
        assert view.recipe.data.languages == view.stated == (source, target)
        assert view.scores == bundle.facts[name_direction((source, target))]["scores"]
        assert view.attention_rows() == bundle.attention_rows() == AttentionRows(0, shifted=False), "of an engine"
        assert list(view.training_text["profiles"]) == [source, target]
        assert view.source.encode(["a"])[0][0] == tokens[target]
        assert view.target.encode(["a"])[0][0] not in tokens.values()
        assert not view.is_undecided
        assert not view.is_zero_shot
        assert view.weights is bundle.weights
    stored = json.loads((many / "bundle.json").read_text("utf-8"))
    assert all(not each["training_text"]["profiles"] for each in stored["directions"].values()), "a profile once"


def test_languages_that_follow_are_not_asked_for() -> None:
    bundle = make_many(CENTERED)
    for source, target, stated in (
        ("de", None, ("de", "en")),
        (None, "szl", ("en", "szl")),
        ("EN", None, ("en", None)),
        (None, "en", (None, "en")),
        ("szl", "de", ("szl", "de")),
    ):
        view = choose_direction(bundle, source, target)
        assert view.stated == stated
        assert view.is_undecided is (None in stated)
        assert view.is_zero_shot is (stated == ("szl", "de"))
    assert [each.stated for each in each_direction(choose_direction(bundle, None, "en"))] == [
        ("de", "en"),
        ("szl", "en"),
    ]
    zero_shot = choose_direction(bundle, "szl", "de")
    assert (zero_shot.scores, zero_shot.training_text) == ({}, {})
    assert zero_shot.attention_rows() == choose_direction(bundle, "de", "en").attention_rows()


def test_a_language_that_only_follows_is_not_stated() -> None:
    bundle = make_many([("de", "szl"), ("szl", "de")])
    translator = dragoman.Translator(bundle).with_direction(target_language="szl")
    assert translator.bundle.stated == ("de", "szl")
    assert translator.with_direction(target_language="de").bundle.stated == ("szl", "de")
    assert translator.with_direction(source_language="de").bundle.stated == ("de", "szl")
    with pytest.raises(UserError, match="the source and the target language are both szl"):
        translator.with_direction(source_language="szl")


def test_search_settings_can_be_chosen_in_each_direction_of_text_without_languages(tmp_path: Path) -> None:
    """As in a recipe whose first corpus is in the languages of the recipe."""
    bundle = make_many(decoding__max_length=12)
    train = [{"source": "a.de", "target": "a.en"}, *bundle.recipe.to_dict()["data"]["train"][1:]]
    data = bundle.recipe.to_dict()["data"] | {"train": train, "validation": ["dev.{lang}"]}
    recipe = build_recipe(bundle.recipe.to_dict() | {"data": data})
    replace(bundle, recipe=recipe).save(tmp_path / "bundle")
    for source, target in DIRECTIONS:
        loaded = dragoman.load(
            tmp_path / "bundle", engine="torch", source_language=source, target_language=target, beam_size=2
        )
        assert loaded.decoding.beam_size == 2
        view = loaded.bundle.recipe.data
        assert [view.languages_of(each.corpus) for each in view.weighted] == [
            recipe.data.languages_of(each.corpus) for each in recipe.data.weighted
        ]
        assert list(map(view.languages_of, view.validation)) == [("de", "en")]


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (("fr", None), "no source language fr; choose one of de, en, szl"),
        ((None, "pol"), "no target language pol; choose one of de, en, szl"),
        (("de", "deu"), "the source and the target language are both de; choose one of en, szl"),
    ],
)
def test_wrong_languages_are_refused_with_those_that_there_are(languages: Any, message: str, many: Path) -> None:
    with pytest.raises(UserError, match=message):
        choose_direction(Bundle.load(many), *languages)


@pytest.mark.parametrize("damage", [{"de-en": 1}, {"de-en": {"scores": []}}, []], ids=str)
def test_damaged_facts_are_refused(damage: Any, many: Path, tmp_path: Path) -> None:
    make_many().save(tmp_path / "bundle")
    about = json.loads((tmp_path / "bundle" / "bundle.json").read_text("utf-8"))
    (tmp_path / "bundle" / "bundle.json").write_text(json.dumps(about | {"directions": damage}), "utf-8")
    with pytest.raises(UserError, match=r"bundle\.json: damaged"):
        Bundle.load(tmp_path / "bundle")


def test_the_card_can_be_published() -> None:
    bundle = make_many(CENTERED)
    card = bundle._card(bundle.recipe)
    assert 'language: ["de", "en", "szl"]' in card
    assert "between German (de), English (en), Silesian (szl)" in card
    for direction in CENTERED:
        assert f"{name_direction(direction)}, dev: BLEU" in card
    assert "The lowest scores: de-en, dev (chrF 30.0); en-de, dev (chrF 31.0)" in card
    assert "de-szl, szl-de: it was not trained for these directions" in card
    assert "train.en and train.szl: source and license are not known" in card
    service = Distillation(translated_by="the language model m")
    card = bundle._card(bundle.recipe.model_copy(update={"distillation": service}))
    assert "train.en and train.szl, translated by a machine: source and license are not known" in card
    assert "learned from translations by the language model m: check whether its license or terms allow that" in card


# ---- Translators


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_direction_can_be_chosen_for_each_call(engine: str, many: Path) -> None:
    translate = dragoman.load(many, engine=engine)
    found = {}
    for source, target in DIRECTIONS:
        own = texts("test", 4)[source]
        found[source, target] = translate(own, source_language=source, target_language=target)
        loaded = dragoman.load(many, engine=engine, source_language=source, target_language=target)
        assert loaded(own) == found[source, target]
        assert not {token for each in found[source, target] for token in each.tokens if token.startswith("<2")}
    assert len({str(each) for each in found.values()}) == len(DIRECTIONS)


def test_the_source_of_each_text_is_recognized(many: Path) -> None:
    translate = dragoman.load(many, engine="torch", target_language="en")
    own = [texts("test", 4)[code][number] for number, code in enumerate(("de", "szl", "szl", "de"))]
    expected = [
        translate(text, source_language=code).text for text, code in zip(own, ("de", "szl", "szl", "de"), strict=True)
    ]
    assert [each.text for each in translate(own)] == expected
    assert translate.explain(own[1]).translation.text == expected[1]
    assert translate("").text == ""


def test_the_source_is_recognized_although_only_one_trained_direction_has_the_target() -> None:
    bundle = choose_direction(make_many(CENTERED), None, "szl")
    assert bundle.stated == ("en", "szl")
    own = texts("test", 6)
    assert recognize_sources(bundle, own["de"]) == ["de"] * 6
    assert recognize_sources(bundle, own["en"]) == ["en"] * 6
    assert recognize_sources(bundle, ["Ja", "日本語の文章です", ""]) == ["en"] * 3, "this direction was trained"
    assert recognize_sources(choose_direction(bundle, "en", None), own["de"]) == ["en"] * 6


def test_related_languages_are_told_apart(many: Path) -> None:
    bundle = choose_direction(Bundle.load(many), None, "en")
    for code in ("de", "szl"):
        own = [text for text in texts("test", 50)[code] if len(text.split()) >= 5]
        assert recognize_sources(bundle, own).count(code) >= 0.97 * len(own)
        assert [recognize_sources(bundle, [text])[0] for text in own].count(code) >= 0.97 * len(own)
    with pytest.raises(UserError, match=r"not recognized; name it with --source-language.*: de, szl"):
        recognize_sources(bundle, ["日本語の文章です"])


def test_sorbian_languages_are_told_apart(data_directory: Path) -> None:
    """Single sentences of the development text, with what is learned from training text of other sources."""
    from dragoman.corpus.lines import read_lines
    from dragoman.languages.identify import LanguageProfile, identify, learn_profiles, read_profiles

    sorbian = data_directory / "sorbian"
    if not sorbian.is_dir():
        pytest.skip("no Sorbian text")

    def lines(name: str) -> list[str]:
        return list(read_lines(sorbian / name))

    samples = {code: lines(f"dsb-hsb/train.{code}.gz")[::6] for code in ("dsb", "hsb")}
    samples["de"] = lines("de-dsb/train.de.gz")[::4]
    profile = LanguageProfile(read_profiles(learn_profiles(samples)))
    for name, code in (("de-dsb/dev.dsb.gz", "dsb"), ("de-hsb/dev.hsb.gz", "hsb"), ("de-dsb/dev.de.gz", "de")):
        own = [text for text in lines(name) if len(text.split()) >= 5][::3]
        right = [bool(found := identify(text, profile)) and found[0][0] == code for text in own]
        assert sum(right) >= 0.97 * len(own), name


def test_without_a_target_nothing_is_translated(many: Path) -> None:
    translate = dragoman.load(many, engine="torch", source_language="de")
    uses: list[Callable[[], object]] = [
        lambda: translate("Ein Hund."),
        lambda: translate.explain("Ein Hund."),
        lambda: translate.text_search,
        lambda: dragoman.TextTranslator(translate),
        lambda: list(score(translate, [("Ein Hund.", "A dog.")])),
        lambda: check_texts(translate.bundle, ["Ein Hund."]),
    ]
    assert repr(translate) == "<Translator many: de to several, torch>"
    for use in uses:
        with pytest.raises(UserError, match="translates into en, szl: choose one of them with --target-language"):
            use()


def test_the_card_of_an_imported_model_names_the_direction_of_its_scores(many: Path) -> None:
    bundle = Bundle.load(many)
    data = bundle.recipe.data.model_copy(update={"directions": ()})
    scores = {"chrf": 50.0, "bleu": 25.0, "sentences": 100, "decoding": "greedy"}
    recipe = bundle.recipe.model_copy(update={"data": data})
    imported = replace(bundle, recipe=recipe, facts={}, profiles={}, validation=scores)
    card = imported._card(imported.recipe)
    assert 'dragoman translate PATH/TO/THIS/DIRECTORY "…"\n' in card, "its direction need not be chosen"
    assert "* de-en, validation: " in card


def test_output_in_another_language_is_counted(many: Path) -> None:
    """A model with random weights writes in no language at all; English output would be wrong in Silesian."""
    translator = dragoman.load(many, engine="torch", source_language="de", target_language="szl")
    own = texts("test", 6)
    report, _ = evaluate(translator, own["de"], own["szl"])
    assert report.wrong_language is not None
    assert report.chrf_pp is not None
    from dragoman.languages.identify import share_in_other_languages

    profile = translator.bundle.language_profile
    assert profile is not None
    assert share_in_other_languages(own["szl"], "szl", profile) == 0
    assert share_in_other_languages(own["en"], "szl", profile) == 1


# ---- Commands


def test_commands_recognize_the_source(many: Path, command: Command, process: Command, tmp_path: Path) -> None:
    own = texts("test", 4)
    expected = [command("translate", many, own["szl"][0], "--source-language", "szl", "--target-language", "en").out]
    for extra in ([own["szl"][0]], ["--input", tmp_path / "text.txt"]):
        (tmp_path / "text.txt").write_text(f"{own['szl'][0]}\n", "utf-8")
        outcome = command("translate", many, *extra, "--target-language", "en")
        assert (outcome.code, outcome.out) == (0, expected[0])
    piped = process("translate", many, "--target-language", "en", stdin=f"{own['szl'][0]}\n".encode())
    assert (piped.code, piped.out) == (0, expected[0])
    document = tmp_path / "text.html"
    document.write_text(f"<p>{own['szl'][0]}</p>", "utf-8")
    outcome = command(
        "translate", many, "--document", document, "--output", tmp_path / "out.html", "--target-language", "en"
    )
    assert outcome.code == 0
    assert expected[0].strip() in (tmp_path / "out.html").read_text("utf-8")
    refused = command("translate", many, own["szl"][0])
    assert refused.code == 2
    assert "choose one of them with --target-language" in refused.error


DOCUMENTS = {
    "po": 'msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "{text}"\nmsgstr ""\n',
    "xliff": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    '<file original="a" datatype="plaintext" source-language="szl" target-language="en"><body>'
    '<trans-unit id="1"><source>{text}</source></trans-unit></body></file></xliff>',
    "tmx": '<tmx version="1.4"><header srclang="szl"/>'
    '<body><tu><tuv xml:lang="szl"><seg>{text}</seg></tuv></tu></body></tmx>',
    "xlf": '<?xml version="1.0" encoding="UTF-16"?><xliff version="2.0" srcLang="szl" trgLang="en" '
    'xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f"><unit id="u"><segment><source>{text}</source></segment>'
    "</unit></file></xliff>",
    "pot": 'msgid ""\nmsgstr "Language: szl\\n"\n\nmsgid "{text}"\nmsgstr ""\n',
    "html": '<title>Der Hund im Schnee</title><p lang="szl">{text}</p>',
    "htm": f'<div lang="de"><p>{texts("test", 4)["de"][1]}</p></div>' + 3 * "<p>{text}</p>",
    "xhtml.html": '<html lang="szl"><p>{text}</p><blockquote lang="de"><p>'
    + "</p><p>".join(texts("test", 4)["de"][1:])
    + "</p></blockquote></html>",
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nDer Hund.\n\n00:03.000 --> 00:04.000\n<lang szl>{text}</lang>\n",
    "md": "# {text}\n",
    "csv": "de,szl\nDer Hund läuft schnell durch den Schnee und die Katze schläft auf dem Sofa.,{text}\n",
}
"""A Silesian sentence in documents; some state their languages."""


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_the_source_of_documents_is_the_stated_or_the_recognized_one(
    kind: str, many: Path, command: Command, tmp_path: Path
) -> None:
    text = texts("test", 4)["szl"][0]
    expected = dragoman.load(many, source_language="szl", target_language="en")(text).text
    document, output = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    content = DOCUMENTS[kind].format(text=text)
    encoding = "utf-16" if "UTF-16" in content else "utf-8"
    document.write_text(content, encoding)
    columns = ["--columns", "szl"] if kind == "csv" else []
    outcome = command(
        "translate", many, "--document", document, "--output", output, "--target-language", "en", *columns
    )
    assert outcome.code == 0, outcome.error
    assert expected in html.unescape(output.read_text(encoding)).replace('\\"', '"')


def test_a_document_in_the_target_language_is_refused(many: Path, command: Command, tmp_path: Path) -> None:
    document, output = tmp_path / "a.txt", tmp_path / "b.txt"
    document.write_text("\n\n".join(texts("test", 8)["en"]), "utf-8")
    translated = ("translate", many, "--document", document, "--output", output, "--target-language", "en")
    refused = command(*translated)
    assert refused.code == 2
    assert "a.txt: is already in en; to translate it anyway, add --source-language" in refused.error
    assert command(*translated, "--source-language", "de").code == 0


def test_each_line_is_translated_from_its_language(many: Path, command: Command, tmp_path: Path) -> None:
    own = texts("test", 6)
    lines = [text for pair in zip(own["szl"], own["de"], strict=True) for text in pair]
    translated = dragoman.load(many)(lines, target_language="en")
    expected = [each.text or line for each, line in zip(translated, lines, strict=True)]
    (tmp_path / "mixed.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    for given in (lines, ["--input", tmp_path / "mixed.txt"]):
        outcome = command("translate", many, *given, "--target-language", "en", "--engine", "torch")
        assert outcome.out.splitlines() == expected
        assert "does not look like" not in outcome.error
    stated = command("translate", many, *lines, "--source-language", "de", "--target-language", "en")
    assert "does not look like de" in stated.error
    unknown = "Собака бежит по лугу.\n"
    (tmp_path / "mixed.txt").write_text(20 * "".join(f"{line}\n" for line in own["szl"]) + 1000 * unknown, "utf-8")
    outcome = command("translate", many, "--input", tmp_path / "mixed.txt", "--target-language", "en")
    assert outcome.code == 0, outcome.error


def test_a_document_in_two_languages_is_in_the_only_one_it_can_be_opened_in(
    many: Path, command: Command, tmp_path: Path
) -> None:
    document, output = tmp_path / "a.tmx", tmp_path / "b.tmx"
    own = texts("test", 4)
    units = "".join(f'<tuv xml:lang="{code}"><seg>{own[code][0]}</seg></tuv>' for code in ("szl", "en"))
    document.write_text(f'<tmx version="1.4"><header srclang="*all*"/><body><tu>{units}</tu></body></tmx>', "utf-8")
    outcome = command("translate", many, "--document", document, "--output", output, "--target-language", "en")
    assert outcome.code == 0, outcome.error
    assert output.read_text("utf-8") == document.read_text("utf-8")


def test_a_page_on_one_long_line_is_recognized(many: Path, command: Command, tmp_path: Path) -> None:
    page, text = tmp_path / "page.html", texts("test", 4)["szl"][0]
    page.write_text(f"<style>{'p{}' * 50_000}</style><p>{text}</p>", "utf-8")
    outcome = command("translate", many, "--format", "html", "--input", page, "--target-language", "en")
    assert outcome.code == 0, outcome.error
    assert dragoman.load(many, source_language="szl", target_language="en")(text).text in html.unescape(outcome.out)


def test_names_of_files_and_options_agree(many: Path, command: Command, tmp_path: Path) -> None:
    files = {code: tmp_path / f"test.{code}" for code in CODES}
    for code, path in files.items():
        path.write_text("".join(f"{text}\n" for text in texts("test", 4)[code]), "utf-8")
    named: list[str | Path] = ["evaluate", many, "--source", files["de"], "--reference", files["szl"]]
    refused = command(*named, "--target-language", "en")
    assert refused.code == 2
    assert "test.szl: is named after szl, not en; state both languages with options" in refused.error
    assert command(*named, "--target-language", "szl").code in (0, 1)
    stated = command(*named, "--source-language", "de", "--target-language", "en", "--json")
    assert {key: json.loads(stated.out)[key] for key in ("source_language", "target_language")} == {
        "source_language": "de",
        "target_language": "en",
    }
    assert "the references look like szl, but the translation is into en" in stated.error


def test_the_target_is_asked_for_first_and_then_the_language_that_is_typed(many: Path) -> None:
    bundle = Bundle.load(many)
    with pytest.raises(UserError, match="choose one of them with --target-language"):
        in_direction(bundle, (None, None), lambda translator: pytest.fail("reads the text"), None)
    typed = TranslateInput(many, [], None)
    typed.typed = True
    with pytest.raises(UserError, match="name the language of this text with --source-language: de, en"):
        recognize_source(choose_direction(bundle, None, "szl"), typed, None, None, "text")


@pytest.mark.parametrize("placeholders", [False, True])
def test_words_that_can_be_left_out_are_those_of_the_text(placeholders: bool) -> None:
    """Not the token of the target language in front of them, also if spans are masked."""
    bundle = make_many(text__placeholders=placeholders, decoding__max_length=12)
    translator = Translator(choose_direction(bundle, "de", "szl"))
    text = "Ein Hund läuft im Schnee."
    words = [word.text for word in translator.explain(text).influence.words]
    assert words[:2] == ["Ein", "Hund"]
    for index in range(len(words)):
        left = [word.text for word in translator.explain(text, without=[index]).influence.words]
        assert left == [*words[:index], *words[index + 1 :]]


def test_an_export_is_compared_in_the_direction_of_the_files(many: Path, command: Command, tmp_path: Path) -> None:
    for code in ("szl", "de"):
        (tmp_path / f"test.{code}").write_text("".join(f"{text}\n" for text in texts("test", 4)[code]), "utf-8")
    files: list[str | Path] = ["--source", tmp_path / "test.szl", "--reference", tmp_path / "test.de"]
    outcome = command("export", many, tmp_path / "exported", "--to", "ctranslate2", *files)
    assert outcome.code == 0, outcome.error
    assert "comparing it with the bundle from szl to de" in outcome.error


def test_a_direction_without_training_text_has_a_warning(command: Command, tmp_path: Path) -> None:
    make_many(CENTERED, decoding__max_length=12).save(tmp_path / "bundle")
    exported: list[str | Path] = ["export", tmp_path / "bundle", tmp_path / "out", "--to", "ctranslate2"]
    outcome = command(*exported, "--source-language", "de", "--target-language", "szl")
    assert "was not trained to translate from de into szl" in outcome.error
    warned = [
        "was not trained to translate from" in command("translate", tmp_path / "bundle", "Ein Hund.", *languages).error
        for languages in (
            ("--source-language", "de", "--target-language", "szl"),
            ("--source-language", "de", "--target-language", "en"),
        )
    ]
    assert warned == [True, False]


@pytest.mark.parametrize("name", ["evaluate", "doctor output", "compare", "score"])
def test_files_name_their_languages(name: str, many: Path, command: Command, tmp_path: Path) -> None:
    files = {code: tmp_path / f"test.{code}" for code in CODES}
    for code, path in files.items():
        path.write_text("".join(f"{text}\n" for text in texts("test", 8)[code]), "utf-8")
    reference = "--target" if name == "score" else "--reference"
    bundles = [many, many] if name == "compare" else [many]
    outcome = command(*name.split(), *bundles, "--source", files["szl"], reference, files["de"])
    assert outcome.code in (0, 1), outcome.error
    if name == "evaluate":
        assert "chrF++" in outcome.out
        assert "in another language:" in outcome.out
    one = command(*name.split(), *bundles, "--source", files["szl"], reference, files["de"], "--target-language", "de")
    assert (one.code, one.out) == (outcome.code, outcome.out), one.error
    other = command(
        *name.split(), *bundles, "--source", files["szl"], reference, tmp_path / "test.de", "--target-language", "xx"
    )
    assert (other.code, "no target language xx" in other.error) == (2, True)


def test_a_model_of_one_direction_needs_no_choice() -> None:
    bundle = make_many([("de", "en")], decoding__max_length=5)
    translator = Translator(bundle)
    assert not translator.bundle.is_undecided
    assert translator.bundle.scores == bundle.facts["de-en"]["scores"]
    assert translator("Ein Hund.").text == Translator(choose_direction(bundle, "de", "en"))("Ein Hund.").text


def test_a_memory_is_kept_in_its_direction_and_refused_in_others() -> None:
    bundle = make_many(decoding__max_length=5, training__augmentation__fuzzy_matches=0.5)
    memory = TranslationMemory([Pair("Ein Hund läuft.", "A dog runs.")])
    translator = Translator(choose_direction(bundle, "de", "en")).with_memory(memory)
    same = translator.with_direction("de", "en")
    assert same.text_search.memory is translator.text_search.memory is not None
    with pytest.raises(UserError, match="memory of this translator is for de-en"):
        translator("Ein Hund läuft.", target_language="szl")
