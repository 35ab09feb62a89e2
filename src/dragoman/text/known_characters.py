"""The characters of the training text; a model turns others into nonsense, so they are copied."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import regex

from dragoman.languages.scripts import WITHOUT_SPACES
from dragoman.text.normalization import METASPACE, replace_surrogates
from dragoman.text.placeholders import Span, match_between

MIN_COUNT = 20
"""Symbols that occur less often in the training text are not known. Letters and digits are known if they occur once."""

SPELLINGS = dict.fromkeys("’‘‛ʼ′", "'") | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‐‑‒–—−", "-")
"""What is written in place of typographic characters that are not known."""

_WITHOUT_SPACES = regex.compile(f"[{WITHOUT_SPACES}]")
COMBINED = regex.compile(r"\p{L}\p{M}+")

COPIED = re.compile(
    r"(?<![wr])w*+r[wr]*+(?:[ -]w*+r[wr]*+)*"  # words with a letter that is not known: Łódź, Нью-Йорк
    r"|(?<![wr])[wr]++(?:s++[wr]++)+"  # words with a symbol between letters: R&D
    r"|[so]++(?: [so]++)*"
)


@dataclass(frozen=True)
class KnownCharacters:
    """The characters that the sources of a training text contain often enough.

    Attributes:
        characters: All of them, sorted.
        normalize: How the tokenizer changes a character before it splits a text.
    """

    characters: str
    normalize: Callable[[str], str] = field(default=str, compare=False)

    def replace_rare(self, text: str) -> str:
        """The text with ASCII quotes and hyphens in place of others that are not known; its length is the same.

        Letters and digits of double width become ordinary ones.
        """
        return text if self._all.issuperset(text) else "".join(map(self._spelling, text))

    def find_copied(self, text: str, spans: list[Span]) -> Iterator[Span]:
        """The parts of a text with characters that are not known, between other spans.

        A part is a symbol, or a word that contains a letter or symbol that is not known. In scripts without spaces,
        only the characters themselves are a part. Words in another script that follow each other are one part, and so
        are symbols.
        """
        if self._all.issuperset(text):
            return
        for start, end in match_between(COPIED, self._classify_text(text), spans):
            yield Span(start, end, "emoji")

    @cached_property
    def _all(self) -> frozenset[str]:
        cases = (change(character) for character in self.characters for change in (str.lower, str.upper))
        return frozenset(self.characters).union(cases, " ")

    def _spelling(self, character: str) -> str:
        if self._is_known(character):
            return character
        wide = unicodedata.decomposition(character).startswith(("<wide>", "<narrow>"))
        spelling = unicodedata.normalize("NFKC", character) if wide else SPELLINGS.get(character, "")
        return spelling if spelling in self._all else character

    def _is_known(self, character: str) -> bool:
        forms = character, character.lower()
        return not self._all.isdisjoint(forms) or self._all.issuperset(self.normalize(replace_surrogates(character)))

    def _classify_text(self, text: str) -> str:
        """The class of each character, see `_classify`; combining characters belong to the letter before them."""
        classes = list(map(self._classify, text))
        for match in () if unicodedata.is_normalized("NFC", text) else COMBINED.finditer(text):
            composed = unicodedata.normalize("NFC", match[0])
            classes[match.start()] = self._classify(composed[0])
        return "".join(classes)

    def _classify(self, character: str) -> str:
        """w: known letter, r: rare letter, o: rare letter of a script without spaces, s: rare symbol; or " ", "-"."""
        category = unicodedata.category(character)
        if character.isalnum() or category[0] == "M":
            if category[0] == "M" or self._is_known(character):
                return "w"
            return "o" if _WITHOUT_SPACES.match(character) else "r"
        if character in (" ", "-"):
            return character
        space = character == METASPACE or category in ("Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Cn")
        return "." if space or self._is_known(character) else "s"


class CharacterCounts:
    """Counts the characters of sources."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count the characters of a text."""
        self._counts.update(unicodedata.normalize("NFC", text))

    def known(self, normalize: Callable[[str], str] = str) -> KnownCharacters:
        """The characters that were counted often enough; `normalize` is that of the tokenizer."""
        often = (each for each, count in self._counts.items() if each.isalnum() or count >= MIN_COUNT)
        return KnownCharacters("".join(sorted(often)), normalize)
