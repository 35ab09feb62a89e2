"""Translators: one translation per text, in order, independent of batching."""

from __future__ import annotations

import copy
import pickle
import random
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import dragoman
from dragoman import TextTranslator
from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.evaluation.scoring import score
from dragoman.search.decode import by_expected_chrf
from dragoman.search.hypothesis import length_penalty
from dragoman.settings import Decoding
from dragoman.text.translation import Translation
from dragoman.training.run.run import train
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import RecipeMaker

BLANK = ["", " ", "\t", "\u00a0", "\u2028", "\x00\x07", "▁"]


@pytest.fixture(scope="module")
def texts(corpus: Path) -> list[str]:
    return (corpus / "test.de").read_text().splitlines()


def assert_alike(one: list[Translation], other: list[Translation]) -> None:
    """The same texts, and but for rounding the same scores."""
    assert [translation.text for translation in one] == [translation.text for translation in other]
    assert [translation.tokens for translation in one] == [translation.tokens for translation in other]
    for left, right in zip(one, other, strict=True):
        assert left.log_probabilities == pytest.approx(right.log_probabilities, abs=1e-3)


def test_a_text_gives_a_translation_and_texts_a_list_of_them(translator: Translator, texts: list[str]) -> None:
    single = translator(texts[0])
    assert isinstance(single, Translation)
    assert str(single) == single.text != ""
    several = translator(texts)
    assert isinstance(several, list)
    assert len(several) == len(texts)
    assert_alike([single], several[:1])
    assert_alike(translator(iter(texts)), several)
    assert translator([]) == []


@pytest.mark.parametrize("beam_size", [1, 3])
def test_neither_batches_nor_order_change_translations(
    beam_size: int, translator: Translator, texts: list[str]
) -> None:
    def translate(texts: list[str], batch_tokens: int) -> list[Translation]:
        settings = Decoding(beam_size=beam_size, max_length=30, batch_tokens=batch_tokens)
        return Translator(translator.bundle, settings)(texts)

    expected = translate(texts, 4096)
    assert len({translation.text for translation in expected}) > 5, "they must differ to show a wrong order"
    assert_alike(translate(texts, 64), expected)
    assert_alike(translate(texts, 1), expected)
    assert_alike([translate([text], 4096)[0] for text in texts], expected)
    order = random.Random(1).sample(range(len(texts)), len(texts))
    assert_alike(translate([texts[index] for index in order], 300), [expected[index] for index in order])


@pytest.fixture
def several_threads() -> Iterator[int]:
    """torch with three threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield 3
    torch.set_num_threads(before)


def test_several_threads_translate_as_one_and_leave_torch_as_it_was(
    translator: Translator, texts: list[str], several_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Translator(translator.bundle, Decoding(beam_size=3, batch_tokens=30))
    seen: set[tuple[str, int]] = set()
    engine: Any = small.engine
    start = engine.decoder.start

    def watched(source: Any) -> Any:
        seen.add((threading.current_thread().name, torch.get_num_threads()))
        return start(source)

    monkeypatch.setattr(engine.decoder, "start", watched)
    together = small(texts)
    assert {threads for _, threads in seen} == {1}
    assert len(seen) > 1, "more than one thread has translated"
    assert_alike(together, [small(text) for text in texts])
    monkeypatch.setattr(engine.decoder, "start", lambda source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        small(texts)
    assert torch.get_num_threads() == several_threads


def test_windows_of_a_stream_do_not_change_translations(translator: Translator, texts: list[str]) -> None:
    expected = translator(texts)
    assert_alike(list(translator.stream(texts, window=7)), expected)


def test_stream_reads_no_further_than_its_window(translator: Translator, texts: list[str]) -> None:
    source = iter(texts)
    stream = translator.stream(source, window=4)
    next(stream)
    assert list(source) == texts[4:]


def test_blank_texts_stay_blank_and_in_place(translator: Translator, texts: list[str]) -> None:
    mixed = [text for blank in BLANK for text in (blank, texts[0])]
    translations = translator(mixed)
    assert len(translations) == len(mixed)
    assert all(translation == Translation("") for translation in translations[::2])
    assert all(translation.text == translations[1].text != "" for translation in translations[1::2])
    assert [translation.text for translation in translator(BLANK)] == [""] * len(BLANK)
    assert translator("").text == ""


def test_log_probabilities_are_those_of_the_model(translator: Translator, texts: list[str]) -> None:
    """Teacher forcing gives the probabilities that the search reported: those among the tokens it may choose."""
    bundle = translator.bundle
    source, target = bundle.source.vocabulary, bundle.target.vocabulary
    for text, translation in zip(texts[:5], translator(texts[:5]), strict=True):
        assert len(translation.log_probabilities) == len(translation.tokens) + 1
        ids = [target.ids[token] for token in translation.tokens]
        assert bundle.target.decode(ids) == translation.text
        sources = torch.tensor([[*bundle.source.encode([text])[0], source.eos]])
        with torch.inference_mode():
            logits = bundle.model(sources, torch.tensor([[target.bos, *ids]]))[0]
            logits[:, [target.unk, target.pad, target.bos]] = -torch.inf
            values = logits.log_softmax(-1)[torch.arange(len(ids) + 1), torch.tensor([*ids, target.eos])]
        assert translation.log_probabilities == pytest.approx(values.tolist(), abs=1e-4)
        penalty = length_penalty(len(ids) + 1, translator.decoding.length_penalty)
        assert translation.score == pytest.approx(sum(translation.log_probabilities) / penalty)


def test_alternatives_are_n_best_and_ranked(translator: Translator, texts: list[str]) -> None:
    settings = Decoding(beam_size=4, n_best=3, max_length=30)
    one_best = Translator(translator.bundle, Decoding(beam_size=4, max_length=30))(texts)
    for best, translation in zip(one_best, Translator(translator.bundle, settings)(texts), strict=True):
        ranked = [translation, *translation.alternatives]
        assert translation.text == best.text
        assert best.alternatives == []
        assert len(ranked) == 3
        assert len({tuple(each.tokens) for each in ranked}) == 3
        assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)


def test_long_texts_are_translated_in_part_and_counted(translator: Translator, texts: list[str]) -> None:
    limit = translator.source_limit
    assert limit == translator.bundle.recipe.model.max_length - 1
    words = ("Hund " * hounds + "z" * letters for hounds in range(limit) for letters in range(9))
    exact = next(text for text in words if len(translator.bundle.source.encode([text])[0]) == limit)
    with pytest.warns(UserWarning, match=f"2 of 4 texts, because of the model's limit of {limit} tokens"):
        translations = translator([exact + " z", texts[0], exact + " Hund Hund", exact])
    assert [translation.truncated for translation in translations] == [True, False, True, False]
    assert {translation.text for translation in translations[::2]} == {translations[3].text} != {""}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [each.truncated for each in translator.stream([exact + " z"])] == [True], "and no warning"


def test_translations_are_no_longer_than_the_settings_say(translator: Translator, texts: list[str]) -> None:
    for settings in (Decoding(beam_size=2, max_length=4), Decoding(beam_size=1, max_length=4)):
        assert max(len(each.log_probabilities) for each in Translator(translator.bundle, settings)(texts)) == 4
    short = Decoding(beam_size=1, max_length_ratio=0.01, max_length_offset=2)
    assert max(len(each.log_probabilities) for each in Translator(translator.bundle, short)(texts)) <= 2


def test_specials_never_appear_in_translations(translator: Translator, texts: list[str]) -> None:
    settings = Decoding(sampling=True, temperature=5.0, max_length=30)
    specials = {"<unk>", "<pad>", "<s>", "</s>"}
    for translation in Translator(translator.bundle, settings)(texts):
        assert not set(translation.tokens) & specials


def test_text_of_a_special_is_plain_text(translator: Translator) -> None:
    ids = translator.bundle.source.encode(["</s> <pad>"])[0]
    assert not {*ids} & {*translator.bundle.source.vocabulary.special_ids}


def test_samples_depend_on_the_seed_alone(translator: Translator, texts: list[str]) -> None:
    def sample(seed: int) -> list[str]:
        settings = Decoding(sampling=True, seed=seed, max_length=20)
        return [translation.text for translation in Translator(translator.bundle, settings)(texts)]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_samples_of_a_text_do_not_depend_on_other_texts(translator: Translator) -> None:
    settings = Decoding(sampling=True, temperature=50.0, n_best=3, max_length=20, batch_tokens=20)
    sampling = Translator(translator.bundle, settings)
    distinct = ["Hund", "Mann", "Frau", "Kind"]
    together = sampling(distinct)
    assert [sampling(text) for text in distinct] == together
    assert len({text for each in together for text in (str(each), *map(str, each.alternatives))}) == 12


def test_load_takes_settings_of_the_search(finished_run: Path, make_recipe: RecipeMaker, texts: list[str]) -> None:
    assert dragoman.load(finished_run).decoding == make_recipe().decoding
    greedy = Decoding(beam_size=1, max_length=5)
    loaded = dragoman.load(str(finished_run), greedy)
    assert loaded.decoding == greedy
    assert max(len(each.log_probabilities) for each in loaded(texts)) == 5


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_translation_starts_with_its_prefix(beam_size: int, translator: Translator) -> None:
    texts = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch.", "Ein Kind schläft."]
    forced = Translator(translator.bundle, translator.decoding.model_copy(update={"beam_size": beam_size}))
    found = forced(texts, ["Three", "", "A small dog"])
    assert found[0].text.startswith("Three")
    assert found[2].text.startswith("A small dog")
    assert found[1].text == forced(texts[1]).text
    assert forced("Ein Hund läuft.", "Three").text == found[0].text


def test_a_translation_forced_for_it_is_as_likely_as_scoring_says(translator: Translator, texts: list[str]) -> None:
    forced = translator(texts, ["A small dog"] * len(texts))
    scored = list(score(translator, [(text, each.text) for text, each in zip(texts, forced, strict=True)]))
    same = [pair for pair in zip(forced, scored, strict=True) if pair[0].tokens == pair[1].tokens]
    assert len(same) > len(texts) / 2, "most texts are split as they were made"
    for each, expected in same:
        assert each.log_probabilities == pytest.approx(expected.log_probabilities, abs=2e-2)


def test_its_own_beginning_does_not_change_a_translation(translator: Translator, texts: list[str]) -> None:
    greedy = Translator(translator.bundle, translator.decoding.model_copy(update={"beam_size": 1}))
    target = translator.bundle.target
    free = greedy(texts)
    beginnings = [" ".join(each.text.split()[:2]) for each in free]
    forced = greedy(texts, beginnings)
    compared = 0
    for each, beginning, again in zip(free, beginnings, forced, strict=True):
        tokens = [target.vocabulary.tokens[token] for token in target.encode([beginning])[0]]
        if tokens == each.tokens[: len(tokens)]:  # it is split as it was made
            assert again.tokens == each.tokens
            compared += 1
    assert compared > len(texts) / 2


def test_prefixes_are_one_a_text_and_not_too_long(translator: Translator) -> None:
    with pytest.raises(UserError, match="fewer prefixes than texts"):
        translator(["Ein Hund.", "Ein Kind."], ["A"])
    with pytest.raises(UserError, match="more prefixes than texts"):
        translator(["Ein Hund."], ["A", ""])
    with pytest.raises(UserError, match="has 600 tokens; a translation has at most 129"):
        translator(["Ein Hund."], ["dog " * 200])


def test_minimum_bayes_risk_takes_the_sample_that_is_most_like_the_others(translator: Translator) -> None:
    text = "Ein kleiner Junge spielt im Park mit einem Hund."
    drawing = translator.decoding.model_copy(update={"sampling": True, "beam_size": 1, "n_best": 12, "seed": 3})
    drawn = Translator(translator.bundle, drawing)(text)
    samples = [drawn.text, *(other.text for other in drawn.alternatives)]
    expected = [samples[index] for index, _ in by_expected_chrf(samples)]
    assert len(set(samples)) > 3
    consensus = translator.decoding.model_copy(update={"mbr_samples": 12, "seed": 3, "n_best": 2})
    best = Translator(translator.bundle, consensus)(text)
    assert [best.text, *(other.text for other in best.alternatives)] == expected[:2]


def test_an_ensemble_of_one_model_is_that_model(translator: Translator) -> None:
    texts = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch."]
    twice = Translator(translator.bundle, ensemble=[translator.bundle])
    for one, other in zip(translator(texts), twice(texts), strict=True):
        assert one.text == other.text
        # what the search forbids has next to no probability, which is left out before or after the mean
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-3)


@pytest.mark.usefixtures("bare_runs")
def test_an_ensemble_needs_the_same_tokenizers(
    translator: Translator, make_recipe: RecipeMaker, tmp_path: Path
) -> None:
    recipe = make_recipe("training.steps=1", "training.validations=1", "text.vocabulary_size=380", "data.test=[]")
    assert train(recipe, tmp_path / "run")
    with pytest.raises(
        UserError, match=r"bundle\.json and .* have different tokenizers, so they cannot form an ensemble"
    ):
        Translator(translator.bundle, ensemble=[Bundle.load(tmp_path / "run")])


def test_texts_before_an_unreadable_one_are_translated(translator: Translator, texts: list[str]) -> None:
    def damaged() -> Iterator[str]:
        yield from texts[:3]
        raise UserError("line 4: not valid UTF-8")

    translations = translator.stream(damaged())
    assert [next(translations) for _ in range(3)] == translator(texts[:3])
    with pytest.raises(UserError, match="line 4"):
        next(translations)


def test_settings_of_the_search_are_changed_by_name(finished_run: Path) -> None:
    loaded = dragoman.load(finished_run, {"n_best": 3}, beam_size=7)
    expected = {"n_best": 3, "beam_size": 7}
    assert loaded.decoding == dragoman.load(finished_run).decoding.model_copy(update=expected)
    assert len(loaded("Ein Hund.").alternatives) == 2


@pytest.mark.parametrize("settings", [{"beam": 3}, {"beam_size": 0}, {"n_best": 50}, {"beam_size": None}], ids=str)
def test_invalid_settings_of_the_search_are_named(settings: dict[str, Any], finished_run: Path) -> None:
    with pytest.raises(UserError, match=next(iter(settings))):
        dragoman.load(finished_run, **settings)
    with pytest.raises(UserError, match=next(iter(settings))):
        dragoman.load(finished_run, settings)
    with pytest.raises(UserError, match=next(iter(settings))):
        Translator(Bundle.load(finished_run), settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoding": 5}, "decoding = 5: must be a Decoding"),
        ({"decoding": [("beam_size", 3)]}, "must be a Decoding"),
        ({"decoding": {5: 3}}, "the key 5 is not"),
        ({"device": "gpu"}, "device 'gpu' cannot be used"),
        ({"device": "meta"}, "device 'meta' cannot be used"),
        ({"device": "cuda:99"}, "device 'cuda:99' cannot be used"),
        ({"device": None}, "device None cannot be used"),
        ({"device": "tpu"}, "device 'tpu' cannot be used: choose cpu, cuda, cuda:1, …, mps, or auto"),
        ({"compute_type": "int4"}, "compute_type = 'int4': choose from auto, float32, bfloat16, int8"),
        ({"engine": "gpu"}, "no such engine"),
        ({"engine": 5}, "no such engine"),
    ],
    ids=str,
)
def test_invalid_arguments_of_load_are_named(options: dict[str, Any], message: str, finished_run: Path) -> None:
    with pytest.raises(UserError, match=message):
        dragoman.load(finished_run, **options)


@pytest.mark.parametrize("path", [None, 5, "", "a" * 5000, "\0", Path("nowhere")], ids=repr)
def test_paths_without_a_bundle_are_rejected(path: Any) -> None:
    with pytest.raises(UserError):
        dragoman.load(path)
    with pytest.raises(UserError):
        Bundle.load(path)


@pytest.mark.parametrize("texts", [None, 5, ["a", None], [b"bytes"], b"bytes", {"a": "b"}, {"a"}], ids=str)
def test_other_types_than_texts_are_rejected(texts: Any, translator: Translator) -> None:
    with pytest.raises(UserError, match="cannot translate"):
        translator(texts)
    with pytest.raises(UserError, match="cannot translate"):
        list(translator.stream(texts))
    with pytest.raises(UserError, match="cannot translate"):
        translator.explain(texts)


def test_bytes_are_named_and_not_their_numbers(translator: Translator) -> None:
    with pytest.raises(UserError, match="cannot translate b'Ein': pass strings"):
        translator(b"Ein")  # type: ignore[arg-type]


def test_settings_belong_to_load(translator: Translator) -> None:
    with pytest.raises(UserError, match=r"unknown argument 'beam_size'; dragoman\.load takes settings of the search"):
        translator("Ein Hund", beam_size=3)  # type: ignore[call-overload]


@pytest.mark.parametrize("token_scores", [True, False])
def test_log_probabilities_of_tokens_can_be_left_out(token_scores: bool, finished_run: Path, texts: list[str]) -> None:
    pytest.importorskip("ctranslate2")
    loaded = dragoman.load(finished_run, engine="ctranslate2", token_scores=token_scores, beam_size=4, max_length=100)
    found = loaded(texts)
    assert all(each.log_probability < 0 for each in found)
    assert all(each.log_probabilities for each in found) == token_scores


def test_the_data_type_is_an_argument_of_load(finished_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    copied = shutil.copytree(finished_run / "bundle", tmp_path / "bundle")
    assert dragoman.load(copied, compute_type="int8").engine.name == "ctranslate2"
    assert dragoman.load(copied, compute_type="float32", engine="torch").engine.name == "torch"


@pytest.mark.parametrize("prefixes", [5, "A", [5]], ids=str)
def test_other_types_than_prefixes_are_rejected(prefixes: Any, translator: Translator) -> None:
    with pytest.raises(UserError, match="prefixes"):
        translator(["Hund"], prefixes)


def test_a_stream_takes_several_texts_and_a_positive_window(translator: Translator) -> None:
    with pytest.raises(UserError, match="call the translator"):
        translator.stream("Ein Hund")
    with pytest.raises(UserError, match="window = 0"):
        translator.stream(["Ein Hund"], window=0)


def test_translator_names_its_bundle_and_engine(translator: Translator) -> None:
    assert repr(translator) == f"<Translator {translator.bundle.recipe.name}: de to en, {translator.engine.name}>"


@pytest.mark.parametrize("make_copy", [pickle.dumps, copy.deepcopy])
def test_translators_cannot_be_copied_to_other_processes(
    make_copy: Callable[[Any], Any], translator: Translator
) -> None:
    for each in (translator, TextTranslator(translator)):
        with pytest.raises(TypeError, match=r"call dragoman\.load in each process"):
            make_copy(each)


def test_ctranslate2_translates_without_torch(finished_run: Path) -> None:
    """What is loaded later is as before: the threads of torch, and attention."""
    pytest.importorskip("ctranslate2")
    options = 'device="cpu", engine="ctranslate2", beam_size=1'  # a greedy search always ends
    expected = dragoman.load(finished_run, device="cpu", engine="ctranslate2", beam_size=1)("Ein Hund läuft.").text
    program = f"""
import sys, dragoman
translator = dragoman.load({str(finished_run)!r}, {options})
print(translator("Ein Hund läuft.").text)
assert dragoman.TextTranslator(translator)("Ein Hund läuft.")
assert "torch" not in sys.modules
import torch
print(torch.get_num_threads())
assert translator.explain("Ein Hund läuft.").translation.text == translator("Ein Hund läuft.").text
"""
    fresh = "import torch; print(torch.get_num_threads())"
    outputs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8").stdout
        for code in (program, fresh)
    ]
    assert outputs[0] == f"{expected}\n{outputs[1]}"
