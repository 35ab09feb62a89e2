"""What every tokenizer does: text to ids and back, and masking the spans that translations copy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dragoman.text.masking import ALL_RESERVED, Mask, Masking
from dragoman.text.term_marks import without_lemmas
from dragoman.text.vocabulary import Vocabulary


class Tokenizer(ABC):
    """Converts sentences to ids and back. Ids never include bos or eos; they are added when a batch is built.

    If the vocabulary has reserved tokens, they stand for spans that translations copy, such as placeholders: `mask`
    puts reserved characters in place of the spans, and `restore` puts the spans back. Otherwise, nothing is masked.

    Attributes:
        vocabulary: Tokens and their ids, including the special tokens.
        masking: Which spans are masked; None if the vocabulary has no reserved tokens.
        term_marks: The ids of `TERM_MARKS`; none if the vocabulary lacks them.
        language_ids: What each sentence begins with: the id of the token of its language, or none.
        all_language_ids: The ids of the tokens of all languages.
    """

    vocabulary: Vocabulary
    masking: Masking | None = None
    term_marks: Sequence[int] = ()
    language_ids: Sequence[int] = ()
    all_language_ids: Sequence[int] = ()

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence, without bos and eos."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The sentence that these ids represent, without pad, bos and eos; unk appears as its spelling."""

    @abstractmethod
    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word instead of continuing the previous one."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything needed to rebuild this tokenizer, as plain JSON data with a ``type`` key."""

    def normalize(self, text: str) -> str:
        """The text as it is split into tokens."""
        return text

    def with_masking(self, masking: Masking | None) -> Tokenizer:
        """The same tokenizer, which masks other spans or none; itself if it has no reserved tokens."""
        return self

    def mask(self, texts: Sequence[str]) -> list[Mask]:
        """The texts with reserved characters in place of spans."""
        return [self.masking.mask(text) if self.masking else Mask(text, {}) for text in texts]

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of masked texts, without bos and eos."""
        return self.encode(texts)

    def encode_spans_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts as a model sees them in training: with reserved tokens in place of spans.

        Characters that the training text lacks are not replaced, so that words with them differ from all others.
        Capital letters remain, too.
        """
        if self.masking:
            masking = replace(self.masking, known=None, case=None)
            texts = [masking.mask(text).text for text in texts]
        return self.encode_masked(texts)

    def decode_masked(self, ids: Sequence[int]) -> str:
        """The text of ids with reserved characters for reserved tokens."""
        return self.decode(ids)

    def restore(self, ids: Sequence[int], mask: Mask) -> str:
        """The text of the ids of a translation, with the spans of its source."""
        return mask.restore(self.decode_masked(ids)) if self.masking else self.decode(ids)

    @property
    def forbidden_ids(self) -> list[int]:
        """The ids that never occur in translations."""
        return self.vocabulary.forbidden_ids

    @property
    def reserved_ids(self) -> list[int]:
        """The ids of reserved tokens, in the order of `ALL_RESERVED`; none if there are no reserved tokens."""
        return [self.vocabulary.ids[token] for token in ALL_RESERVED] if self.masking else []

    def text_ids(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids of a source without marks of terms and their translations."""
        return without_lemmas(ids, self.term_marks) if self.term_marks else ids


def encode_pairs(
    source: Tokenizer, target: Tokenizer, sources: Sequence[str], targets: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of pairs as a model sees them in training: spans that both sides contain are masked."""
    if masking := source.masking:
        pairs = [masking.mask_pair(*pair) for pair in zip(sources, targets, strict=True)]
        sources, targets = [one for one, _ in pairs], [other for _, other in pairs]
    return source.encode_masked(sources), target.encode_masked(targets)
