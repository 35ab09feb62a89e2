"""Import of Marian models: the same logits, the same tokens, and unsupported models are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sentencepiece
import torch
from random_bundles import sentences
from safetensors.torch import load_file, save_file

from dragoman.bundle import Bundle
from dragoman.corpus.synthetic.captions import captions
from dragoman.errors import UserError
from dragoman.export.huggingface.importer import import_huggingface
from dragoman.export.parity import Sample
from dragoman.export.run import export
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command

transformers = pytest.importorskip("transformers")

CONFIG: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 60,
    "scale_embedding": True,
    "activation_function": "swish",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "like OPUS-MT": {},
    "untied": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "activation_function": "gelu"},
    "target tied": {"share_encoder_decoder_embeddings": False, "activation_function": "relu"},
    "separate output": {"tie_word_embeddings": False},
}


@pytest.fixture(scope="module")
def spm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("spm")
    for side, texts in zip(("source", "target"), zip(*islice(captions("train"), 300), strict=True), strict=True):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_prefix=str(directory / side), vocab_size=200, minloglevel=2
        )
    return directory / "source.model", directory / "target.model"


def save_marian(directory: Path, spm: tuple[Path, Path], **options: Any) -> None:
    """Save a Marian model with random weights in the form of OPUS-MT models.

    They have one vocabulary, whose last token is padding, and the decoder starts with padding.
    """
    directory.mkdir()
    pieces: dict[str, int] = {}
    for path, side in zip(spm, ("source", "target"), strict=True):
        (directory / f"{side}.spm").write_bytes(path.read_bytes())
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for token in ("</s>", "<unk>", ">>fra<<", *(processor.id_to_piece(index) for index in range(3, 200))):
            pieces.setdefault(token, len(pieces))
    pieces["<pad>"] = pad = len(pieces)
    (directory / "vocab.json").write_text(json.dumps(pieces))
    specials = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = transformers.MarianConfig(**{**CONFIG, "vocab_size": pad + 1, **specials, **options})
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = transformers.MarianMTModel(config)
        for parameter in (*model.parameters(), model.final_logits_bias):
            if parameter.requires_grad or parameter is model.final_logits_bias:
                parameter.data.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(directory)
    (directory / "tokenizer_config.json").write_text(json.dumps({"source_lang": "de", "target_lang": "en"}))


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_the_same(variant: str, spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm, **VARIANTS[variant])
    assert import_huggingface(tmp_path / "marian", tmp_path / "bundle") < 1e-4
    bundle = Bundle.load(tmp_path / "bundle")
    assert (bundle.recipe.data.source_language, bundle.recipe.data.target_language) == ("de", "en")
    assert bundle.model.output.bias is not None
    assert bundle.model.output.bias.abs().max() > 0


@pytest.mark.filterwarnings("ignore:Recommended")
def test_tokens_and_texts_are_the_same(spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    import_huggingface(tmp_path / "marian", tmp_path / "bundle")
    ours = Bundle.load(tmp_path / "bundle")
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    texts = [*sentences(), ">>fra<< Ein Hund.", "Xylophon Ω"]
    tokens = ours.source.vocabulary.tokens
    for text, ids in zip(texts, ours.source.encode(texts), strict=True):
        assert [tokens[index] for index in ids] == theirs.convert_ids_to_tokens(theirs(text)["input_ids"])[:-1]
    assert all(translation.tokens for translation in Translator(ours)(texts[:3]))
    english = ours.target.encode(["A small dog runs."])[0]
    assert ours.target.decode(english) == "A small dog runs."


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_the_beam_size_is_read_from_old_and_new_models(file: str, spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    path = tmp_path / "marian" / file
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"num_beams": 6}), "utf-8")
    import_huggingface(tmp_path / "marian", tmp_path / "bundle")
    assert Bundle.load(tmp_path / "bundle").recipe.decoding.beam_size == 6


def test_an_imported_bundle_can_be_exported(spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    import_huggingface(tmp_path / "marian", tmp_path / "bundle")
    bundle = Bundle.load(tmp_path / "bundle")
    for name in ("ctranslate2", "argos"):
        assert export(bundle, name, tmp_path / name, sample=Sample(sentences()[:3])).largest_difference < 1e-4


def test_all_unsupported_settings_are_named_together(spm: tuple[Path, Path], tmp_path: Path, command: Command) -> None:
    save_marian(tmp_path / "marian", spm, scale_embedding=False, decoder_ffn_dim=8, activation_function="tanh")
    outcome = command("import", "huggingface", tmp_path / "marian", tmp_path / "bundle")
    assert outcome.code == 2
    for reason in ("scale_embedding = False", "encoder_ffn_dim = 24: must be 8", "activation_function = 'tanh'"):
        assert reason in outcome.error
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("what", ["files", "bundle", "model", "file"])
def test_nothing_is_replaced(
    what: str, spm: tuple[Path, Path], tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> None:
    model = output = tmp_path / "marian"
    save_marian(model, spm)
    if what != "model":
        output = tmp_path / "output"
    if what == "files":
        output.mkdir()
        (output / "thesis.doc").write_text("years of work")
    elif what == "bundle":
        import_huggingface(model, output)
    elif what == "file":
        output.write_text("years of work")
    before = digests(tmp_path)
    with pytest.raises(UserError, match="already exists, and is not an empty directory"):
        import_huggingface(model, output)
    assert digests(tmp_path) == before


def test_an_empty_directory_is_written_to(spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    (tmp_path / "empty").mkdir()
    import_huggingface(tmp_path / "marian", tmp_path / "empty")
    assert Bundle.load(tmp_path / "empty")


def test_missing_directories_and_broken_tokenizers_are_named(spm: tuple[Path, Path], tmp_path: Path) -> None:
    for name, problem in (("none", "no such directory"), ("file", "is a file, not a directory")):
        if name == "file":
            (tmp_path / name).touch()
        with pytest.raises(UserError, match=f"{name}: {problem}"):
            import_huggingface(tmp_path / name, tmp_path / "bundle")
    for side in ("source", "target"):
        save_marian(tmp_path / side, spm)
        (tmp_path / side / f"{side}.spm").write_bytes(b"broken")
        with pytest.raises(UserError, match=f"{side}: the sentencepiece tokenizer is broken"):
            import_huggingface(tmp_path / side, tmp_path / "bundle")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no config\.json, model\.safetensors"):
        import_huggingface(tmp_path, tmp_path / "bundle")
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(UserError, match=r"no source\.spm, target\.spm, vocab\.json"):
        import_huggingface(tmp_path, tmp_path / "bundle")
    (tmp_path / "config.json").write_text('{"model_type": "bart"}')
    with pytest.raises(UserError, match="model_type = 'bart': must be 'marian' or 'm2m_100'"):
        import_huggingface(tmp_path, tmp_path / "bundle")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e38])
def test_weights_that_are_no_numbers_are_refused(value: float, spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    file = tmp_path / "marian" / "model.safetensors"
    weights = load_file(file)
    weights["model.encoder.layers.0.fc1.weight"].fill_(value)
    save_file(weights, file, {"format": "pt"})
    message = "parity check" if value == 1e38 else "contains NaN or infinite values; download the model again"
    with pytest.raises(UserError, match=message):
        import_huggingface(tmp_path / "marian", tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def test_incomplete_settings_are_refused(spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    config = json.loads((tmp_path / "marian" / "config.json").read_text())
    for key in ("vocab_size", "d_model", "encoder_layers"):
        (tmp_path / "marian" / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != key}))
        with pytest.raises(UserError, match=r"marian: .*config\.json"):
            import_huggingface(tmp_path / "marian", tmp_path / "bundle")
        assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"use_cache": None},
        {"dtype": "bananas"},
        {"decoder_start_token_id": None},
        {"dropout": 3.5},
        {"model_type": []},
        {"return_dict": False},
        {"max_position_embeddings": math.inf},
    ],
    ids=str,
)
def test_wrong_values_of_the_config_are_refused(change: Any, spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    path = tmp_path / "marian" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match="marian: "):
        import_huggingface(tmp_path / "marian", tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()


def test_a_token_without_weights_is_refused(spm: tuple[Path, Path], tmp_path: Path) -> None:
    save_marian(tmp_path / "marian", spm)
    path = tmp_path / "marian" / "vocab.json"
    vocabulary = json.loads(path.read_text())
    path.write_text(json.dumps(vocabulary | {"<new>": len(vocabulary)}))
    with pytest.raises(UserError, match=r"do not fit config\.json and the vocabulary"):
        import_huggingface(tmp_path / "marian", tmp_path / "bundle")
