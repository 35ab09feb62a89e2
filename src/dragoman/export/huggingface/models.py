"""The architectures that can be imported: Marian, and M2M100 with NLLB-200."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.errors import UserError
from dragoman.export.huggingface.checkpoint import (
    ImportedLanguages,
    OriginalModel,
    common_values,
    recipe_from_config,
    require_files,
    require_rows,
    require_support,
)
from dragoman.export.huggingface.tokenizers import OriginalTokenizer, read_tokenizer, script_of, tokens_in_scripts
from dragoman.languages.codes import find_language
from dragoman.settings import Specials
from dragoman.system.files import read_json
from dragoman.text.multilingual import MultilingualTokenizer
from dragoman.text.sentencepiece import SentencePieceTokenizer
from dragoman.text.vocabulary import Vocabulary

_FILES = ("source.spm", "target.spm", "vocab.json")
_BOS_SPELLINGS = ("<s>", "<bos>", "<start of sentence>")


def open_marian(directory: Path, config: dict[str, Any], languages: ImportedLanguages) -> OriginalModel:
    """Read everything but the weights of a Marian model.

    Marian's decoder starts with another token, usually padding. Ours starts with bos, so each vocabulary gets bos as an
    additional token, with the vectors of the token that Marian starts with.

    Args:
        directory: The model and its tokenizer.
        config: Its config.json.
        languages: What the user says about its languages.

    Raises:
        UserError: A file is missing or broken, or our model cannot express this one.
    """
    require_files(directory, _FILES)
    absent = dict.fromkeys(("normalize_before", "normalize_embedding", "add_final_layer_norm"), (False, None))
    require_support(directory, config, {**common_values(config), **absent, "static_position_embeddings": (True, None)})
    if languages.kept:
        raise UserError(f"--languages: {directory} is a Marian model, whose vocabulary cannot be reduced")
    joint = not (directory / "target_vocab.json").is_file()
    vocabularies = [
        _read_vocabulary(directory / name, config)
        for name in ("vocab.json", "vocab.json" if joint else "target_vocab.json")
    ]
    source, target = (
        SentencePieceTokenizer((directory / f"{side}.spm").read_bytes(), each.vocabulary)
        for side, each in zip(("source", "target"), vocabularies, strict=True)
    )
    recipe = recipe_from_config(
        directory, config, _languages(directory, languages), joint, _model_settings(config, joint)
    )
    return OriginalModel(directory, recipe, source, target, *(each.rows for each in vocabularies))


def _languages(directory: Path, languages: ImportedLanguages) -> tuple[str, str]:
    path = directory / "tokenizer_config.json"
    stated = read_json(path) if path.is_file() else {}
    return (
        languages.source or stated.get("source_lang") or "und",
        languages.target or stated.get("target_lang") or "und",
    )


def _model_settings(config: dict[str, Any], joint: bool) -> dict[str, Any]:
    tied = config.get("tie_word_embeddings", True)
    shared = config.get("share_encoder_decoder_embeddings", True)
    return {
        "norm": "post",
        "final_norm": False,
        "tie": "all" if tied and shared and joint else "target" if tied else "none",
        "output_bias": True,
    }


@dataclass(frozen=True)
class _MarianVocabulary:
    """A vocabulary of ours with the tokens of a Marian model.

    Attributes:
        vocabulary: unk, pad, bos and eos first, then all other tokens in Marian's order.
        rows: Marian's id of each of our tokens, (tokens,), int64. Marian has no bos: ours has the row of the token
            that its decoder starts with, usually padding.
    """

    vocabulary: Vocabulary
    rows: Tensor


def _read_vocabulary(path: Path, config: dict[str, Any]) -> _MarianVocabulary:
    """Read the vocab.json of a Marian model.

    Args:
        path: The file.
        config: The model's config.json.

    Raises:
        UserError: The file cannot be read, or its ids are not 0 to n, or it has no ``<unk>``.
    """
    ids = read_json(path)
    tokens = sorted(ids, key=lambda token: int(ids[token]))
    if [int(ids[token]) for token in tokens] != list(range(len(tokens))) or "<unk>" not in ids:
        raise UserError(f"{path}: must contain the ids 0 to n and the token <unk>")
    pad, eos = tokens[config["pad_token_id"]], tokens[config["eos_token_id"]]
    bos = next(spelling for spelling in _BOS_SPELLINGS if spelling not in ids)
    others = [token for token in tokens if token not in ("<unk>", pad, eos)]
    rows = [ids["<unk>"], ids[pad], config["decoder_start_token_id"], ids[eos], *(ids[token] for token in others)]
    specials = Specials(unk="<unk>", pad=pad, bos=bos, eos=eos)
    return _MarianVocabulary(Vocabulary(["<unk>", pad, bos, eos, *others], specials), torch.tensor(rows))


UNK = "<unk>"


def open_m2m100(directory: Path, config: dict[str, Any], languages: ImportedLanguages) -> OriginalModel:
    """Read everything but the weights of an M2M100 or NLLB-200 model.

    Tokens keep their order. The decoder starts with eos, so that is our bos, too.

    Args:
        directory: The model and its tokenizer.
        config: Its config.json.
        languages: The direction, and the languages to keep.

    Raises:
        UserError: A file is missing or broken, our model cannot express this one, or it does not have a language.
    """
    require_support(directory, config, {**common_values(config), "pad_token_id": (1,)})  # positions depend on it
    require_rows(directory, config["vocab_size"])
    theirs = read_tokenizer(directory, config["vocab_size"])
    specials = _specials(directory, theirs.tokens, config)
    chosen = theirs.languages
    if languages.kept:
        found = [_find(directory, "--languages", each, chosen) for each in languages.kept]
        chosen = {code: token for code, token in chosen.items() if code in found}
    direction = _direction(directory, languages, chosen)
    kept = _kept_tokens(theirs, chosen) if languages.kept else set(theirs.tokens)
    tokenizer = theirs.reduce(kept, specials)
    rows = torch.tensor([index for index, token in enumerate(theirs.tokens) if token in kept])
    model = {
        "norm": "pre",
        "positions": "fairseq",
        "tie": "all" if config.get("tie_word_embeddings", True) else "none",
    }
    recipe = recipe_from_config(directory, config, direction, True, model)
    source, target = (MultilingualTokenizer(tokenizer, chosen, code) for code in direction)
    return OriginalModel(directory, recipe, source, target, rows, rows)


def _specials(directory: Path, tokens: list[str], config: dict[str, Any]) -> Specials:
    ids = [config.get(f"{name}_token_id") for name in ("pad", "decoder_start", "eos")]
    if UNK not in tokens[:4] or not all(index in range(4) for index in ids):
        raise UserError(f"{directory}: the special tokens must have the ids 0 to 3")
    pad, bos, eos = (tokens[int(index or 0)] for index in ids)
    return Specials(unk=UNK, pad=pad, bos=bos, eos=eos)


def _direction(directory: Path, languages: ImportedLanguages, chosen: dict[str, str]) -> tuple[str, str]:
    """The codes of the languages that the bundle translates from and into if no others are named."""
    path = directory / "tokenizer_config.json"
    stated = read_json(path) if path.is_file() else {}
    wanted = {
        "source": languages.source or stated.get("src_lang"),
        "target": languages.target or stated.get("tgt_lang"),
    }
    if missing := [f"--{side}-language" for side, code in wanted.items() if code is None]:
        raise UserError(f"{directory}: has several languages; choose with {' and '.join(missing)}: {', '.join(chosen)}")
    source, target = (_find(directory, f"--{side}-language", str(code), chosen) for side, code in wanted.items())
    return source, target


def _find(directory: Path, option: str, wanted: str, languages: dict[str, str]) -> str:
    """The code of a language, given that, a similar code, or the code of NLLB-200."""
    by_token = {token: code for code, token in languages.items()}
    if found := find_language(wanted, tuple(languages)) or by_token.get(wanted):
        return found
    raise UserError(f"{option} {wanted}: {directory} has only {', '.join(languages)}")


def _kept_tokens(theirs: OriginalTokenizer, chosen: dict[str, str]) -> set[str]:
    """All tokens but the pieces with letters of scripts that none of the chosen languages has."""
    scripts = {script_of(code, token) for code, token in chosen.items()}
    left_out = set(theirs.pieces).difference(tokens_in_scripts(theirs.pieces, scripts))
    return set(theirs.tokens) - left_out
