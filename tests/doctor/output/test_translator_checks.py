"""Faults that show in the vocabulary and the model of a translator are found."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from test_text_checks import WRONG

import dragoman
from dragoman.corpus.synthetic.captions import captions
from dragoman.doctor import Finding
from dragoman.doctor.findings.output import OUTPUT_FINDINGS
from dragoman.doctor.output import translator_checks
from dragoman.doctor.output.check import NEED_MANY_SENTENCES, check_translator

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Command

SOURCES, REFERENCES = (list(side) for side in zip(*islice(captions("test"), 30), strict=True))


def find(translator: dragoman.Translator, code: str) -> Finding:
    return next(one for one in check_translator(translator, SOURCES, REFERENCES) if one.code == code)


def find_codes(translator: dragoman.Translator, sources: list[str], references: list[str]) -> set[str]:
    return {finding.code for finding in check_translator(translator, sources, references)}


def measure_losses(translator: dragoman.Translator) -> tuple[float, float]:
    measured = find(translator, "translations-ignore-source").measured
    return measured["loss"], measured["loss_with_other_sources"]


def test_a_translator_that_ignores_its_source_is_found(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = dragoman.load(finished_run)
    monkeypatch.setattr(translator_checks, "MIN_LOSS_INCREASE", 1.0)  # more than 120 steps of training reach
    loss, loss_with_others = measure_losses(translator)
    assert loss != loss_with_others
    with torch.no_grad():
        for name, parameter in translator.bundle.model.named_parameters():
            if "memory_attention.output" in name:
                parameter.zero_()
    loss, loss_with_others = measure_losses(translator)
    assert loss == pytest.approx(loss_with_others, rel=1e-6)


def test_shuffled_references_are_not_the_fault_of_the_model(
    finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = dragoman.load(finished_run)
    copies = [str(translation) for translation in translator(SOURCES)]
    for name in ("MIN_LOSS_INCREASE", "MIN_OWN_INCREASE"):
        monkeypatch.setattr(translator_checks, name, 0.005)  # 120 steps of training do not reach more
    ordered = find_codes(translator, SOURCES, copies)
    assert not ordered & {"shuffled-references", "translations-ignore-source"}, "its own translations fit best"
    half = len(copies) // 2
    shuffled = find_codes(translator, SOURCES, [*copies[half:], *copies[:half]])
    assert "shuffled-references" in shuffled
    assert "translations-ignore-source" not in shuffled


def test_wrong_files_hide_their_consequences(finished_run: Path) -> None:
    translator = dragoman.load(finished_run)
    assert find_codes(translator, REFERENCES, SOURCES) == {"exchanged-sides"}
    few = find_codes(translator, ["", *SOURCES[:8]], ["A man.", *REFERENCES[:8]])
    assert {"few-sentences", "empty-lines"} <= few
    assert not few & NEED_MANY_SENTENCES


def test_unknown_tokens_are_counted(finished_run: Path) -> None:
    translator = dragoman.load(finished_run)
    tokenizer = translator.bundle.source
    assert not any(tokenizer.vocabulary.unk in ids for ids in tokenizer.encode(SOURCES))
    encode = tokenizer.encode
    tokenizer.encode = lambda texts: [[*ids, *[tokenizer.vocabulary.unk] * 5] for ids in encode(texts)]  # type: ignore[method-assign]
    assert find(translator, "unknown-tokens").measured["count"] == 150


def permute_embeddings(translator: dragoman.Translator) -> None:
    """Let tokens have the vectors of others, as in a bundle with the vocabulary of another model."""
    weight = translator.bundle.model.source_embedding.weight
    generator = torch.Generator().manual_seed(1)
    first = 10  # special tokens stay
    with torch.no_grad():
        weight[first:] = weight[torch.randperm(len(weight) - first, generator=generator) + first]


def randomize(translator: dragoman.Translator) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in translator.bundle.model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * parameter.std())


@pytest.mark.parametrize("damage", [permute_embeddings, randomize])
def test_a_model_that_predicts_worse_than_frequencies_has_one_finding(
    finished_run: Path, damage: Callable[[dragoman.Translator], None]
) -> None:
    translator = dragoman.load(finished_run, engine="torch")
    assert "unpredicted-references" not in find_codes(translator, SOURCES, REFERENCES), "little training is no fault"
    damage(translator)
    assert find_codes(translator, SOURCES, REFERENCES) == {"unpredicted-references"}
    of_this_kind = find(translator, "unpredicted-references")
    assert of_this_kind.measured["loss"] > of_this_kind.measured["frequency_loss"]
    assert "do not belong together" in of_this_kind.cause


def test_wrong_references_are_not_unpredicted(finished_run: Path) -> None:
    translator = dragoman.load(finished_run)
    assert "unpredicted-references" not in find_codes(translator, SOURCES, [*REFERENCES[15:], *REFERENCES[:15]])


def test_every_code_is_tested() -> None:
    # These are in test_input_checks.py, test_source_checks.py, test_reference_shifts.py and test_text_checks.py.
    of_files = {"exchanged-sides", "unexpected-language", "empty-lines", "few-sentences", "unusual-sources"}
    of_files |= {"shifted-references", "text-form", "reference-form", "unusual-references"}
    of_translators = {
        "unpredicted-references",
        "exposure-gap",
        "unknown-tokens",
        "translations-ignore-source",
        "shuffled-references",
    }
    assert WRONG.keys() | of_files | of_translators == OUTPUT_FINDINGS.keys()


def test_command(command: Command, finished_run: Path, corpus: Path) -> None:
    files = "--source", corpus / "test.de", "--reference", corpus / "test.en"
    outcome = command("doctor", "output", finished_run, *files, "--json")
    findings = json.loads(outcome.out)
    assert outcome.code == any(finding["severity"] == "error" for finding in findings)
    assert {finding["code"] for finding in findings} <= OUTPUT_FINDINGS.keys()
    assert command("doctor", "output", corpus, *files).code == 2
