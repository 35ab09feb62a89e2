"""Answers of language models: the translation of each sentence, without what surrounds it, or why it is rejected.

`read_answer` finds the numbered translations in a text. `repair` removes what a model has added to one of them, where
that is certain. Both look at the source, too: quotation marks around a quotation are right.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import regex

from dragoman.languages.codes import language_name
from dragoman.languages.sentence_marks import SENTENCE_ENDS
from dragoman.markup.messages import decode_references, has_references
from dragoman.text.normalization import collapse_spaces, replace_surrogates, visible_form


@dataclass(frozen=True)
class Rejected:
    """A sentence without a usable translation.

    Attributes:
        reason: Why, one of `REASONS`.
        text: What was answered.
    """

    reason: str
    text: str = ""


Read = str | Rejected
"""A translation, or why there is none."""

REASONS = {
    "thoughts": "only thoughts, which do not end",
    "cut off": "the answer ends at the limit of tokens",
    "unreadable": "no numbered translations",
    "numbered wrong": "numbers that the sentences do not have, or one number twice",
    "left out": "no translation for a sentence",
    "merged": "two sentences translated as one",
    "split": "more translations than sentences",
    "refusal": "the model refuses to translate",
    "notes": "comments in the translation",
    "several lines": "several lines, such as alternatives",
    "markup": "Markdown, JSON, tags or links that the source lacks",
    "refused by the server": "the server answers with an error or a damaged reply",
}
"""Why answers are rejected; `SAME` and the reasons of `PairFilter` follow."""

_THOUGHT = regex.compile(
    r"<(think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>.*?</\1>|◁think▷.*?◁/think▷"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>.*?(?:<\|end\|>|(?=<\|start\|>|<\|channel\|>final))",
    regex.DOTALL | regex.IGNORECASE,
)
_THOUGHT_START = regex.compile(
    r"<(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>|◁think▷", regex.IGNORECASE
)
_THOUGHT_END = regex.compile(
    r"^.*(?:</(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>|◁/think▷)",
    regex.DOTALL | regex.IGNORECASE,
)
_SPECIAL = regex.compile(
    r"<\|[^|<>]{1,40}\|>(?:final<\|message\|>)?|</?s>|<(?:bos|eos|pad|unk|end_of_turn|start_of_turn)>|\[/?INST\]"
)
_FENCE = regex.compile(r"^[ \t]*```(?:[\w-]*[ \t]*\n|json\b)?(.*?)(?:```[ \t]*$|\Z)", regex.DOTALL | regex.MULTILINE)
_ITEM = regex.compile(
    r'\{\s*"(?:number|id|n|index)"\s*:\s*"?(\d{1,6})"?\s*,\s*"\w+"\s*:\s*"((?:[^"\\]|\\.)*+)"\s*\}', regex.DOTALL
)
_NUMBERED = regex.compile(
    r"^[ \t]*(?:[-*>][ \t]+)?[*_]{0,2}[(\[<]?(\d{1,6})[)\]>.:][*_]{0,2}[.):]?[*_]{0,2}[ \t]*(.*)$", regex.MULTILINE
)
_LABEL_NUMBER = regex.compile(r"^[(\[]?(\d{1,6})[)\].:]+\s+(?=\D)")
"""The number of a sentence before its translation."""
_NUMBER_KEYS, _TEXT_KEYS = ("number", "id", "n", "index", "no"), ("translation", "text", "target", "output", "value")


def read_answer(text: str, sources: Sequence[str], *, cut: bool = False) -> list[Read]:
    """Find the translations of numbered sentences in a text.

    Args:
        text: What the model has answered.
        sources: The sentences, whose numbers start at 1.
        cut: Whether the text ends at a limit of tokens.

    Returns:
        For each sentence, its translation as the model has written it, or why there is none.
    """
    count = len(sources)
    body = _remove_thoughts(text)
    if body is not None and not any(map(_SPECIAL.search, sources)):
        body = _SPECIAL.sub("", body)
    if body is None:
        return [Rejected("cut off" if cut else "thoughts", text)] * count
    items, in_lines = _find_items(body, count)
    if items is None:
        whole = _remove_fence(body).strip()
        if count == 1 and whole and not cut and not whole.startswith(("{", "[")):
            return [whole]
        reason = "refusal" if is_refusal(whole) else "cut off" if cut else "unreadable"
        return [Rejected(reason, whole)] * count
    if cut and in_lines:
        items = items[:-1]  # nothing shows whether the last line is complete
    return _assign(items, sources, cut)


def _remove_thoughts(text: str) -> str | None:
    """The text without thoughts; None if they do not end."""
    text = _THOUGHT.sub("", text)
    text = _THOUGHT_END.sub("", text)  # some servers leave out the first tag
    return None if _THOUGHT_START.search(text) else text


def _remove_fence(text: str) -> str:
    fenced = _FENCE.search(text)
    return fenced[1] if fenced and fenced[1].strip() else text


def _find_items(text: str, count: int) -> tuple[list[tuple[int, str]] | None, bool]:
    """The numbers with their complete texts in an answer, or None, and whether they are in lines instead of JSON."""
    fenced = _remove_fence(text)
    is_json = text.lstrip().startswith(("{", "["))
    for part in (text, fenced) if is_json else (fenced, text):
        if (found := _items_of_json(part, count)) is not None:
            return found, False
    if found := [(int(number), _unescape(string)) for number, string in _ITEM.findall(text)]:
        return found, False
    return list(_numbered_lines(fenced, count)) or None, True


def _items_of_json(text: str, count: int) -> list[tuple[int, str]] | None:
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    if not starts:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, min(starts))
        return _items_of(value, count)
    except (ValueError, RecursionError):
        return None


def _items_of(value: Any, count: int) -> list[tuple[int, str]] | None:
    """The texts with their numbers. A list without numbers that is too short has none that is certain."""
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list | dict)]
        if len(lists) == 1 and len(value) <= 3:
            return _items_of(lists[0], count)
        texts = [(key, each) for key, each in value.items() if isinstance(each, str)]
        if texts and all(key.strip(" .").isdecimal() for key, _ in texts):
            return [(int(key.strip(" .")), each) for key, each in texts]
        value = [value]
    if not isinstance(value, list) or not value:
        return None
    plain = [_text_of(each) for each in value]
    texts_only = [each for each in plain if each is not None]
    if len(texts_only) == len(value):
        return list(enumerate(texts_only, start=1)) if len(value) >= count else []
    items = [_item_of(each) for each in value if isinstance(each, dict)]
    found = [each for each in items if each is not None]
    return found if len(found) == len(value) else None


def _text_of(value: Any) -> str | None:
    """A text without a number."""
    if isinstance(value, dict) and not any(key in value for key in _NUMBER_KEYS):
        value = next((value[key] for key in _TEXT_KEYS if key in value), None)
    return value if isinstance(value, str) else None


def _item_of(value: dict[str, Any]) -> tuple[int, str] | None:
    number = next((value[key] for key in _NUMBER_KEYS if key in value), None)
    text = next((value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
    try:
        return None if number is None or text is None else (int(number), text)
    except (TypeError, ValueError, OverflowError):
        return None


def _unescape(string: str) -> str:
    try:
        return str(json.loads(f'"{string}"', strict=False))
    except ValueError:
        return string


def _numbered_lines(text: str, count: int) -> Iterator[tuple[int, str]]:
    """Lines that begin with a number, with the lines that follow them, up to a blank one."""
    matches = list(_NUMBERED.finditer(text))
    if count == 1 and (len(matches) != 1 or matches[0][1] != "1" or text[: matches[0].start()].count("\n") > 2):
        return
    for match in matches:
        following = text[match.end() :].split("\n\n", 1)[0]
        end = _NUMBERED.search(following)
        more = following[: end.start()] if end else following
        yield int(match[1]), f"{match[2]}{more}".rstrip()


def _assign(items: Sequence[tuple[int, str]], sources: Sequence[str], cut: bool) -> list[Read]:
    """The items by the numbers of the sentences."""
    count = len(sources)
    texts: dict[int, str] = {}
    repeated = set()
    for number, text in items:
        if number in texts and texts[number] != text:
            repeated.add(number)
        texts.setdefault(number, text)
    if beyond := [number for number in texts if not 1 <= number <= count]:
        is_split = not repeated and min(texts) == 1 and len(texts) > count and max(beyond) == len(texts)
        reason = "split" if is_split else "numbered wrong"
        return [Rejected(reason, texts.get(number, "")) for number in range(1, count + 1)]
    last = max(texts, default=0)
    read: list[Read] = []
    for number in range(1, count + 1):
        if number in repeated:
            read.append(Rejected("numbered wrong", texts[number]))
        elif number in texts:
            read.append(texts[number])
        else:
            read.append(Rejected("cut off" if cut and number > last else "left out"))
    return _reject_merged(read, sources)


def _reject_merged(read: Sequence[Read], sources: Sequence[str]) -> list[Read]:
    """Reject translations that also contain that of a neighbor that is left out: they have about the length of both."""
    texts = [(source, each) for source, each in zip(sources, read, strict=True) if isinstance(each, str)]
    ratios = sorted(math.log((len(text) + 1) / (len(source) + 1)) for source, text in texts)
    usual = ratios[len(ratios) // 2] if ratios else 0.0
    checked = list(read)
    for index, each in enumerate(read):
        if not isinstance(each, str):
            continue
        for other in (index - 1, index + 1):
            if 0 <= other < len(read) and isinstance(gap := read[other], Rejected) and gap.reason == "left out":
                alone, both = len(sources[index]), len(sources[index]) + len(sources[other])
                middle = math.log(both / max(1, alone)) / 2 + usual
                if math.log((len(each) + 1) / (alone + 1)) > middle:
                    checked[index] = Rejected("merged", each)
    return checked


_REFUSAL = regex.compile(
    r"""
    \b(?:as|i(?:['’]m|\ am)|als)\ (?:an?\ |eine?\ )?(?:(?:ai|artificial\ intelligence|ki)
        (?:[-\ ]?(?:model|assistant|sprachmodell|assistent))?|(?:large\ )?language\ model|sprachmodell)\b
    | \bi\ ?(?:can(?:['’]t|not|\ not)|['’]?\ ?a?m\ (?:not\ able|unable)\ to|won['’]t|will\ not|could\ not|couldn['’]t
        |do\ not\ know|don['’]t\ know)\b.{0,60}\b(?:translat\w+|assist)\b
    | \b(?:sorry|apologi[sz]e)\b.{0,20}\bi\ ?(?:can(?:['’]t|not)|['’]?\ ?a?m\ unable\ to)
        \ help\b.{0,10}\bwith\ (?:that|this)
    | \bi\ (?:do\ not|don['’]t)\ have\ enough\b.{0,60}\bcontext
    | \b(?:content|request|text|sentence)\b.{0,40}\bviolat\w+\b.{0,40}\b(?:policy|policies|guidelines|terms)
    | \b(?:please|could\ you)\ (?:please\ )?provide\b.{0,60}\btranslat\w+
    | \bkann\b.{0,60}\bnicht\b.{0,60}\bübersetz\w+ | \bne\ (?:peux|puis)\ pas\b.{0,60}\btradui\w+
    | \bno\ puedo\b.{0,60}\btraduc\w+ | \bnão\ posso\b.{0,60}\btraduz\w+ | \bnie\ mogę\b.{0,60}\b(?:prze)?tłumacz\w+
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


def is_refusal(text: str, source: str = "") -> bool:
    """Whether a text says that it does not translate; a source that says the same is translated so."""
    return _REFUSAL.search(text) is not None and (not source or _REFUSAL.search(source) is None)


_TRANSLATION_WORDS = (
    r"translat\w*|translated|rendering|übersetz\w*|tradu\w*|traduzione|vertaling|tłumacz\w*|překlad\w*|přełožk\w*"
    r"|перевод\w*|переклад\w*|翻译|翻訳|번역|ترجمة|अनुवाद"
)
_PREAMBLE = regex.compile(
    rf"^(?:[^\n:：]{{0,60}}[!.,—–-]\s+)?[^\n:：]{{0,60}}(?<!\p{{L}})(?:{_TRANSLATION_WORDS})[^\n:：]{{0,60}}[:：]\**\s*",
    regex.IGNORECASE,
)
_TRANSLATION_WORD = regex.compile(rf"(?<!\p{{L}})(?:{_TRANSLATION_WORDS})", regex.IGNORECASE)
_LEAST_REST = 0.4
"""What follows an introduction has at least this share of the bytes of the source; else it is the end of a sentence."""
_CHATTER = regex.compile(
    r"^\W*(?:note|notes|n\.b\.|nb|hinweis|anmerkung|explanation|comment|literally|alternatively|let me know|please let"
    r"|i hope|feel free|if you|this translation|the translation|in this|here,? i|hope this|would you like)\b",
    regex.IGNORECASE,
)
_CHATTER_AFTER = regex.compile(
    rf"(?<=[{SENTENCE_ENDS}\"”»])\s+\W*(?:(?:note|hinweis|anmerkung|explanation)\s?:|let me know if\b"
    r"|please let me know\b|i hope th(?:is|at) helps\b|feel free to\b|this translation\b|would you like me to\b).*$",
    regex.IGNORECASE | regex.DOTALL,
)
_IN_BRACKETS = regex.compile(rf"\s*[(\[（]([^()\[\]（）]{{2,300}})[)\]）]\s*([{SENTENCE_ENDS}]?)\s*$")
_ACCELERATOR = regex.compile(r"[_&~]\s?[\p{L}\d]")
"""The key for a menu, which follows the name in scripts that lack it."""
_NOTE_WORDS = regex.compile(
    rf"\b(?:note|lit|literally|literal|meaning|means|i\.e|or|alternativ\w*|formal|informal|hinweis|wörtlich|anm|oder"
    rf"|context|masculine|feminine|plural|singular|uncertain|approx\w*|original|here|{_TRANSLATION_WORDS})\b[.:,]?",
    regex.IGNORECASE,
)
_QUOTES = (
    *(('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("»", "«"), ("‘", "’"), ("`", "`")),
    *(("‹", "›"), ("「", "」"), ("『", "』"), ("”", "”")),
)
_OPENING_QUOTES = "".join(dict.fromkeys(opening for opening, _ in _QUOTES))
_EMPHASIS = regex.compile(r"(\*\*\*|\*\*|\*|__|~~|`)(?=\S)(.+?)(?<=\S)\1")
_LINE_MARK = regex.compile(r"^(?:#{1,6}|[-*•>]|>>)\s+")  # an en dash or em dash may start a dialogue
_LINK = regex.compile(
    r"\[[^\[\]\n]+\]\([^()\s]+\)|!\[|^\|.*\|$|<(?:b|i|u|p|br|em|strong|span|div|translation)\b[^<>]*>"
)
_JSON = regex.compile(r"\{\s*\"")
_WRAPPER = regex.compile(r"^<(translation|target|output|answer|result|text|sentence|s|p|t)>(.*)</\1>$", regex.DOTALL)
_ALTERNATIVES = regex.compile(r"\S\s+/\s+\S|\bor:\s|\boder:\s|\bor, alternatively\b", regex.IGNORECASE)
_SEPARATOR = regex.compile(r"^\s*(?:->|=>|→|—>|⇒|=|\||—|–|:|\t|\n)+\s*")
_ENDS_WITH_MARK = regex.compile(rf"[{SENTENCE_ENDS}:;]$")


def repair(source: str, answer: str, number: int, languages: tuple[str, str]) -> Read:
    """Remove what a model has added to a translation.

    Args:
        source: The sentence.
        answer: What the model gives as its translation.
        number: The number of the sentence in the prompt.
        languages: Source and target.

    Returns:
        The translation on one line, or why it is rejected.
    """
    text = visible_form(replace_surrogates(answer)).replace("\\n", "\n" if "\\n" not in source else "\\n").strip()
    for _ in range(4):  # one addition may surround another
        before = text
        for step in (_remove_wrappers, _remove_lines, _remove_label, _remove_quotes, _remove_notes):
            text = step(source, text, number, languages).strip()
        if text == before:
            break
    text = collapse_spaces(text) if "\n" not in text else text
    problem = _problem(source, text)
    return Rejected(problem, answer) if problem else text


def _problem(source: str, text: str) -> str | None:
    """Why a translation is rejected that could not be repaired."""
    if is_refusal(text, source):
        return "refusal"
    if "\n" in text:
        return "several lines"
    if _JSON.search(text) and not _JSON.search(source):
        return "markup"
    if _LINK.search(text) and not _LINK.search(source):
        return "markup"
    if _EMPHASIS.search(text) and not _EMPHASIS.search(source) and not _has_any(source, "*_`~"):
        return "markup"
    if _ALTERNATIVES.search(text) and "/" not in source:
        return "several lines"
    if _find_preamble(source, text):
        return "notes"
    bracket = None if _has_any(source, "()[]（）") else _IN_BRACKETS.search(text)
    if bracket and " " in bracket[1].strip() and not (_ACCELERATOR.fullmatch(bracket[1]) and bracket[1][0] in source):
        return "notes"
    if _CHATTER_AFTER.search(text) and not _CHATTER_AFTER.search(source):
        return "notes"
    return None


def _has_any(text: str, characters: Iterable[str]) -> bool:
    return any(each in text for each in characters)


def _remove_wrappers(source: str, text: str, number: int, languages: tuple[str, str]) -> str:
    """Remove code fences, JSON and tags around everything, tokens of models, references of HTML, and Markdown."""
    if "```" in text and "```" not in source:
        text = _remove_fence(text)
    if _JSON.match(text) and not _JSON.search(source) and (items := _items_of_json(text, 1)) and len(items) == 1:
        text = items[0][1]
    if (wrapped := _WRAPPER.match(text)) and not _WRAPPER.match(source):
        text = wrapped[2]
    if not _SPECIAL.search(source):
        text = _SPECIAL.sub("", text)
    if not has_references(source):
        text = decode_references(text)
    mark = _LINE_MARK.match(text)
    if mark and mark[0] not in source and source[:1] not in _OPENING_QUOTES:
        text = text[mark.end() :]
    if not _has_any(source, "*_`~"):
        for _ in range(2):
            text = _EMPHASIS.sub(r"\2", text)
    return text


def _remove_lines(source: str, text: str, number: int, languages: tuple[str, str]) -> str:
    """Keep the only line that is no comment, if there is one."""
    if "\n" not in text or "\n" in source:
        return text
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    plain = [collapse_spaces(line).casefold() for line in lines]
    kept = [
        line
        for line, folded in zip(lines, plain, strict=True)
        if not _CHATTER.search(line)
        and folded.strip(" *\"'„“”") != source.casefold()
        and not (_PREAMBLE.fullmatch(line + " ") or (line.endswith(":") and not source.endswith(":")))
        and not (line[0] in "([" and line[-1] in ")].")
        and not regex.fullmatch(r"[-=_*#]{2,}", line)
    ]
    return kept[0] if len(kept) == 1 else text


def _remove_label(source: str, text: str, number: int, languages: tuple[str, str]) -> str:
    """Remove the number, the source, the name of a language, or an introduction before a translation."""
    numbered = _LABEL_NUMBER.match(text)
    if numbered and int(numbered[1]) == number and not regex.match(r"[(\[]?\d", source):
        text = text[numbered.end() :]
    if len(source) > 3 and text.startswith(source) and (separator := _SEPARATOR.match(text[len(source) :])):
        rest = text[len(source) + separator.end() :]
        if rest.strip() and rest.strip() != source:
            text = rest
    name, colon, rest = text.partition(":")
    if colon and rest.strip() and ":" not in source and name.strip("*[]() ").casefold() in _names_of(languages):
        text = rest.lstrip("* ")
    if preamble := _find_preamble(source, text):
        rest = text[preamble.end() :].strip()
        if len(rest.encode()) >= _LEAST_REST * len(source.encode()):
            text = rest
    return text


def _find_preamble(source: str, text: str) -> regex.Match[str] | None:
    """The introduction of a translation, if the source does not speak of translations, too."""
    if _has_any(source, ":：") or _TRANSLATION_WORD.search(source) or _JSON.match(text):
        return None
    return _PREAMBLE.match(text)


@cache
def _names_of(languages: tuple[str, str]) -> frozenset[str]:
    """The codes and names of languages in lower case."""
    return frozenset(name.casefold() for code in languages for name in (code, language_name(code)))


def _remove_quotes(source: str, text: str, number: int, languages: tuple[str, str]) -> str:
    """Remove quotation marks around everything, if the source has none at its start."""
    if source[:1] in _OPENING_QUOTES or len(text) < 3:
        return text
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if text[0] == opening and text[-1] == closing and not _has_any(inner, {opening, closing} - {"'", "’"}):
            return inner
        after = text[1:-2]
        if (
            text[0] == opening
            and text[-2] == closing
            and _ENDS_WITH_MARK.search(text)
            and not _has_any(after, {opening, closing})
        ):
            return after if _ENDS_WITH_MARK.search(after) else after + text[-1]
    return text


def _remove_notes(source: str, text: str, number: int, languages: tuple[str, str]) -> str:
    """Remove a comment, or the source, in brackets at the end, and polite offers after the last sentence."""
    if not _CHATTER_AFTER.search(source):
        text = _CHATTER_AFTER.sub("", text)
    if (
        _has_any(source, "()[]（）")
        or not (bracket := _IN_BRACKETS.search(text))
        or not text[: bracket.start()].strip()
    ):
        return text
    inside = collapse_spaces(bracket[1]).strip(" .\"'„“”").casefold()
    if inside == source.strip(" .\"'„“”!?").casefold() or _NOTE_WORDS.match(bracket[1].strip(" \"'*_")):
        kept = text[: bracket.start()]
        return kept + bracket[2] if not _ENDS_WITH_MARK.search(kept) else kept
    return text
