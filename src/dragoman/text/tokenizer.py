"""The interface of all tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dragoman.text.vocabulary import Vocabulary


class Tokenizer(Protocol):
    """Converts sentences to ids and back. Ids never include bos or eos; they are added when a batch is built."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their ids, including the special tokens."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence, without bos and eos."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The sentence that these ids represent, without pad, bos and eos; unk appears as its spelling."""
        ...

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word instead of continuing the previous one."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Everything needed to rebuild this tokenizer, as plain JSON data with a ``type`` key."""
        ...
