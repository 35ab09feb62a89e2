"""Tokenizers of models with several languages: each sentence may begin with the token of a language.

Two kinds of models say the direction of a translation in different places, see `Marks`. Everything else, such as
masking and marked terms, is that of the tokenizer that splits the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from pydantic import Field

from dragoman.errors import UserError
from dragoman.settings import Settings
from dragoman.text.masking import Mask, Masking
from dragoman.text.subword import StoredMasking, SubwordTokenizer, store_masking
from dragoman.text.subword_growth import grow_subwords
from dragoman.text.tokenizer import Tokenizer

Side = Literal["source", "target"]

Marks = Literal["own", "target"]
"""Whose token sentences begin with.

``own``: both sides with the token of the language that they are in, as in M2M100 and NLLB-200. ``target``: only
sources, with the token of the language to translate into (Johnson et al. 2017), as in models that dragoman trains.
"""


def language_token(language: str) -> str:
    """The token of a language in the vocabularies of models that dragoman trains; no text is split into it."""
    return f"<2{language}>"


def name_direction(languages: tuple[str, str]) -> str:
    """The name of a direction in files, in messages and in options: ``de-dsb``."""
    return "-".join(languages)


def target_to_choose(directions: Sequence[tuple[str, str]]) -> str | None:
    """The language that examples for a model translate into; None if it need not be chosen, as there is only one."""
    return directions[0][1] if len(directions) > 1 else None


class MultilingualTokenizer(Tokenizer):
    """A tokenizer that puts the token of a language in front of each sentence that has tokens.

    Args:
        tokenizer: Splits the text.
        tokens: The token of each language, by the code of the language.
        language: The language whose token sentences begin with; None for none.
        marks: What the tokens mean.
        maskings: What is masked in each direction, by `name_direction`, if that differs.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        tokens: Mapping[str, str],
        language: str | None,
        marks: Marks = "own",
        maskings: Mapping[str, Masking] | None = None,
    ) -> None:
        self.tokenizer, self.tokens, self.language, self.marks = tokenizer, dict(tokens), language, marks
        self.maskings = dict(maskings or {})
        self.vocabulary, self.masking, self.term_marks = tokenizer.vocabulary, tokenizer.masking, tokenizer.term_marks
        self.language_ids = [] if language is None else [self.vocabulary.ids[self.tokens[language]]]
        self.all_language_ids = [self.vocabulary.ids[token] for token in self.tokens.values()]
        self._hidden = set(self.all_language_ids)
        self._spellings = set(self.tokens.values())

    def with_direction(self, languages: tuple[str, str], side: Side) -> MultilingualTokenizer:
        """The same tokenizer for one side of another direction.

        Args:
            languages: Codes of the source and the target, which the tokenizer has.
            side: The side of the sentences.
        """
        source, target = languages
        if self.marks == "target":
            language = target if side == "source" else None
        else:
            language = source if side == "source" else target
        masking = self._masking_of(source, target)
        tokenizer = self.tokenizer if masking is self.masking else self.tokenizer.with_masking(masking)
        return MultilingualTokenizer(tokenizer, self.tokens, language, self.marks, self.maskings)

    def _masking_of(self, source: str, target: str) -> Masking | None:
        """The masking of a direction; of one that was not trained, that of another with the same source or target."""
        if found := self.maskings.get(name_direction((source, target))):
            return found
        others = [each for each in self.tokens if each not in (source, target)]
        similar = [*((source, each) for each in others), *((each, target) for each in others)]
        names = [name for each in similar if (name := name_direction(each)) in self.maskings]
        return self.maskings[names[0]] if names else self.masking

    def with_masking(self, masking: Masking | None) -> MultilingualTokenizer:
        """The same tokenizer, which masks the same in all directions."""
        return MultilingualTokenizer(self.tokenizer.with_masking(masking), self.tokens, self.language, self.marks)

    @property
    def forbidden_ids(self) -> list[int]:
        """The ids that never occur in translations: the tokens of languages, too, unless they begin translations."""
        languages = [] if self.marks == "own" else self.all_language_ids
        return [*self.vocabulary.forbidden_ids, *languages]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence, the token of the language first; none for a sentence without tokens."""
        return self._begin(self.tokenizer.encode(texts))

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """The same for masked texts."""
        return self._begin(self.tokenizer.encode_masked(texts))

    def _begin(self, sentences: list[list[int]]) -> list[list[int]]:
        return [[*self.language_ids, *ids] if ids else [] for ids in sentences]

    def decode(self, ids: Sequence[int]) -> str:
        """The sentence that these ids represent, without the tokens of languages."""
        return self.tokenizer.decode(self._text_of(ids))

    def decode_masked(self, ids: Sequence[int]) -> str:
        """The same with reserved characters for reserved tokens."""
        return self.tokenizer.decode_masked(self._text_of(ids))

    def restore(self, ids: Sequence[int], mask: Mask) -> str:
        """The text of the ids of a translation, with the spans of its source."""
        return self.tokenizer.restore(self._text_of(ids), mask)

    def _text_of(self, ids: Sequence[int]) -> list[int]:
        return [index for index in ids if index not in self._hidden]

    def normalize(self, text: str) -> str:
        """The text as it is split into tokens."""
        return self.tokenizer.normalize(text)

    def starts_word(self, token: str) -> bool:
        """Whether this token begins a word; the token of a language is a word."""
        return token in self._spellings or self.tokenizer.starts_word(token)

    def to_json(self) -> dict[str, Any]:
        """The languages and the tokenizer that splits the text."""
        data: dict[str, Any] = {
            "type": "multilingual",
            "language": self.language,
            "tokens": self.tokens,
            "tokenizer": self.tokenizer.to_json(),
        }
        if self.marks != "own":
            data["marks"] = self.marks
        if self.maskings:
            data["maskings"] = {name: store_masking(each) for name, each in self.maskings.items()}
        return data


def grow(
    tokenizers: tuple[Tokenizer, Tokenizer], texts: Mapping[str, Iterable[str]], share: float
) -> tuple[MultilingualTokenizer, MultilingualTokenizer]:
    """Tokenizers of source and target with a joint vocabulary that also has other languages.

    Args:
        tokenizers: Tokenizers of subwords, of a model with one direction or several.
        texts: The text of each language that they lack.
        share: The most entries to add for each of these, relative to those there are.

    Raises:
        UserError: The vocabulary cannot grow.
    """
    source, target = tokenizers
    split = without_language(source)
    old = source.tokens if isinstance(source, MultilingualTokenizer) else {}
    marks = source.marks if isinstance(source, MultilingualTokenizer) else "target"
    if not isinstance(split, SubwordTokenizer) or split.vocabulary.tokens != target.vocabulary.tokens or marks == "own":
        raise UserError("its vocabulary cannot grow: only joint subwords of models that dragoman trained can")
    tokens = {**old, **{language: language_token(language) for language in texts if language not in old}}
    size = round(share * len(split.vocabulary) * len(texts))
    grown = grow_subwords(split, chain.from_iterable(texts.values()), size, list(tokens.values()))
    maskings = source.maskings if isinstance(source, MultilingualTokenizer) else {}
    first = next(iter(tokens))
    return (
        MultilingualTokenizer(grown, tokens, first, "target", maskings),
        MultilingualTokenizer(grown, tokens, None, "target", maskings),
    )


def language_tokens(source: Tokenizer) -> dict[str, int]:
    """The ids of the tokens that say the target language in front of a source, by language; none in other models."""
    if not isinstance(source, MultilingualTokenizer) or source.marks == "own":
        return {}
    return dict(zip(source.tokens, source.all_language_ids, strict=True))


def without_language(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer that splits the text, which puts no token in front of it."""
    return tokenizer.tokenizer if isinstance(tokenizer, MultilingualTokenizer) else tokenizer


def in_direction(tokenizer: Tokenizer, languages: tuple[str, str] | None, side: Side) -> Tokenizer:
    """The tokenizer for one side of a direction; itself if there is only one direction."""
    if languages is None or not isinstance(tokenizer, MultilingualTokenizer):
        return tokenizer
    return tokenizer.with_direction(languages, side)


class StoredMultilingual(Settings):
    """What `MultilingualTokenizer.to_json` returns."""

    type: Literal["multilingual"]
    language: str | None
    tokens: dict[str, str]
    tokenizer: dict[str, Any]
    marks: Marks = "own"  # imported bundles, and all those of older versions
    maskings: dict[str, StoredMasking] = Field(default_factory=dict)

    def restore(self, tokenizer: Tokenizer) -> MultilingualTokenizer:
        """The tokenizer, given the one that splits the text.

        Raises:
            UserError: The vocabulary lacks the token of a language, or the language has no token.
        """
        known = tokenizer.vocabulary.ids.keys() >= set(self.tokens.values())
        if not known or (self.language is not None and self.language not in self.tokens):
            raise UserError("the multilingual tokenizer is broken: a language has no token in the vocabulary")
        restored = {name: each.restore(tokenizer.normalize) for name, each in self.maskings.items()}
        maskings = {name: masking for name, masking in restored.items() if masking}
        return MultilingualTokenizer(tokenizer, self.tokens, self.language, self.marks, maskings)
