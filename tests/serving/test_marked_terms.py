"""A model that was trained with marked terms uses the translations that a glossary gives, in the right form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import httpx
import pytest
from running_server import StartServer

import dragoman
from conftest import TINY, Command
from dragoman.documents.segment import Segment, with_glossary
from dragoman.documents.terms import TermDraft, TermSearch
from dragoman.documents.translate import TextTranslator
from dragoman.recipe import build_recipe
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelTable, ServedModel
from dragoman.settings.decoding import MAX_COST_OF_MARKED_TERMS
from dragoman.text.glossary import Glossary, Term
from dragoman.text.term_matcher import TermMatcher
from dragoman.text.translation import Translation
from dragoman.text.word_forms import form_finder
from dragoman.training.run.run import train
from dragoman.translator import Translator

NOUNS = {
    ("file", "files"): [("Datei", "Dateien"), ("Akte", "Akten")],
    ("picture", "pictures"): [("Bild", "Bilder"), ("Foto", "Fotos")],
    ("street", "streets"): [("Straße", "Straßen"), ("Weg", "Wege")],
    ("shop", "shops"): [("Laden", "Läden"), ("Geschäft", "Geschäfte")],
    ("couch", "couches"): [("Liege", "Liegen"), ("Bank", "Bänke")],
}
"""English nouns, each with two German translations: singular and plural."""


def phrase(noun: tuple[str, str], german: tuple[str, str], plural: bool) -> tuple[str, str]:
    return (f"all {noun[1]}", f"alle {german[1]}") if plural else (f"no {noun[0]}", f"keine {german[0]}")


def sentences(count: int) -> Iterator[tuple[str, str]]:
    """Pairs whose translations cannot be known without a glossary: each noun gets one of its translations at random."""
    random = Random(0)
    for _ in range(count):
        nouns = random.sample(list(NOUNS), random.randint(1, 2))
        parts = [phrase(noun, random.choice(NOUNS[noun]), random.random() < 0.5) for noun in nouns]
        yield " and ".join(source for source, _ in parts), " und ".join(target for _, target in parts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned to use terms."""
    directory = tmp_path_factory.mktemp("terms")
    for split, count in (("train", 600), ("validation", 20)):
        pairs = zip(*sentences(count), strict=True)
        for language, texts in zip(("en", "de"), pairs, strict=True):
            directory.joinpath(f"{split}.{language}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    files = {split: [f"{directory}/{split}.{{lang}}"] for split in ("train", "validation")}
    changes = {
        "data": {"source_language": "en", "target_language": "de", **files},
        "text": {"vocabulary_size": 400, "placeholders": True, "terms": True},
        "model": TINY["model"] | {"d_model": 64, "d_ff": 128, "dropout": 0.0, "norm": "pre"},
        "training": TINY["training"] | {"steps": 250, "validations": 1, "learning_rate": 5e-3, "average": 1},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.lexicon.lemma_pairs.FREQUENT", 1.0)  # each noun is a large part of this text
        assert train(build_recipe(TINY | changes, ["training.augmentation.terms=0.6"]), directory / "run")
    return directory / "run"


@pytest.fixture(scope="module")
def texts(run: Path) -> TextTranslator:
    return TextTranslator(dragoman.load(run, device="cpu", beam_size=1))


def with_terms(source: str, *terms: tuple[str, str]) -> Segment:
    return Segment(source, glossary=Glossary(Term(*each) for each in terms))


@pytest.mark.slow
def test_terms_are_used_and_inflected(texts: TextTranslator) -> None:
    assert texts.follows_glossaries
    cases = [(noun, german, plural) for noun in NOUNS for german, plural in product(NOUNS[noun], (False, True))]
    phrases = [phrase(*case) for case in cases]
    segments = [  # the glossary has the singular, also for plurals
        with_terms(source, (noun[0], german[0])) for (source, _), (noun, german, _) in zip(phrases, cases, strict=True)
    ]
    plain = texts.translate_segments([Segment(source) for source, _ in phrases])
    found = texts.translate_segments(segments)
    right, known = (
        sum(each.text == target for each, (_, target) in zip(translations, phrases, strict=True))
        for translations in (found, plain)
    )
    assert known <= 0.5 * len(cases)  # at most one of two translations
    assert right >= 0.8 * len(cases)
    for (_, german, plural), each in zip(cases, found, strict=True):
        (term,) = each.terms
        used = "exactly" if german[0] in each.text.split() else "inflected" if german[1] in each.text.split() else "not"
        assert term.used == used
        assert (f"missing term: {german[0]}" in each.problems) == (used == "not")
        assert plural or used != "inflected"


def test_batches_do_not_matter_and_other_texts_do_not_change(texts: TextTranslator) -> None:
    sources = [source for source, _ in sentences(20)]
    glossary = Glossary([Term("file", "Akte"), Term("street", "Weg"), Term("shop", "Geschäft")])
    together = texts.translate_segments(with_glossary(map(Segment, sources), glossary))
    plain = texts.translate_segments(list(map(Segment, sources)))
    for source, one, other in zip(sources, together, plain, strict=True):
        (alone,) = texts.translate_segments(with_glossary([Segment(source)], glossary))
        assert (alone.text, alone.terms) == (one.text, one.terms)
        assert one.text == other.text or one.terms
    assert any(each.terms for each in together)
    assert not all(each.terms for each in together)


def test_placeholders_are_copied_once_next_to_terms_and_in_them(texts: TextTranslator) -> None:
    for source, term in [
        ("all files {name} and no shop", ("file", "Akte")),
        ("all files %s", ("files %s", "Akten %s")),
        ("%s no street %s", ("street %s", "Weg")),
    ]:
        plain, found = texts.translate_segments([Segment(source), with_terms(source, term)])
        assert len(found.terms) == 1
        for span in ("{name}", "%s"):
            assert found.text.count(span) == plain.text.count(span) == source.count(span)
        assert not any("%s" in problem or "name" in problem for problem in found.problems if "term" not in problem)


def test_terms_of_texts_that_are_too_long_with_them_are_not_marked(texts: TextTranslator) -> None:
    translator, source = texts.translator, "all files"
    while not translator.is_too_long(f"{source} and all files"):
        source += " and all files"
    terms = [TermMatcher().find(text, Glossary([Term("files", "Akte")])) for text in (source, "all files")]
    plain = translator.text_search.encode([source, "all files"])
    encoded = translator.text_search.encode_with_terms([source, "all files"], terms)
    assert encoded[0] == plain[0]
    assert len(encoded[1].ids) > len(plain[1].ids)


def test_terms_that_the_model_ignores_are_used_unless_they_cost_too_much(run: Path) -> None:
    source = with_terms("no file", ("file", "Straße"))  # which never translates "file"
    found = {}
    for limit in (1000.0, MAX_COST_OF_MARKED_TERMS, 0.0, None):
        changes = {} if limit is None else {"max_term_cost": limit}
        (found[limit],) = TextTranslator(dragoman.load(run, changes, "cpu")).translate_segments([source])
    assert [term.used for term in found[1000.0].terms] == ["exactly"]
    assert [term.used for term in found[0.0].terms] == ["not"]
    assert found[None] == found[MAX_COST_OF_MARKED_TERMS] != found[1000.0]


@pytest.mark.parametrize(
    ("given", "is_kept"), [("Wickelhopf", True), ("Hopf", False), ("Wickel", False), ("Wickelkommode", False)]
)
def test_forms_that_the_dictionaries_lack_are_kept(texts: TextTranslator, given: str, is_kept: bool) -> None:
    translator, matcher = texts.translator, TermMatcher.of("en", "de")
    search = TermSearch(translator, matcher, form_finder("de"), marks=True)
    segment = with_terms("all files", ("files", given))
    (source,) = translator.text_search.encode([segment.text])
    translation = Translation("alle Wickelhöpfe")  # an invented word
    draft = TermDraft(segment, source, translation, matcher, form_finder("de"))
    assert draft.missing, "it is not known as a form"
    search._improve([draft])
    assert (draft.translation == translation) == is_kept
    assert not draft.missing


def test_other_models_are_searched_for_the_terms(translator: Translator) -> None:
    texts = TextTranslator(translator)
    assert not texts.follows_glossaries
    sources = "Ein Hund.", "Hunde.", "Eine Katze."
    found = texts.translate_segments([with_terms(source, ("Hund", "Wauwau")) for source in sources])
    assert [[term.used for term in each.terms] for each in found] == [["exactly"], ["exactly"], []]


def test_the_command_and_the_server_say_the_same(
    run: Path, texts: TextTranslator, command: Command, tmp_path: Path, start_server: StartServer
) -> None:
    source, terms = "no file and all streets and all streets", tmp_path / "terms.tsv"
    terms.write_text("file\tAkte\nstreet\tWeg\nshop\tLaden\n", encoding="utf-8")
    out = command("translate", run, source, "--glossary", terms, "--set", "decoding.beam_size=1", "--json").out
    server, bundle = start_server(), texts.translator.bundle
    table = ModelTable(
        [ServedModel("en", "de", texts.translate_segments, texts.translator.text_search.count_tokens, bundle)]
    )
    server.service.use_models(table, LanguageDetector.of(table))
    client, headers = f"{server.url}/v2", {"Authorization": "DeepL-Auth-Key k"}
    body = {
        "name": "n",
        "source_lang": "en",
        "target_lang": "de",
        "entries_format": "tsv",
        "entries": terms.read_text(),
    }
    made = httpx.post(f"{client}/glossaries", json=body, headers=headers).json()
    request = {"text": [source], "source_lang": "EN", "target_lang": "DE", "glossary_id": made["glossary_id"]}
    (reply,) = httpx.post(f"{client}/translate", json=request, headers=headers).json()["translations"]
    assert (reply["text"], reply["terms"]) == (json.loads(out)["text"], json.loads(out)["terms"])
    assert [term["source"] for term in reply["terms"]] == ["file", "street"]
    assert {term["used"] for term in reply["terms"]} <= {"exactly", "inflected", "not"}
