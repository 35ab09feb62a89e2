"""The languages that corpora state, in their names or in their content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from dragoman.corpus.columns import SOURCE_WORDS, TARGET_WORDS
from dragoman.corpus.corpus import find_corpora
from dragoman.corpus.formats import FORMATS
from dragoman.corpus.pair import Languages
from dragoman.corpus.references import UndeclaredError, describe_reference, file_name
from dragoman.errors import UserError
from dragoman.languages.codes import known_language, looks_like_tag, without_region
from dragoman.languages.identify import language_of
from dragoman.settings import CorpusReference, FilePair

_NO_LANGUAGES = SOURCE_WORDS | TARGET_WORDS | {"txt", "raw", "tok", "bpe", "new", "old", "out", "ref"}  # suffixes
_READ = 2000  # pairs whose languages are recognized
_SHOWN = 8  # languages in a message


@runtime_checkable
class StatesLanguages(Protocol):
    """What the module of a format contains in addition if its files name their languages."""

    def stated_languages(self, reference: CorpusReference) -> Sequence[str]:
        """The tags at the beginning of a file, that of the source first; UserError if it cannot be read."""
        ...


def find_languages(references: Sequence[CorpusReference], default: Callable[[], Languages] | None = None) -> Languages:
    """The two languages that all corpora together state; a region is left out where that is unambiguous.

    Args:
        references: The corpora.
        default: Returns the languages of corpora that state none.

    Raises:
        UserError: They state fewer or more languages, or cannot be read.
    """
    tags = list(dict.fromkeys(chain.from_iterable(map(_stated_languages, references))))
    languages = list(dict.fromkeys(_without_regions(tags)))
    if len(languages) == 2:
        return languages[0], languages[1]
    if not languages and default:
        return default()
    names = ", ".join(map(describe_reference, references))
    if not languages:
        found = _recognized_languages(references[0])
        example = f"{'-'.join(found)}, which the text looks like" if found else "de-en"
        raise UserError(f"{names}: the languages are not known; add --languages, such as --languages {example}")
    shown = ", ".join(languages[:_SHOWN]) + (", …" if len(languages) > _SHOWN else "")
    if len(languages) == 1:
        pair = (shown, "en") if without_region(shown) != "en" else ("de", shown)
        if pair[0] == shown and names.endswith((".po", ".po.gz")):  # which state the language of their translations
            pair = pair[::-1]
        example = "-".join(pair)
        raise UserError(
            f"{names}: only one language is stated, {shown}; add --languages, such as --languages {example}"
        )
    bases = list(dict.fromkeys(map(without_region, languages)))  # without regions, all units of a language are taken
    chosen = (bases if len(bases) > 1 else languages)[:2]
    example = (":" if any("-" in language for language in chosen) else "-").join(chosen)
    raise UserError(f"{names}: several languages ({shown}); choose two, such as --languages {example}")


def _stated_languages(reference: CorpusReference) -> Sequence[str]:
    if isinstance(reference, FilePair):
        return languages_of_names(reference.source, reference.target) or ()
    for corpus_format in FORMATS:
        if corpus_format.recognizes(reference):
            if not isinstance(corpus_format, StatesLanguages):
                return ()
            try:
                return corpus_format.stated_languages(reference)
            except UndeclaredError as error:
                error.file = file_name(reference)
                raise
    return ()


def _recognized_languages(reference: CorpusReference) -> Languages | None:
    """The languages that the first pairs of files look like, which are only proposed; None if that is not certain."""
    paths = (reference.source, reference.target) if isinstance(reference, FilePair) else (file_name(reference),)
    if not all(map(os.path.isfile, paths)):
        return None
    try:
        (corpus,) = find_corpora([reference], source_language="source", target_language="target")
        pairs = list(islice(corpus.read(), _READ))
    except UserError:  # which says more once the languages are known
        return None
    source, target = language_of(pair.source for pair in pairs), language_of(pair.target for pair in pairs)
    return (source, target) if source and target and source != target else None


def _without_regions(tags: Sequence[str]) -> Iterable[str]:
    """``de-DE`` as ``de``, unless there is ``de-AT``, too."""
    bases = list(map(without_region, tags))
    return [base if bases.count(base) == 1 else tag for base, tag in zip(bases, tags, strict=True)]


def languages_of_names(source: str, target: str) -> Languages | None:
    """The languages in the names of two files.

    Their suffixes, as in ``train.de``, or else the only word in which the names differ, as in ``train.de.txt``,
    ``en_test.txt`` or ``german.txt``. One of these words must be a known language; the other may be any code.
    """
    names = [re.sub(r"(\.txt)?(\.gz)?$", "", Path(file).name, flags=re.IGNORECASE) for file in (source, target)]
    suffixes = [Path(f"_{name}").suffix[1:] for name in names]
    languages = [suffix for suffix in suffixes if looks_like_tag(suffix) and suffix.lower() not in _NO_LANGUAGES]
    if len(languages) == 2 and suffixes[0] != suffixes[1]:
        return suffixes[0], suffixes[1]
    words = [re.split(r"[._\s-]+", name) for name in names]
    if len(words[0]) != len(words[1]):
        return None
    different = [pair for pair in zip(*words, strict=True) if pair[0] != pair[1]]
    if len(different) != 1:
        return None
    known = [known_language(word) for word in different[0]]
    codes = [
        word.lower() if looks_like_tag(word) and word.lower() not in _NO_LANGUAGES else None for word in different[0]
    ]
    first, second = (language or code for language, code in zip(known, codes, strict=True))
    return (first, second) if any(known) and first and second else None
