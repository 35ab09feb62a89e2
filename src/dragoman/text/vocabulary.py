"""A vocabulary: tokens in the order of their ids, four of them special."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.settings import Specials


class Vocabulary:
    """Tokens and ids, one to one; `unk`, `pad`, `bos` and `eos` are ids of the specials."""

    def __init__(self, tokens: Sequence[str], specials: Specials) -> None:
        self.tokens = list(tokens)
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        self.specials = specials
        assert len(self.ids) == len(self.tokens), "a vocabulary lists every token once"
        self.unk = self.ids[specials.unk]
        self.pad = self.ids[specials.pad]
        self.bos = self.ids[specials.bos]
        self.eos = self.ids[specials.eos]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def special_ids(self) -> tuple[int, int, int, int]:
        """Ids of unk, pad, bos and eos."""
        return (self.unk, self.pad, self.bos, self.eos)


def special_tokens(specials: Specials) -> list[str]:
    """The four specials in the order of the ids that trained tokenizers give them, 0 to 3."""
    return [specials.unk, specials.pad, specials.bos, specials.eos]
