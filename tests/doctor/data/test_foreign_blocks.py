"""Large parts of a corpus in another language are found, although the corpus itself shows what its languages are."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest

from dragoman.corpus.corpus import read_corpus
from dragoman.doctor import Finding
from dragoman.doctor.data.check import check_corpora
from dragoman.doctor.data.corpora import Corpora
from dragoman.doctor.data.line_languages import OWN, LineLanguageFinder
from dragoman.doctor.data.words import find_words

SIZE = 4000


@pytest.fixture(scope="module")
def captions(data_directory: Path) -> dict[str, list[str]]:
    """The same captions in several languages."""
    texts = {}
    for language, other in (("fr", "cs"), ("cs", "fr"), ("de", "en"), ("en", "de")):
        pairs = read_corpus(
            "multi30k:train", source_language=language, target_language=other, data_directory=data_directory
        )
        texts[language] = [pair.source for pair in islice(pairs, SIZE)]
    return texts


def check_french_czech(directory: Path, french: list[str], czech: list[str]) -> tuple[list[Finding], str]:
    """The findings about two files, and the French side of the cleaned copy."""
    for language, lines in (("fr", french), ("cs", czech)):
        (directory / f"train.{language}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    findings = check_corpora(Corpora("fr", "cs", [f"{directory}/train.{{lang}}"]), directory / "clean")
    return findings, (directory / "clean" / "train.fr").read_text(encoding="utf-8")


def wrong_language(findings: list[Finding]) -> Finding:
    assert not {finding.code for finding in findings} & {"misaligned", "swapped-sides"}, findings
    return next(finding for finding in findings if finding.code == "wrong-language")


@pytest.mark.parametrize("language", ["de", "en", "cs"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_block_in_another_language_is_found_whatever_its_size(
    captions: dict[str, list[str]], tmp_path: Path, language: str, share: float
) -> None:
    count = int(share * SIZE)
    first = SIZE - count
    others = captions[language][first:]
    if language == "cs":  # the language of the other side, but no copies
        others = others[1:] + others[:1]
    findings, cleaned = check_french_czech(tmp_path, captions["fr"][:first] + others, captions["cs"])
    finding = wrong_language(findings)
    assert finding.severity == "error"
    assert 0.9 * count <= finding.measured["count"] <= count + 0.002 * SIZE
    (block,) = finding.measured["blocks"]
    assert (block["side"], block["language"]) == ("source", language)
    assert block["first"] == pytest.approx(first + 1, abs=5)
    assert block["last"] == pytest.approx(SIZE, abs=5)
    assert len(set(cleaned.splitlines()) & set(others)) <= 0.1 * count, "most foreign lines are not in the cleaned copy"


def test_many_lines_in_another_language_are_found_anywhere(captions: dict[str, list[str]], tmp_path: Path) -> None:
    replaced = set(random.Random(1).sample(range(SIZE), SIZE // 3))
    french = [captions["de" if index in replaced else "fr"][index] for index in range(SIZE)]
    finding = wrong_language(check_french_czech(tmp_path, french, captions["cs"])[0])
    assert 0.9 * len(replaced) <= finding.measured["count"] <= len(replaced) + 0.002 * SIZE


def test_clean_text_has_no_block_in_another_language(captions: dict[str, list[str]], tmp_path: Path) -> None:
    findings, _ = check_french_czech(tmp_path, captions["fr"], captions["cs"])
    others = [finding for finding in findings if finding.code != "duplicates"]
    assert {finding.code for finding in others}.isdisjoint(("wrong-language", "wrong-script", "second-language")), (
        findings
    )
    assert sum(finding.measured["count"] for finding in others) <= 0.005 * SIZE, findings


@pytest.mark.parametrize("own", ["de", "en", "fr", "cs"])
def test_function_words_show_the_language_of_a_line(captions: dict[str, list[str]], own: str) -> None:
    finder = LineLanguageFinder(own)
    shares = {language: float((finder.find(find_words(texts)) != OWN).mean()) for language, texts in captions.items()}
    assert all(share > 0.7 for language, share in shares.items() if language != own), shares
    assert shares[own] < 0.05, shares


def test_lines_are_in_the_language_of_their_side_if_its_function_words_are_unknown(
    captions: dict[str, list[str]],
) -> None:
    assert (LineLanguageFinder("xx").find(find_words(captions["de"])) == OWN).all()
