"""Teachers: their options, opening them, and translating text with them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.output import DASH, print_to_stderr, read_standard_input
from dragoman.errors import UserError, counted
from dragoman.system.resumable import delete_unfinished

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.corpus.pair import Languages, Pair
    from dragoman.synthesis.collect import Price
    from dragoman.synthesis.sentence_groups import SentenceGroup
    from dragoman.synthesis.synthesis import SynthesisSettings
    from dragoman.synthesis.teachers import Teacher, TeacherAddress

TeacherOption = Annotated[
    str,
    typer.Option(
        "--teacher",
        metavar="TEACHER",
        help="A run or bundle; or the address of a language model (http://localhost:11434/v1) or of a service "
        "(libretranslate:http://localhost:5000, deepl:https://api-free.deepl.com).",
    ),
]
AddressedTeacher = Annotated[
    str | None,
    typer.Option(
        "--teacher",
        metavar="ADDRESS",
        help="A language model or a service, as for dragoman synthesize, instead of a bundle.",
    ),
]
ModelOption = Annotated[str | None, typer.Option("--model", help="Name of the language model, such as gemma3:27b.")]
RemoteOption = Annotated[
    bool, typer.Option("--remote", help="Allow a teacher on another machine: your text is sent there.")
]
KeyFileOption = Annotated[
    Path | None, typer.Option("--key-file", metavar="FILE", help="File with the key for the teacher.")
]
KeyVariableOption = Annotated[
    str | None, typer.Option("--key-variable", metavar="NAME", help="Environment variable with the key.")
]
PromptOption = Annotated[
    Path | None,
    typer.Option("--prompt", metavar="FILE", help="Prompt for the model (--show-prompt prints the default)."),
]
ExamplesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--examples",
        metavar="CORPUS",
        help="Parallel text by people: prompts show similar pairs, lengths are compared.",
    ),
]
GlossaryOption = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE", help="Terms that the prompt demands: .tsv, .csv, .xlsx, .tmx."),
]
ParallelOption = Annotated[
    int,
    typer.Option("--parallel", min=1, max=256, help="Requests at once, at most; fewer if the server is not faster."),
]

_ENGINE = {"engine", "device", "compute_type", "verbose"}
_REQUESTS = {"model", "remote", "key_file", "key_variable", "parallel", "prompt", "glossary"}

NEED_BUNDLE = {
    "distill": {"round_trip", "directions", "force"},
    "evaluate": {*_ENGINE, "overrides", "perturbed", "source_language", "target_language"},
    "synthesize": {*_ENGINE, "overrides", "method"},
}
"""The options of each command that have no effect on a teacher behind an address."""

NEED_ADDRESS = {
    "distill": {*_REQUESTS, "languages"},
    "evaluate": {*_REQUESTS, "languages", "examples"},
    "synthesize": {*_REQUESTS, "candidates", "sentences", "show_prompt", "price", "max_cost"},
}
"""The options of each command that have no effect on a bundle."""


def refuse_useless_options(context: typer.Context, is_address: bool) -> None:
    """Check that each given option has an effect.

    Args:
        context: The command, with what was given.
        is_address: Whether the teacher is behind an address, and not a bundle.

    Raises:
        UserError: One has none; the message names it.
    """
    useless = (NEED_BUNDLE if is_address else NEED_ADDRESS)[str(context.info_name)]
    if context.params.get("round_trip"):  # a bundle that translates back
        useless = useless - _ENGINE
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if option.name in useless and source is not None and source.name == "COMMANDLINE":
            kinds = ("a bundle", "a teacher behind an address")
            needed, given = kinds if is_address else reversed(kinds)
            raise UserError(f"{option.opts[0]} has no effect with {given}, only with {needed}; remove it")


SAMPLE_SEED = 1
"""Chooses what is translated if there is no time for the whole text."""

ESTIMATED_SENTENCES = 20
"""Sentences that --estimate translates at least, and shows."""


@dataclass(frozen=True)
class AddressOptions:
    """What the command line says about a teacher behind an address."""

    model: str | None = None
    remote: bool = False
    key_file: Path | None = None
    key_variable: str | None = None
    prompt: Path | None = None
    examples: tuple[str, ...] = ()
    glossary: Path | None = None
    candidates: int = 1
    size: int | None = None

    def read_examples(self, languages: Languages) -> list[Pair]:
        """The pairs of --examples; none without it."""
        from itertools import chain, islice

        from dragoman.corpus.corpus import find_corpora
        from dragoman.lexicon.fuzzy_matches import SEARCHED

        if not self.examples:
            return []
        source, target = languages
        corpora = find_corpora(self.examples, source_language=source, target_language=target)
        return list(islice(chain.from_iterable(each.read() for each in corpora), SEARCHED))

    def open(self, address: TeacherAddress, languages: Languages, examples: list[Pair]) -> Teacher:
        """The teacher; says so if text leaves this machine.

        Raises:
            UserError: It is on another machine without --remote, or an option is invalid.
        """
        from dragoman.cli.glossary_file import read_glossary
        from dragoman.synthesis.http_client import is_on_this_machine, read_key
        from dragoman.synthesis.prompt import PROMPT, ExamplePairs, PromptWriter, read_prompt
        from dragoman.synthesis.teachers import TeacherOptions

        if not is_on_this_machine(address.url):
            if not self.remote:
                raise UserError(
                    f"{address}: is not on this machine, so your text would be sent there; if it may be, add --remote"
                )
            unencrypted = ", unencrypted" if address.url.startswith("http:") else ""
            print_to_stderr(f"dragoman: your text is sent to {address.url}{unencrypted}")
        writer = None
        if self.prompt or self.glossary or (self.examples and address.protocol == "chat"):
            writer = PromptWriter(
                languages,
                read_prompt(self.prompt) if self.prompt else PROMPT,
                ExamplePairs(examples) if self.examples else None,
                read_glossary(self.glossary, languages) if self.glossary else None,
            )
        key = read_key(self.key_file, self.key_variable)
        options = TeacherOptions(
            address, languages, self.model, key, writer, self.candidates, self.size, print_to_stderr
        )
        return options.open()


def parse_price(text: str | None) -> Price | None:
    """The price in ``0.15:0.6`` or ``20``; raises UserError for other texts."""
    from dragoman.synthesis.collect import Price

    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(":")]
    except ValueError:
        values = []
    if len(values) not in (1, 2) or not all(0 <= value < 1e9 for value in values):
        raise UserError(
            f"--price {text}: expected the price of a million tokens sent and received, such as 0.15:0.6, or of a "
            "million characters for a service, such as 20"
        )
    return Price(values[0], values[-1])


def check_output(output: Path, languages: Languages, resume: bool) -> None:
    """Check that pairs can be written to a file; with --resume, an interrupted command may have written it already.

    Raises:
        UserError: It exists, or there are answers of an interrupted command, and --resume is not given.
    """
    from dragoman.corpus.writers import check_output
    from dragoman.system.resumable import unfinished_directory

    directory = unfinished_directory(output)
    interrupted = any(directory.glob("*.json*"))
    if not (resume and interrupted):
        check_output(str(output), languages)
    if interrupted and not resume:
        raise UserError(
            f"{directory}: contains translations of an interrupted command; add --resume to use them, or delete it"
        )


def read_groups(
    files: Sequence[Path], languages: Languages, teacher: Teacher, bundle: Bundle | None = None
) -> list[SentenceGroup]:
    """The text of files, divided into requests.

    Args:
        files: The files.
        languages: Source and target.
        teacher: What translates it.
        bundle: The bundle of the teacher, if it has one, which knows its language.

    Raises:
        UserError: A file is missing or in another language.
    """
    from itertools import chain, filterfalse

    from dragoman.corpus.lines import read_lines
    from dragoman.synthesis.pair_checks import check_language
    from dragoman.synthesis.sentence_groups import LONGEST_SENTENCE, group_sentences

    too_long = 0

    def is_too_long(line: str) -> bool:
        nonlocal too_long
        too_long += len(line) > LONGEST_SENTENCE
        return len(line) > LONGEST_SENTENCE

    for file in files:
        if file != DASH and not file.exists():
            raise UserError(f"{file}: no such file")
    lines = chain.from_iterable(
        read_standard_input("> ") if file == DASH else chain(read_lines(file, replace_controls=True), [""])
        for file in files
    )
    groups = list(group_sentences(filterfalse(is_too_long, lines), teacher.size, teacher.characters))
    names = ", ".join("standard input" if file == DASH else str(file) for file in files)
    if too_long:
        print_to_stderr(
            f"{names}: {counted(too_long, 'line')} of more than {LONGEST_SENTENCE:,} characters left out; write one "
            "sentence per line"
        )
    if not groups:
        raise UserError(f"{names}: contains no text")
    if bundle:
        check_language(chain.from_iterable(group.sentences for group in groups), bundle, names)
    else:
        refuse_other_language(groups, languages, names)
    return groups


def refuse_other_language(groups: Sequence[SentenceGroup], languages: Languages, names: str) -> None:
    """Check that the text of files is in the language to translate from; raises UserError."""
    from dragoman.languages.identify import other_language

    first = [sentence for group in groups[:100] for sentence in group.sentences]
    if found := other_language(first, *languages):
        raise UserError(f"{names}: looks like {found}, not {languages[0]}; correct --languages, or name another file")


def print_estimate(
    teacher: Teacher, languages: Languages, groups: list[SentenceGroup], settings: SynthesisSettings, start: float
) -> None:
    """Translate some sentences, show them, and print what all of the text takes.

    Args:
        teacher: The teacher.
        languages: Source and target.
        groups: The text.
        settings: How to ask.
        start: Seconds that opening the teacher and reading the text took.
    """
    from dragoman.errors import shortened
    from dragoman.synthesis.answer_log import AnswerLog
    from dragoman.synthesis.answers import Rejected
    from dragoman.synthesis.collect import describe_usage
    from dragoman.synthesis.synthesis import open_synthesis
    from dragoman.system.files import temporary_directory
    from dragoman.system.progress import format_seconds

    with temporary_directory() as directory, closing(AnswerLog(directory / "answers.jsonl")) as answers:
        synthesis = open_synthesis(teacher, languages, groups, answers, settings, print_to_stderr)
        estimated, sample = synthesis.estimate(ESTIMATED_SENTENCES)
        shown = 0
        for source, answer in synthesis.pairs.read(sample):
            if shown < ESTIMATED_SENTENCES:
                print(source)
                if isinstance(answer, Rejected):
                    answer = f"rejected, {answer.reason}: {shortened(answer.text)}"
                print(f"  → {answer}")
            shown += 1
        sentences = sum(len(each.sentences) for each in groups)
        used = describe_usage(answers.usage, teacher.counts_tokens, settings.price)
        print(f"\n{counted(shown, 'sentence')} in this estimate, which are not kept: {used}")
        print(
            f"{counted(sentences, 'sentence')} of the whole text: {counted(estimated.requests, 'request')}, "
            f"{describe_usage(estimated.usage, teacher.counts_tokens, settings.price)}, "
            f"time {format_seconds(start + estimated.seconds)}"
        )


def synthesize_text(
    teacher: Teacher,
    languages: Languages,
    groups: list[SentenceGroup],
    settings: SynthesisSettings,
    output: Path,
    *,
    marked: bool = True,
) -> str:
    """Translate groups, and write the pairs that are left.

    Args:
        teacher: The teacher.
        languages: Source and target.
        groups: The text.
        settings: How to ask; if there is too little time, a random sample of the groups is translated.
        output: The file to write.
        marked: Whether the output states that it is machine-translated.

    Returns:
        How much was left out because of that, or nothing.

    Raises:
        UserError: The teacher is gone or bad, or no pair is left.
        typer.Exit: The user has stopped the command.
    """
    from dragoman.corpus.writers import check_output
    from dragoman.synthesis.answer_log import AnswerLog
    from dragoman.synthesis.synthesis import open_synthesis
    from dragoman.system.progress import ProgressLine
    from dragoman.system.resumable import only_writer
    from dragoman.training.loop.stop import StopFlag, stop_on_signals

    if not math.isinf(settings.seconds):
        groups = random.Random(SAMPLE_SEED).sample(groups, len(groups))
    flag = StopFlag()
    with (
        ProgressLine("synthesize") as line,
        only_writer(output) as directory,
        closing(AnswerLog(directory / "answers.jsonl")) as answers,
    ):
        synthesis = open_synthesis(teacher, languages, groups, answers, settings, line.log, lambda: flag.requested)
        try:
            check_output(str(output), languages)  # another process may have written it before this one got the lock
        except UserError:
            if not synthesis.is_answered():
                raise
            line.log(f"{output}: complete")
            delete_unfinished(output)
            return ""
        try:
            with stop_on_signals(flag, line.log, "after the answers to what was sent"):
                complete = synthesis.run(line.update)
            written = None if flag.requested else synthesis.write(output, marked=marked, update=line.update)
        except UserError as error:
            kept = f"\n{directory} keeps the answers so far; to continue, add --resume" if len(answers) else ""
            raise UserError(f"{error}{kept}") from None
        if written is None:
            kept = f"{directory} keeps the answers; to continue, add --resume to the same command"
            line.log(f"stopped; {kept if len(answers) else 'there are no answers yet'}")
            raise typer.Exit(130)
        if written.rejections.counts:
            line.log(f"rejected translations:\n{written.rejections.table()}")
        for finding in written.findings:
            line.log(finding)
        line.log(f"{output}: {written}; {synthesis.collector.describe_usage()}")
        skipped = ""
        if synthesis.collector.limit_reached:
            line.log(
                f"more would cost more than --max-cost; to translate the rest, delete {output}, and repeat the command "
                "with --resume and a higher --max-cost"
            )
        elif not complete:
            total = sum(len(group.sentences) for group in groups)
            skipped = f"{total - written.rejections.sentences:,} of {counted(total, 'sentence')}"
            line.log(f"no time for {skipped}; the others are a random sample, whose answers {directory} keeps")
        elif marked:
            line.log(f"to train on it: dragoman train FILES {output}")
    if complete:
        delete_unfinished(output)
    return f"of a random sample: no time for {skipped}" if skipped else ""
