from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.corpus import lines
from dragoman.corpus.catalog import DataFile, catalog
from dragoman.corpus.find import Pair, describe, read_corpora, read_corpus
from dragoman.corpus.lines import MAX_LINE_CHARACTERS, read_lines
from dragoman.corpus.rows import ROW_FORMATS
from dragoman.errors import UserError
from dragoman.settings import CorpusReference, FilePair

PAIRS = [
    Pair("Ein Hund läuft.", "A dog is running."),
    Pair("", "A side may be blank."),
    Pair("Trenner: a\u2028b\u2029c", "\ufeffnot only at the start, and a\xa0hard space"),
    Pair("हिन्दी 𝄞", "  kept spaces  "),
]


def write_aligned(directory: Path, pairs: list[Pair], end: str = "\n") -> CorpusReference:
    directory.joinpath("t.de").write_bytes("".join(pair.source + end for pair in pairs).encode())
    directory.joinpath("t.en").write_bytes("".join(pair.target + end for pair in pairs).encode())
    return f"{directory}/t.{{lang}}"


def write_file_pair(directory: Path, pairs: list[Pair]) -> CorpusReference:
    write_aligned(directory, pairs)
    return FilePair(source=f"{directory}/t.de", target=f"{directory}/t.en")


def write_windows(directory: Path, pairs: list[Pair]) -> CorpusReference:
    reference = write_aligned(directory, pairs, "\r\n")
    for name in ("t.de", "t.en"):
        path = directory / name
        path.write_bytes("\ufeff".encode() + path.read_bytes().removesuffix(b"\r\n"))
    return reference


def write_tsv(directory: Path, pairs: list[Pair]) -> CorpusReference:
    path = directory / "t.tsv"
    path.write_bytes("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode())
    return str(path)


def write_json(record: Callable[[Pair], dict[str, Any]], ascii_only: bool) -> Callable[..., CorpusReference]:
    def write(directory: Path, pairs: list[Pair]) -> CorpusReference:
        path = directory / "t.jsonl"
        rows = [json.dumps(record(pair), ensure_ascii=ascii_only) + "\n" for pair in pairs]
        path.write_bytes("".join(rows).encode())
        return str(path)

    return write


def compressed(write: Callable[..., CorpusReference]) -> Callable[..., CorpusReference]:
    def write_compressed(directory: Path, pairs: list[Pair]) -> CorpusReference:
        reference = write(directory, pairs)
        for path in list(directory.iterdir()):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        if isinstance(reference, FilePair):
            return FilePair(source=f"{reference.source}.gz", target=f"{reference.target}.gz")
        return f"{reference}.gz"

    return write_compressed


PLAIN_FORMATS: dict[str, Callable[..., CorpusReference]] = {
    "pattern": write_aligned,
    "file pair": write_file_pair,
    "windows": write_windows,
    "tsv": write_tsv,
    "jsonl": write_json(lambda pair: {"en": pair.target, "id": 7, "de": pair.source}, True),
    "jsonl nested": write_json(lambda pair: {"translation": {"de": pair.source, "en": pair.target}}, False),
    "jsonl source": write_json(lambda pair: {"source": pair.source, "target": pair.target}, False),
}
FORMATS = PLAIN_FORMATS | {f"{name} gz": compressed(write) for name, write in PLAIN_FORMATS.items()}


def read(reference: CorpusReference, **options: Any) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en", **options))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_pairs(name: str, tmp_path: Path) -> None:
    assert read(FORMATS[name](tmp_path, PAIRS)) == PAIRS


def test_every_row_format_is_tested() -> None:
    assert all(suffix.removeprefix(".") in FORMATS for suffix in ROW_FORMATS)


sentences = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@given(pairs=st.lists(st.builds(Pair, sentences, sentences)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@pytest.mark.parametrize("name", ["pattern", "tsv", "jsonl"])
def test_any_text_survives(name: str, pairs: list[Pair], tmp_path: Path) -> None:
    pairs = [*pairs, Pair("ein Text", "a text")]
    pairs[0] = Pair(f"x{pairs[0].source}", f"x{pairs[0].target}")  # a byte order mark at the start is not text
    assert read(FORMATS[name](tmp_path, pairs)) == pairs


def test_languages_choose_the_direction(tmp_path: Path) -> None:
    backward = [Pair(pair.target, pair.source) for pair in PAIRS]
    for name in ("pattern", "jsonl", "jsonl nested"):
        reference = FORMATS[name](tmp_path, PAIRS)
        assert list(read_corpus(reference, source_language="en", target_language="de")) == backward


def test_corpora_follow_one_another(tmp_path: Path) -> None:
    references = [write_tsv(tmp_path, PAIRS), write_aligned(tmp_path, PAIRS[:1])]
    assert list(read_corpora(references, source_language="de", target_language="en")) == PAIRS + PAIRS[:1]


def test_corpora_are_all_looked_up_before_the_first_pair(tmp_path: Path) -> None:
    references = [write_tsv(tmp_path, PAIRS), str(tmp_path / "missing.tsv")]
    with pytest.raises(UserError, match="no such file"):
        read_corpora(references, source_language="de", target_language="en")


def test_relative_paths_start_at_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_aligned(tmp_path, PAIRS)
    monkeypatch.chdir(tmp_path)
    assert read("t.{lang}") == PAIRS


def test_blank_sides_are_read_but_not_complete(tmp_path: Path) -> None:
    pairs = [Pair("a", "b"), Pair(" \u3000", "b"), Pair("a", ""), Pair("", "")]
    assert [pair.complete for pair in read(write_tsv(tmp_path, pairs))] == [True, False, False, False]


def test_pairs_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\nbroken\n")
    pairs = read_corpus(str(path), source_language="de", target_language="en")
    assert next(pairs) == Pair("a", "b")
    with pytest.raises(UserError):
        next(pairs)


def test_lines_may_be_empty_and_so_may_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    for content, expected in ((b"", []), (b"\n", [""]), (b"a\n\nb", ["a", "", "b"]), (b"\n\n", ["", ""])):
        path.write_bytes(content)
        assert list(read_lines(path)) == expected


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\ufeff", "\u200b", "\t"])
def test_only_a_line_feed_ends_a_line(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(f"a{separator}b\nc{separator}".encode())
    assert list(read_lines(path)) == [f"a{separator}b", f"c{separator}"]


@pytest.mark.parametrize("code", [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)])
def test_control_characters_are_refused(code: int, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(f"a\nb{chr(code)}b".encode())
    with pytest.raises(UserError, match=rf"t\.txt line 2: control character U\+{code:04X} at character 2"):
        list(read_lines(path))


BAD_FILES = {
    "invalid UTF-8": ("t.tsv", b"a\tb\na\t\xfc\n", "t.tsv line 2: not valid UTF-8 (byte 0xfc at position 3)"),
    "UTF-16": ("t.tsv", "a\tb\n".encode("utf-16"), "t.tsv line 1: not valid UTF-8"),
    "cut UTF-8": ("t.tsv", "a\tü".encode()[:-1], "t.tsv line 1: not valid UTF-8"),
    "empty": ("t.tsv", b"", "t.tsv: empty file"),
    "byte order mark only": ("t.jsonl", "\ufeff".encode(), "t.jsonl line 1: broken JSON"),
    "blank": ("t.tsv", b"\t\n \t \n", "t.tsv: only empty lines (2)"),
    "blank target": ("t.tsv", b"a\t\na\t \n", "target side of"),
    "blank source": ("t.jsonl", b'{"source": "", "target": "b"}\n', "source side of"),
    "long line": ("t.tsv", b"a\tb\n" + b"a" * 10**6, "t.tsv line 2: longer than 100,000 characters"),
    "NUL": ("t.tsv", b"a\tb\na\tb\0\n", "t.tsv line 2: control character U+0000 at character 4"),
    "delete": ("t.tsv", b"\x7f\tb\n", "t.tsv line 1: control character U+007F at character 1"),
    "C1": ("t.tsv", "a\tb\x93\n".encode(), "t.tsv line 1: control character U+0093 at character 4"),
    "old Macintosh": ("t.tsv", b"a\tb\ra\tb\r", "t.tsv line 1: control character U+000D at character 4"),
    "too many columns": ("t.tsv", b"a\tb\na\tb\tc\n", "t.tsv line 2: expected 2 columns, found 3"),
    "too few columns": ("t.tsv", b"a\tb\n\n", "t.tsv line 2: expected 2 columns, found 1"),
    "broken JSON": ("t.jsonl", b'{"de": "a", "en": "b"}\n{"de": "a",\n', "t.jsonl line 2: broken JSON: "),
    "deep JSON": ("t.jsonl", b"[" * 99_999, "t.jsonl line 1: broken JSON: "),
    "huge number": ("t.jsonl", b"9" * 9_999, "t.jsonl line 1: broken JSON: "),
    "JSON list": ("t.jsonl", b'["a", "b"]\n', "t.jsonl line 1: expected a JSON object, found list"),
    "missing key": ("t.jsonl", b'{"de": "a", "fr": "b"}\n', "t.jsonl line 1: expected strings under 'de' and 'en'"),
    "JSON null": ("t.jsonl", b'{"de": "a", "en": null}\n', "t.jsonl line 1: expected strings under 'de' and 'en'"),
    "JSON line feed": ("t.jsonl", rb'{"de": "a\nb", "en": "b"}', "t.jsonl line 1: control character U+000A"),
    "JSON surrogate": ("t.jsonl", rb'{"de": "a", "en": "\ud800"}', "t.jsonl line 1: control character U+D800"),
    "not gzip": ("t.tsv.gz", b"a\tb\n", "t.tsv.gz: named .gz, but not a gzip file"),
    "truncated gzip": ("t.tsv.gz", gzip.compress(b"a\tb\n" * 9)[:-9], "t.tsv.gz: gzip file truncated or damaged"),
    "damaged gzip": ("t.tsv.gz", gzip.compress(b"a\tb\n")[:12] + b"\xff" * 20, "t.tsv.gz: gzip file truncated or"),
    "gzip with a wrong checksum": ("t.tsv.gz", gzip.compress(b"a\tb\n")[:-8] + bytes(8), "t.tsv.gz: "),
}


def watch_open(monkeypatch: pytest.MonkeyPatch) -> list[BinaryIO]:
    """The streams that reading opens from now on."""
    opened: list[BinaryIO] = []
    real_open = lines.open_text_file

    def remember(path: Path) -> BinaryIO:
        opened.append(real_open(path))
        return opened[-1]

    monkeypatch.setattr(lines, "open_text_file", remember)
    return opened


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_with_file_and_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file_name, content, message = BAD_FILES[name]
    tmp_path.joinpath(file_name).write_bytes(content)
    opened = watch_open(monkeypatch)
    with pytest.raises(UserError) as refusal:
        read(str(tmp_path / file_name))
    assert opened
    assert all(stream.closed for stream in opened)
    assert message in str(refusal.value)
    assert file_name in str(refusal.value)


def test_the_longest_line_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    longest = "𝄞" * MAX_LINE_CHARACTERS
    path.write_bytes(f"\ufeff{longest}\r\n{longest}".encode())
    assert list(read_lines(path)) == [longest, longest]
    for ending in ("x", "x\n", "x\r\n", longest):
        path.write_bytes(f"{longest}{ending}".encode())
        with pytest.raises(UserError, match="line 1: longer than"):
            list(read_lines(path))


@pytest.mark.parametrize(("sources", "targets"), [(3, 5), (5, 3), (0, 2), (1, 0)])
def test_files_of_different_length_are_refused_with_both_lengths(
    sources: int, targets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.de").write_text("a\n" * sources)
    (tmp_path / "t.en").write_text("b\n" * targets)
    opened = watch_open(monkeypatch)
    with pytest.raises(UserError) as refusal:
        read(f"{tmp_path}/t.{{lang}}")
    assert [stream.closed for stream in opened] == [True, True]
    assert f"t.de has {sources} lines" in str(refusal.value)
    assert f"t.en has {targets} lines" in str(refusal.value)
    assert f"from line {min(sources, targets) + 1} on" in str(refusal.value)


def test_a_bad_line_closes_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bad, good in (("de", "en"), ("en", "de")):
        (tmp_path / f"t.{bad}").write_bytes(b"a\n\xff\n")
        (tmp_path / f"t.{good}").write_text("b\n" * 3)
        opened = watch_open(monkeypatch)
        with pytest.raises(UserError, match=rf"t\.{bad} line 2: not valid UTF-8") as refusal:
            read(f"{tmp_path}/t.{{lang}}")
        assert [stream.closed for stream in opened] == [True, True], refusal


def test_blank_aligned_files_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t\.de: only empty lines \(2\)"):
        read(write_aligned(tmp_path, [Pair("", "b"), Pair(" ", "b")]))
    with pytest.raises(UserError, match=r"t\.en: only empty lines \(1\)"):
        read(write_aligned(tmp_path, [Pair("a", "")]))
    with pytest.raises(UserError, match=r"t\.de: empty file"):
        read(write_aligned(tmp_path, []))


def test_missing_files_are_named_with_the_nearest_match(tmp_path: Path) -> None:
    write_aligned(tmp_path, PAIRS)
    with pytest.raises(UserError, match=r"tt\.de: no such file; did you mean 't\.de'"):
        read(f"{tmp_path}/tt.{{lang}}")
    with pytest.raises(UserError, match=r"nowhere/t\.de: no such file"):
        read(f"{tmp_path}/nowhere/t.{{lang}}")
    (tmp_path / "d.tsv").mkdir()
    with pytest.raises(UserError, match=r"d\.tsv: a directory"):
        read(f"{tmp_path}/d.tsv")
    with pytest.raises(UserError, match="Is a directory"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mult30k:train", "did you mean 'multi30k'"),
        ("multi30k:trian", "did you mean 'train'"),
        ("multi30k:dev", "no split 'dev', only train, val, test_2016_flickr"),
        ("multi30k", "say which split: 'multi30k:train'"),
        ("mult30k", "did you mean 'multi30k'"),
        ("iitb-en-hi:train", "no language 'de', only en, hi"),
        ("hf:name", "expected a catalog split"),
        ("pairs.txt", "expected a catalog split"),
        ("", "expected a catalog split"),
    ],
)
def test_mistyped_references_are_refused_with_a_hint(reference: str, message: str) -> None:
    with pytest.raises(UserError) as refusal:
        read(reference)
    assert message in str(refusal.value)


class FakeRecords(list[dict[str, Any]]):
    cache_files: ClassVar[list[dict[str, str]]] = [{"filename": "/hub/data.arrow"}]

    @property
    def column_names(self) -> list[str]:
        return list(self[0])


class FakeHub:
    """Stands in for the `datasets` package: two records, the configurations and splits asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, str]] = []
        self.records: list[dict[str, Any]] = [
            {"translation": {"de": "eins", "en": "one\nline"}},
            {"translation": {"de": "zwei", "en": "two"}},
        ]

    def load_dataset(self, name: str, configuration: str | None, *, split: str) -> Any:
        self.asked.append((name, configuration, split))
        if split == "nowhere":
            raise ValueError("unknown split")
        return FakeRecords(self.records)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    hub = FakeHub()
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=hub.load_dataset))
    return hub


def test_hub_datasets_are_read_with_control_characters_as_spaces(hub: FakeHub) -> None:
    expected = [Pair("eins", "one line"), Pair("zwei", "two")]
    assert read("hf:group/name:train") == expected
    assert read("hf:group/name:de-en:test") == expected
    assert hub.asked == [("group/name", None, "train"), ("group/name", "de-en", "test")]


def test_hub_problems_are_told(hub: FakeHub) -> None:
    with pytest.raises(UserError, match="cannot load split 'nowhere' from the Hugging Face hub"):
        read("hf:group/name:nowhere")
    with pytest.raises(UserError, match="record 1: no text in 'fr'; it has de, en"):
        list(read_corpus("hf:group/name:train", source_language="de", target_language="fr"))
    hub.records = [{"text": "no translation"}]
    with pytest.raises(UserError, match="no 'translation' column; it has text"):
        read("hf:group/name:train")


def test_without_the_hub_package_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install 'dragoman\[hub\]'"):
        read("hf:group/name:train")


def test_a_named_hub_dataset_is_read_from_the_mirror_first(hub: FakeHub, tmp_path: Path) -> None:
    languages = {"source_language": "en", "target_language": "hi"}
    hub.records = [{"translation": {"en": "one", "hi": "एक"}}]
    (tmp_path / "iitb-en-hi").mkdir()
    assert list(read_corpus("iitb-en-hi:test", **languages, data_directory=tmp_path)) == [Pair("one", "एक")]
    for language, text in (("en", "two"), ("hi", "दो")):
        (tmp_path / "iitb-en-hi" / f"test.{language}.gz").write_bytes(gzip.compress(text.encode()))
    assert list(read_corpus("iitb-en-hi:test", **languages, data_directory=tmp_path)) == [Pair("two", "दो")]
    assert hub.asked == [("cfilt/iitb-english-hindi", None, "test")]


def test_captions_are_read_in_both_directions() -> None:
    forward = list(islice(read_corpus("captions:test", source_language="de", target_language="en"), 50))
    backward = list(islice(read_corpus("captions:test", source_language="en", target_language="de"), 50))
    assert forward == [Pair(pair.target, pair.source) for pair in backward]
    assert len(forward) == 50
    assert all(pair.complete for pair in forward)


def files_of_splits() -> list[tuple[str, str, DataFile, DataFile]]:
    splits = []
    for dataset in catalog():
        for split in dataset.splits if dataset.files else ():
            first, second = (dataset.file(split, language) for language in dataset.languages[:2])
            splits.append((dataset.name, split, first, second))
    return splits


@pytest.mark.parametrize(("name", "split", "first", "second"), files_of_splits())
def test_every_split_of_the_mirror_is_read(
    name: str, split: str, first: DataFile, second: DataFile, data_directory: Path
) -> None:
    if not (data_directory / first.path).exists():
        pytest.skip(f"{first.path} is not in the mirror")
    pairs = list(
        read_corpus(
            f"{name}:{split}",
            source_language=first.language,
            target_language=second.language,
            data_directory=data_directory,
        )
    )
    expected = gzip.decompress((data_directory / first.path).read_bytes()).decode().split("\n")
    assert [pair.source for pair in pairs] == expected[:-1]
    assert all(pair.complete for pair in pairs)


def test_describe_shows_where_files_lie_and_the_first_pairs(
    data_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = describe("multi30k", data_directory=data_directory)
    pairs = read_corpus("multi30k:train", source_language="en", target_language="de", data_directory=data_directory)
    assert list(found.examples) == list(islice(pairs, 3))
    assert all(path == data_directory / file.path for file, path in found.files)
    absent = describe("multi30k", data_directory=tmp_path)
    assert absent.examples == ()
    assert all(path is None for _, path in absent.files)


def test_describe_shows_the_first_pairs_of_a_built_in_dataset() -> None:
    pairs = read_corpus("captions:train", source_language="de", target_language="en")
    assert list(describe("captions").examples) == list(islice(pairs, 3))
