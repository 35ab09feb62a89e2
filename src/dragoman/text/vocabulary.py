"""Vocabularies: tokens in the order of their ids, some of which are special."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.settings import Specials


class Vocabulary:
    """A one-to-one mapping of tokens and ids; `unk`, `pad`, `bos` and `eos` are the ids of the special tokens."""

    def __init__(self, tokens: Sequence[str], specials: Specials) -> None:
        self.tokens = list(tokens)
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.specials = specials
        assert len(self.ids) == len(self.tokens), "a vocabulary contains every token once"
        self.unk = self.ids[specials.unk]
        self.pad = self.ids[specials.pad]
        self.bos = self.ids[specials.bos]
        self.eos = self.ids[specials.eos]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def special_ids(self) -> tuple[int, int, int, int]:
        """The ids of unk, pad, bos and eos."""
        return (self.unk, self.pad, self.bos, self.eos)

    @property
    def forbidden_ids(self) -> list[int]:
        """The ids that never occur in translations: unk, pad and, if it is not the same token as eos, bos."""
        return [index for index in (self.unk, self.pad, self.bos) if index != self.eos]


def special_tokens(specials: Specials) -> list[str]:
    """The special tokens in the order of their ids in every trained tokenizer: 0 to 3, or to 2 if bos is eos."""
    return list(dict.fromkeys([specials.unk, specials.pad, specials.bos, specials.eos]))
