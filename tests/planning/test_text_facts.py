"""What is counted is what a reader of the files would count."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from dragoman.corpus.pair import Pair
from dragoman.corpus.synthetic.captions import captions
from dragoman.dataset.buckets import plan_epoch
from dragoman.errors import UserError
from dragoman.planning.budget import MachineSpeed
from dragoman.planning.plan import Texts, measure_subwords, plan_with
from dragoman.planning.text_facts import SideFacts, TextFacts, collect_facts
from dragoman.settings import CorpusFile, WeightedCorpus
from dragoman.text.registry import train_tokenizers

TEXT = [("Ein Hund läuft.", "एक कुत्ता दौड़ता है।"), ("", "nothing"), ("Zwei Hunde", "दो कुत्ते"), ("A", " ")]


def test_complete_pairs_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in TEXT), encoding="utf-8")
    facts, _ = collect_facts([WeightedCorpus(corpus=str(path))] * 2, ("de", "hi"), None)
    complete = [pair for pair in TEXT if pair[0].strip() and pair[1].strip()] * 2
    assert facts.pairs == len(complete) == 4
    for side, texts in zip((facts.source, facts.target), zip(*complete, strict=True), strict=True):
        assert side.characters == sum(map(len, texts))
        assert side.words == sum(len(text.split()) for text in texts)
        assert side.has_spaces
    assert (facts.source.script, facts.target.script) == ("Latin", "Devanagari")
    assert not facts.joint


def test_pairs_are_counted_as_often_as_an_epoch_contains_them(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("Ein Hund.\tA dog.\n" * 100, encoding="utf-8")
    (one, _), (weighted, _) = (
        collect_facts(corpora, ("de", "en"), None)
        for corpora in (
            [WeightedCorpus(corpus=str(path))],
            [WeightedCorpus(corpus=str(path), weight=weight) for weight in (0.05, 2.0)],
        )
    )
    assert weighted.pairs == 205
    assert weighted.target_tokens == pytest.approx(2.05 * one.target_tokens, rel=0.01)
    assert weighted == one.with_pairs(105)


def test_a_sample_is_evenly_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.planning.text_facts.MAX_SAMPLE", 10)
    monkeypatch.setattr("dragoman.planning.text_facts.CHUNK", 7)
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{number}\t{number}\n" for number in range(100)), "utf-8")
    _, sample = collect_facts([WeightedCorpus(corpus=str(path))], ("de", "en"), None)
    numbers = [int(pair.source) for pair in sample]
    assert 5 <= len(numbers) <= 10
    assert max(after - before for before, after in pairwise([0, *numbers, 100])) <= 20


@pytest.mark.parametrize("number", [1, 50, 2100, 7000])
def test_a_sample_of_several_directions_has_all_of_them(number: int, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"ein Hund {index}\tодна собака {index}\n" for index in range(number)), "utf-8")
    directions = [("de", "ru"), ("ru", "de")]
    facts, sample = collect_facts([WeightedCorpus(corpus=str(path))], directions[0], None, directions)
    counts = Counter(pair.direction for pair in sample)
    assert abs(counts[directions[0]] - counts[directions[1]]) <= 1
    texts = Texts(directions[0], [CorpusFile(file="x.tsv", languages=directions[0])], directions=tuple(directions))
    recipe = plan_with(texts, facts, None, MachineSpeed(1e12)).recipe()
    assert (recipe.text.joint, recipe.model.tie) == (True, "all"), "models of several directions need one vocabulary"


def test_subwords_are_measured() -> None:
    """Chinese characters are words or large parts of words; the same sentences have fewer of them."""
    pairs = [Pair(source, target) for source, target in islice(captions("train"), 2000)]
    side, other = SideFacts(1, 1, "Latin"), SideFacts(1, 1, "Han or Kana")
    facts = TextFacts(len(pairs), side, side)
    measured = measure_subwords(facts, pairs, ("de", "en"))
    recipe = plan_with(Texts(("de", "en"), ["x.tsv"]), facts, None, MachineSpeed(1e12)).recipe().text
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    _, tokenizer = train_tokenizers(sources, targets, recipe, source_language="de", target_language="en")
    expected = sum(map(len, targets)) / sum(map(len, tokenizer.encode(targets)))
    assert measured.characters_per_subword == pytest.approx(expected)
    characters = {word: chr(0x4E00 + index) for index, word in enumerate(sorted({*" ".join(targets).split()}))}
    chinese = [Pair(pair.source, "".join(characters[word] for word in pair.target.split())) for pair in pairs]
    fewer = measure_subwords(TextFacts(len(chinese), side, other), chinese, ("de", "zh"))
    assert fewer.characters_per_subword < measured.characters_per_subword / 1.5


@pytest.mark.parametrize(("joined", "repeats"), [(1, 1), (1, 3), (6, 1)])
def test_estimated_steps_are_those_of_training(joined: int, repeats: int) -> None:
    """A batch is full when one of its sides is: with longer sources, after fewer pairs; some room stays unused."""
    lines = list(captions("train"))[: 3000 * joined]
    groups = [lines[first : first + joined] for first in range(0, len(lines), joined)]
    pairs = [
        Pair(" ".join(repeats * [source for source, _ in group]), " ".join(target for _, target in group))
        for group in groups
    ]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    source, target = (SideFacts(sum(map(len, side)), 1, "Latin") for side in (sources, targets))
    facts = measure_subwords(TextFacts(len(pairs), source, target), pairs, ("de", "en"))
    recipe = plan_with(Texts(("de", "en"), ["x.tsv"]), facts, None, MachineSpeed(1e12)).recipe()
    tokenizers = train_tokenizers(sources, targets, recipe.text, source_language="de", target_language="en")
    source_lengths, target_lengths = (
        np.array([len(ids) + 1 for ids in tokenizer.encode(texts)])
        for tokenizer, texts in zip(tokenizers, (sources, targets), strict=True)
    )
    exchanged = measure_subwords(
        TextFacts(len(pairs), target, source), [Pair(pair.target, pair.source) for pair in pairs], ("en", "de")
    )
    assert exchanged.computed_tokens == pytest.approx(facts.computed_tokens, rel=0.05), "they take the same time"
    size = recipe.training.length_groups
    for batch_tokens in (1024, 4096):
        steps = len(plan_epoch(source_lengths, target_lengths, batch_tokens // size, seed=1, epoch=0)) / size
        assert facts.steps_per_epoch(batch_tokens) == pytest.approx(steps, rel=0.05)


def test_text_without_spaces_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "我们在公园里散步，然后去吃晚饭 (OK, go)。\tWe walk in the park and then have dinner.\n",
        encoding="utf-8",
    )
    facts, _ = collect_facts([WeightedCorpus(corpus=str(path))], ("zh", "en"), None)
    assert (facts.source.has_spaces, facts.target.has_spaces) == (False, True)


def test_text_without_pairs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\t\n\tb\n")
    with pytest.raises(UserError, match=r"no pair with text on both sides|only empty lines"):
        collect_facts([WeightedCorpus(corpus=str(tmp_path / "pairs.tsv"))], ("de", "en"), None)
