"""The vocabulary of a Marian model in dragoman's order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.errors import UserError
from dragoman.settings import Specials
from dragoman.system.files import read_json
from dragoman.text.vocabulary import Vocabulary

_BOS_SPELLINGS = ("<s>", "<bos>", "<start of sentence>")


@dataclass(frozen=True)
class MarianVocabulary:
    """A vocabulary of ours with the tokens of a Marian model.

    Attributes:
        vocabulary: unk, pad, bos and eos first, then all other tokens in Marian's order.
        rows: Marian's id of each of our tokens, (tokens,), int64. Marian has no bos: ours has the row of the token
            that its decoder starts with, usually padding.
    """

    vocabulary: Vocabulary
    rows: Tensor


def read_vocabulary(path: Path, config: dict[str, Any]) -> MarianVocabulary:
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
    return MarianVocabulary(Vocabulary(["<unk>", pad, bos, eos, *others], specials), torch.tensor(rows))
