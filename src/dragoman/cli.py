"""The command line: one function a verb; each parses, calls and prints."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.doctor import Finding
    from dragoman.settings import Decoding
    from dragoman.translator import Translation, Translator

app = typer.Typer(
    help="Train a Transformer translator from parallel text, and translate with it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Named datasets: what there is, and where it lies.", no_args_is_help=True)
app.add_typer(data_app, name="data")
import_app = typer.Typer(help="Models of other programs as bundles.", no_args_is_help=True)
app.add_typer(import_app, name="import")
doctor_app = typer.Typer(help="Find what is wrong with a model, data or translations.", no_args_is_help=True)
app.add_typer(doctor_app, name="doctor")

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, or a run directory that holds one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; may be given again for others."),
]
DataDirectory = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Directory of datasets to read before downloading (default: $DRAGOMAN_DATA)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ComputeType = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option(help="Arithmetic of CTranslate2 (default: float32); int8 is smaller, and a little less exact."),
]


def main() -> None:
    """Run the command line; a UserError becomes a message and exit code 2."""
    warnings.formatwarning = _format_warning
    try:
        app(standalone_mode=True)
    except UserError as error:
        sys.exit(_complain(error))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output has gone, as head does
        _forget_output()
        sys.exit(141)
    except OSError as error:  # such as a full disk under standard output
        _forget_output()
        sys.exit(_complain(error))


def _complain(error: Exception) -> int:
    print(f"dragoman: {error}", file=sys.stderr)
    return 2


def _forget_output() -> None:
    """Let what is still to be written go nowhere, or Python would fail on it once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    return f"dragoman: warning: {message}\n"


@app.callback(invoke_without_command=True)
def _version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show:
        from dragoman import __version__

        print(f"dragoman {__version__}")
        raise typer.Exit


@app.command()
def quickstart(
    output: Annotated[Path, typer.Option(help="Run directory.")] = Path("runs/quickstart"),
) -> None:
    """Train a small German-English translator on the built-in corpus, score it, and translate with it.

    Takes a few minutes on a laptop; run again, it goes on where it stopped.

    Example: dragoman quickstart --output runs/quickstart
    """
    from dragoman.recipe import load_recipe
    from dragoman.training.run import train

    recipe = load_recipe(Path("quickstart"))
    if not train(recipe, output, resume=(output / "recipe.toml").is_file()):
        raise typer.Exit(130)
    import dragoman

    translator = dragoman.load(output)
    examples = ["Ein kleiner Junge spielt im Park mit einem Hund.", "Zwei Frauen lesen ein Buch."]
    for text, translation in zip(examples, translator(examples), strict=True):
        print(f"{text}\n  -> {translation}")
    print(f'\nNow: dragoman translate {output} "{examples[0]}"\nand open {output / "report.html"}')


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file, or the name of a built-in one.")],
    output: Annotated[Path | None, typer.Option(help="Run directory (default: runs/NAME of the recipe).")] = None,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint.")] = False,
    data_dir: DataDirectory = None,
) -> None:
    """Train a translator: recipe in; run directory with checkpoints, bundle and report out.

    Example: dragoman train recipes/multi30k-de-en.toml --set training.minutes=10
    """
    from dragoman.recipe import load_recipe
    from dragoman.training.run import train

    loaded = load_recipe(recipe, overrides or [])
    if not train(loaded, output or Path("runs") / loaded.name, resume=resume, data_directory=data_dir):
        raise typer.Exit(130)


@app.command()
def translate(
    bundle: BundlePath,
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts to translate.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="File to translate, line by line (or .gz).")] = None,
    output: Annotated[Path | None, typer.Option(help="File to write (default: standard output).")] = None,
    overrides: Overrides = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: text, tokens, log-probabilities, score, …")
    ] = False,
    engine: Annotated[
        Literal["ctranslate2", "torch"] | None,
        typer.Option(help="What searches (default: ctranslate2 if it is installed and can do it, else torch)."),
    ] = None,
    compute_type: ComputeType = None,
    ensemble: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Average the predictions with those of this bundle; may be given again."),
    ] = None,
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each translation is to begin with, line by line.")
    ] = None,
) -> None:
    """Translate texts, a file, or standard input: one line out for each line in.

    With decoding.n_best above 1 the alternatives follow on the same line, separated by tabs.

    Example: dragoman translate runs/quickstart "Ein Hund läuft." --set decoding.beam_size=8
    """
    from dragoman.data.lines import decode_lines, read_lines

    if texts and source:
        raise UserError("give texts or --input, not both")
    if output and source and output.resolve() == source.resolve():
        raise UserError(f"{output}: is also the input")
    translator = _open_translator(bundle, overrides, engine, compute_type, ensemble or [], token_scores=as_json)
    lines: Iterable[str] = texts or (read_lines(source) if source else decode_lines(sys.stdin.buffer, "standard input"))
    truncated = 0
    with _open_output(output) as file:
        found = translator.stream(lines, read_lines(prefixes) if prefixes else None)
        for translation in _watch(found, shown=sys.stderr.isatty() and not (texts or file.isatty())):
            truncated += translation.truncated
            file.write((_to_json(translation) if as_json else _to_line(translation)) + "\n")
    if truncated:
        print(
            f"dragoman: warning: {truncated:,} lines were longer than the model's {translator.source_limit} tokens "
            "and were translated in part",
            file=sys.stderr,
        )


@app.command()
def evaluate(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File to translate, line by line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the right translation of each line.")],
    output: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the scores as JSON.")] = None,
    overrides: Overrides = None,
) -> None:
    """Score a translator: BLEU and chrF of its translations, perplexity of the references, and more.

    Example: dragoman evaluate runs/multi30k-de-en --source test.de --reference test.en
    """
    from dragoman.data.corpus import read_texts
    from dragoman.evaluation import evaluate
    from dragoman.files import write_json

    report, _ = evaluate(_load(bundle, overrides), *read_texts(source, reference))
    if output:
        write_json(output, report.to_dict())
    print(f"{report.sentences:,} sentences, {report.decoding}")
    print(f"BLEU {report.bleu:.2f}  {report.bleu_signature}")
    print(f"chrF {report.chrf:.2f}  {report.chrf_signature}")
    print(f"perplexity {report.perplexity:.3f}  loss {report.loss:.4f} nats a token")
    print(f"exactly the reference: {report.exact:.1%}")
    print(f"teacher-forced BLEU of tokens {report.teacher_forced_bleu:.2f}: not that of translations")


@app.command()
def score(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File with one source sentence a line (or .gz).")],
    target: Annotated[Path, typer.Option(help="File with the translation of each line to score.")],
    overrides: Overrides = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: tokens, log-probabilities, …")
    ] = False,
) -> None:
    """Score given translations: one line for each, its log-probability over the length penalty.

    Example: dragoman score runs/multi30k-de-en --source test.de --target other.en --set decoding.length_penalty=0
    """
    from dragoman.bundle import Bundle
    from dragoman.data.corpus import read_corpus
    from dragoman.scoring import score
    from dragoman.settings import FilePair

    loaded = Bundle.load(bundle)
    alpha = _decoding(loaded.recipe, overrides or []).length_penalty
    files = FilePair(source=str(source), target=str(target))
    pairs = read_corpus(files, source_language="source", target_language="target")
    with _open_output(None) as file:
        for each in score(loaded, ((pair.source, pair.target) for pair in pairs), alpha):
            file.write((_to_json(each) if as_json else f"{each.score:.5f}") + "\n")


@app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE|RUN|RECIPE")],
    as_json: AsJson = False,
    overrides: Overrides = None,
    data_dir: DataDirectory = None,
) -> None:
    """Tell what a bundle, run or recipe is: parameters by part, vocabulary sizes, settings, scores.

    Example: dragoman info recipes/multi30k-de-en.toml --json
    """
    from dragoman.information import describe

    about = describe(path, overrides or [], data_dir)
    if as_json:
        print(json.dumps(about, ensure_ascii=False, indent=2))
    else:
        _print_tree(about)


@data_app.command("list")
def data_list() -> None:
    """List the named datasets.

    Example: dragoman data list
    """
    from dragoman.data.catalog import catalog

    for dataset in catalog():
        print(f"{dataset.name:28} {' '.join(dataset.languages):12} {dataset.description}")


@data_app.command("fetch")
def data_fetch(name: str, data_dir: DataDirectory = None) -> None:
    """Bring a dataset onto this machine, with its checksums verified.

    Example: dragoman data fetch multi30k
    """
    from dragoman.data.download import fetch

    for path in fetch(name, data_directory=data_dir):
        print(path)


@data_app.command("show")
def data_show(name: str, data_dir: DataDirectory = None) -> None:
    """Show a dataset: languages, splits, licence, where its files are, and its first pairs.

    Example: dragoman data show multi30k
    """
    from dragoman.data.corpus import describe

    found = describe(name, data_directory=data_dir)
    dataset = found.dataset
    print(f"{dataset.name}: {dataset.description}")
    print(f"languages: {' '.join(dataset.languages)}\nsplits: {' '.join(dataset.splits)}")
    print(f"licence: {dataset.licence}\nhomepage: {dataset.homepage}")
    for file, path in found.files:
        print(f"  {file.path}: {path or 'not on this machine' + (', at ' + file.url if file.url else '')}")
    for pair in found.examples:
        print(f"\n  {pair.source}\n  {pair.target}")


@app.command("export")
def export_bundle(
    bundle: BundlePath,
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where to; made, or an earlier export.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="ctranslate2, huggingface, onnx or argos.")],
    compute_type: ComputeType = None,
    source: Annotated[
        Path | None, typer.Option(help="Sentences to compare translations of, line by line (default: random tokens).")
    ] = None,
    reference: Annotated[Path | None, typer.Option(help="Their right translations, to compare BLEU too.")] = None,
) -> None:
    """Write a translator in another program's format, and check that it still is the same translator.

    Example: dragoman export runs/multi30k-de-en exported --to ctranslate2 --source test.de --reference test.en
    """
    from dragoman.bundle import Bundle
    from dragoman.export.parity import read_sample
    from dragoman.export.run import export

    measured = export(Bundle.load(bundle), to, directory, compute_type or "float32", read_sample(source, reference))
    print(f"{measured}\n{directory}: {to}, the same translator")


@import_app.command("huggingface")
def import_huggingface(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A Marian model and its tokenizer.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The bundle to write.")],
) -> None:
    """Make a bundle of a Marian model of Hugging Face, such as those of OPUS-MT, and check that it computes the same.

    Example: dragoman import huggingface opus-mt-de-en imported
    """
    from dragoman.export.importing import import_marian

    difference = import_marian(directory, output)
    print(f"logits: largest difference {difference:.2g}\n{output}: a bundle with the same logits")


def _open_translator(
    bundle: Path,
    overrides: list[str] | None,
    engine: str | None,
    compute_type: str | None,
    ensemble: list[Path],
    *,
    token_scores: bool,
) -> Translator:
    from dragoman.bundle import Bundle, find_bundle
    from dragoman.export.converted import open_translator
    from dragoman.translator import Translator

    loaded = Bundle.load(bundle)
    decoding = _decoding(loaded.recipe, overrides or [])
    if ensemble:
        if engine == "ctranslate2" or compute_type:
            raise UserError("the engine ctranslate2 cannot translate with --ensemble; torch can")
        return Translator(loaded, decoding, ensemble=[Bundle.load(path) for path in ensemble])
    return open_translator(loaded, find_bundle(bundle), decoding, engine, compute_type, token_scores=token_scores)


@app.command()
def inspect(
    bundle: BundlePath,
    text: Annotated[str, typer.Argument(help="Text to translate and to explain.")],
    output: Annotated[Path, typer.Option(help="Page to write.")] = Path("inspect.html"),
    png: Annotated[Path | None, typer.Option(metavar="DIR", help="Write heat maps there too, PNG and SVG.")] = None,
    overrides: Overrides = None,
) -> None:
    """Show on one page how a text was translated: attention, alternatives, and the beam search as a tree.

    Example: dragoman inspect runs/quickstart "Ein Hund läuft." --output page.html --png pictures
    """
    from dragoman.files import write_text
    from dragoman.inspection.page import render_page
    from dragoman.inspection.plots import save_heat_maps

    translator = _load(bundle, overrides)
    explanation = translator.explain(text)
    print(explanation.translation.text)
    write_text(output, render_page(translator, text, explanation))
    for path in [output, *(save_heat_maps(explanation.attention, png) if png else [])]:
        print(path)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A bundle or run directory.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    source: Annotated[Path, typer.Option(help="File to translate, line by line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the right translation of each line.")],
    output: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON.")] = None,
    sentences: Annotated[int, typer.Option(min=0, help="Sentences to show.")] = 5,
    overrides: Overrides = None,
) -> None:
    """Tell which of two translators is better, whether that may be luck, and where they differ most.

    Example: dragoman compare runs/old runs/new --source test.de --reference test.en
    """
    from dragoman.data.corpus import read_texts
    from dragoman.files import write_json
    from dragoman.inspection.compare import compare

    sources, references = read_texts(source, reference)
    found = compare(_load(first, overrides), _load(second, overrides), sources, references)
    if output:
        write_json(output, found.to_dict())
    for name, path, report in (("A", first, found.first), ("B", second, found.second)):
        print(f"{name}  BLEU {report.bleu:.2f}  chrF {report.chrf:.2f}  perplexity {report.perplexity:.3f}  {path}")
    for test in found.significance:
        print(f"{test.metric} B - A = {test.second - test.first:+.2f}, {test.method}: p = {test.p_value:.4f}")
        print(f"  {test.signature}")
    print(f"{len(found.differences):,} of {len(sources):,} sentences are translated differently")
    for each in found.differences[:sentences]:
        print(f"\n  source     {each.source}\n  reference  {each.reference}")
        print(f"  A {each.first_chrf:7.2f}  {each.first}\n  B {each.second_chrf:7.2f}  {each.second}")


def _load(bundle: Path, overrides: list[str] | None) -> Translator:
    from dragoman.bundle import Bundle
    from dragoman.translator import Translator

    loaded = Bundle.load(bundle)
    return Translator(loaded, _decoding(loaded.recipe, overrides or []))


def _decoding(recipe: Any, overrides: list[str]) -> Decoding:
    from dragoman.recipe import build_recipe

    if foreign := [override for override in overrides if not override.startswith("decoding.")]:
        raise UserError(f"--set {foreign[0]}: only decoding.* can be set for a trained model")
    decoding: Decoding = build_recipe(recipe.to_dict(), overrides, origin="--set").decoding
    return decoding


@contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears under its name only when whole."""
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    from dragoman.files import atomic_file

    with atomic_file(path) as file:
        yield file


def _watch(translations: Iterable[Translation], shown: bool) -> Iterator[Translation]:
    """The same translations; how many there are, and at what rate they come, is shown on standard error."""
    from rich.console import Console
    from rich.progress import Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.completed:,.0f} lines"), TaskProgressColumn(show_speed=True), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:
        yield from progress.track(translations)


def _to_line(translation: Translation) -> str:
    texts = [translation.text, *(other.text for other in translation.alternatives)]
    return "\t".join(" ".join(text.split()) for text in texts)


def _to_json(translation: Translation) -> str:
    from dataclasses import asdict

    return json.dumps(asdict(translation), ensure_ascii=False)


def _print_tree(data: dict[str, Any], indent: str = "") -> None:
    for key, value in data.items():
        if isinstance(value, dict):
            print(f"{indent}{key}")
            _print_tree(value, indent + "  ")
        else:
            print(f"{indent}{key}: {value:,}" if type(value) is int else f"{indent}{key}: {value}")


@doctor_app.command("model")
def doctor_model(
    model: Annotated[
        str, typer.Argument(metavar="BUNDLE|MODULE:FACTORY", help="A bundle, or a function that makes a model.")
    ],
    overfit: Annotated[bool, typer.Option("--overfit", help="Also let it learn a small batch by heart.")] = False,
    as_json: AsJson = False,
) -> None:
    """Examine a model: leaks of the future, padding and batch, an ignored source, numbers, gradients.

    MODULE:FACTORY names a function without arguments that returns a dictionary: forward, and the arguments of
    dragoman.doctor.examine. Exits with 1 if anything is found that spoils translations.

    Example: dragoman doctor model runs/quickstart
    """
    from dragoman.doctor.loading import examine_named

    _tell(examine_named(model, overfit=overfit), as_json)


@doctor_app.command("data")
def doctor_data(
    corpus: Annotated[
        list[Path], typer.Argument(metavar="RECIPE|SOURCE TARGET", help="A recipe, or two line-aligned files.")
    ],
    test: Annotated[
        tuple[Path, Path] | None, typer.Option(metavar="SOURCE TARGET", help="Two files that training must not see.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the training pairs without what is wrong, and a list.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDirectory = None,
) -> None:
    """Check parallel text: misaligned, exchanged, copied, repeated, damaged; and test sentences in training.

    Exits with 1 if anything is found that spoils what is learnt or measured.

    Example: dragoman doctor data my/train.de my/train.en --test my/test.de my/test.en --write clean
    """
    from dragoman.doctor.data import corpora_of, corpora_of_files, diagnose
    from dragoman.recipe import load_recipe

    if len(corpus) > 2:
        raise UserError(f"give a recipe or two files, not {len(corpus)}")
    if len(corpus) == 2:
        checked = corpora_of_files(corpus[0], corpus[1], test)
    elif test:
        raise UserError("--test is for two files; a recipe names its own")
    else:
        checked = corpora_of(load_recipe(corpus[0]).data, data_dir)
    _tell(diagnose(checked, write), as_json)


@doctor_app.command("output")
def doctor_output(
    bundle: BundlePath,
    source: Annotated[Path, typer.Option(help="File to translate, line by line (or .gz).")],
    reference: Annotated[Path, typer.Option(help="File with the right translation of each line.")],
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Check translations: collapse, loops, emptiness, copies, length, and a source that does not matter.

    Exits with 1 if anything is found that makes them useless.

    Example: dragoman doctor output runs/quickstart --source my/test.de --reference my/test.en
    """
    from dragoman.data.corpus import read_texts
    from dragoman.doctor.output import diagnose_output

    _tell(diagnose_output(_load(bundle, overrides), *read_texts(source, reference)), as_json)


def _tell(findings: list[Finding], as_json: bool) -> None:
    """Print what was found; exit with 1 if an error is among it."""
    from dragoman.doctor.finding import is_healthy

    if as_json:
        print(json.dumps([finding.to_dict() for finding in findings], ensure_ascii=False, indent=2))
    else:
        print("\n\n".join(map(str, findings)) or "healthy: nothing was found")
    if not is_healthy(findings):
        raise typer.Exit(1)
