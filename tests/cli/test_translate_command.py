"""`dragoman translate`: inputs, outputs, settings and invalid requests."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.cli.output import to_json, to_line
from dragoman.cli.translate import ProblemCounts, with_doubt
from dragoman.documents.translate import TextTranslator
from dragoman.translator import Translation, Translator, load

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture(scope="module")
def source(corpus: Path) -> Path:
    return corpus / "test.de"


@pytest.fixture(scope="module")
def expected(translator: Translator, source: Path) -> list[str]:
    """The translations of the source."""
    return [translation.text for translation in translator(source.read_text().splitlines())]


def test_texts_are_translated_line_by_line(finished_run: Path, command: Command, translator: Translator) -> None:
    texts = ["Ein Hund läuft.", "", "Zwei Frauen lesen ein Buch."]
    outcome = command("translate", finished_run, *texts)
    assert (outcome.code, outcome.error) == (0, "")
    assert outcome.out == "".join(f"{translator(text)}\n" for text in texts)


def test_standard_input_is_translated_to_standard_output(
    finished_run: Path, process: Command, translator: Translator
) -> None:
    lines = ["Ein Hund läuft.", "", "  ", "Zwei Frauen lesen ein Buch.", ""]
    outcome = process("translate", finished_run / "bundle", stdin="\r\n".join(lines).encode() + b"\n")
    assert outcome.code == 0
    assert "line " not in outcome.error, "all lines are usual"
    assert outcome.out == "".join(f"{line if line.isspace() else translator(line)}\n" for line in lines)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_file_is_translated_to_file(
    suffix: str, finished_run: Path, command: Command, source: Path, expected: list[str], tmp_path: Path
) -> None:
    path = tmp_path / f"in{suffix}"
    path.write_bytes(gzip.compress(source.read_bytes()) if suffix else source.read_bytes())
    outcome = command("translate", finished_run, "--input", path, "--output", tmp_path / "out")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "out").read_text().splitlines() == expected


def test_output_named_gz_is_compressed(
    finished_run: Path, command: Command, source: Path, expected: list[str], tmp_path: Path
) -> None:
    outputs = [tmp_path / "a" / "out.gz", tmp_path / "b" / "out.gz"]
    for output in outputs:
        output.parent.mkdir()
        assert command("translate", finished_run, "--input", source, "--output", output).code == 0
    assert gzip.decompress(outputs[0].read_bytes()).decode().splitlines() == expected
    assert outputs[0].read_bytes() == outputs[1].read_bytes(), "it contains no time"
    again = command("translate", finished_run, "--input", outputs[0], "--output", tmp_path / "again.gz")
    assert again.code == 0, "the output can be the next input"


def test_incomplete_compressed_output_is_not_kept(finished_run: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"Ein Hund\n\xff\n")
    assert command("translate", finished_run, "--input", tmp_path / "in", "--output", tmp_path / "out.gz").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_empty_input_gives_empty_output(finished_run: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("")
    outcome = command("translate", finished_run)
    assert (outcome.code, outcome.out) == (0, "")
    assert command("translate", finished_run, "--input", tmp_path / "in", "--output", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_text() == ""


def test_prefixes_begin_the_translations(finished_run: Path, command: Command, tmp_path: Path) -> None:
    tmp_path.joinpath("in").write_text("Ein Hund läuft.\nZwei Frauen lesen.\n")
    tmp_path.joinpath("prefixes").write_text("Three\n\n")
    arguments = ("translate", finished_run, "--input", tmp_path / "in", "--prefixes")
    outcome = command(*arguments, tmp_path / "prefixes")
    first, second = outcome.out.splitlines()
    assert first.startswith("Three")
    assert second == command("translate", finished_run, "Zwei Frauen lesen.").out.rstrip("\n")
    tmp_path.joinpath("few").write_text("Three\n")
    outcome = command(*arguments, tmp_path / "few")
    assert (outcome.code, outcome.out) == (2, f"{first}\n"), "the texts before the error are translated"
    assert "fewer prefixes than texts" in outcome.error
    tmp_path.joinpath("many").write_text("Three\n\nA\n")
    assert "more prefixes than texts" in command(*arguments, tmp_path / "many").error


def test_ensemble_of_equal_models_translates_like_one(finished_run: Path, command: Command) -> None:
    alone = command("translate", finished_run, "Ein Hund läuft.")
    outcome = command("translate", finished_run, "Ein Hund läuft.", "--ensemble", finished_run)
    assert (outcome.code, outcome.out) == (0, alone.out)
    outcome = command("translate", finished_run, "x", "--ensemble", finished_run, "--engine", "ctranslate2")
    assert outcome.code == 2
    assert "an ensemble" in outcome.error


def test_json_lines_contain_all_fields(
    finished_run: Path, command: Command, translator: Translator, source: Path
) -> None:
    engine = ("--engine", translator.engine.name)  # other engines round differently
    options = ("--json", "--set", "decoding.n_best=2", *engine)
    outcome = command("translate", finished_run, "--input", source, *options)
    settings = translator.decoding.model_copy(update={"n_best": 2})
    chosen, lines = load(finished_run, settings), source.read_text().splitlines()
    expected = [asdict(each) for each in TextTranslator(chosen).stream(lines)]
    for each in [one for found in expected for one in (found, *found["alternatives"])]:
        del each["links"]  # which are for documents
    assert [json.loads(line) for line in outcome.out.splitlines()] == expected


def test_alternatives_follow_on_the_same_line(finished_run: Path, command: Command, translator: Translator) -> None:
    outcome = command("translate", finished_run, "Ein Hund.", "", "--set", "decoding.n_best=3")
    first, empty = outcome.out.splitlines()
    assert len(first.split("\t")) == 3
    assert first.split("\t")[0] == translator("Ein Hund.").text
    assert empty == ""


def test_decoding_settings_can_be_changed(
    finished_run: Path, command: Command, translator: Translator, source: Path, expected: list[str]
) -> None:
    settings = translator.decoding.model_copy(update={"beam_size": 1})
    greedy = [each.text for each in Translator(translator.bundle, settings)(source.read_text().splitlines())]
    assert greedy != expected
    outcome = command("translate", finished_run, "--input", source, "--set", "decoding.beam_size=1")
    assert outcome.out.splitlines() == greedy
    both = ("--set", "decoding.beam_size=8", "--set", "decoding.beam_size=1")
    assert command("translate", finished_run, "--input", source, *both).out.splitlines() == greedy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "model.d_model=64"], "--set model.d_model=64: only decoding.* can be changed for a trained model"),
        (["--set", "decoding.beam_sise=2"], "did you mean 'beam_size'?"),
        (["--set", "decoding.beam_size=0"], "decoding.beam_size"),
        (["--set", "decoding.n_best=9"], "n_best = 9 is more than beam_size = 3"),
        (["--set", "decoding.beam_size"], "expected SECTION.KEY=VALUE"),
        (["Hund", "--input", "{source}"], "give texts or --input, not both"),
        (["--input", "{source}", "--output", "{source}"], "is also the input"),
        (["Hund", "--output", "{source}", "--glossary", "{source}"], "is also the glossary"),
        (["Hund", "--output", "{source}", "--memory", "{source}"], "is also a memory"),
        (["Hund", "--output", "{source}", "--memory", "{pattern}"], "is also a memory"),
        (["--output", "{source}", "--prefixes", "{source}"], "is also the prefixes"),
        (["--input", "{source}x"], "test.dex: no such file"),
        (["Hund", "--output", "{source}/x"], "there is no directory"),
        (["--beam", "3"], "No such option: --beam"),
    ],
)
def test_translate_rejects_invalid_requests(
    arguments: list[str], message: str, finished_run: Path, command: Command, source: Path
) -> None:
    before = source.read_bytes()
    paths = {"source": source, "pattern": f"{source.with_suffix('')}.{{lang}}"}
    outcome = command("translate", finished_run, *(argument.format(**paths) for argument in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error
    assert source.read_bytes() == before


def test_empty_translations_are_reported(finished_run: Path, command: Command, tmp_path: Path) -> None:
    bundle = Bundle.load(finished_run)
    norm, end = bundle.model.decoder_norm, bundle.model.output.weight[bundle.target.vocabulary.eos]
    assert isinstance(norm, torch.nn.LayerNorm)
    with torch.no_grad():  # so that the output of the decoder is always the embedding of the end of the sentence
        norm.weight.zero_()
        norm.bias.copy_(100 * end)
    bundle.save(tmp_path / "silent")
    outcome = command("translate", tmp_path / "silent", "Ein Hund läuft.", "", "Eine Katze schläft. Ein Hund läuft.")
    assert (outcome.code, outcome.out) == (0, "Ein Hund läuft.\n\nEine Katze schläft. Ein Hund läuft.\n")
    assert "warning: 2 lines with a sentence that the model leaves empty, so it is not translated" in outcome.error
    outcome = command("translate", tmp_path / "silent", "--format", "html", "<p>Ein Hund läuft.</p><p>1</p>")
    assert "warning: 1 part with a sentence that the model leaves empty, so it is not translated" in outcome.error


def test_doubtful_translations_are_counted_where_nobody_sees_them(
    finished_run: Path, command: Command, corpus: Path, tmp_path: Path
) -> None:
    source, output = corpus / "test.de", tmp_path / "out.jsonl"
    shown = command("translate", finished_run, *source.read_text("utf-8").splitlines(), "--json")
    assert "repeated words" not in shown.error
    problems = [json.loads(line)["problems"] for line in shown.out.splitlines()]
    doubtful = sum(bool({"loop", "copied", "too short", "too long"} & set(each)) for each in problems)
    assert doubtful
    written = command("translate", finished_run, "--input", source, "--json", "--output", output)
    assert f"warning: {doubtful} translation" in written.error
    assert "repeated words, a copied sentence or an unusual length; --json" in written.error
    assert output.read_text("utf-8") == shown.out


def test_translations_of_which_the_model_is_unsure_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    counts = ProblemCounts("line")
    for confidence, problems in ((None, []), (0.9, ["loop"]), (0.3, []), (0.1, ["missing: 5"]), (0.2, [])):
        counts.add(with_doubt(Translation("", problems=problems, confidence=confidence)))
    counts.warn(unseen=False)
    seen = capsys.readouterr().err
    assert "1 translation with other placeholders" in seen
    assert "confidence" not in seen
    counts.warn(unseen=True)
    unseen = capsys.readouterr().err
    assert "2 translations with a confidence below 30%" in unseen
    assert "1 translation with repeated words" in unseen


def test_long_lines_are_divided(finished_run: Path, command: Command, translator: Translator) -> None:
    long = "Hund " * 300
    outcome = command("translate", finished_run, long, "Ein Hund.", long)
    assert (outcome.code, outcome.error) == (0, "")
    first, _, third = outcome.out.splitlines()
    assert first == third
    assert len(first) > 2 * len(str(translator(long[:50])))


def test_lines_with_prefixes_are_truncated_and_counted(
    finished_run: Path, command: Command, translator: Translator, tmp_path: Path
) -> None:
    (tmp_path / "prefixes").write_text("A\n\nA\n")
    long = "Hund " * 300
    outcome = command("translate", finished_run, long, "Hund", long, "--prefixes", tmp_path / "prefixes")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 3
    assert f"2 lines longer than the model's limit of {translator.source_limit} tokens" in outcome.error


def test_sentences_of_a_line_are_translated_separately(
    finished_run: Path, command: Command, translator: Translator
) -> None:
    sentences = ["Ein Hund läuft.", "Zwei Frauen lesen ein Buch."]
    outcome = command("translate", finished_run, " ".join(sentences), "--json")
    assert (outcome.code, outcome.error) == (0, "")
    found, parts = json.loads(outcome.out), translator(sentences)
    first, second = map(str, parts)
    assert found["text"] == f"{first}{'.' * first[-1].isalnum()} {second}"
    assert found["tokens"] == [token for part in parts for token in part.tokens]
    assert not found["truncated"]


def test_only_a_line_without_alternatives_keeps_its_spaces() -> None:
    assert to_line(Translation("\tA dog,\na cat ")) == "\tA dog, a cat "
    translation = Translation(" A dog ", alternatives=[Translation("A  hound\t")])
    assert to_line(translation) == "A dog\tA hound"
    assert json.loads(to_json(translation))["text"] == " A dog "


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\u2028"])
def test_a_text_of_several_lines_is_translated_like_a_file(
    line_break: str, finished_run: Path, tmp_path: Path, command: Command
) -> None:
    lines = ["  1. Ein Hund läuft.", "", "  2. Zwei Frauen lesen. Ein Kind spielt.", "Ciao ragazzi, come state oggi?"]
    (tmp_path / "file").write_text("\n".join(lines), "utf-8")
    from_file = command("translate", finished_run, "--input", tmp_path / "file")
    outcome = command("translate", finished_run, line_break.join(lines))
    assert (outcome.code, outcome.out) == (from_file.code, from_file.out)
    assert from_file.error.startswith(outcome.error), "a file also gets the numbers of problems"
    assert [line[:5] for line in outcome.out.splitlines()[:3:2]] == ["  1. ", "  2. "]
    assert "line 4" in outcome.error
