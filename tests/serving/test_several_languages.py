"""A bundle with several languages: each request gets its direction, and one engine translates all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dragoman
from dragoman.bundle import Bundle, choose_direction, languages_of, translates
from dragoman.documents.segment import Segment
from dragoman.errors import UserError
from dragoman.serving.models import ModelOptions, load_models
from dragoman.text.multilingual import MultilingualTokenizer

CODES = ["de", "en", "zh-Hans"]
TEXTS = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch."]


@pytest.fixture(scope="module")
def path(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny run's bundle; some of its tokens stand for languages."""
    bundle, path = Bundle.load(finished_run), tmp_path_factory.mktemp("languages") / "bundle"
    tokens = dict(zip(CODES, bundle.source.vocabulary.tokens[300:], strict=False))
    source, target = (MultilingualTokenizer(bundle.source, tokens, code) for code in ("de", "en"))
    replace(bundle, source=source, target=target).save(path)
    return path


def test_codes_are_found_as_users_write_them(path: Path, finished_run: Path) -> None:
    bundle = Bundle.load(path)
    assert languages_of(bundle) == CODES
    token = bundle.source.vocabulary.tokens[302]
    for wanted in ("zh-Hans", "zh_hans", "zh", token):
        data = choose_direction(bundle, "EN", wanted).recipe.data
        assert (data.source_language, data.target_language) == ("en", "zh-Hans")
    assert choose_direction(bundle, None, None).source.to_json() == bundle.source.to_json()
    with pytest.raises(UserError, match="no source language fr; choose one of de, en, zh-Hans"):
        choose_direction(bundle, "fr", None)
    assert bundle.training_text
    assert choose_direction(bundle, "de", "en").training_text == bundle.training_text
    assert choose_direction(bundle, "en", "de").training_text == {}, "it is about German sources"
    single = Bundle.load(finished_run)
    assert choose_direction(single, "de-AT", "en") is single
    with pytest.raises(UserError, match="the target language is en, not hi"):
        choose_direction(single, None, "hi")


def test_the_server_translates_in_all_directions(path: Path) -> None:
    models = load_models([path], ModelOptions())
    assert (models.languages, models.targets("en")) == (CODES, ["de", "zh-Hans"])
    found = {}
    for source in CODES:
        for target in models.targets(source):
            (model,) = models.route(source, target)
            found[source, target] = [each.text for each in model.translate([Segment(text) for text in TEXTS])]
            expected = dragoman.load(path, source_language=source, target_language=target)(TEXTS)
            assert found[source, target] == [str(each) or text for each, text in zip(expected, TEXTS, strict=True)]
    assert len(set(map(tuple, found.values()))) > 1, "languages make a difference"
    translators = [model.words._translator for model in models.models if model.words]
    assert len({id(translator.engine) for translator in translators}) == 1


def test_directions_of_another_bundle_of_several_are_not_replaced(path: Path) -> None:
    with pytest.raises(UserError, match="two bundles translate from de to en"):
        load_models([path, path], ModelOptions())


def test_a_language_is_not_translated_into_itself(path: Path) -> None:
    bundle = Bundle.load(path)
    for languages in (("de", "de"), ("en", None), (None, "de"), ("zh", "zh-CN")):
        with pytest.raises(UserError, match="the source and the target language are both"):
            choose_direction(bundle, *languages)
        assert not translates(bundle, (languages[0] or "de", languages[1] or "en"))
