"""Ways in which a language model answers wrongly, and what must become of each of its translations.

`FAULTS` maps the name of a way to a function that makes the answer for numbered sentences.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

KEPT = frozenset[str]()
"""The expected fate of a translation that is right, or can be repaired: it is kept as it should be."""


@dataclass(frozen=True)
class FaultyAnswer:
    """An answer.

    Attributes:
        text: What the model writes.
        fates: For each sentence, the reasons for which it may be rejected; none if it must be kept.
        faulty: The sentences (indices) that the fault concerns; the others are right.
        cut: Whether the server says that the answer ends at the limit of tokens.
    """

    text: str
    fates: Sequence[frozenset[str]]
    faulty: frozenset[int]
    cut: bool = False


def as_json(texts: Sequence[str], first: int = 1) -> str:
    """A right answer with these translations."""
    items = [{"number": number, "translation": text} for number, text in enumerate(texts, start=first)]
    return json.dumps({"translations": items}, ensure_ascii=False)


Make = Callable[[Sequence[str], Sequence[str], int, str], FaultyAnswer]
"""From sources, right translations, the index of the sentence with the fault, and text in a third language."""

SPANS = ("placeholders, URLs or numbers",)


def _whole(change: Callable[[str], str], *reasons: str) -> Make:
    """A fault of the whole answer."""

    def make(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
        fates = [frozenset(reasons)] * len(sources)
        return FaultyAnswer(change(as_json(targets)), fates, frozenset(range(len(sources))))

    return make


def _single(change: Callable[[str, str, str], str], *reasons: str) -> Make:
    """A fault of one translation, made from the source, the translation, and text in a third language."""

    def make(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
        texts = list(targets)
        texts[place] = change(sources[place], targets[place], foreign)
        fates = [frozenset(reasons) if index == place else KEPT for index in range(len(sources))]
        return FaultyAnswer(as_json(texts), fates, frozenset([place]))

    return make


def _numbered(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    lines = "\n".join(f"{number}. {text}" for number, text in enumerate(targets, start=1))
    fates = [KEPT] * len(sources)
    return FaultyAnswer(f"Here are the translations:\n\n{lines}", fates, frozenset(range(len(sources))))


def _merged(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    place = min(place, len(sources) - 2)
    joined = f"{targets[place].rstrip('.')} and {targets[place + 1][:1].lower()}{targets[place + 1][1:]}"
    items = [
        {"number": index + 1, "translation": joined if index == place else text}
        for index, text in enumerate(targets)
        if index != place + 1
    ]
    fates = [KEPT] * len(sources)
    fates[place], fates[place + 1] = frozenset(["merged", "too long"]), frozenset(["left out"])
    return FaultyAnswer(json.dumps({"translations": items}), fates, frozenset([place, place + 1]))


def _split(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    words = targets[place].split()
    halves = [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]
    texts = [*targets[:place], *halves, *targets[place + 1 :]]
    return FaultyAnswer(as_json(texts), [frozenset(["split"])] * len(sources), frozenset(range(len(sources))))


def _left_out(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    items = [{"number": index + 1, "translation": text} for index, text in enumerate(targets) if index != place]
    fates = [frozenset(["left out"]) if index == place else KEPT for index in range(len(sources))]
    return FaultyAnswer(json.dumps({"translations": items}), fates, frozenset([place]))


def _shifted(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    fates = [frozenset(["numbered wrong"])] * len(sources)
    return FaultyAnswer(as_json(targets, first=3), fates, frozenset(range(len(sources))))


def _same_number(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    place = min(place, len(sources) - 2)
    items = [
        {"number": place + 1 if index == place + 1 else index + 1, "translation": text}
        for index, text in enumerate(targets)
    ]
    fates = [KEPT] * len(sources)
    fates[place], fates[place + 1] = frozenset(["numbered wrong"]), frozenset(["left out"])
    return FaultyAnswer(json.dumps({"translations": items}), fates, frozenset([place, place + 1]))


def _cut(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    whole = as_json(targets)
    end = whole.index(json.dumps(targets[place], ensure_ascii=False)) + 1 + len(targets[place]) // 2
    fates = [frozenset(["cut off"]) if index >= place else KEPT for index in range(len(sources))]
    return FaultyAnswer(whole[:end], fates, frozenset(range(place, len(sources))), cut=True)


def _cut_lines(sources: Sequence[str], targets: Sequence[str], place: int, foreign: str) -> FaultyAnswer:
    place = max(1, place)
    lines = [f"{number}. {text}" for number, text in enumerate(targets[: place + 1], start=1)]
    text = "\n".join(lines)[: -(len(targets[place]) // 2)]
    fates = [frozenset(["cut off"]) if index >= place else KEPT for index in range(len(sources))]
    if place == len(sources) - 1:  # the last sentence may be complete, as far as the numbers show
        fates[place] = frozenset(["cut off", "too short"])
    return FaultyAnswer(text, fates, frozenset(range(place, len(sources))), cut=True)


FAULTS: dict[str, Make] = {
    "introduction": _whole(lambda text: f"Sure! Here is the translation:\n\n{text}\n\nLet me know if you need more."),
    "code fence": _whole(lambda text: f"```json\n{text}\n```"),
    "lines in place of JSON": _numbered,
    "thoughts": _whole(lambda text: f"<think>Number 1 is easy. {{1: x}}</think>\n{text}"),
    "thoughts without their first tag": _whole(lambda text: f"Let me think. 1. Maybe.\n</think>\n{text}"),
    "thoughts without end": _whole(lambda text: "<think>\nThe user wants me to translate. 1. First …", "thoughts"),
    "refusal": _whole(lambda text: "I'm sorry, but I can't assist with that request.", "refusal"),
    "refusal of a sentence": _single(lambda s, t, f: "I cannot translate this sentence.", "refusal"),
    "as an AI": _single(lambda s, t, f: "As an AI language model, I do not have opinions about this.", "refusal"),
    "quotes": _single(lambda s, t, f: f'"{t}"'),
    "curly quotes": _single(lambda s, t, f: f"“{t}”"),
    "note in brackets": _single(lambda s, t, f: f"{t} (Note: this is an informal translation)"),
    "literal meaning": _single(lambda s, t, f: f"{t} (literally: {s})"),
    "source in brackets": _single(lambda s, t, f: f"{t} ({s})"),
    "note on a line": _single(lambda s, t, f: f"{t}\n\nNote: I kept the tone of the original."),
    "bold": _single(lambda s, t, f: f"**{t}**"),
    "heading": _single(lambda s, t, f: f"# {t}"),
    "bullet": _single(lambda s, t, f: f"- {t}"),
    "name of the language": _single(lambda s, t, f: f"English: {t}"),
    "introduction of a sentence": _single(lambda s, t, f: f"The translation of this sentence is: {t}"),
    "number in the text": _single(lambda s, t, f: f"{t}"),
    "source and translation": _single(lambda s, t, f: f"{s} → {t}"),
    "references of HTML": _single(lambda s, t, f: t.replace("a ", "a&nbsp;").replace("'", "&#39;")),
    "tokens of the model": _single(lambda s, t, f: f"{t}</s><|im_end|>"),
    "tags": _single(lambda s, t, f: f"<translation>{t}</translation>"),
    "offer": _single(lambda s, t, f: f"{t} Let me know if you need anything else!"),
    "copied": _single(lambda s, t, f: s, "copied", "other language"),
    "another language": _single(lambda s, t, f: f, "other language", "too long", "too short", *SPANS),
    "merged": _merged,
    "split": _split,
    "left out": _left_out,
    "other numbers": _shifted,
    "one number twice": _same_number,
    "cut at the limit": _cut,
    "lines cut at the limit": _cut_lines,
    "loop": _single(lambda s, t, f: f"{t} {'and so on ' * 12}", "loop", "too long"),
    "lost placeholder": _single(lambda s, t, f: t, *SPANS),
    "lost number": _single(lambda s, t, f: t, *SPANS),
    "changed number": _single(lambda s, t, f: t, *SPANS),
    "alternatives": _single(lambda s, t, f: f"{t}\nAnd another {t.lower()}", "several lines"),
    "alternatives in a line": _single(lambda s, t, f: f"{t} / The {t.lower()}", "several lines", "too long"),
    "JSON in JSON": _single(lambda s, t, f: json.dumps({"translation": t})),
    "JSON in JSON that is cut": _single(lambda s, t, f: json.dumps({"translation": t})[:-1], "markup"),
    "dashes": _single(lambda s, t, f: "-" * len(t), "no words"),
    "emoji": _single(lambda s, t, f: "😀🐶" * 10, "no words"),
    "empty": _single(lambda s, t, f: "  ", "empty"),
    "broken characters": _single(lambda s, t, f: t[:4] + "\N{REPLACEMENT CHARACTER}" + t[5:], "broken characters"),
    "link": _single(lambda s, t, f: f"[{t}](https://example.org)", "markup", *SPANS),
    "explanation": _single(
        lambda s, t, f: (
            f"{t} This sentence describes a scene in which something happens, and it uses the present "
            "tense, which is common in captions of pictures, and a noun that has several other translations."
        ),
        "too long",
        "notes",
    ),
    "first word only": _single(lambda s, t, f: t.split()[0], "too short"),
}

IN_SOURCE = {"lost placeholder": " {0}", "lost number": " 47", "changed number": " 47"}
"""What is added to the source before the point, for faults that need it."""

IN_TARGET = {"changed number": " 48"}
"""What is added to the translation."""


def prepare(name: str, sources: Sequence[str], targets: Sequence[str], place: int) -> tuple[list[str], list[str]]:
    """The sentences with what the fault needs."""
    changed = list(sources), list(targets)
    for texts, added in zip(changed, (IN_SOURCE.get(name), IN_TARGET.get(name)), strict=True):
        if added:
            texts[place] = f"{texts[place].rstrip('.')}{added}."
    return changed
