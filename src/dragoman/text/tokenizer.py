"""What every tokenizer offers: strings to ids and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dragoman.text.vocabulary import Vocabulary


class Tokenizer(Protocol):
    """Turns sentences into ids and back. Ids never include bos or eos: whoever makes batches adds them."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their ids, specials included."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each sentence, without bos and eos."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The sentence that these ids spell; pad, bos and eos are left out, unk shows as its spelling."""
        ...

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word, rather than going on with the one before."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Everything needed to build this tokenizer again, as plain JSON data with a ``type`` key."""
        ...
