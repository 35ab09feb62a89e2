"""Spaces between pairs of tags and what they enclose, in translations of models that have learned from few tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

TAG = regex.compile(r"</?+(?P<name>[\w:.-]++)(?:.*[^/])?>", regex.DOTALL)
DOUBLE_QUOTES, _SINGLE = '"„“”«»', "'‚‘’‹›"
QUOTES = f"[{DOUBLE_QUOTES}{_SINGLE}]"
QUOTATION_MARK = regex.compile(rf"(?<![\p{{L}}\p{{N}}]){QUOTES}|(?P<after_word>{QUOTES})(?![\p{{L}}\p{{N}}])")
NO_SPACE_AFTER = regex.compile(r"$|[\s\p{Ps}¿¡--„‚]", regex.VERSION1)
NO_SPACE_BEFORE = regex.compile(r"$|[\s\p{Pe}]|[.,;:!?…%](?![\p{L}\p{N}])")
NEAR_TAGS = 50
"""Tags at most between a tag and the character outside, so that the time is proportional to the length of a text."""


def place_tag_spaces(source: str, translation: str, spans: Mapping[str, str]) -> str:
    """A translation in which spaces are moved out of pairs of tags that enclose none in the source.

    A space is dropped if there is another one outside, or if none is needed: before a comma, or before a closing
    quotation mark if the source also has one after a tag, and the same for opening ones. Tags without a partner, such
    as ``<br>`` and ``<file>``, remain as they are.

    Args:
        source: The sentence, with a character in place of each span.
        translation: Its translation, with the same characters.
        spans: What each character stands for.
    """
    tags = {character: span for character, span in spans.items() if TAG.fullmatch(span)}
    pairs, between = list(_find_pairs(source, tags)), f"[{''.join(tags)}]{{0,{NEAR_TAGS}}}"
    if closing := "".join(tag for tag in pairs if tags[tag].startswith("</") and f" {tag}" not in source):
        after, closing_marks = f"(?={between}(.{{0,2}}))", _closing_marks(translation)
        has_quotes = regex.search(rf"[{closing}]{between}\s?(?:{QUOTES}(?![\p{{L}}\p{{N}}])|\p{{Pe}})", source)

        def move_behind(match: regex.Match[str]) -> str:
            closes = has_quotes and match.start(2) in closing_marks
            needless = closes or NO_SPACE_BEFORE.match(match[2])
            return match[1] if needless else f"{match[1]} "

        translation = regex.sub(f"(?<! ) +([{closing}]+){after}", move_behind, translation, flags=regex.DOTALL)
    if opening := "".join(tag for tag in pairs if not tags[tag].startswith("</") and f"{tag} " not in source):
        starts, closing_marks = f"(?<![{opening}])(?=[{opening}])(?<=(.?){between})", _closing_marks(translation)
        has_quotes = regex.search(rf"(?:{QUOTES}|\p{{Ps}})\s?{between}[{opening}]", source)

        def move_before(match: regex.Match[str]) -> str:
            opens = has_quotes and regex.match(QUOTES, match[1]) and match.start(1) not in closing_marks
            needless = opens or NO_SPACE_AFTER.match(match[1])
            return match[2] if needless else f" {match[2]}"

        translation = regex.sub(f"{starts}([{opening}]+) +", move_before, translation, flags=regex.DOTALL)
    return translation


def _closing_marks(text: str) -> set[int]:
    """The positions of closing quotation marks: those after an open one of their kind, double or single.

    The form of a mark does not show this: “ is an opening one in English and a closing one in German. Apostrophes in a
    word do not count, nor do marks after a word if none is open, such as another apostrophe or the sign for inches.
    """
    closing, is_open = set(), {DOUBLE_QUOTES: False, _SINGLE: False}
    for match in QUOTATION_MARK.finditer(text):
        kind = DOUBLE_QUOTES if match[0] in DOUBLE_QUOTES else _SINGLE
        if is_open[kind]:
            closing.add(match.start())
        is_open[kind] = not is_open[kind] and not match["after_word"]
    return closing


def _find_pairs(source: str, tags: Mapping[str, str]) -> Iterator[str]:
    """The tags of a text with a partner: an opening one and a later closing one have the same name."""
    names = {tag: TAG.findall(span)[0] for tag, span in tags.items()}
    closes = {tag for tag, span in tags.items() if span.startswith("</")}
    for tag, name in names.items():
        same = {other for other in names if names[other] == name}
        first = min((source.find(other) for other in same - closes), default=len(source))
        last = max((source.rfind(other) for other in same & closes), default=-1)
        if first < source.rfind(tag) if tag in closes else source.find(tag) < last:
            yield tag
