"""Subtitles in SRT and WebVTT files.

A cue consists of a line with its number, a line with its times, and lines of text up to the next cue. Files that people
write have empty lines inside of cues, and cues without an empty line between them, so that empty lines mean nothing.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import regex

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.passage import Part, to_parts
from dragoman.errors import UserError
from dragoman.languages.sentence_marks import CLOSING, SENTENCE_ENDS
from dragoman.markup.elements import DIVIDER, SUBTITLES, VOID, Elements
from dragoman.markup.items import Fixed, Item, TextItem
from dragoman.markup.tags import Event, Tag, fold_tags, tag_event

_TIME = r"(?:\d+:)?\d{1,2}:\d{1,2}[.,:]\d{1,3}"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
_NUMBER = re.compile(r"\W*\d+\W*")
_KEPT_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")  # of WebVTT
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z]++)[^<>\r\n]*+>|<(?:\d++:){1,2}\d++\.\d++>|\{\\[^{}]*+\}")
_STATED_LANGUAGE = re.compile(r"<lang(?:\.\S*)?\s+([A-Za-z][\w-]*)\s*>")  # of WebVTT
_TAG_OR_SPACE = re.compile(r"<[^<>]*>| ")
_LINE_BREAKS = re.compile(r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*")
_ARROWS = r"(?:>|&gt;){2,}+"  # of captions for the deaf; WebVTT writes > as &gt;
_NEXT_SPEAKER = regex.compile(
    rf"(?<=[{SENTENCE_ENDS}]{CLOSING}?)\s+(?:[-–—‐]\s*(?=[\"'„“«»¿¡]?[\p{{Lu}}\p{{Lo}}\p{{Georgian}}])|{_ARROWS}\s*+)"
)
_CAPITALS = (
    r"(?:\p{N}++[.]?+\s?+)?+[\p{Lu}\p{Lt}](?:[\p{Lu}\p{Lt}\p{Lm}\p{M}\p{N}.,#&'’()/\-‐–]|[ \u00a0](?=\S)){0,40}+"
)
_WORD = r"[\p{Lo}\p{Georgian}][\p{Lo}\p{Georgian}\p{Lm}\p{M}·・་]{0,11}+(?:[ \u00a0]?+[#№]?+\p{N}{1,3}+|[A-ZＡ-Ｚ])?+"
_LABEL = rf"(?:{_CAPITALS}(?:[:﹕](?:\s++|$)|：\s*+)|{_WORD}(?<![说說道问問曰])[:：﹕៖፥፦]\s*+)"
"""The name of a speaker: in capitals, or one word of a script that has none, except "says", perhaps with a number
or a letter."""
_SPEAKER = regex.compile(
    rf"[\s\u200e\u200f\u202a-\u202e\u2066-\u2069]*+(?:(?:[-–—‐]|{_ARROWS})\s*+(?:{_LABEL})?+|{_LABEL})"
)


def open_srt(file: DocumentFile) -> PassageDocument:
    """The texts of SRT subtitles, whose lines are joined; also WebVTT with this name."""
    if read_characters(file).text.startswith("WEBVTT"):
        return open_webvtt(file)
    return _open(file, lambda text: text, lambda text: text, webvtt=False)


def open_webvtt(file: DocumentFile) -> PassageDocument:
    """The texts of WebVTT subtitles; notes, styles and regions are kept."""
    if not read_characters(file).text.startswith("WEBVTT"):
        raise UserError(f"{file.name}: is not WebVTT, because its first line is not WEBVTT; correct it")
    return _open(file, html.unescape, partial(html.escape, quote=False), webvtt=True)


def _open(
    file: DocumentFile, decode: Callable[[str], str], encode: Callable[[str], str], webvtt: bool
) -> PassageDocument:
    characters = read_characters(file)
    writing = file.writing(encode, break_lines)
    elements = replace(SUBTITLES, language=file.languages[0])
    lines = [match[0] for match in _LINE.finditer(characters.text)]
    times = [index for index, line in enumerate(lines) if _TIMES.fullmatch(line.rstrip("\r\n"))]
    if not times and characters.text.strip():
        raise UserError(f"{file.name}: has no line such as 00:00:01,000 --> 00:00:02,000; it is not a subtitle file")
    heads = [_head(lines, index, before, webvtt) for before, index in pairwise([-1, *times])]
    parts: list[Part] = ["".join(lines[: heads[0] if heads else None])]
    for head, index, end in zip(heads, times, [*heads[1:], len(lines)], strict=True):
        parts.append("".join(lines[head : index + 1]))
        for text, is_kept in _texts(lines[index + 1 : end], webvtt):
            parts += ["".join(text)] if is_kept else to_parts(fold_tags(list(_items(text, decode, elements))), writing)
    return PassageDocument(parts, characters.encode)


def _head(lines: Sequence[str], times: int, before: int, webvtt: bool) -> int:
    """The first line of a cue, given the line with its times and that of the cue before: its number, if it has one.

    In WebVTT, any line after an empty one may be in place of the number.
    """
    number = times - 1
    while number > before and not lines[number].strip():
        number -= 1
    if number > before and _NUMBER.fullmatch(lines[number].strip()):
        return number
    named = webvtt and number == times - 1 and number - 1 > before and not lines[number - 1].strip()
    return number if named else times


def _texts(lines: Sequence[str], webvtt: bool) -> Iterator[tuple[list[str], bool]]:
    """What follows the times of a cue, in groups of lines, and whether each is kept: empty lines, and notes of WebVTT.

    Empty lines between others belong to the text, and a number after an empty line of SRT does not.
    """
    group: list[str] = []
    empty: list[str] = []
    is_note = False
    for line in lines:
        if not line.strip():
            empty.append(line)
            continue
        if not webvtt and empty and group and _NUMBER.fullmatch(line.strip()):  # of a cue whose times are missing
            yield group, False
            yield [*empty, line], True
            group, empty = [], []
            continue
        begins = bool(empty) or not group
        ends_note = is_note and bool(empty)
        starts_note = webvtt and begins and _KEPT_BLOCK.match(line) is not None
        if not group or ends_note or starts_note:
            yield group, is_note
            yield empty, True
            group, is_note = [line], starts_note
        else:
            group += [*empty, line]
        empty = []
    yield group, is_note
    yield empty, True


def _items(lines: Sequence[str], decode: Callable[[str], str], elements: Elements) -> Iterator[Event]:
    """The items of a cue. A line that starts with a dash, or with the name of a speaker, is a text by itself."""
    end = ""
    for line in lines:
        text = line.rstrip("\r\n")
        if not text.strip():
            end += line
            continue
        if end:
            yield Fixed((end,), DIVIDER) if _SPEAKER.match(_TAG.sub("", text)) else TextItem(end, " ")
        yield from _tagged(text, decode, elements)
        end = line[len(text) :]
    yield Fixed((end,))


def _tagged(text: str, decode: Callable[[str], str], elements: Elements) -> Iterator[Event]:
    position, begins = 0, True
    for match in _TAG.finditer(text):
        yield from _spoken(text[position : match.start()], decode, begins)
        begins = begins and position == match.start()
        yield _tag(match, elements) if match["name"] else Fixed((match[0],))
        position = match.end()
    yield from _spoken(text[position:], decode, begins)


def _tag(match: re.Match[str], elements: Elements) -> Event:
    name = match["name"].lower()
    if stated := _STATED_LANGUAGE.fullmatch(match[0]):
        return Tag(match[0], name, "opening", elements.find(name, {"lang": stated[1]}))
    return tag_event(match[0], name, "closing" if match["end"] else "single" if name in VOID else "opening", elements)


def _spoken(text: str, decode: Callable[[str], str], begins: bool) -> Iterator[Item]:
    """A text, which may begin a line, divided where another person speaks: "Wer ist da? - Ich!"."""
    position = 0
    if begins and (speaker := _SPEAKER.match(text)):
        yield Fixed((speaker[0],), DIVIDER)
        position = speaker.end()
    for match in _NEXT_SPEAKER.finditer(text, position):
        yield TextItem(text[position : match.start()], decode(text[position : match.start()]))
        yield Fixed((match[0],), DIVIDER)
        position = match.end()
    yield TextItem(text[position:], decode(text[position:]))


def break_lines(new: str, old: str) -> str:
    """The translation of a cue on as many lines as the cue had, of similar length."""
    breaks = _LINE_BREAKS.findall(old)
    new = _LINE_BREAKS.sub(" ", new)
    spaces = [match.start() for match in _TAG_OR_SPACE.finditer(new) if match[0] == " "]
    position, first = 0, 0
    parts: list[str] = []
    for number, line_break in enumerate(breaks, start=1):
        wanted = len(new) * number / (len(breaks) + 1)
        after = bisect_left(spaces, wanted, first)
        best = min(spaces[max(first, after - 1) : after + 1], key=lambda space: abs(space - wanted), default=None)
        if best is None:
            break
        parts += [new[position:best], line_break]
        position, first = best + 1, bisect_left(spaces, best) + 1
    return "".join([*parts, new[position:]])
