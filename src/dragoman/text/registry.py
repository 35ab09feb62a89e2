"""The table of tokenizers, and training, saving and loading them by name."""

from __future__ import annotations

import filecmp
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dragoman.errors import UserError, nearest, shortened
from dragoman.settings import Text
from dragoman.system.files import read_json, write_text
from dragoman.text.multilingual import MultilingualTokenizer, StoredMultilingual, language_token
from dragoman.text.sentencepiece import load_sentencepiece
from dragoman.text.subword import load_subwords
from dragoman.text.subword_training import train_subwords
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import load_words, train_words

SOURCE_FILE, TARGET_FILE = "source.tokenizer.json", "target.tokenizer.json"

LanguageTexts = tuple[str, Iterable[str]]
"""A language and its sentences."""


@dataclass(frozen=True)
class TokenizerType:
    """How tokenizers of one type are created."""

    load: Callable[[dict[str, Any]], Tokenizer]
    """From the data of `Tokenizer.to_json`; raises ValidationError or UserError if it is broken."""
    train: Callable[[Sequence[LanguageTexts], Text], Sequence[Tokenizer]] | None
    """One tokenizer for each side, with a joint vocabulary; None if this type can only be imported."""


def _load_multilingual(data: dict[str, Any]) -> Tokenizer:
    stored = StoredMultilingual.model_validate(data)
    return stored.restore(load_tokenizer(stored.tokenizer))


TOKENIZERS: dict[str, TokenizerType] = {
    "bpe": TokenizerType(load_subwords, train_subwords),
    "unigram": TokenizerType(load_subwords, train_subwords),
    "whitespace": TokenizerType(load_words, train_words),
    "spacy": TokenizerType(load_words, train_words),
    "sentencepiece": TokenizerType(load_sentencepiece, None),
    "multilingual": TokenizerType(_load_multilingual, None),
}
"""By their name in recipes (`text.tokenizer`) and the ``type`` in files. To add one, write a module and add a line."""


def train_tokenizers(
    source_texts: Iterable[str],
    target_texts: Iterable[str],
    settings: Text,
    *,
    source_language: str,
    target_language: str,
) -> tuple[Tokenizer, Tokenizer]:
    """Train the tokenizers of source and target; with a joint vocabulary, both are the same object.

    The exception is a joint vocabulary for spaCy and two languages: two tokenizers, each with its language's rules.

    Raises:
        UserError: The settings cannot work, or a library is missing.
    """
    train = TOKENIZERS[settings.tokenizer].train
    assert train, "the settings only allow tokenizers that can be trained"
    source, target = (source_language, source_texts), (target_language, target_texts)
    if settings.joint:
        first, second = train([source, target], settings)
    else:
        (first,), (second,) = train([source], settings), train([target], settings)
    return first, second


def train_multilingual(
    texts: Mapping[str, Iterable[str]], settings: Text
) -> tuple[MultilingualTokenizer, MultilingualTokenizer]:
    """Train the tokenizers of source and target of a model with several languages, which have one vocabulary.

    Args:
        texts: The sentences of each language, by its code.
        settings: What to train; a subword tokenizer.

    Raises:
        UserError: The settings leave no vocabulary entries for subwords.
    """
    tokens = {language: language_token(language) for language in texts}
    splits, *_ = train_subwords(list(texts.items()), settings, list(tokens.values()))
    first = next(iter(texts))
    return MultilingualTokenizer(splits, tokens, first, "target"), MultilingualTokenizer(splits, tokens, None, "target")


def describe_vocabularies(source: Tokenizer, target: Tokenizer, joint: bool) -> str:
    """The number of entries in the vocabularies of both sides, or in their joint one, in words."""
    sizes = [f"{len(each.vocabulary):,}" for each in (source, target)]
    return f"a vocabulary of {sizes[0]} entries" if joint else f"vocabularies of {' and '.join(sizes)} entries"


def load_tokenizer(data: dict[str, Any]) -> Tokenizer:
    """The tokenizer that `Tokenizer.to_json` described.

    Raises:
        UserError: The data is broken, or does not describe a tokenizer.
    """
    name = data.get("type") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in TOKENIZERS:
        hint = nearest(str(name), TOKENIZERS)
        raise UserError(f"not a tokenizer: type is {shortened(repr(name))}, not one of {', '.join(TOKENIZERS)}{hint}")
    try:
        return TOKENIZERS[name].load(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{shortened('.'.join(map(str, item['loc'])))}: {item['msg']}" for item in error.errors()[:5]
        )
        raise UserError(f"the {name} tokenizer is broken: {problems}") from None


def save_tokenizers(directory: Path, source: Tokenizer, target: Tokenizer) -> None:
    """Write both tokenizers, the target last: if its file exists, both are complete.

    Raises:
        UserError: The directory cannot be written to.
    """
    for name, tokenizer in ((SOURCE_FILE, source), (TARGET_FILE, target)):
        write_text(directory / name, json.dumps(tokenizer.to_json(), ensure_ascii=False))


def tokenizers_digest(source: Tokenizer, target: Tokenizer) -> str:
    """SHA-256 of the content of both tokenizers."""
    content = json.dumps([source.to_json(), target.to_json()], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def load_tokenizers(directory: Path) -> tuple[Tokenizer, Tokenizer]:
    """Read what `save_tokenizers` wrote; if both files are identical, both tokenizers are the same object.

    Raises:
        UserError: A file is missing or broken.
    """
    source_file, target_file = directory / SOURCE_FILE, directory / TARGET_FILE
    source = _load_file(source_file)
    identical = target_file.is_file() and filecmp.cmp(source_file, target_file, shallow=False)
    return source, source if identical else _load_file(target_file)


def _load_file(path: Path) -> Tokenizer:
    data = read_json(path)
    try:
        return load_tokenizer(data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
