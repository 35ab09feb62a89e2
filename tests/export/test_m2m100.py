"""Import of M2M100 and NLLB-200 models: the same logits, tokens and translations, and exact exports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from readme_program import run_readme_program
from safetensors.torch import load_file

import dragoman
from dragoman.bundle import Bundle, choose_direction, languages_of
from dragoman.errors import UserError
from dragoman.evaluation.scoring import score
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.export.huggingface.checkpoint import ImportedLanguages
from dragoman.export.huggingface.importer import import_huggingface
from dragoman.export.parity import Sample, model_outputs
from dragoman.export.run import export
from dragoman.recipe import build_recipe
from dragoman.training.run.run import train
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command

transformers = pytest.importorskip("transformers")
multilingual_models = pytest.importorskip("multilingual_models")

GERMAN = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch am Strand.", "Kinder spielen mit 3 Bällen"]
TOKENS = {"m2m100": {"de": "__de__", "hi": "__hi__"}, "nllb": {"de": "deu_Latn", "hi": "hin_Deva"}}
CODES = {"m2m100": {"de": "de", "hi": "hi"}, "nllb": {"de": "deu_Latn", "hi": "hin_Deva"}}
TO_HINDI = ImportedLanguages("de", "hi")


@pytest.fixture(scope="module", params=list(TOKENS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def original(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a model. Tests must not change them."""
    directory = tmp_path_factory.mktemp("original") / kind
    multilingual_models.SAVE[kind](directory)
    return Path(directory)


@pytest.fixture(scope="module")
def imported(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of the model, from German to Hindi. Tests must not change it."""
    path = tmp_path_factory.mktemp("imported") / "bundle"
    assert import_huggingface(original, path, TO_HINDI) < 1e-4
    return path


def generate(original: Path, kind: str, texts: list[str], target: str) -> list[list[int]]:
    """The tokens of greedy translations by transformers, without </s>."""
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(original)
    tokenizer = transformers.AutoTokenizer.from_pretrained(original, src_lang=CODES[kind]["de"])
    language = tokenizer.convert_tokens_to_ids(TOKENS[kind][target])
    options = {"num_beams": 1, "max_length": 30, "forced_eos_token_id": 2, "suppress_tokens": [1, 3]}  # pad, unk
    return [
        [token for token in model.generate(**inputs, forced_bos_token_id=language, **options)[0].tolist() if token != 2]
        for inputs in (tokenizer(text, return_tensors="pt") for text in texts)
    ]


def test_tokens_are_the_same(kind: str, original: Path, imported: Path) -> None:
    bundle = Bundle.load(imported)
    theirs = transformers.AutoTokenizer.from_pretrained(original, src_lang=CODES[kind]["de"])
    texts = [*GERMAN, *multilingual_models.HINDI, *multilingual_models.RUSSIAN, "Xylophon Ω  ｅin ﬁ", " a "]
    for text, ids in zip(texts, bundle.source.encode(texts), strict=True):
        assert [*ids, 2] == theirs(text)["input_ids"]
        if bundle.source.vocabulary.unk not in ids:
            assert bundle.target.decode(ids) == theirs.decode(ids[1:]).strip()
    assert len(bundle.source.vocabulary) == bundle.model.output.out_features
    assert bundle.source.encode([""]) == [[]]


def test_greedy_translations_are_those_of_transformers(kind: str, original: Path, imported: Path) -> None:
    translator = dragoman.load(imported, beam_size=1, max_length=29, max_length_offset=29, target_language="hi")
    ids = translator.bundle.target.vocabulary.ids
    ours = [[ids[token] for token in translation.tokens] for translation in translator(GERMAN)]
    assert ours == generate(original, kind, GERMAN, "hi")
    assert len({tuple(tokens) for tokens in ours}) > 1


@pytest.mark.parametrize("beam_size", [1, 4])
def test_all_engines_find_the_same_and_the_language_has_no_probability(imported: Path, beam_size: int) -> None:
    options: dict[str, Any] = {"beam_size": beam_size, "n_best": beam_size, "target_language": "hi"}
    found = [dragoman.load(imported, engine=name, **options)(GERMAN) for name in ("torch", "ctranslate2")]
    for one, *others in zip(*found, strict=True):
        for other in others:
            assert other.tokens == one.tokens
            assert other.log_probabilities == pytest.approx(one.log_probabilities, abs=1e-4)
            assert [each.score for each in other.alternatives] == pytest.approx(
                [each.score for each in one.alternatives], abs=1e-4
            )
        assert (one.log_probabilities[0], len(one.log_probabilities)) == (0.0, len(one.tokens) + 1)


def test_scores_of_given_translations_leave_out_the_language(imported: Path) -> None:
    translator = dragoman.load(imported, target_language="en")
    targets = ["A dog runs.", "Two women", ""]
    scored = list(score(translator, zip(GERMAN, targets, strict=True)))
    bundle = translator.bundle
    ids = [each or bundle.target.language_ids for each in bundle.target.encode(targets)]
    for each, (values, _) in zip(scored, translator.engine.score(bundle.source.encode(GERMAN), ids), strict=True):
        assert values[0] < 0
        assert each.log_probabilities == pytest.approx([0.0, *values[1:]])
        assert len(each.tokens) == len(values) - 1


def test_the_languages_are_in_front_of_source_and_translation(kind: str, imported: Path) -> None:
    bundle, tokens = Bundle.load(imported), TOKENS[kind]
    turned = choose_direction(bundle, "hi", tokens["de"])
    assert (turned.recipe.data.source_language, turned.recipe.data.target_language) == ("hi", "de")
    for each, source, target in ((bundle, "de", "hi"), (turned, "hi", "de")):
        assert each.source.vocabulary.tokens[each.source.encode(["a"])[0][0]] == tokens[source]
        (translation,) = Translator(each)(["a"])
        assert translation.tokens[0] == tokens[target]
        assert tokens[target] not in translation.text
        (continued,) = Translator(each)(["a"], ["Ein "])
        assert (continued.tokens[0], continued.text[:3]) == (tokens[target], "Ein")


def test_exports_are_exact_and_can_be_imported_again(original: Path, imported: Path, tmp_path: Path) -> None:
    bundle = Bundle.load(imported)
    for name in ("huggingface", "ctranslate2"):
        parity = export(bundle, name, tmp_path / name, sample=Sample(GERMAN))
        assert parity.largest_difference < 1e-4
        assert parity.same_text == 1
    ours, theirs = (load_file(path / "model.safetensors") for path in (tmp_path / "huggingface", original))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    import_huggingface(tmp_path / "huggingface", tmp_path / "again")
    again = Bundle.load(tmp_path / "again")
    assert again.source.to_json() == bundle.source.to_json()
    assert again.target.to_json() == bundle.target.to_json()
    assert all(map(torch.equal, again.model.parameters(), bundle.model.parameters()))


def test_the_program_in_an_export_translates_into_the_language(kind: str, imported: Path, tmp_path: Path) -> None:
    bundle = choose_direction(Bundle.load(imported), None, "en")
    if kind == "nllb":
        export(bundle, "ctranslate2", tmp_path / "out")
        texts = run_readme_program(tmp_path / "out", GERMAN, "translate(text)", needs_dragoman=True)
        assert texts == [str(translation) for translation in Translator(bundle)(GERMAN)]
        return
    export(bundle, "huggingface", tmp_path / "out")
    generated = 'model.generate(**tokenizer([text], return_tensors="pt"), num_beams=1)[0, 2:]'
    decoded = f"tokenizer.decode({generated}, skip_special_tokens=True).strip()"
    greedy = Translator(bundle, {"beam_size": 1, "max_length": 60, "max_length_offset": 60})
    assert run_readme_program(tmp_path / "out", GERMAN, decoded) == [str(each) for each in greedy(GERMAN)]


@pytest.mark.parametrize("name", ["onnx", "argos"])
def test_formats_without_languages_refuse(name: str, imported: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="several languages"):
        export(Bundle.load(imported), name, tmp_path / name)


def test_a_reduced_vocabulary_changes_no_logit(original: Path, imported: Path, tmp_path: Path) -> None:
    whole = Bundle.load(imported)
    import_huggingface(original, tmp_path / "reduced", ImportedLanguages("de", "hi", ("de", "en", "hi")))
    reduced = Bundle.load(tmp_path / "reduced")
    assert languages_of(reduced) == ["de", "en", "hi"]
    assert len(reduced.source.vocabulary) < len(whole.source.vocabulary)
    rows = [whole.source.vocabulary.ids[token] for token in reduced.source.vocabulary.tokens]
    sources, targets = [*GERMAN, "Ein 3"], multilingual_models.HINDI[:1] * 4
    encoded = [(each.source.encode(sources), each.target.encode(targets)) for each in (whole, reduced)]
    for many, few in zip(encoded[0], encoded[1], strict=True):
        assert [[rows[index] for index in ids] for ids in few] == many
    pairs = zip(model_outputs(whole, *encoded[0], "logits"), model_outputs(reduced, *encoded[1], "logits"), strict=True)
    assert all(np.abs(many[:, rows] - few).max() < 1e-4 for many, few in pairs)
    assert reduced.source.vocabulary.unk in reduced.source.encode(["Собака"])[0]
    assert whole.source.vocabulary.unk not in whole.source.encode(["Собака"])[0]
    for name in ("huggingface", "ctranslate2"):
        assert export(reduced, name, tmp_path / name, sample=Sample(GERMAN)).same_text == 1


def test_divided_weights_are_read(original: Path, imported: Path, tmp_path: Path) -> None:
    divided = tmp_path / "divided"
    shutil.copytree(original, divided)
    (divided / "model.safetensors").unlink()
    transformers.AutoModelForSeq2SeqLM.from_pretrained(original).save_pretrained(divided, max_shard_size="20KB")
    parts = list(divided.glob("model-*.safetensors"))
    assert len(parts) > 2
    import_huggingface(divided, tmp_path / "bundle", TO_HINDI)
    ours, theirs = (load_file(path / "model.safetensors") for path in (tmp_path / "bundle", imported))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    parts[0].unlink()
    with pytest.raises(UserError, match=f"no {parts[0].name}"):
        import_huggingface(divided, tmp_path / "again")
    index = divided / "model.safetensors.index.json"
    for damaged in ("{}", '{"weight_map": {"x": "../y"}}', '{"weight_map": {"x": 1}}', '{"weight_map": {}}'):
        index.write_text(damaged)
        with pytest.raises(UserError, match=r"index\.json: damaged"):
            import_huggingface(divided, tmp_path / "again")


@pytest.mark.parametrize(
    "kind", [pytest.param("m2m100", marks=pytest.mark.slow), "nllb"], indirect=True, scope="module"
)
@pytest.mark.usefixtures("bare_runs")
def test_fine_tuning_keeps_the_languages(imported: Path, corpus: Path, tmp_path: Path) -> None:
    start = Bundle.load(imported)
    augmentation = dict.fromkeys(("upper_case", "title_case", "no_end_punctuation", "typos", "single_words"), 0.15)
    recipe = build_recipe(
        {
            "name": "tuned",
            "data": {
                "source_language": "de",
                "target_language": "en",
                "train": [f"{corpus}/train.{{lang}}"],
                "test": [f"{corpus}/test.{{lang}}"],
                "max_tokens": 59,
            },
            "text": start.recipe.text.model_dump(),
            "model": {**start.recipe.model.model_dump(), "dropout": 0.0},
            "training": {
                **{"steps": 20, "start_from": str(imported), "learning_rate": 0.01, "warmup_steps": 5},
                **{"validations": 2, "validation_sentences": 3, "device": "cpu", "threads": 1, "average": 1},
                "augmentation": augmentation,
            },
            "decoding": {"beam_size": 2, "max_length": 20},
        }
    )
    assert train(recipe, tmp_path / "run")
    tuned = Bundle.load(tmp_path / "run")
    assert languages_of(tuned) == languages_of(start)
    assert (tuned.source.to_json()["language"], tuned.target.to_json()["language"]) == ("de", "en")
    translators = [dragoman.Translator(each) for each in (choose_direction(start, None, "en"), tuned)]
    losses = [score_teacher_forced(each, *texts(corpus)).loss for each in translators]
    assert losses[1] < losses[0] - 0.3
    parity = export(tuned, "huggingface", tmp_path / "exported", sample=Sample(GERMAN))
    assert parity.largest_difference < 1e-4
    with pytest.raises(UserError, match="no target language xx"):
        train(build_recipe(recipe.to_dict(), ["data.target_language=xx"]), tmp_path / "other")


def texts(corpus: Path) -> tuple[list[str], list[str]]:
    source, target = ((corpus / f"test.{language}").read_text("utf-8").splitlines() for language in ("de", "en"))
    return source, target


def test_a_wrong_language_is_refused_with_all_languages(imported: Path, command: Command) -> None:
    outcome = command("translate", imported, "Ein Hund.", "--target-language", "tlh")
    assert (outcome.code, "no target language tlh; choose one of" in outcome.error) == (2, True)
    for code in ("de", "en", "hi"):
        assert f" {code}," in outcome.error
    assert command("translate", imported, "Ein Hund.", "--target-language", "en").code == 0


def test_unclear_and_unknown_languages_are_refused(original: Path, tmp_path: Path) -> None:
    refused = {
        "choose with --target-language": ImportedLanguages("de"),
        "--target-language tlh: .* has only": ImportedLanguages("de", "tlh"),
        "--languages tlh: ": ImportedLanguages("de", "hi", ("de", "tlh")),
        "--target-language hi: .* has only de, en": ImportedLanguages("de", "hi", ("de", "en")),
    }
    for message, languages in refused.items():
        with pytest.raises(UserError, match=message):
            import_huggingface(original, tmp_path / "bundle", languages)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", {"decoder_ffn_dim": 8, "scale_embedding": False}, "scale_embedding = False"),
        ("config.json", {"pad_token_id": 2}, "pad_token_id = 2: must be 1"),
        ("config.json", {"eos_token_id": 9}, "special tokens"),
        ("tokenizer_config.json", {"legacy_behaviour": True}, "legacy_behaviour"),
    ],
    ids=str,
)
def test_unsupported_models_are_refused(
    file: str, change: dict[str, Any], message: str, original: Path, tmp_path: Path
) -> None:
    shutil.copytree(original, tmp_path / "changed")
    content = json.loads((original / file).read_text("utf-8"))
    (tmp_path / "changed" / file).write_text(json.dumps(content | change), "utf-8")
    with pytest.raises(UserError, match=message):
        import_huggingface(tmp_path / "changed", tmp_path / "bundle", TO_HINDI)
