"""The command line: every command, in this process if possible, otherwise in a new one."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sacrebleu.metrics.bleu import BLEU

import dragoman
from dragoman.evaluation.evaluate import evaluate
from dragoman.recipe import save_recipe
from dragoman.translator import Translator

if TYPE_CHECKING:
    from conftest import Command, RecipeMaker, SmallDisk

COMMANDS = [
    ("quickstart",),
    ("train",),
    ("translate",),
    ("evaluate",),
    ("score",),
    ("info",),
    ("settings",),
    ("data", "list"),
    ("data", "fetch"),
    ("data", "show"),
    ("export",),
    ("import", "huggingface"),
    ("doctor", "model"),
    ("doctor", "data"),
    ("doctor", "output"),
    ("inspect",),
    ("compare",),
]


@pytest.fixture(scope="module")
def source(corpus: Path) -> Path:
    return corpus / "test.de"


@pytest.fixture(scope="module")
def expected(translator: Translator, source: Path) -> list[str]:
    return [translation.text for translation in translator(source.read_text().splitlines())]


def test_texts_are_translated_line_by_line(finished_run: Path, command: Command, translator: Translator) -> None:
    texts = ["Ein Hund läuft.", "", "Zwei Frauen lesen\nein Buch."]
    outcome = command("translate", finished_run, *texts)
    assert outcome.code == 0
    assert outcome.out == "".join(f"{translator(text)}\n" for text in texts)
    assert outcome.error == ""


def test_standard_input_is_translated_to_standard_output(
    finished_run: Path, process: Command, translator: Translator
) -> None:
    lines = ["Ein Hund läuft.", "", "  ", "Zwei Frauen lesen ein Buch.", ""]
    outcome = process("translate", finished_run / "bundle", stdin="\r\n".join(lines).encode() + b"\n")
    assert (outcome.code, outcome.error) == (0, "")
    assert outcome.out == "".join(f"{translator(line)}\n" for line in lines)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_is_translated_to_a_file(
    suffix: str, finished_run: Path, command: Command, source: Path, expected: list[str], tmp_path: Path
) -> None:
    path = tmp_path / f"in{suffix}"
    path.write_bytes(gzip.compress(source.read_bytes()) if suffix else source.read_bytes())
    outcome = command("translate", finished_run, "--input", path, "--output", tmp_path / "out")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "out").read_text().splitlines() == expected


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
    assert (outcome.code, outcome.out) == (2, "")
    assert "fewer prefixes than texts" in outcome.error


def test_ensemble_translates(finished_run: Path, command: Command) -> None:
    alone = command("translate", finished_run, "Ein Hund läuft.")
    outcome = command("translate", finished_run, "Ein Hund läuft.", "--ensemble", finished_run)
    assert (outcome.code, outcome.out) == (0, alone.out)
    outcome = command("translate", finished_run, "x", "--ensemble", finished_run, "--engine", "ctranslate2")
    assert outcome.code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_progress_is_shown_in_a_terminal(finished_run: Path, source: Path, tmp_path: Path) -> None:
    import pty

    arguments = ["translate", str(finished_run), "--input", str(source), "--output", str(tmp_path / "out")]
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-m", "dragoman", *arguments], stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "30 lines" in shown
    assert len((tmp_path / "out").read_text("utf-8").splitlines()) == 30


def test_empty_input_gives_empty_output(finished_run: Path, command: Command, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("")
    assert command("translate", finished_run).out == ""
    assert command("translate", finished_run, "--input", tmp_path / "in", "--output", tmp_path / "out").code == 0
    assert (tmp_path / "out").read_text() == ""


def test_json_lines_contain_all_fields(
    finished_run: Path, command: Command, translator: Translator, source: Path
) -> None:
    exactly = ("--json", "--set", "decoding.n_best=2", "--engine", translator.engine.name)  # others round differently
    outcome = command("translate", finished_run, "--input", source, *exactly)
    settings = translator.decoding.model_copy(update={"n_best": 2})
    translations = Translator(translator.bundle, settings)(source.read_text().splitlines())
    assert [json.loads(line) for line in outcome.out.splitlines()] == [asdict(each) for each in translations]


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
    both = command(
        "translate", finished_run, "--input", source, "--set", "decoding.beam_size=8", "--set", "decoding.beam_size=1"
    )
    assert both.out.splitlines() == greedy


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
        (["--input", "{source}x"], "test.dex: No such file"),
        (["Hund", "--output", "{source}/x"], "could not be saved: Not a directory"),
        (["--beam", "3"], "No such option: --beam"),
    ],
)
def test_translate_rejects_invalid_requests(
    arguments: list[str], message: str, finished_run: Path, command: Command, source: Path
) -> None:
    before = source.read_bytes()
    outcome = command("translate", finished_run, *(argument.format(source=source) for argument in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"a\nb\n\xff\n", "line 3: not valid UTF-8"), (b"a\nb\nc\x00\n", "line 3: control character U+0000")],
)
def test_output_file_is_complete_or_unchanged(
    data: bytes, message: str, finished_run: Path, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "out").write_text("precious")
    for name in ("out", "new"):
        outcome = command("translate", finished_run, "--input", tmp_path / "in", "--output", tmp_path / name)
        assert outcome.code == 2
        assert f"{tmp_path}/in {message}" in outcome.error
    assert (tmp_path / "out").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    outcome = command("translate", finished_run, stdin=data)
    assert outcome.code == 2
    assert f"standard input {message}" in outcome.error


def test_warning_counts_truncated_lines(finished_run: Path, command: Command, translator: Translator) -> None:
    long = "Hund " * 300
    outcome = command("translate", finished_run, long, "Hund", long)
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 3
    assert f"2 lines longer than the model's limit of {translator.source_limit} tokens" in outcome.error


@pytest.mark.parametrize("arguments", [("data", "list"), ("--help",), ("translate", "RUN", "--input", "SOURCE")])
def test_closed_pipe_is_not_an_error(arguments: tuple[str, ...], finished_run: Path, source: Path) -> None:
    """As under ``| head -1``, which goes as soon as it has its line; here it has gone before."""
    reader, writer = os.pipe()
    os.close(reader)
    named = {"RUN": str(finished_run), "SOURCE": str(source)}
    full = [sys.executable, "-m", "dragoman", *(named.get(argument, argument) for argument in arguments)]
    done = subprocess.run(full, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode not in (0, 2)


def test_full_disk_under_standard_output_is_an_error(finished_run: Path, small_disk: SmallDisk) -> None:
    small_disk.resize(4)
    (small_disk.path / "filler").write_bytes(b"x" * 4096)
    with (small_disk.path / "out").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "translate", finished_run, "Hund"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_evaluate_scores_the_output_of_translate(
    finished_run: Path, command: Command, corpus: Path, source: Path, expected: list[str]
) -> None:
    files = ("--source", source, "--reference", corpus / "test.en")
    outcome = command("evaluate", finished_run, *files)
    assert outcome.code == 0
    bleu = BLEU()
    score = bleu.corpus_score(expected, [(corpus / "test.en").read_text().splitlines()]).score
    assert f"BLEU {score:.2f}  {bleu.get_signature()}" in outcome.out
    scores = json.loads(command("evaluate", finished_run, *files, "--json").out)
    assert scores["bleu"] == pytest.approx(score, abs=6e-4)
    assert f"perplexity {scores['perplexity']:.3f}" in outcome.out
    greedy = command("evaluate", finished_run, *files, "--set", "decoding.beam_size=1")
    assert "30 sentences, greedy" in greedy.out


def test_evaluate_rejects_files_of_different_length(
    finished_run: Path, command: Command, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "short").write_text("one\n")
    outcome = command("evaluate", finished_run, "--source", source, "--reference", tmp_path / "short", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "test.de has 30 lines" in outcome.error
    assert "short has 1 lines" in outcome.error


@pytest.mark.parametrize("name", ["evaluate", "compare"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_file_name_after_json_gets_a_hint(
    name: str, place: str, finished_run: Path, command: Command, corpus: Path, source: Path, tmp_path: Path
) -> None:
    runs = (finished_run,) if name == "evaluate" else (finished_run, finished_run)
    arguments = (*runs, "--source", source, "--reference", corpus / "test.en")
    json_file = ("--json", tmp_path / "scores.json")
    outcome = command(name, *json_file, *arguments) if place == "first" else command(name, *arguments, *json_file)
    assert (outcome.code, outcome.out) == (2, "")
    assert "use --json > scores.json" in outcome.error
    assert not (tmp_path / "scores.json").exists()


def test_unexpected_argument_is_rejected(finished_run: Path, command: Command, corpus: Path, source: Path) -> None:
    outcome = command("evaluate", finished_run, "more", "--source", source, "--reference", corpus / "test.en")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unexpected extra argument" in outcome.error
    assert "--json" not in outcome.error


def test_warning_about_long_lines_names_no_code(finished_run: Path, process: Command, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("Hund " * 300 + "\n")
    outcome = process("evaluate", finished_run, "--source", tmp_path / "x", "--reference", tmp_path / "x")
    assert outcome.code == 0
    assert re.fullmatch(r"dragoman: warning: 1 of 1 texts were longer than the model's limit .*\n", outcome.error)


def test_score_prints_a_line_per_pair(
    finished_run: Path, command: Command, corpus: Path, source: Path, translator: Translator
) -> None:
    files = ("--source", source, "--target", corpus / "test.en")
    outcome = command("score", finished_run, *files, "--set", "decoding.length_penalty=0")
    assert outcome.code == 0
    lines = command("score", finished_run, *files, "--set", "decoding.length_penalty=0", "--json").out.splitlines()
    sums = [sum(json.loads(line)["log_probabilities"]) for line in lines]
    assert [float(line) for line in outcome.out.splitlines()] == pytest.approx(sums, abs=1e-4)
    sources, references = (path.read_text("utf-8").splitlines() for path in (source, corpus / "test.en"))
    report, _ = evaluate(translator, sources, references)
    tokens = sum(len(json.loads(line)["log_probabilities"]) for line in lines)
    assert -sum(sums) / tokens == pytest.approx(report.loss, abs=1e-4), "the loss of evaluate, sentence by sentence"


def test_info_of_recipe_run_and_bundle_agree(
    finished_run: Path, command: Command, make_recipe: RecipeMaker, translator: Translator, tmp_path: Path
) -> None:
    save_recipe(make_recipe(), tmp_path / "tiny.toml")
    paths = (tmp_path / "tiny.toml", finished_run, finished_run / "bundle")
    recipe, run, bundle = (json.loads(command("info", path, "--json").out) for path in paths)
    assert run == bundle
    assert recipe["kind"] == "recipe"
    for key in ("parameters", "vocabulary", "settings"):
        assert recipe[key] == bundle[key]
    *parts, total = bundle["parameters"].values()
    assert total == sum(parts) == sum(parameter.numel() for parameter in translator.bundle.model.parameters())
    assert bundle["vocabulary"] == {"source": 400, "target": 400}
    assert bundle["scores"] == translator.bundle.scores != {}
    words = command("info", finished_run).out
    assert f"total: {total:,}" in words
    assert "beam_size: 3" in words


def test_info_counts_the_vocabulary_of_words(command: Command, make_recipe: RecipeMaker, tmp_path: Path) -> None:
    save_recipe(make_recipe("text.tokenizer=whitespace", "text.joint=false", "model.tie=none"), tmp_path / "words.toml")
    about = json.loads(command("info", tmp_path / "words.toml", "--json").out)
    sizes = about["vocabulary"]
    assert sizes["source"] != sizes["target"]
    d_model = about["settings"]["model"]["d_model"]
    assert about["parameters"]["source_embedding"] == sizes["source"] * d_model
    assert about["parameters"]["output"] == sizes["target"] * d_model
    wider = json.loads(command("info", tmp_path / "words.toml", "--json", "--set", "model.d_model=64").out)
    assert wider["parameters"]["source_embedding"] == 2 * about["parameters"]["source_embedding"]


def test_info_of_an_unfinished_run_shows_the_latest_scores(
    finished_run: Path, command: Command, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    shutil.rmtree(run / "bundle")
    about = json.loads(command("info", run, "--json").out)
    assert about["kind"] == "unfinished run"
    assert about["scores"]["step"] == 120
    (run / "metrics.jsonl").unlink()
    assert json.loads(command("info", run, "--json").out)["scores"] == {}


def test_data_list_and_show(command: Command) -> None:
    listed = command("data", "list").out
    assert {"captions", "multi30k", "iitb-en-hi"} <= {line.split()[0] for line in listed.splitlines()}
    shown = command("data", "show", "captions")
    assert shown.code == 0
    assert "languages: de en" in shown.out
    assert "splits: train validation test" in shown.out
    assert len(shown.out.split("\n\n")) == 4, "and three pairs"
    wrong = command("data", "show", "multi30")
    assert wrong.code == 2
    assert "did you mean 'multi30k'?" in wrong.error


def test_data_show_finds_the_files_of_a_mirror(command: Command, data_directory: Path) -> None:
    shown = command("data", "show", "multi30k", "--data-dir", data_directory)
    assert shown.code == 0
    assert str(data_directory) in shown.out


def test_help_has_an_example_and_needs_no_torch() -> None:
    code = f"""
import contextlib, io, sys
from dragoman.cli import app
for command in {COMMANDS}:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        app([*command, "--help"])
    text = " ".join(out.getvalue().split())
    assert "Example: dragoman " + " ".join(command) in text, command
    assert "torch" not in sys.modules, command
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0


def test_commands_are_complete(command: Command) -> None:
    """COMMANDS above lists every command."""
    groups = {names[0] for names in COMMANDS if len(names) == 2}
    for name in ((), *((group,) for group in groups)):
        listed = command(*name, "--help").out.split("Commands:")[1]
        shown = {line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)}
        assert shown == {names[len(name)] for names in COMMANDS if names[: len(name)] == name}


def test_settings_lists_advanced_settings_only_on_request(command: Command) -> None:
    basic, all_settings = command("settings").out, command("settings", "--advanced").out
    assert set(basic.splitlines()) < set(all_settings.splitlines())
    assert "training.minutes" in basic
    assert "\ntraining." not in command("settings", "decoding").out
    refused = command("settings", "trainin")
    assert (refused.code, "did you mean 'training'" in refused.error) == (2, True)


def test_shell_completes_commands_and_options() -> None:
    """Asks dragoman for completions as the script does that --install-completion writes for bash."""
    for words, expected in [("dragoman tr", {"train", "translate"}), ("dragoman train --res", {"--resume"})]:
        request = {"_DRAGOMAN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        script = Path(sys.executable).with_name("dragoman")
        completed = subprocess.run([script], env=os.environ | request, capture_output=True, text=True)
        assert (completed.stderr, set(completed.stdout.split())) == ("", expected)


def test_verbose_names_the_engine(finished_run: Path, command: Command) -> None:
    for engine in ("ctranslate2", "cpu", "torch"):
        outcome = command("translate", finished_run, "Ein Hund läuft.", "--verbose", "--engine", engine)
        assert f"engine: {engine}, device: cpu" in outcome.error
    sampling = ("--set", "decoding.sampling=true")
    assert "ctranslate2 does not support" in command("translate", finished_run, "Hund", "--verbose", *sampling).error


def test_unknown_engine_and_device_are_rejected(finished_run: Path, command: Command) -> None:
    refused = command("translate", finished_run, "Ein Hund läuft.", "--engine", "troch")
    assert (refused.code, "did you mean 'torch'" in refused.error) == (2, True)
    assert command("translate", finished_run, "Ein Hund läuft.", "--device", "cuda:99").code == 2


def test_version(command: Command) -> None:
    assert command("--version").out == f"dragoman {dragoman.__version__}\n"


def test_no_arguments_print_help(command: Command) -> None:
    outcome = command()
    assert "Usage" in outcome.out + outcome.error
    assert outcome.code in (0, 2)


def test_inspect_writes_a_page_and_pictures(
    finished_run: Path, command: Command, translator: Translator, tmp_path: Path
) -> None:
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    outcome = command("inspect", finished_run, "Ein Hund läuft.", "--output", page, "--png", pictures)
    assert (outcome.code, outcome.error) == (0, "")
    said, *files = outcome.out.splitlines()
    assert said == translator("Ein Hund läuft.").text
    assert [Path(file) for file in files] == [page, *(each for each in map(Path, files) if each.parent == pictures)]
    assert {path.name for path in pictures.iterdir()} == {Path(file).name for file in files[1:]}
    assert f">{said}</p>" in page.read_text(encoding="utf-8")


def test_inspect_rejects_empty_text(finished_run: Path, command: Command, tmp_path: Path) -> None:
    outcome = command("inspect", finished_run, " ", "--output", tmp_path / "page.html")
    assert outcome.code == 2
    assert "no word" in outcome.error
    assert not list(tmp_path.iterdir())


def test_compare_prints_scores_tests_and_differences(
    finished_run: Path, command: Command, corpus: Path, source: Path
) -> None:
    files = ("--source", source, "--reference", corpus / "test.en")
    outcome = command("compare", finished_run, finished_run / "bundle", *files)
    assert (outcome.code, outcome.error) == (0, "")
    assert "0 of 30 sentences are translated differently" in outcome.out
    comparison = json.loads(command("compare", finished_run, finished_run / "bundle", *files, "--json").out)
    assert comparison["first"] == comparison["second"]
    assert comparison["differences"] == comparison["significance"] == []
    assert f"BLEU {comparison['first']['bleu']:.2f}" in outcome.out
