"""Subtitles in SRT and WebVTT files."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import regex

from dragoman.documents.formats.characters import read_characters
from dragoman.documents.formats.file import DocumentFile, PassageDocument
from dragoman.documents.passage import Part, to_parts
from dragoman.errors import UserError
from dragoman.markup.elements import DIVIDER, SUBTITLES, VOID
from dragoman.markup.items import Fixed, Item, TextItem
from dragoman.markup.tags import Event, fold_tags, tag_event

_TIME = r"(?:\d+:)?\d{1,2}:\d{1,2}[.,]\d{1,3}"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z]++)[^<>\r\n]*+>|<(?:\d++:){1,2}\d++\.\d++>|\{\\[^{}]*+\}")
_TAG_OR_SPACE = re.compile(r"<[^<>]*>| ")
_NEXT_SPEAKER = regex.compile(r"(?<=[.?!…][\"'”’»“]?)\s+[-–—‐]\s*(?=[\"'„“«»¿¡]?[\p{Lu}\p{Lo}])")
_SPEAKER = re.compile(r"\s*(?:[-–—‐]\s*|[A-ZÄÖÜ][A-ZÄÖÜ ]+:\s)")


def open_srt(file: DocumentFile) -> PassageDocument:
    """The texts of SRT subtitles, whose lines are joined."""
    return _open(file, lambda text: text, lambda text: text)


def open_webvtt(file: DocumentFile) -> PassageDocument:
    """The texts of WebVTT subtitles; notes, styles and regions are kept."""
    if not read_characters(file).text.startswith("WEBVTT"):
        raise UserError(f"{file.name}: is not WebVTT, because its first line is not WEBVTT; correct it")
    return _open(file, html.unescape, partial(html.escape, quote=False))


def _open(file: DocumentFile, decode: Callable[[str], str], encode: Callable[[str], str]) -> PassageDocument:
    characters = read_characters(file)
    writing = file.writing(encode, _break_lines)
    parts: list[Part] = []
    cues = 0
    for lines, is_cue in _find_cues(characters.text):
        cues += is_cue
        parts += to_parts(fold_tags(list(_items(lines, decode))), writing) if is_cue else ["".join(lines)]
    if not cues and characters.text.strip():
        raise UserError(f"{file.name}: has no line such as 00:00:01,000 --> 00:00:02,000; it is not a subtitle file")
    return PassageDocument(parts, characters.encode)


def _find_cues(text: str) -> Iterator[tuple[list[str], bool]]:
    """The lines of the file in groups, and whether each is the text of a cue."""
    lines: list[str] = []
    in_cue = False
    for match in _LINE.finditer(text):
        line, is_times = match[0], bool(_TIMES.fullmatch(match[1]))
        if is_times or (in_cue and not match[1].strip()):
            yield lines, in_cue
            in_cue = is_times
            if is_times:
                yield [line], False
            lines = [] if is_times else [line]
        else:
            lines.append(line)
    yield lines, in_cue


def _items(lines: Sequence[str], decode: Callable[[str], str]) -> Iterator[Event]:
    """The items of a cue. A line that starts with a dash or the name of a speaker is a text by itself."""
    for number, line in enumerate(lines):
        text = line.rstrip("\r\n")
        if number:
            end = lines[number - 1][len(lines[number - 1].rstrip("\r\n")) :]
            yield Fixed((end,), DIVIDER) if _SPEAKER.match(_TAG.sub("", text)) else TextItem(end, " ")
        yield from _tagged(text, decode)
    if lines:
        yield Fixed((lines[-1][len(lines[-1].rstrip("\r\n")) :],))


def _tagged(text: str, decode: Callable[[str], str]) -> Iterator[Event]:
    position, begins = 0, True
    for match in _TAG.finditer(text):
        yield from _spoken(text[position : match.start()], decode, begins)
        begins = begins and position == match.start()
        yield _tag(match) if match["name"] else Fixed((match[0],))
        position = match.end()
    yield from _spoken(text[position:], decode, begins)


def _tag(match: re.Match[str]) -> Event:
    name = match["name"].lower()
    return tag_event(match[0], name, "closing" if match["end"] else "single" if name in VOID else "opening", SUBTITLES)


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


def _break_lines(new: str, old: str) -> str:
    """The translation of a cue on as many lines as the cue had, of similar length."""
    breaks = re.findall(r"\r\n|\n|\r", old)
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
