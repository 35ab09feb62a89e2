"""Measure teachers: wrong answers, the way over HTTP, kills, and estimates.

    python benchmarks/teachers.py faults
    python benchmarks/teachers.py http runs/multi30k-de-en
    python benchmarks/teachers.py kills --number 200
    python benchmarks/teachers.py estimate

`faults` makes answers from pairs of the corpora in $DRAGOMAN_DATA, each wrong in one way, and counts what becomes of
each translation. `http` compares `dragoman synthesize` over the protocols of services with the same bundle on disk.
`kills` and `estimate` use a server that translates captions by a table. The quality of a student takes an hour on
an idle machine, with a stronger teacher behind LibreTranslate's protocol (MONO: 60,000 captions of multi30k/task2):

    for side in de en; do zcat $DRAGOMAN_DATA/multi30k/train.$side.gz | head -14500 > half.$side; done
    dragoman serve runs/multi30k-60-minutes &
    dragoman synthesize --teacher libretranslate:http://127.0.0.1:5000 --languages de-en --mono MONO --output made.tsv
    dragoman train half.de half.en --minutes 20 --output runs/half
    dragoman convert half.de half.en half.tsv --languages de-en
    dragoman train half.tsv made.tsv --languages de-en --minutes 20 --output runs/half-made
    dragoman compare runs/half runs/half-made --source test.de --reference test.en
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "synthesis"))

from teacher_faults import FAULTS, as_json, prepare
from teacher_server import TeacherServer, serve_teacher

from dragoman.cli import main as main_of_command
from dragoman.corpus.corpus import read_corpus
from dragoman.corpus.pair import Languages, Pair
from dragoman.synthesis.answer_checks import check_answers
from dragoman.synthesis.answers import Rejected, read_answer
from dragoman.synthesis.pair_checks import PairFilter
from dragoman.synthesis.synthesis import open_synthesis  # noqa: F401 (imported before processes are forked)
from dragoman.synthesis.teachers import SERVICES

SIZE = 10  # sentences in an answer
CORPORA: dict[str, tuple[str, Languages]] = {
    "multi30k": ("multi30k/train", ("de", "en")),
    "tatoeba": ("tatoeba-de-en/train", ("de", "en")),
    "news": ("wmt-news-de-en/train", ("de", "en")),
    "europarl": ("europarl-20k-de-en/train", ("de", "en")),
    "libreoffice": ("libreoffice-de-en/train", ("de", "en")),
    "hindi": ("iitb-hetc-sample-en-hi/train", ("en", "hi")),
    "sorbian": ("sorbian/de-hsb/train", ("de", "hsb")),
}
FAULTY_CORPUS = "multi30k"  # with a third language for the fault "another language"


def read_lines(path: Path, number: int) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.strip() for _, line in zip(range(number), lines, strict=False)]


def read_pairs(data: Path, name: str, number: int) -> list[Pair]:
    path, languages = CORPORA[name]
    files = [next((data / path).parent.glob(f"{Path(path).name}*.{language}.gz")) for language in languages]
    pairs = map(Pair, *(read_lines(file, number) for file in files))
    return [pair for pair in pairs if pair.complete and any(map(str.isalpha, pair.source))]


def measure_faults(data: Path, answers: int) -> None:
    """Prints, for each way of being wrong, how many translations met the expected fate, and the reasons of the rest."""
    pairs = read_pairs(data, FAULTY_CORPUS, 5000 + SIZE * answers)
    languages = CORPORA[FAULTY_CORPUS][1]
    foreign = read_lines(data / "multi30k" / "train.fr.gz", 5000 + SIZE * answers)
    pair_filter = PairFilter.compared_with(pairs[:5000], languages)
    wrong_total = wrong_caught = right_total = right_kept = 0
    for name, make in FAULTS.items():
        caught = number = 0
        missed: Counter[str] = Counter()
        for index in range(answers):
            start, place = 5000 + SIZE * index, random.Random(f"{name} {index}").randrange(SIZE)
            part = pairs[start : start + SIZE]
            sources, targets = prepare(name, [pair.source for pair in part], [pair.target for pair in part], place)
            answer = make(sources, targets, place, foreign[start + place])
            usual = check_answers(sources, read_answer(as_json(targets), sources), pair_filter)
            found = check_answers(sources, read_answer(answer.text, sources, cut=answer.cut), pair_filter)
            for each, (read, fate) in enumerate(zip(found, answer.fates, strict=True)):
                if each in answer.faulty:
                    is_met = read.reason in fate if isinstance(read, Rejected) else not fate and read == targets[each]
                    if not fate and isinstance(usual[each], Rejected):
                        continue  # the pair itself is rejected, too
                    number += 1
                    caught += is_met
                    if not is_met:
                        missed[read.reason if isinstance(read, Rejected) else f"kept: {read}"] += 1
                elif not fate:
                    right_total += 1
                    right_kept += read == targets[each]
        wrong_total, wrong_caught = wrong_total + number, wrong_caught + caught
        print(f"{name:34} {caught:4} of {number:4}  {missed.most_common(2) if missed else ''}")
    print(f"all: {wrong_caught:,} of {wrong_total:,} ({wrong_caught / wrong_total:.2%}) repaired or rightly rejected")
    print(f"right ones among them: {right_kept:,} of {right_total:,} kept ({right_kept / right_total:.2%})")


def measure_right(data: Path, number: int) -> None:
    """Prints how many pairs by people are rejected or changed if they are the answers."""
    for name, (_, languages) in CORPORA.items():
        pairs = read_pairs(data, name, number)
        pair_filter, reasons, changed = PairFilter.compared_with(pairs, languages), Counter[str](), []
        examples: dict[str, list[tuple[str, str]]] = {}
        for start in range(0, len(pairs), SIZE):
            part = pairs[start : start + SIZE]
            sources = [pair.source for pair in part]
            answer = read_answer(as_json([pair.target for pair in part]), sources)
            for pair, read in zip(part, check_answers(sources, answer, pair_filter), strict=True):
                if isinstance(read, Rejected):
                    reasons[read.reason] += 1
                    examples.setdefault(read.reason, []).append((pair.source, pair.target))
                elif " ".join(pair.target.split()) != read:
                    changed.append((pair.target, read))
        share = reasons.total() / len(pairs)
        print(
            f"{name:12} {len(pairs):6,} pairs: {share:.2%} rejected, {len(changed) / len(pairs):.2%} changed; "
            f"{dict(reasons.most_common())}"
        )
        if os.environ.get("SHOW_EXAMPLES"):
            for reason, example in examples.items():
                print("   ", reason, *example[:9], sep="\n        ")
            for each in changed[:6]:
                print("    changed", each)


def captions(number: int) -> list[Pair]:
    """Captions without repeated sources."""
    corpus = read_corpus("captions:train", source_language="de", target_language="en")
    pairs = {pair.source: pair for pair in corpus}
    return list(pairs.values())[:number]


def command(server: str, mono: Path, output: Path, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "dragoman", "synthesize", "--teacher", server, "--languages", "de-en"),
        *("--mono", str(mono), "--output", str(output), *options),
    ]


def run_forked(arguments: Sequence[str]) -> int:
    """Start the command in a forked process, which has imported everything; returns its number."""
    if number := os.fork():
        return number
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.argv = ["dragoman", *arguments]
        main_of_command()
    finally:
        os._exit(0)


def measure_kills(number: int) -> None:
    """Kills the command at random moments, and counts answers that were given twice.

    What it writes in the end is compared with what it writes if it is not killed.
    """
    pairs = captions(20 * number)
    table = {pair.source: pair.target for pair in pairs}
    generator, kills, most = random.Random(1), 0, 4
    with tempfile.TemporaryDirectory() as name:
        mono, output = Path(name, "mono.de"), Path(name, "out.tsv")
        mono.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
        whole = output.with_name("whole.tsv")
        with serve_teacher(TeacherServer(table.__getitem__)) as server:
            seconds_of(command(server.address, mono, whole, "--model", "m"))
        with serve_teacher(TeacherServer(table.__getitem__, seconds=0.05)) as server:
            run = command(server.address, mono, output, "--model", "m", "--parallel", str(most), "--resume")[3:]
            while not output.exists():
                if generator.random() < 0.3:  # as if the server was killed: it loses what it has received
                    server.faults.extend(["broken"] * generator.randrange(1, 4))
                child, target = run_forked(run), server.answered.total() + generator.randrange(0, 4)
                moment = generator.random() * 0.1
                while (ended := os.waitpid(child, os.WNOHANG)[0] == child) is False:
                    time.sleep(0.005)
                    if kills < number and server.answered.total() >= target:
                        break
                if not ended:
                    time.sleep(moment)
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    kills += 1
            repeated = sum(count - 1 for count in server.answered.values())
            lines, expected = (path.read_text("utf-8").splitlines()[1:] for path in (output, whole))
    print(
        f"{kills} kills; {len(lines):,} pairs, as without kills: {lines == expected}; {repeated} answers were given "
        f"twice, at most {most} for each kill ({most * kills:,})"
    )


def measure_estimate(sentences: int) -> None:
    """Compares an estimate with the tokens and the time of the whole text, for two kinds of servers."""
    pairs = captions(sentences)
    table = {pair.source: pair.target for pair in pairs}
    for name, seconds, single in (("constant time", 0.2, False), ("one after another", 0.05, True)):
        with tempfile.TemporaryDirectory() as directory, serve_teacher(TeacherServer(table.__getitem__)) as server:
            server.seconds = seconds
            server.one_at_a_time = single
            mono, output = Path(directory, "mono.de"), Path(directory, "out.tsv")
            mono.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
            run = command(server.address, mono, output, "--model", "m", "--price", "1:2")
            shown = subprocess.run([*run, "--estimate"], capture_output=True, text=True, check=True).stdout
            tail = shown.splitlines()[-1]
            started = time.monotonic()
            finished = subprocess.run(run, capture_output=True, text=True, check=True)
            took = time.monotonic() - started
            used = re.findall(r"[\d,]+ tokens sent, [\d,]+ received, cost [\d.]+", finished.stderr)
            print(f"{name}\n  estimate: {tail}\n  whole: {used[-1] if used else finished.stderr}, {took:.1f} seconds")


@contextmanager
def serving(bundle: Path) -> Iterator[str]:
    """The address of `dragoman serve` with a bundle."""
    run = [sys.executable, "-m", "dragoman", "serve", str(bundle), "--port", "0"]
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield process.stderr.readline().strip().removeprefix("dragoman: ")
        finally:
            process.terminate()


def measure_http(bundle: Path, data: Path, data_set: bool, lines: int, repeats: int) -> None:
    """Compares text and speed over HTTP with those of the same bundle on disk, in turn."""
    with tempfile.TemporaryDirectory() as name, serving(bundle) as address:
        directory = Path(name)
        mono = directory / "mono.de"
        texts = [pair.source for pair in captions(lines)]
        if data_set:
            texts = read_lines(next((data / "multi30k" / "task2").glob("train*.de.gz")), lines)
        mono.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        few = directory / "few.de"
        few.write_text("".join(f"{text}\n" for text in texts[:10]), "utf-8")
        teachers = {"disk": str(bundle), **{protocol: f"{protocol}:{address}" for protocol in SERVICES}}
        for repeat in range(repeats):
            seconds: dict[str, float] = {}
            outputs: dict[str, list[list[str]]] = {}
            for kind, teacher in teachers.items():
                output = directory / f"{kind}-{repeat}.tsv"
                start = seconds_of(command(teacher, few, directory / f"{kind}-{repeat}-few.tsv"))
                seconds[kind] = seconds_of(command(teacher, mono, output)) - start
                rows = [line.split("\t") for line in output.read_text("utf-8").splitlines()[1:]]
                outputs[kind] = rows
            disk = outputs["disk"]
            print(f"disk: {lines / seconds['disk']:,.0f} lines/s, {len(disk):,} pairs", flush=True)
            for kind in SERVICES:
                same = sum(map(outputs[kind].__contains__, disk))
                print(
                    f"{kind}: {lines / seconds[kind]:,.0f} lines/s, ratio {seconds['disk'] / seconds[kind]:.2f}, "
                    f"{len(outputs[kind]):,} pairs, {same:,} of them as on disk, "
                    f"{'the same file' if disk == outputs[kind] else 'another file'}",
                    flush=True,
                )


def seconds_of(run: Sequence[str]) -> float:
    """How long a command takes."""
    before = time.monotonic()
    subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - before


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("faults", "right", "http", "kills", "estimate"))
    parser.add_argument("bundle", nargs="?", type=Path, help="for http")
    parser.add_argument("--data", type=Path, default=os.environ.get("DRAGOMAN_DATA"))
    parser.add_argument("--answers", type=int, default=50, help="wrong answers of each kind")
    parser.add_argument("--number", type=int, default=200, help="kills")
    parser.add_argument("--lines", type=int, default=4000, help="lines to translate, or pairs of each corpus")
    parser.add_argument("--captions", action="store_true", help="http: built-in captions, not those of Multi30k")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    if options.what == "faults":
        measure_faults(options.data, options.answers)
    elif options.what == "right":
        measure_right(options.data, options.lines)
    elif options.what == "http":
        measure_http(options.bundle, options.data, not options.captions, options.lines, options.repeats)
    elif options.what == "kills":
        measure_kills(options.number)
    else:
        measure_estimate(2000)


if __name__ == "__main__":
    main()
