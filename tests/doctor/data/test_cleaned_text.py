"""Training text is copied without the pairs that have problems, once, and everything that was left out is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_corpora import clean_lines, two_files, write_files

from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Pair
from dragoman.corpus.writers import write_corpus
from dragoman.doctor.data.cleaned_text import CleanedText, clean_corpora, clean_data
from dragoman.doctor.data.corpora import Corpora, group_corpora
from dragoman.errors import UserError
from dragoman.settings import CorpusFile, CorpusReference, Data, FilePair
from dragoman.system.progress import no_log

SIZE = 600


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def damaged(tmp_path: Path) -> Corpora:
    """Text with an empty side, two duplicates, three copies of the source, and two pairs of the test text."""
    sources, targets = (lines[:SIZE] for lines in clean_lines())
    test = write_files(tmp_path, sources[:2], targets[:2], "test")
    sources += [b"Allein.", sources[7], sources[8]]
    targets += [b"", targets[7], targets[8]]
    targets[20:23] = sources[20:23]
    return two_files(*write_files(tmp_path, sources, targets), test)


def pairs_of(cleaned: CleanedText) -> list[Pair]:
    return list(read_corpus(cleaned.files, source_language="de", target_language="en"))


def append(directory: Path, source: bytes, target: bytes) -> None:
    """Add a pair to the training text."""
    for language, line in (("de", source), ("en", target)):
        with (directory / f"train.{language}").open("ab") as file:
            file.write(line + b"\n")


def test_what_is_left_out_is_counted_and_listed(damaged: Corpora) -> None:
    cleaned = clean_corpora(damaged, no_log)
    assert cleaned.reasons == {"copied-source": 3, "duplicates": 2, "test-overlap": 2}
    assert (cleaned.kept, cleaned.left_out) == (SIZE - 5, 7)
    assert str(cleaned) == f"left out 7 of {SIZE + 2} pairs: copied-source 3, duplicates 2, test-overlap 2"
    assert cleaned.errors == cleaned.warnings == []
    kept = pairs_of(cleaned)
    assert len(kept) == cleaned.kept
    assert len(set(kept)) == cleaned.kept
    rows = [line.split("\t") for line in cleaned.listings[0].read_text("utf-8").splitlines()[1:]]
    assert [int(row[1]) for row in rows] == [1, 2, 21, 22, 23, SIZE + 1, SIZE + 2, SIZE + 3]


@pytest.mark.parametrize("form", ["two files", "jsonl", "tmx"])
def test_held_out_text_may_be_in_the_other_order(form: str, damaged: Corpora, tmp_path: Path) -> None:
    (train,), (test,) = damaged.train, damaged.held_out
    assert isinstance(train, FilePair)
    assert isinstance(test, FilePair)
    stated = train.model_copy(update={"languages": ("de", "en")})
    other: CorpusReference = FilePair(source=test.target, target=test.source, languages=("en", "de"))
    if form != "two files":
        pairs = read_corpus(test, source_language="de", target_language="en")
        write_corpus(pairs, str(tmp_path / f"test.{form}"), ("de", "en"))
        other = CorpusFile(file=str(tmp_path / f"test.{form}"), languages=("en", "de"))
    (corpora,) = group_corpora(("de", "en"), [stated], [other], None)
    assert clean_corpora(corpora, no_log).reasons["test-overlap"] == 2


def test_text_is_checked_once(damaged: Corpora, tmp_path: Path) -> None:
    messages: list[str] = []
    first = clean_corpora(damaged, messages.append)
    assert len(messages) == 1
    assert clean_corpora(damaged, messages.append) == first
    assert len(messages) == 1
    first.listings[0].unlink()
    assert clean_corpora(damaged, messages.append) == first, "a damaged copy is made again"
    append(tmp_path, b"Neu.", b"New.")
    assert clean_corpora(damaged, no_log).kept == first.kept + 1


def test_progress_reaches_the_last_pair(damaged: Corpora) -> None:
    seen: list[tuple[float | None, str]] = []
    clean_corpora(damaged, no_log, update=lambda share, text: seen.append((share, text)))
    assert [share for share, _ in seen] == pytest.approx([1 / 3, 2 / 3, 1], abs=0.01)
    assert seen[-1][1].startswith(f"checking: {SIZE + 2} of {SIZE + 2} pairs")


def test_invisible_characters_are_removed(damaged: Corpora, tmp_path: Path) -> None:
    before = clean_corpora(damaged, no_log)
    append(
        tmp_path, "Das Donau\u00addampf\u00adschiff fährt\ufeff ab.".encode(), "\u200eThe steamboat leaves.".encode()
    )
    kept = pairs_of(clean_corpora(damaged, no_log))
    assert kept == [*pairs_of(before), Pair("Das Donaudampfschiff fährt ab.", "The steamboat leaves.")]


def test_invisible_characters_do_not_hide_duplicates(damaged: Corpora, tmp_path: Path) -> None:
    before = clean_corpora(damaged, no_log)
    first = pairs_of(before)[0]
    hidden = Pair(first.source[:1] + "\u00ad" + first.source[1:], "\ufeff" + first.target)
    append(tmp_path, hidden.source.encode(), hidden.target.encode())
    assert clean_corpora(damaged, no_log).kept == before.kept


def test_damage_that_training_refuses_is_not_cleaned_away(damaged: Corpora, tmp_path: Path) -> None:
    append(tmp_path, b"\xff", b"Bad.")
    with pytest.raises(UserError, match="not valid UTF-8"):
        clean_corpora(damaged, no_log)


def test_findings_about_other_corpora_are_kept(tmp_path: Path) -> None:
    sources, targets = (lines[:SIZE] for lines in clean_lines())
    train = write_files(tmp_path, sources, targets)
    swapped = write_files(tmp_path, clean_lines()[1][SIZE:1000], clean_lines()[0][SIZE:1000], "test")
    (error,) = clean_corpora(two_files(*train, swapped), no_log).errors
    assert error.startswith("error: swapped-sides: ")
    data = Data(
        source_language="de",
        target_language="en",
        train=(f"{tmp_path}/train.{{lang}}",),
        test=(f"{tmp_path}/test.{{lang}}",),
        clean=True,
    )
    with pytest.raises(UserError, match="swapped-sides"):
        clean_data(data, None, no_log)


def test_text_that_is_mostly_wrong_is_refused(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    write_files(tmp_path, sources[:SIZE], [*sources[: SIZE // 2 + 20], *targets[SIZE // 2 + 20 : SIZE]])
    data = Data(source_language="de", target_language="en", train=(f"{tmp_path}/train.{{lang}}",), clean=True)
    with pytest.raises(UserError, match=r"most of the training text has problems, .*; left out 3\d\d of 600 pairs"):
        clean_data(data, None, no_log)
    everything, cleaned = clean_data(data.model_copy(update={"clean": False}), None, no_log)
    assert (everything.train, cleaned) == (data.train, None)


def test_text_that_repeats_itself_is_used_once(tmp_path: Path) -> None:
    sources, targets = (lines[:SIZE] for lines in clean_lines())
    cleaned = clean_corpora(two_files(*write_files(tmp_path, sources * 3, targets * 3)), no_log)
    assert (cleaned.kept, cleaned.left_out, cleaned.copies) == (SIZE, 2 * SIZE, 2 * SIZE)
    assert not cleaned.is_mostly_left_out
    half = [*sources[: SIZE // 2 + 20], *targets[SIZE // 2 + 20 :]]
    cleaned = clean_corpora(two_files(*write_files(tmp_path, sources * 3, half * 3)), no_log)
    assert cleaned.is_mostly_left_out


def test_both_sides_may_be_in_one_language(tmp_path: Path) -> None:
    sources, targets = (lines[:SIZE] for lines in clean_lines())
    paths = write_files(tmp_path, sources, targets)
    corpora = Corpora("de", "de", [FilePair(source=str(paths[0]), target=str(paths[1]))] * 2)
    cleaned = clean_corpora(corpora, no_log)
    assert cleaned.files.source != cleaned.files.target
    assert [pair.source for pair in pairs_of(cleaned)] != [pair.target for pair in pairs_of(cleaned)]


def test_text_that_changes_meanwhile_is_not_cached(damaged: Corpora, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was changed while it was checked"):
        clean_corpora(damaged, lambda _: append(tmp_path, b"Neu.", b"New."))
