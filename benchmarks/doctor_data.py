"""How many errors in parallel text `dragoman doctor data` finds, and its time and memory on many pairs.

python benchmarks/doctor_data.py
python benchmarks/doctor_data.py --corpus wmt-news-de-en:train de en --corpus tatoeba-hi-en:train hi en --seeds 1 2
python benchmarks/doctor_data.py --pairs 1000000
python benchmarks/doctor_data.py --each --corpus multi30k:train cs en --corpus wmt-news-de-en:train de en

The first two commands damage known lines of a copy of each corpus in known ways and check the copy. A pair with a code
that does not belong to its damage is a false finding. Before, all pairs with findings are removed from the corpus: the
output shows their number, and whether those findings are true has to be read. Damage that a reader could not see is not
made: only sentences of at least three words are swapped, copied or replaced. The third-language lines are captions of
Multi30k, or with `--foreign tatoeba-de-en:dev` short sentences, among them some of one word. A second table shows how
many texts in another language are found by their number of words, and a third one what is found if a line is missing.

With `--each`, 5,000 pairs of each corpus are damaged in one way at a time, 1 % of them, also with sentences of its test
set (`dev` where it has no other). What was found without damage counts neither for nor against the checks.

The command before writes the built-in captions repeatedly, with a number in each line so that no pair is a duplicate;
every ten-thousandth target is a copy. It prints seconds, pairs per second and the peak memory of the process. The goal
is 1,000,000 pairs in two minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora

FOREIGN_LANGUAGES = {"multi30k:val": ("de", "en", "fr", "cs"), "tatoeba-de-en:dev": ("de", "en")}
"""The languages of the corpora from which third-language lines are taken."""
LENGTHS = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5–7": (5, 7), "8 or more": (8, 10**6)}  # words
MAX_PAIRS = 30_000  # of a corpus that are damaged
PAIRS_PER_KIND = 1 / 400  # of the corpus
LINES_IN_BLOCKS = 1 / 20  # of the corpus
BLOCK_LINES = (30, 200)
MISSING = (0.01, 0.1, 0.3, 0.5, 0.7, 0.95)  # of the corpus, before the missing line
CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопкрстуввхуз")

Side = bytes | str
Change = Callable[["Damage", int], tuple[Side, Side] | None]
"""The damaged pair with this index, or None if this pair cannot be damaged visibly."""


class Damage:
    """A corpus, damaged at random lines.

    Attributes:
        sources: The sources, some of which are damaged.
        targets: The targets.
        kinds: What was done to each damaged line, by index.
    """

    def __init__(self, pairs: list[tuple[str, str]], foreign: list[str], seed: int) -> None:
        self.pairs, self.foreign = pairs, foreign
        self.random = random.Random(seed)
        self.sources: list[Side] = [source for source, _ in pairs]
        self.targets: list[Side] = [target for _, target in pairs]
        self.kinds: dict[int, str] = {}
        self.test: list[tuple[str, str]] = []
        self._used: set[int] = set()

    def keep(self, index: int) -> None:
        """Do not damage this pair."""
        self._used.add(index)

    def damage_blocks(self) -> None:
        """Shift or shuffle the targets of blocks of lines."""
        lines = 0
        while lines < LINES_IN_BLOCKS * len(self.pairs):
            size = self.random.randint(*BLOCK_LINES)
            first = self.random.randrange(10, len(self.pairs) - size - 10)
            around = range(first - 60, first + size + 60)
            if self._used.intersection(around):
                continue
            self._used.update(around)
            lines += size
            targets = self.targets[first : first + size]
            kind = self.random.choice(("misaligned: shifted block", "misaligned: shuffled block"))
            if "shifted" in kind:
                shift = self.random.choice((-5, -2, -1, 1, 2, 5))
                targets = targets[shift:] + targets[:shift]
            else:
                self.random.shuffle(targets)
            for index, target in enumerate(targets, start=first):
                self.kinds[index] = kind if target != self.targets[index] else "kept by chance"
                self.targets[index] = target

    def damage_pairs(self, kind: str, change: Change, share: float = PAIRS_PER_KIND) -> None:
        """Damage single pairs outside of the blocks."""
        wanted = max(20, round(share * len(self.pairs)))
        for index in self.random.sample(range(len(self.pairs)), len(self.pairs)):
            changed = None if wanted == 0 or index in self._used else change(self, index)
            if changed:
                self._used.add(index)
                self.sources[index], self.targets[index] = changed
                self.kinds[index] = kind
                wanted -= 1


def words_to_translate(damage: Damage, index: int) -> int:
    """How many words of a source are not in its target, so that a reader sees that they were not translated."""
    source, target = (set(text.lower().split()) for text in damage.pairs[index])
    return min(len(source - target), len(target - source))


def swap(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    return (target, source) if words_to_translate(damage, index) >= 3 else None


def copy(write: Callable[[str], str]) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        if words_to_translate(damage, index) < 3:
            return None
        source, target = damage.pairs[index]
        return damage.random.choice(((source, write(source)), (write(target), target)))

    return change


def other_in_same_language(damage: Damage, index: int) -> tuple[Side, Side] | None:
    other = damage.random.randrange(len(damage.pairs))
    if min(words_to_translate(damage, place) for place in (index, other)) < 3:
        return None
    return damage.pairs[index][0], damage.pairs[other][0]


def third_language(damage: Damage, index: int) -> tuple[Side, Side] | None:
    foreign = damage.random.choice(damage.foreign)
    return (damage.pairs[index][0], foreign) if words_to_translate(damage, index) >= 3 else None


def repeat(write: Callable[[str], str]) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        earlier = damage.random.randrange(index + 1)
        if earlier in damage.kinds or earlier == index or not damage.pairs[earlier][0].strip():
            return None
        damage.keep(earlier)
        source, target = damage.pairs[earlier]
        return write(source), write(target)

    return change


def wrong_script(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    changed = target.lower().translate(CYRILLIC)
    return (source, changed) if sum(map(str.isalpha, target)) >= 8 and target.isascii() else None


def truncate(low: float, high: float) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        kept = damage.random.uniform(low, high)
        similar = 0.6 < len(source) / max(1, len(target)) < 1.7
        return (source, target[: int(kept * len(target))]) if similar and len(target) >= 60 else None

    return change


def join(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    following = " ".join(target for _, target in damage.pairs[index + 1 : index + 4])
    return (source, f"{target} {following}") if len(following) > 4 * max(len(source), 15) else None


def encode_wrongly(write: Callable[[str], str]) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        if source.isascii():
            source, changed = source, write(target) if not target.isascii() else ""
            return (source, changed) if changed not in ("", target) else None
        return write(source), target

    return change


def to_mojibake(text: str, encoding: str) -> str:
    return text.encode().decode(encoding, errors="replace")


def latin_1(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    invalid = source.encode("latin-1", errors="ignore")
    return (invalid, target) if any(byte > 0x7F for byte in invalid) and not _is_utf8(invalid) else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def insert(character: str) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        place = damage.random.randrange(len(target) + 1)
        return source, target[:place] + character + target[place:]

    return change


def empty(text: str) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        return damage.random.choice(((text, target), (source, text)))

    return change


def lengthen(damage: Damage, index: int) -> tuple[Side, Side] | None:
    following = damage.pairs[index : index + 400]
    source, target = (" ".join(side) for side in zip(*following, strict=True))
    return (source, target) if min(len(text.split()) for text in (source, target)) > 300 else None


def mark_up(write: Callable[[str], str]) -> Change:
    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        return damage.random.choice(((source, write(target)), (write(source), target)))

    return change


CHANGES: dict[str, Change] = {
    "swapped-sides: swapped": swap,
    "copied-source: exact": copy(str),
    "copied-source: upper case": copy(str.upper),
    "copied-source: lower case": copy(str.lower),
    "copied-source: spaces around punctuation": copy(lambda text: text.replace(".", " . ").replace(",", " , ")),
    "copied-source: no punctuation": copy(lambda text: text.rstrip(".!?।") + " !"),
    "wrong-language: source language": other_in_same_language,
    "wrong-language: third language": third_language,
    "wrong-script: Cyrillic letters": wrong_script,
    "duplicates: exact": repeat(str),
    "duplicates: case and spaces": repeat(lambda text: "  " + text.upper()),
    "length-ratio: truncated to less than 20 %": truncate(0.02, 0.2),
    "length-ratio: three more lines joined": join,
    "encoding-damage: Windows-1252": encode_wrongly(lambda text: to_mojibake(text, "cp1252")),
    "encoding-damage: Latin-1": encode_wrongly(lambda text: to_mojibake(text, "latin-1")),
    "encoding-damage: U+FFFD": encode_wrongly(
        lambda text: text.encode("ascii", "replace").decode().replace("?", "\ufffd")
    ),
    "invalid-utf8: Latin-1 bytes": latin_1,
    "control-characters: NUL": insert("\x00"),
    "control-characters: escape": insert("\x1b"),
    "control-characters: C1": insert("\x85"),
    "markup: HTML tags": mark_up(lambda text: f"<p class='x'>{text}</p>"),
    "markup: HTML entities": mark_up(lambda text: text.replace(" ", "&nbsp;", 1) + "&quot;"),
    "over-long: many lines joined": lengthen,
    "empty-side: nothing": empty(""),
    "empty-side: white space": empty(" \t\u00a0"),
    "empty-side: zero-width space": empty("\u200b"),
}


OTHER_SCRIPT = {kind: {"wrong-script"} for kind in CHANGES if kind.startswith(("copied-source", "swapped-sides"))}
ALSO_TRUE = {
    **OTHER_SCRIPT,
    "misaligned: shifted block": {"length-ratio"},
    "misaligned: shuffled block": {"length-ratio"},
    "wrong-language: source language": {"wrong-script", "length-ratio"},
    "wrong-language: third language": {"wrong-script", "length-ratio"},
    "length-ratio: three more lines joined": {"over-long"},
    "encoding-damage: Latin-1": {"control-characters"},
}
"""Other findings that are true of a kind of damage: text in another script, of another length, or with the control
characters U+0080 to U+009F."""


EACH_PAIRS, EACH_SHARE, EACH_BLOCK = 5_000, 0.01, 10  # pairs of a corpus, share of them, lines of a block
MIN_DAMAGED_WORDS = 4  # of sentences of which half is kept or a word is changed, and of those that are in a test set


def one_side(write: Callable[[str], str]) -> Change:
    """Damage the side that it changes; if both, one of them."""

    def change(damage: Damage, index: int) -> tuple[Side, Side] | None:
        source, target = damage.pairs[index]
        changed = [pair for pair in ((write(source), target), (source, write(target))) if pair != (source, target)]
        return damage.random.choice(changed) if changed else None

    return change


def as_escapes(text: str) -> str:
    return "".join(each if each.isascii() else f"\\u{ord(each):04x}" for each in text)


def as_percent(text: str) -> str:
    return "".join(each if each.isascii() else quote(each) for each in text)


def spaced_entities(text: str) -> str:
    return text.replace('"', "& quot ;").replace("'", "& apos ;").replace(" & ", "& amp ;")


def twice(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    return (source, f"{target} {target}") if len(target.split()) > 1 else None


def half(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.pairs[index]
    words = target.split()
    enough = min(len(words), len(source.split())) >= MIN_DAMAGED_WORDS
    return (source, " ".join(words[: len(words) // 2])) if enough else None


def test_sentence(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.random.choice(damage.test)
    if min(len(source.split()), len(target.split())) < MIN_DAMAGED_WORDS:
        return None
    own = damage.pairs[index]
    return damage.random.choice(((source, own[1]), (own[0], target)))


def changed_test_pair(damage: Damage, index: int) -> tuple[Side, Side] | None:
    source, target = damage.random.choice(damage.test)
    if min(len(source.split()), len(target.split())) < MIN_DAMAGED_WORDS:
        return None
    changed = [source.split(), target.split()]
    for number in damage.random.choice(((0,), (1,), (0, 1))):
        words = changed[number]
        words[damage.random.randrange(len(words))] = damage.random.choice(damage.pairs[index][number].split() or ["x"])
    return " ".join(changed[0]), " ".join(changed[1])


EACH: dict[str, Change] = {
    "line: test sentence on one side": test_sentence,
    "line: test pair with a changed word": changed_test_pair,
    "line: target twice": twice,
    "line: target cut to half": half,
    "line: blocks of ten shuffled": lambda damage, index: None,
    "line: blocks of ten shifted": lambda damage, index: None,
    "inside: ? for letters": one_side(lambda text: text.encode("ascii", "replace").decode()),
    "inside: letters dropped": one_side(lambda text: text.encode("ascii", "ignore").decode()),
    r"inside: \u00e4": one_side(as_escapes),
    "inside: %C3%A4": one_side(as_percent),
    "inside: & quot ;": one_side(spaced_entities),
}


def measure_each(corpus: list[str], arguments: argparse.Namespace) -> None:
    """Damage a corpus in one way at a time, and print precision and recall of any finding."""
    name, languages = corpus[0], (corpus[1], corpus[2])
    data_directory = Path(arguments.data_dir) if arguments.data_dir else None
    test_name = (
        corpus[3] if len(corpus) > 3 else name.replace("train", "test_2016_flickr" if "multi30k" in name else "test")
    )

    def read(reference: str, size: int) -> list[tuple[str, str]]:
        found = read_corpus(
            reference, source_language=languages[0], target_language=languages[1], data_directory=data_directory
        )
        return [(pair.source.replace("\r", " "), pair.target.replace("\r", " ")) for pair in islice(found, size)]

    test = read(test_name, 10**6)
    pairs = read(name, EACH_PAIRS)
    natural = flagged_lines(pairs, languages, test)
    counts = Counter(code for codes in natural.values() for code in codes)
    shown = ", ".join(f"{code} {count / len(pairs):.2%}" for code, count in sorted(counts.items()))
    print(
        f"| {Path(name).parent.name or name} {'-'.join(languages)} | not damaged | {shown or 'nothing'} | |", flush=True
    )
    for kind, change in EACH.items():
        if arguments.kinds and not any(each in kind for each in arguments.kinds):
            continue
        damage = Damage(pairs, [], arguments.seeds[0])
        damage.test = test
        for index in natural:
            damage.keep(index)
        if "blocks" in kind:
            damage_tens(damage, "shuffled" in kind)
        else:
            damage.damage_pairs(kind, change, EACH_SHARE)
        after = flagged_lines(list(zip(damage.sources, damage.targets, strict=True)), languages, test)
        false = [index for index in after if index not in damage.kinds and index not in natural]
        found = [index for index in damage.kinds if index in after]
        precision, recall = share(len(found), len(found) + len(false)), share(len(found), len(damage.kinds))
        print(
            f"| {Path(name).parent.name or name} {'-'.join(languages)} | {kind} | {precision} | {recall} |", flush=True
        )
        missed = [index for index in damage.kinds if index not in after]
        for title, indices in (("false", false), ("missed", missed)):
            for index in indices[: arguments.show]:
                print(
                    f"  {title} {sorted(after.get(index, ()))}: {damage.sources[index]!r} | {damage.targets[index]!r}"[
                        :400
                    ]
                )


def damage_tens(damage: Damage, shuffle: bool) -> None:
    """Shuffle the targets of blocks of ten lines, or move them by one or two lines."""
    blocks = damage.random.sample(
        range(1, len(damage.pairs) // EACH_BLOCK - 1, 2), round(EACH_SHARE * len(damage.pairs) / EACH_BLOCK)
    )
    for block in blocks:
        first = block * EACH_BLOCK
        targets = list(damage.targets[first : first + EACH_BLOCK])
        if shuffle:
            damage.random.shuffle(targets)
        else:
            shift = damage.random.choice((-2, -1, 1, 2))
            targets = targets[shift:] + targets[:shift]
        for index, target in enumerate(targets, start=first):
            if target != damage.targets[index]:
                damage.kinds[index] = "block"
            damage.targets[index] = target


class Tally:
    """Counts of what was found, by code and kind of damage."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.correct: Counter[str] = Counter()
        self.false: dict[str, list[str]] = defaultdict(list)
        self.missed: dict[str, list[str]] = defaultdict(list)
        self.by_length: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)

    def add(self, damage: Damage, before: dict[int, set[str]], after: dict[int, set[str]]) -> None:
        for index in range(len(damage.pairs)):
            kind = damage.kinds.get(index)
            code = kind.partition(":")[0] if kind else ""
            if kind == "kept by chance":
                continue
            shown = f"{index + 1}: {kind or 'not damaged'}: {damage.sources[index]!r} | {damage.targets[index]!r}"
            accepted = {code} | ALSO_TRUE.get(kind or "", set())
            codes = after.get(index, set())
            for found in codes:
                if found in accepted:
                    self.correct[found] += 1
                elif found not in before.get(index, set()):
                    self.false[found].append(shown)
            if kind:
                expected = {code, "wrong-script"} if code == "wrong-language" else {code}
                self.made[kind] += 1
                self.found[kind] += bool(expected & codes)
                if code == "wrong-language":
                    words = len(str(damage.targets[index]).split())
                    length = next(name for name, (low, high) in LENGTHS.items() if low <= words <= high)
                    self.by_length[kind][length, bool(expected & codes)] += 1
                if not expected & codes:
                    self.missed[kind].append(shown)

    def rows(self) -> Iterator[str]:
        """A table in Markdown."""
        yield "| code | precision | recall | damage: recall |"
        yield "| --- | --- | --- | --- |"
        for code in dict.fromkeys(kind.partition(":")[0] for kind in ("misaligned:", *CHANGES)):
            kinds = [kind for kind in self.made if kind.partition(":")[0] == code]
            made, found = sum(self.made[kind] for kind in kinds), sum(self.found[kind] for kind in kinds)
            flagged = self.correct[code] + len(self.false[code])
            if made:
                parts = "; ".join(
                    f"{kind.partition(': ')[2]} {share(self.found[kind], self.made[kind])}" for kind in kinds
                )
                yield f"| {code} | {share(self.correct[code], flagged)} | {share(found, made)} | {parts} |"

    def length_rows(self) -> Iterator[str]:
        """A table in Markdown: how many texts in another language were found, by their number of words."""
        yield f"| recall by words | {' | '.join(LENGTHS)} |"
        yield "| --- |" + " --- |" * len(LENGTHS)
        for kind, counts in self.by_length.items():
            shares = (share(counts[name, True], counts[name, True] + counts[name, False]) for name in LENGTHS)
            yield f"| {kind} | {' | '.join(shares)} |"


def share(part: int, total: int) -> str:
    return f"{part / total:.3f} ({part:,}/{total:,})" if total else "–"


def flagged_lines(
    pairs: Sequence[tuple[Side, Side]], languages: tuple[str, str], test: Sequence[tuple[str, str]] = ()
) -> dict[int, set[str]]:
    """The codes of each line with findings, by index."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        paths = directory / f"train.{languages[0]}", directory / f"train.{languages[1]}"
        for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
            lines = (text if isinstance(text, bytes) else text.encode() for text in side)
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        for number, language in enumerate(languages if test else ()):
            (directory / f"test.{language}").write_text("".join(f"{pair[number]}\n" for pair in test), encoding="utf-8")
        held_out = [f"{directory}/test.{{lang}}"] if test else []
        check_corpora(Corpora(*languages, [f"{directory}/train.{{lang}}"], held_out), directory / "clean")
        rows = (directory / "clean" / "dropped.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    return {int(line) - 1: set(codes.split(",")) for _, line, codes, *_ in (row.split("\t") for row in rows)}


def foreign_lines(languages: tuple[str, str], foreign: str, data_directory: Path | None) -> list[str]:
    """Lines of a corpus in languages other than these."""
    lines = []
    for language in set(FOREIGN_LANGUAGES[foreign]) - set(languages):
        other = next(code for code in FOREIGN_LANGUAGES[foreign] if code != language)
        pairs = read_corpus(foreign, source_language=language, target_language=other, data_directory=data_directory)
        lines += [pair.source for pair in pairs]
    return sorted(lines)


def measure_accuracy(corpus: list[str], arguments: argparse.Namespace) -> None:
    """Damage a corpus, check it, and print precision and recall of each code."""
    seeds, shown = arguments.seeds, arguments.show
    data_directory = Path(arguments.data_dir) if arguments.data_dir else None
    name, languages = corpus[0], (corpus[1], corpus[2])
    pairs = [
        (pair.source.replace("\r", " "), pair.target.replace("\r", " "))
        for pair in islice(
            read_corpus(
                name, source_language=languages[0], target_language=languages[1], data_directory=data_directory
            ),
            MAX_PAIRS,
        )
    ]
    foreign = foreign_lines(languages, arguments.foreign, data_directory)
    natural = flagged_lines(pairs, languages)
    pairs = [pair for index, pair in enumerate(pairs) if index not in natural]
    before = flagged_lines(pairs, languages)
    tally = Tally()
    for seed in seeds:
        damage = Damage(pairs, foreign, seed)
        damage.damage_blocks()
        for kind, change in CHANGES.items():
            if foreign or change is not third_language:
                damage.damage_pairs(kind, change)
        tally.add(damage, before, flagged_lines(list(zip(damage.sources, damage.targets, strict=True)), languages))
    counts = sorted(Counter(code for codes in natural.values() for code in codes).items())
    print(f"\n{name} ({languages[0]}, {languages[1]}): {len(pairs):,} pairs, seeds {', '.join(map(str, seeds))}")
    print(f"found without damage: {', '.join(f'{code} {count}' for code, count in counts) or 'nothing'}\n")
    print("\n".join((*tally.rows(), "", *tally.length_rows(), "", *missing_line_rows(pairs, languages))))
    for title, examples in (("false", tally.false), ("missed", tally.missed)):
        for code, lines in examples.items():
            for line in lines[:shown]:
                print(f"{title} {code}: {line[:240]}")


def missing_line_rows(pairs: Sequence[tuple[Side, Side]], languages: tuple[str, str]) -> Iterator[str]:
    """A table in Markdown: which line is named first if all targets after a line are one line too high."""
    yield "| missing target line | first misaligned line | misaligned lines found |"
    yield "| --- | --- | --- |"
    sources, targets = zip(*pairs, strict=True)
    for part in MISSING:
        missing = int(part * len(pairs))
        shifted = [*zip(sources, targets[:missing] + targets[missing + 1 :], strict=False)]
        flagged = flagged_lines(shifted, languages)
        found = sorted(index for index, codes in flagged.items() if "misaligned" in codes)
        first = f"{found[0] + 1:,}" if found else "–"
        correct = sum(index >= missing for index in found)
        yield f"| {missing + 1:,} | {first} | {share(correct, len(shifted) - missing)} |"


def write_pairs(directory: Path, pairs: int) -> tuple[Path, Path]:
    """Write line-aligned files with this number of pairs."""
    paths = directory / "train.de", directory / "train.en"
    with paths[0].open("w", encoding="utf-8") as sources, paths[1].open("w", encoding="utf-8") as targets:
        for number, (german, english) in enumerate(islice(cycle(captions("train")), pairs)):
            sources.write(f"{german} {number}\n")
            targets.write(f"{german if number % 10_000 == 0 else english} {number}\n")
    return paths


def measure_time(pairs: int) -> None:
    """Check many pairs and print time and memory."""
    with tempfile.TemporaryDirectory() as directory:
        files = write_pairs(Path(directory), pairs)
        size = sum(path.stat().st_size for path in files)
        started, computed = time.perf_counter(), time.process_time()
        findings = check_corpora(Corpora("de", "en", [f"{directory}/train.{{lang}}"]))
        seconds, computing = time.perf_counter() - started, time.process_time() - computed
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = {finding.code: finding.measured["count"] for finding in findings}
    assert counts == {"copied-source": (pairs + 9_999) // 10_000}, f"only copies are expected, not {counts}"
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    rate = f"{seconds:.1f} s ({computing:.1f} s of computing), {pairs / seconds:,.0f} pairs/s"
    print(f"{pairs:,} pairs, {size / 1e6:,.1f} MB: {rate}, {memory:,.0f} MB peak memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, help="measure time and memory with this number of pairs")
    parser.add_argument(
        "--corpus",
        nargs="+",
        action="append",
        metavar="NAME SOURCE TARGET",
        help="corpus, its languages, and its test set",
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one damaged copy is made for each seed")
    parser.add_argument(
        "--foreign", choices=FOREIGN_LANGUAGES, default="multi30k:val", help="corpus of the third-language lines"
    )
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("DRAGOMAN_DATA"), help="mirror of the catalog")
    parser.add_argument("--show", type=int, default=0, help="false and missed lines to print for each code")
    parser.add_argument("--each", action="store_true", help="one kind of damage at a time, on 5,000 pairs")
    parser.add_argument("--kinds", nargs="+", help="with --each: only kinds that contain one of these texts")
    arguments = parser.parse_args()
    if arguments.pairs:
        measure_time(arguments.pairs)
        return
    for corpus in arguments.corpus or [["multi30k:train", "de", "en"]]:
        (measure_each if arguments.each else measure_accuracy)(corpus, arguments)


if __name__ == "__main__":
    main()
