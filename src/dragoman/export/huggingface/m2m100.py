"""M2M100 and NLLB-200 models as they are imported: one model for many languages, each of which has a token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.errors import UserError
from dragoman.export.huggingface.config import common_values, recipe_from_config
from dragoman.export.huggingface.language_codes import script_of, tokens_in_scripts
from dragoman.export.huggingface.m2m100_tokenizer import OriginalTokenizer, read_tokenizer
from dragoman.export.huggingface.original import ImportedLanguages, OriginalModel, require_rows, require_support
from dragoman.languages.codes import find_language
from dragoman.settings import Specials
from dragoman.system.files import read_json
from dragoman.text.multilingual import MultilingualTokenizer

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
