"""Placeholders, URLs and numbers are copied: by a model that learned it, and by one that did not."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import TINY, Command

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.engines import Engine
    from dragoman.engines.choose import ComputeType
    from dragoman.search.hypothesis import Hypothesis
    from dragoman.translator import Translator

TEMPLATES = [
    ("Die Datei {} fehlt.", "The file {} is missing."),
    ("Siehe {}.", "See {}."),
    ("Löschen Sie {} und {}.", "Delete {} and {}."),
    ("Von {} nach {} kopieren", "Copy from {} to {}"),
    ("{} wurde gespeichert.", "{} was saved."),
    ("Kein Zugriff auf {}: {}", "No access to {}: {}"),
    ("{}", "{}"),
]
SEARCHES: list[dict[str, Any]] = [
    {},
    {"beam_size": 1},
    {"n_best": 3},
    {"sampling": True, "n_best": 2},
    {"mbr_samples": 4, "n_best": 2},
]


def span(generator: random.Random) -> str:
    word, other = ("".join(generator.choices(string.ascii_lowercase, k=6)) for _ in range(2))
    number = generator.randint(10, 99_999)
    forms = (f"{{{word}}}", f"%{number % 10}$s", f"https://{word}.de/{other}", f"{word}@{other}.org", str(number))
    return generator.choice((*forms, f"<{word}>", chr(0x1F600 + number % 64), f"{number}.{number}.{number}"))


def pair(generator: random.Random) -> tuple[str, str]:
    source, target = generator.choice(TEMPLATES)
    spans = [span(generator) for _ in range(source.count("{}"))]
    return source.format(*spans), target.format(*spans)


UNSEEN = [pair(random.Random(number)) for number in range(10_000, 10_120)]
TEXTS = [source for source, _ in UNSEEN[:10]] + [
    "",
    "Siehe",
    "\ufdd0 100 %s \ufdef",
    " ".join(map(chr, range(0xFDD0, 0xFDF0))),
]


def is_clean(text: str) -> bool:
    return not any("\ufdd0" <= character <= "\ufdef" for character in text)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned to copy in some seconds."""
    from dragoman.recipe import build_recipe
    from dragoman.training.run.run import train

    directory = tmp_path_factory.mktemp("placeholders")
    for split, numbers in (("train", range(400)), ("validation", range(400, 420))):
        sides = zip(*(pair(random.Random(number)) for number in numbers), strict=True)
        for language, texts in zip(("de", "en"), sides, strict=True):
            (directory / f"{split}.{language}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    corpora = {split: [f"{directory}/{split}.{{lang}}"] for split in ("train", "validation")}
    settings = ("text.placeholders=true", "training.steps=500", "training.validations=1", "model.d_model=48")
    assert train(build_recipe(TINY | {"data": TINY["data"] | corpora}, settings), directory / "run")
    return directory / "run"


@pytest.fixture(scope="module")
def bundle(run: Path) -> Bundle:
    from dragoman.bundle import Bundle

    return Bundle.load(run)


@pytest.fixture(scope="module")
def untrained(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the same tokenizers and random weights, which copies only what the search requires."""
    from dragoman.bundle import Bundle
    from dragoman.model.build import build_model

    size, path = len(bundle.source.vocabulary), tmp_path_factory.mktemp("untrained") / "bundle"
    model = build_model(bundle.recipe.model, size, size, bundle.source.vocabulary.pad, seed=5).eval()
    Bundle(bundle.recipe, model, bundle.source, bundle.target).save(path)
    return path


@pytest.fixture(params=["trained", "untrained"])
def path(request: pytest.FixtureRequest, run: Path, untrained: Path) -> Path:
    return run if request.param == "trained" else untrained


def translator(path: Path, engine: str = "torch", **settings: Any) -> Translator:
    import dragoman

    return dragoman.load(path, engine=engine, device="cpu", **settings)


@pytest.mark.slow
def test_a_model_learns_to_copy_what_it_has_not_seen(run: Path, bundle: Bundle) -> None:
    from dragoman.translator import TextSearch

    made = translator(run)
    found = [str(each) for each in made.stream(source for source, _ in UNSEEN)]
    assert sum(map(str.__eq__, found, (target for _, target in UNSEEN))) >= 0.8 * len(UNSEEN)
    search = TextSearch(bundle, made.engine, made.decoding)
    sources = search.encode([source for source, _ in UNSEEN])
    first = made.engine.translate([source.ids for source in sources])
    faultless = [not search.translation(*each).problems for each in zip(sources, first, strict=True)]
    assert sum(faultless) >= 0.85 * len(UNSEEN), "the first search must not need the second one"


@pytest.mark.parametrize("settings", SEARCHES, ids=str)
def test_every_search_copies_every_span(path: Path, settings: dict[str, Any]) -> None:
    from dragoman.text.masking import Masking

    for text, translation in zip(TEXTS, translator(path, **settings).stream(TEXTS), strict=True):
        spans = list(Masking().mask(text).spans.values())
        assert translation.problems == []
        for each in (translation, *translation.alternatives):
            missing = [copied for copied in spans if each.text.count(copied) < text.count(copied)]
            reported = [problem.removeprefix("missing: ") for problem in each.problems if "missing" in problem]
            assert sorted(missing) == sorted(reported)
            assert all(copied in each.tokens for copied in spans if copied not in missing)
        assert is_clean(str(translation)) or not is_clean(text)


@pytest.mark.parametrize("settings", SEARCHES, ids=str)
def test_batches_and_their_order_do_not_matter(path: Path, settings: dict[str, Any]) -> None:
    made = translator(path, **settings)
    together = [str(each) for each in made.stream(TEXTS)]
    assert [str(each) for each in made.stream(reversed(TEXTS))] == together[::-1]
    assert [str(made(text)) for text in TEXTS] == together


@pytest.mark.parametrize("settings", [{}, {"beam_size": 1}], ids=str)
def test_engines_agree(path: Path, settings: dict[str, Any]) -> None:
    pytest.importorskip("ctranslate2")
    ours, theirs = (translator(path, name, **settings).stream(TEXTS) for name in ("torch", "ctranslate2"))
    assert [(str(each), each.tokens, each.problems) for each in theirs] == [
        (str(each), each.tokens, each.problems) for each in ours
    ]


def test_an_ensemble_copies_too(path: Path, bundle: Bundle) -> None:
    from dragoman.bundle import Bundle
    from dragoman.translator import Translator

    members = [Bundle.load(path), bundle]
    for translation in Translator(members[0], ensemble=members[1:], device="cpu").stream(TEXTS):
        assert translation.problems == []


def test_explanations_show_spans_instead_of_reserved_tokens(path: Path, tmp_path: Path, command: Command) -> None:
    made, text = translator(path), "Löschen Sie {name} und https://a.de/b?c=1."
    explanation = made.explain(text)
    assert str(explanation.translation) == str(made(text))
    shown = [explanation.attention.source.tokens, explanation.attention.target_output.tokens]
    assert all({"{name}", "https://a.de/b?c=1"} <= set(tokens) for tokens in shown)
    assert "{name}" in made.attention(text).by_word().source.tokens
    alternatives = [token for position in explanation.alternatives for token, _ in position]
    assert is_clean("".join([*shown[0], *shown[1], *alternatives]))
    assert explanation.steps[-1]
    outcome = command("inspect", path, text, "--output", tmp_path / "page.html", "--engine", "torch")
    assert outcome.code == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert is_clean(page)
    assert "https://a.de/b?c=1" in page


def test_a_prefix_may_contain_spans(path: Path) -> None:
    (translation,) = translator(path)(["Siehe https://a.de und %s."], ["See %s or {x} and"])
    assert str(translation).startswith("See %s or {x} and")
    assert translation.problems == []


def test_a_prefix_keeps_its_spaces(path: Path) -> None:
    """Also where the translation would have none without it."""
    source, prefix = "Ein <b>sehr</b> großer {x}.{y}", "A <b> very </b> large.{y}{x}"
    (translation,) = translator(path)([source], [prefix])
    assert str(translation).startswith(prefix)


def test_missing_and_unknown_tokens_are_reported(bundle: Bundle) -> None:
    class Fixed:
        name, max_length, model = "fixed", 50, bundle.model
        weight_type: ComputeType = "float32"

        def __init__(self, *texts: str) -> None:
            self.texts = texts

        def translate(
            self, sources: Any, prefixes: Any = None, trace: Any = None, copies: Any = None
        ) -> list[list[Hypothesis]]:
            from dragoman.search.hypothesis import Hypothesis

            ids = bundle.target.encode_masked(self.texts)
            return [[Hypothesis(each, [-1.0] * (len(each) + 1), -1.0) for each in ids] for _ in sources]

        def score(self, sources: Any, targets: Any) -> Any:
            raise NotImplementedError

        def attention(self, sources: Any, targets: Any) -> Any:
            raise NotImplementedError

    def translate(*outputs: str) -> Any:
        from dragoman.translator import Translator

        engine: Engine = Fixed(*outputs)
        return Translator(bundle, {"n_best": len(outputs)}, engine=engine)

    text, a, b = "Löschen Sie {a} und {b}.", "\ufdd0", "\ufdd1"
    preferred = translate(f"Delete {a}.", f"Delete {a} and {b}.")(text)
    assert str(preferred) == "Delete {a} and {b}."
    assert [each.problems for each in (preferred, *preferred.alternatives)] == [[], ["missing: {b}"]]
    with pytest.warns(UserWarning, match="numbers are missing or repeated in 1 of 1 translation"):
        (faulty,) = translate(f"Delete {a} {a} \ufdd5 now.")([text])
    assert str(faulty) == "Delete {a} {a} now."
    assert faulty.problems == ["repeated: {a}", "missing: {b}", "invented: [placeholder]"]
    assert "[placeholder]" in faulty.tokens
    assert "Problems: repeated: {a}" in faulty._repr_html_()


def test_the_command_reports_problems(run: Path, command: Command) -> None:
    arguments = ("translate", run, "Siehe %s und {a}.", "--json", "--set", "decoding.max_length=2")
    outcome = command(*arguments)
    assert outcome.code == 0
    assert "missing: " in json.loads(outcome.out)["problems"][0]
    assert "1 translation with other placeholders" in outcome.error
    assert "--json prints them" in outcome.error
    assert command(*arguments[:3]).error == ""
    html = command("translate", run, "Siehe %s und {a}.", "--format", "html", *arguments[4:])
    assert "1 translation with other placeholders" in html.error
    assert "--json" not in html.error
    assert "placeholders" not in command("translate", run, "Hund " * 8, "--format", "html", *arguments[4:]).error


def test_translations_have_the_scores_of_the_search_that_found_them(run: Path) -> None:
    """A copied span is scored as one token, and a translation that lacks it is less probable."""
    from dragoman.evaluation.scoring import score
    from dragoman.text.placeholders import find_spans, text_between

    made = translator(run)
    sources = [source for source, _ in UNSEEN[:20]]
    found = made(sources)
    scored = list(score(made, zip(sources, map(str, found), strict=True)))
    compared = [(ours, theirs) for ours, theirs in zip(found, scored, strict=True) if ours.tokens == theirs.tokens]
    assert len(compared) >= 15, "few can be spelled in other subwords"
    for ours, theirs in compared:
        assert theirs.score == pytest.approx(ours.score, abs=1e-1)
    copied, changed = score(made, [("Siehe %s \ufdd0.", "See %s \ufdd0."), ("Siehe %s \ufdd0.", "See %d \ufdd0.")])
    assert {"%s", "\ufdd0"} <= set(copied.tokens)
    assert (copied.problems, changed.problems) == ([], ["missing: %s"])
    without_spans = ["".join(text_between(text, find_spans(text))) for text in map(str, found)]
    lacking = list(score(made, zip(sources, without_spans, strict=True)))
    less_probable = [each.log_probability < whole.log_probability for each, whole in zip(lacking, scored, strict=True)]
    assert sum(less_probable) >= 15


def test_the_loss_is_that_of_masked_pairs(bundle: Bundle) -> None:
    """A long address that is copied has as small a loss as a short placeholder."""
    from dragoman.evaluation.teacher_forcing import score_teacher_forced
    from dragoman.translator import Translator

    losses, translator = [], Translator(bundle)
    for span in ("%s", "https://example.org/a/very/long/address/that/no/text/contains?q=7zX"):
        scores = score_teacher_forced(translator, [f"Ein Hund {span}."], [f"A dog {span}."])
        losses.append(scores.loss)
    assert max(losses) < 2 * min(losses) + 0.5


def test_bundles_without_the_setting_are_read(finished_run: Path, tmp_path: Path) -> None:
    import shutil

    import dragoman

    shutil.copytree(finished_run / "bundle", tmp_path / "old")
    about = json.loads((tmp_path / "old" / "bundle.json").read_text("utf-8"))
    assert about["recipe"]["text"].pop("placeholders") is False
    (tmp_path / "old" / "bundle.json").write_text(json.dumps(about), "utf-8")
    old, new = dragoman.load(tmp_path / "old", device="cpu"), dragoman.load(finished_run, device="cpu")
    assert old.bundle.source.masking is None
    assert old("Ein Hund läuft: 100 %s.") == new("Ein Hund läuft: 100 %s.")
