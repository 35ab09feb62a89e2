"""Each kind of damage is found on its lines, and clean text has no findings."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from damaged_corpora import (
    PAIRS,
    SIZE,
    STRETCHES,
    Damage,
    check_lines,
    clean_lines,
    only_finding,
    two_files,
    write_files,
)

from dragoman.corpus.corpus import read_corpus
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.doctor.data.line_statistics import compute_line_statistics
from dragoman.doctor.data.lost_letters import LostLetters, Spellings
from dragoman.doctor.data.second_language import find_second_language
from dragoman.doctor.data.words import find_words
from dragoman.doctor.findings.data import DATA_FINDINGS
from dragoman.settings import FilePair


def test_clean_text_has_no_findings(tmp_path: Path) -> None:
    assert not check_lines(tmp_path, *clean_lines())


@pytest.mark.parametrize("code", PAIRS)
def test_damage_leads_to_one_finding_with_its_lines(code: str, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    indices = PAIRS[code](sources, targets)
    finding = only_finding(check_lines(tmp_path, sources, targets), code)
    assert finding.measured["count"] == len(indices)
    assert finding.measured["lines"] == [index + 1 for index in indices][:20]
    assert finding.measured["examples"][0]["line"] == indices[0] + 1


@pytest.mark.parametrize("damage", STRETCHES, ids=lambda damage: damage.__name__)
def test_misaligned_stretches_are_found(damage: Damage, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    indices = damage(sources, targets)
    finding = only_finding(check_lines(tmp_path, sources, targets), "misaligned")
    (stretch,) = finding.measured["stretches"]
    assert abs(stretch["first"] - indices[0] - 1) <= 8
    assert abs(stretch["last"] - indices[-1] - 1) <= 8
    if damage.__name__ == "shift_stretch":
        assert stretch["shift"] == -1
        assert finding.severity == "error"
        assert "1 line further up" in finding.message


@pytest.mark.parametrize("missing", [60, 2000])
def test_a_missing_line_misaligns_the_rest_of_the_file(missing: int, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    del targets[missing]
    findings = {finding.code: finding for finding in check_lines(tmp_path, sources, targets)}
    assert findings.keys() == {"line-counts-differ", "misaligned"}
    assert findings["line-counts-differ"].measured["target_lines"] == SIZE - 1
    (stretch,) = findings["misaligned"].measured["stretches"]
    assert stretch["shift"] == -1
    assert SIZE - 1 - stretch["last"] <= 8
    assert abs(stretch["first"] - missing - 1) <= 8


def test_unrelated_files_are_misaligned_as_a_whole(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    finding = only_finding(check_lines(tmp_path, sources, targets[1500:] + targets[:1500]), "misaligned")
    assert finding.measured["share"] == 1.0
    assert finding.measured["stretches"][0]["shift"] is None


def test_the_shift_of_a_whole_corpus_is_found(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    finding = only_finding(check_lines(tmp_path, sources, [*targets[3:], *targets[:3]]), "misaligned")
    assert finding.measured["stretches"] == [{"first": 1, "last": SIZE, "shift": -3}]


def test_swapped_files_are_an_error(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    finding = only_finding(check_lines(tmp_path, targets, sources), "swapped-sides")
    assert finding.severity == "error"
    assert finding.measured["share"] == 1.0


@pytest.mark.parametrize("codes", [("de-AT", "en_GB"), ("deu", "eng")])
def test_languages_are_known_by_codes_with_regions_and_by_those_of_three_letters(
    codes: tuple[str, str], tmp_path: Path
) -> None:
    sources, targets = clean_lines()
    write_files(tmp_path, targets, sources)
    corpora = Corpora(*codes, [FilePair(source=f"{tmp_path}/train.de", target=f"{tmp_path}/train.en")])
    assert only_finding(check_corpora(corpora), "swapped-sides").severity == "error"


def test_a_whole_side_in_the_wrong_script_is_an_error(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    paths = write_files(tmp_path, sources, targets)
    paths[0].rename(tmp_path / "train.ru")
    finding = only_finding(check_corpora(two_files(tmp_path / "train.ru", paths[1])), "wrong-script")
    assert finding.severity == "error"
    assert finding.measured["share"] == 1.0


def test_a_whole_side_in_another_language_is_an_error(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    for language in ("fr", "xx"):
        write_files(tmp_path, sources, targets)
        (tmp_path / "train.de").rename(tmp_path / f"one.{language}")
        (tmp_path / "train.en").rename(tmp_path / "two.en")
        findings = check_corpora(two_files(tmp_path / f"one.{language}", tmp_path / "two.en"))
        assert [finding.code for finding in findings] == (["wrong-language"] if language == "fr" else []), findings
        assert all(finding.severity == "error" for finding in findings)
        assert all("the whole source looks like de, not fr" in finding.message for finding in findings)
        assert not any("--write" in finding.fix for finding in findings)


def test_a_side_of_identifiers_does_not_hide_the_wrong_language_of_the_other(tmp_path: Path) -> None:
    _, english = clean_lines()
    write_files(tmp_path, [b"k.%d" % number for number in range(len(english))], english)
    (tmp_path / "train.en").rename(tmp_path / "train.fr")
    findings = check_corpora(two_files(tmp_path / "train.de", tmp_path / "train.fr"))
    assert "the whole target looks like en, not fr" in findings[0].message


def test_test_pairs_in_the_training_text_are_found(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    test = write_files(tmp_path, [*sources[:5], b"Neu."], [*targets[:5], b"New."], "test")
    finding = only_finding(check_lines(tmp_path, sources, targets, test=test), "test-overlap")
    assert finding.severity == "error"
    assert finding.measured["lines"] == [1, 2, 3, 4, 5]


def test_sentences_that_are_nearly_test_sentences_are_found_and_left_out(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    test = write_files(
        tmp_path,
        [b"Der alte Kapitan segelte gestern allein nach Norden.", b"Zwei Diebe stahlen nachts das teure Bild."],
        [b"The old captain sailed north alone yesterday.", b"Two thieves stole the expensive painting at night."],
        "test",
    )
    sources[7] = b"Der alte Kapitan segelte gestern allein nach Norden."
    sources[8], targets[8] = (
        b"Zwei Diebe stahlen nachts das billige Bild.",
        b"Two thieves stole the cheap painting at night.",
    )
    findings = check_lines(tmp_path, sources, targets, test=test, write_to=tmp_path / "clean")
    (found,) = (finding for finding in findings if finding.code == "test-similar")
    assert found.measured["lines"] == [8, 9]
    assert b"Diebe" not in (tmp_path / "clean" / "train.de").read_bytes()


@pytest.mark.parametrize("damage", ["shuffled", "shifted"])
def test_blocks_of_ten_lines_are_found(damage: str, tmp_path: Path) -> None:
    sources, targets = clean_lines()
    generator = random.Random(1)
    expected: set[int] = set()
    for first in range(500, 2500, 400):
        block = targets[first : first + 10]
        if damage == "shuffled":
            generator.shuffle(block)
        else:
            block = [*block[1:], block[0]]
        expected |= {
            index + 1 for index in range(10) if block[index] != targets[first + index] for index in [first + index]
        }
        targets[first : first + 10] = block
    finding = only_finding(check_lines(tmp_path, sources, targets, write_to=tmp_path / "clean"), "misaligned")
    rows = (tmp_path / "clean" / "dropped.tsv").read_text("utf-8").splitlines()[1:]
    found = {int(row.split("\t")[1]) for row in rows}
    assert finding.measured["count"] == len(found)
    assert len(found & expected) >= 0.95 * len(expected)
    assert len(found - expected) <= 2


@pytest.mark.parametrize("language", ["dsb", "hsb", "de"])
def test_a_second_language_is_found_where_there_is_one(language: str, data_directory: Path, tmp_path: Path) -> None:
    """Upper in Lower Sorbian, and nothing in clean text."""

    def read(name: str, code: str, size: int) -> list[tuple[str, str]]:
        pattern = str(data_directory / "sorbian" / name / "train.{lang}.gz")
        pairs = read_corpus(pattern, source_language="de", target_language=code, data_directory=data_directory)
        return [(pair.source, pair.target) for pair in islice(pairs, size)]

    pairs = read(f"de-{language}", language, 4000) if language != "de" else read("de-dsb", "dsb", 4000)
    if language == "de":
        pairs = [(target, source) for source, target in pairs]
    second = find_second_language([target for _, target in pairs])
    assert second is None
    if language != "dsb":
        return
    foreign = read("de-hsb", "hsb", 200)
    places = {20 * number for number in range(200)}
    mixed = [foreign[index // 20][1] if index in places else target for index, (_, target) in enumerate(pairs)]
    second = find_second_language(mixed)
    assert second
    found = set(second.flag(mixed).nonzero()[0].tolist())
    assert len(found & places) >= 0.85 * len(places)
    assert len(found & places) >= 0.98 * len(found), "names of places in the other language are no text in it"


@pytest.mark.parametrize("language", ["cs", "de"])
def test_rare_words_and_loanwords_are_no_lost_letters(language: str, data_directory: Path) -> None:
    """Captions with "hamburgery" or "Videokamera" are as they should be; those that lost letters are found."""
    pairs = islice(
        read_corpus("multi30k:train", source_language=language, target_language="en", data_directory=data_directory),
        3000,
    )
    texts, others = (list(side) for side in zip(*((pair.source, pair.target) for pair in pairs), strict=True))
    damaged = {index for index in range(0, 3000, 60) if not texts[index].isascii()}
    changed = [
        text.encode("ascii", "ignore").decode() if index in damaged else text for index, text in enumerate(texts)
    ]
    for lines, wrong in ((texts, set[int]()), (changed, damaged)):
        detector = LostLetters(Spellings.count(lines), Spellings.count(others))
        found = set(detector.flag(lines, find_words(lines)).nonzero()[0].tolist())
        assert len(found - wrong) <= 1
        assert len(found & wrong) >= 0.6 * len(wrong)


def test_duplicates_in_several_corpora_are_found(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    write_files(tmp_path, sources[:200], targets[:200], "one")
    write_files(tmp_path, [b"Neu ist das.", sources[7]], [b"That is new.", targets[7]], "two")
    corpora = Corpora("de", "en", [f"{tmp_path}/{name}.{{lang}}" for name in ("one", "two")])
    finding = only_finding(check_corpora(corpora), "duplicates")
    assert finding.measured["lines"] == [2]
    assert "two" in finding.measured["corpus"]


def test_pairs_that_differ_in_case_and_punctuation_are_duplicates(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources.append(sources[7].upper().rstrip(b".") + b" !")
    targets.append(targets[7])
    finding = only_finding(check_lines(tmp_path, sources, targets), "duplicates")
    assert finding.measured["lines"] == [SIZE + 1]


@pytest.mark.parametrize("write", [bytes, bytes.upper, lambda line: line.replace(b".", b" !")])
def test_a_corpus_of_copies_is_an_error(write: Callable[[bytes], bytes], tmp_path: Path) -> None:
    sources, _ = clean_lines()
    finding = only_finding(check_lines(tmp_path, sources, [write(line) for line in sources]), "copied-source")
    assert finding.severity == "error"
    assert finding.measured["share"] == 1.0


def test_files_of_unknown_languages_must_not_be_copies(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_bytes(b"".join(line + b"\n" for line in clean_lines()[0]))
    corpora = replace(two_files(tmp_path / "one.txt", tmp_path / "two.txt"), target_language="target")
    finding = only_finding(check_corpora(corpora), "copied-source")
    assert finding.severity == "error"


def test_copies_are_no_problem_if_copying_is_the_task() -> None:
    assert not check_corpora(Corpora("given", "copied", ["copy:train"], ["copy:test"]))
    assert not check_corpora(Corpora("de", "de", ["captions:train"]))


def test_copies_of_names_are_no_problem(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources[8] = targets[8] = b"Johann Sebastian Bach"
    sources[9] = targets[9] = b"dragoman translate runs/quickstart 42"
    assert not check_lines(tmp_path, sources, targets)


def test_terms_with_other_capitals_are_no_copies(tmp_path: Path) -> None:
    """In German, an English term gets capital letters; a copy in capitals is a copy."""
    sources, targets = clean_lines()
    targets[8:10] = [b"A woman is playing (A, with, the, dog)", b"The woman is playing with the dog"]
    sources[8:10] = [b"A Woman is playing (A, with, the, Dog)", b"THE WOMAN IS PLAYING WITH THE DOG"]
    assert only_finding(check_lines(tmp_path, sources, targets), "copied-source").measured["lines"] == [10]


def test_only_invalid_lines_should_be_converted(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources[77] = "Ein schönes Mädchen schläft im Park.".encode("latin-1")
    assert "convert only these" in only_finding(check_lines(tmp_path, sources, targets), "invalid-utf8").fix
    converted = [source.decode("latin-1").encode() for source in sources]
    assert "encoding-damage" in {finding.code for finding in check_lines(tmp_path, converted, targets)}


def test_an_empty_side_explains_the_other_side(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources[8], targets[8] = b"Une femme est dans le jardin avec des enfants.", b""
    only_finding(check_lines(tmp_path, sources, targets), "empty-side")


def test_a_stretch_with_empty_sides_is_not_misaligned(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources[1000:1005], targets[1005:1030] = [b""] * 5, [b""] * 25
    assert only_finding(check_lines(tmp_path, sources, targets), "empty-side").measured["count"] == 30


def test_a_stretch_that_was_decoded_wrongly_is_not_misaligned(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    to_cyrillic = {letter: ord("а") + letter % 32 for letter in range(ord("A"), ord("z"))}
    for index in range(1000, 1030):
        targets[index] = targets[index].decode().translate(to_cyrillic).encode().decode("latin-1").encode()
    found = {finding.code: finding for finding in check_lines(tmp_path, sources, targets)}
    assert found["encoding-damage"].measured["count"] == 30
    assert "misaligned" not in found


def test_a_long_sentence_in_the_other_language_is_found_among_short_translations(tmp_path: Path) -> None:
    """A long text contains translations of some words by chance."""
    sources, targets = clean_lines()
    for index in range(0, SIZE, 3):
        targets[index] = targets[index].split()[0] + b"."
    targets[7] = b" ".join(sources[2000:2003])
    findings = {finding.code: finding for finding in check_lines(tmp_path, sources, targets)}
    assert findings["wrong-language"].measured["lines"] == [8]


def test_a_list_of_short_lines_is_not_misaligned(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    generator = random.Random(1)
    for index in range(1000, 1150):
        sources[index], targets[index] = (
            "".join(generator.choices("abcdefghij", k=generator.randint(4, 24))).encode() for _ in range(2)
        )
    assert not check_lines(tmp_path, sources, targets)


def test_a_corpus_of_short_lines_in_random_lengths_is_not_misaligned(tmp_path: Path) -> None:
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghij", k=generator.randint(4, 24))) for _ in range(400)]
    pairs = [(words[generator.randrange(200)], generator.random()) for _ in range(SIZE)]
    sources = [f"{word} {number}".encode() for word, number in pairs]
    targets = [f"{words[words.index(word) + 200]} {number}".encode() for word, number in pairs]
    assert not check_lines(tmp_path, sources, targets)


def test_a_short_stretch_of_short_lines_is_found(tmp_path: Path) -> None:
    sources, targets = ([b" ".join(line.split()[:5]) for line in side] for side in clean_lines())
    targets[500:525] = targets[501:525] + targets[500:501]
    findings = {finding.code: finding for finding in check_lines(tmp_path, sources, targets)}
    assert findings.keys() == {"misaligned", "duplicates", "cut-off"}, "five words are no whole sentence"
    (stretch,) = findings["misaligned"].measured["stretches"]
    assert abs(stretch["first"] - 501) <= 3
    assert abs(stretch["last"] - 525) <= 3
    assert stretch["shift"] == -1


def test_short_lines_may_have_any_length_ratio(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    sources[4:7] = [b"Ja.", b"Vereinte Nationen in New York", b"Ach so!"]
    targets[4:7] = [b"Yes, of course, it is so.", b"UN", b"Oh, that is what you mean, is it?"]
    assert "length-ratio" not in [finding.code for finding in check_lines(tmp_path, sources, targets)]


def test_a_swapped_pair_is_not_in_the_wrong_script(tmp_path: Path) -> None:
    sources, targets = clean_lines()
    cyrillic = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопкрстуввхуз")
    targets = [line.decode().lower().translate(cyrillic).encode() for line in targets]
    sources[7], targets[7] = targets[7], sources[7]
    paths = write_files(tmp_path, sources, targets)
    paths[1].rename(tmp_path / "train.ru")
    finding = only_finding(check_corpora(two_files(paths[0], tmp_path / "train.ru")), "swapped-sides")
    assert finding.measured["lines"] == [8]


def test_every_code_is_tested() -> None:
    others = {"misaligned", "line-counts-differ", "test-overlap", "test-similar", "second-language"}
    assert PAIRS.keys() | others == DATA_FINDINGS.keys()


def test_lists_in_the_messages_of_libreoffice_are_not_misaligned(data_directory: Path) -> None:
    findings = check_corpora(Corpora("de", "en", ["libreoffice-de-en:train"], data_directory=data_directory))
    assert "misaligned" not in [finding.code for finding in findings], findings


def test_a_missing_line_in_lists_of_messages_is_found(data_directory: Path, tmp_path: Path) -> None:
    pairs = read_corpus(
        "libreoffice-de-en:train", source_language="de", target_language="en", data_directory=data_directory
    )
    chosen = list(islice(pairs, 3000))
    sources, targets = [pair.source.encode() for pair in chosen], [pair.target.encode() for pair in chosen]
    findings = check_lines(tmp_path, sources, [*targets[:100], *targets[101:], b"end"])
    (found,) = (finding for finding in findings if finding.code == "misaligned")
    assert found.measured["stretches"][0]["first"] == 101
    assert found.measured["count"] > 0.9 * 2900


def stretches_of(directory: Path, sources: list[str], targets: list[str]) -> list[tuple[int, int]]:
    """The misaligned stretches of a Hindi and an English text."""
    paths = directory / "train.hi", directory / "train.en"
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (found,) = (finding for finding in check_corpora(two_files(*paths)) if finding.code == "misaligned")
    return [(each["first"], each["last"]) for each in found.measured["stretches"]]


@pytest.fixture
def short_sentences(data_directory: Path) -> tuple[list[str], list[str]]:
    """Hindi and English, so little that the words of many lines are unknown."""
    languages = {"source_language": "hi", "target_language": "en"}
    pairs = list(read_corpus("tatoeba-hi-en:train", **languages, data_directory=data_directory))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def test_a_missing_line_in_short_sentences_misaligns_the_rest(
    short_sentences: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    sources, targets = short_sentences
    ((first, last),) = stretches_of(tmp_path, [*sources[:2999], *sources[3000:]], targets)
    assert abs(first - 3000) <= 3
    assert last == len(sources) - 1


def test_lines_between_two_shifted_stretches_are_aligned(
    short_sentences: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    sources, targets = short_sentences
    for start in (2000, 2200):
        sources[start : start + 60] = [*sources[start + 1 : start + 60], sources[start]]
    found = stretches_of(tmp_path, sources, targets)
    assert len(found) == 2
    for (first, last), start in zip(found, (2000, 2200), strict=True):
        assert abs(first - start - 1) <= 3
        assert abs(last - start - 60) <= 3


@pytest.mark.parametrize(
    "name", ["multi30k:train", "tatoeba-hi-en:train", pytest.param("wmt-news-de-en:train", marks=pytest.mark.slow)]
)
def test_published_corpora_have_at_most_notes(name: str, data_directory: Path) -> None:
    languages = ("hi", "en") if "hi" in name else ("de", "en")
    findings = check_corpora(Corpora(*languages, [name], data_directory=data_directory))
    assert all(finding.severity == "note" for finding in findings), findings


@pytest.mark.parametrize("text", ["Un café noir", "Ångström"])
def test_control_characters_are_no_wrong_encoding(text: str) -> None:
    texts = [text, text + "é\x85", text.encode().decode("latin-1"), text.encode().decode("cp1252", "replace"), "\ufffd"]
    found = compute_line_statistics(texts, texts).encoding_damage.tolist()
    assert found == [False, False, True, True, True]
