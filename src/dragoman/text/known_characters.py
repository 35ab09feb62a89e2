"""The characters of the training text; a model turns others into nonsense, so they are copied."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import regex

from dragoman.text.normalization import METASPACE, WITHOUT_SPACES

MIN_COUNT = 20
"""Symbols that occur less often in the training text are not known. A letter is known if it occurs once."""

_SPELLINGS = dict.fromkeys("’‘‛ʼ′", "'") | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‐‑‒–—−", "-")
"""What is written in place of typographic characters that are not known."""

_WITHOUT_SPACES = regex.compile(f"[{WITHOUT_SPACES}]")

_COPIED = re.compile(
    r"(?<![wr])w*+r[wr]*+(?:[ -]w*+r[wr]*+)*+"  # words with a letter that is not known: Łódź, Нью-Йорк
    r"|(?<![wr])[wr]++(?:s++[wr]++)++"  # words with a symbol between letters: R&D
    r"|s++|o++"
)


@dataclass(frozen=True)
class KnownCharacters:
    """The characters that the sources of a training text contain often enough.

    Attributes:
        characters: All of them, sorted.
    """

    characters: str

    def replace_rare(self, text: str) -> str:
        """The text with ASCII quotes and hyphens in place of others that are not known; its length is the same."""
        return text.translate(self._replacements)

    def find_copied(self, text: str) -> Iterator[tuple[int, int]]:
        """The parts of a text with characters that are not known.

        A part is a symbol, or a word that contains a letter or symbol that is not known. Words in another script that
        follow each other are one part. In scripts without spaces, only the characters themselves are a part.
        """
        if self._all.issuperset(text):
            return
        for match in _COPIED.finditer("".join(map(self._classify, text))):
            yield match.span()

    @cached_property
    def _all(self) -> frozenset[str]:
        cases = (change(character) for character in self.characters for change in (str.lower, str.upper))
        return frozenset(self.characters).union(cases, " ")

    @cached_property
    def _replacements(self) -> dict[int, str]:
        return {
            ord(character): spelling
            for character, spelling in _SPELLINGS.items()
            if character not in self._all and spelling in self._all
        }

    def _classify(self, character: str) -> str:
        """w: known letter, r: rare letter, o: rare letter of a script without spaces, s: rare symbol; or " ", "-"."""
        category = unicodedata.category(character)
        if character.isalnum() or category[0] == "M":
            if character in self._all or category[0] == "M":
                return "w"
            return "o" if _WITHOUT_SPACES.match(character) else "r"
        if character in self._all or character in (" ", "-", METASPACE) or category in ("Zs", "Zl", "Zp", "Cc", "Cf"):
            return character if character in " -" else "."
        return "." if category in ("Cs", "Cn") else "s"


class CharacterCounts:
    """Counts the characters of sources."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count the characters of a masked text; reserved characters count too, which makes no difference."""
        self._counts.update(unicodedata.normalize("NFC", text))

    def known(self) -> KnownCharacters:
        """The characters that were counted often enough."""
        often = (each for each, count in self._counts.items() if each.isalpha() or count >= MIN_COUNT)
        return KnownCharacters("".join(sorted(often)))
