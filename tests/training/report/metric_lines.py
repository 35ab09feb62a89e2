"""Lines of metrics.jsonl and a recipe, for the tests of the report."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from dragoman.settings import Data, Recipe, Training

RECIPE = Recipe(
    name="little-run",
    data=Data(source_language="de", target_language="ar", train=("pairs.tsv",)),
    training=Training(steps=1000),
)
FACTS = [("Parameters", "7,612,416"), ("Machine", "2 <cores>")]
SIGNATURES = {"bleu_signature": "nrefs:1|case:mixed|tok:13a", "chrf_signature": "nrefs:1|nc:6|nw:0"}
STEPS = range(100, 1001, 100)


def sample(translation: str) -> dict[str, str]:
    return {"source": "Ein Hund läuft.", "reference": "كلب يركض", "translation": translation}


def train_line(step: int, **changes: float) -> dict[str, Any]:
    line = {"kind": "train", "step": step, "epoch": step / 400, "seconds": step / 8, "loss": 2 + 500 / step}
    rest = {"learning_rate": 4e-4, "tokens_per_second": 3980.0, "padding": 0.02, "gradient_norm": 1.3}
    return line | rest | changes


def validation_line(step: int, **changes: Any) -> dict[str, Any]:
    line = {"kind": "validation", "step": step, "epoch": step / 400, "seconds": step / 8, "loss": 2.1, "bleu": 31.2}
    rest = {"perplexity": 8.17, "chrf": 52.1, "sentences": 1014, "best": True, "samples": [sample(f"at {step}")]}
    return line | rest | SIGNATURES | changes


def scores_line(name: str, **changes: Any) -> dict[str, Any]:
    """The scores on a test corpus."""
    line = {"kind": "test", "name": name, "step": 1000, "loss": 1.5, "perplexity": 4.48, "bleu": 39.4, "chrf": 61.9}
    rest = {"sentences": 1000, "samples": [sample("a test")], "decoding": "beam 5, length penalty 1.0"}
    return line | rest | SIGNATURES | changes


def comparison_line(name: str, before: float, after: float, *, old_text: bool) -> dict[str, Any]:
    """The chrF of a text before and after a training that started from a bundle."""
    scores = [{"sentences": 1000, "bleu": chrf / 2, "chrf": chrf} for chrf in (before, after)]
    compared = {"name": name, "old_text": old_text, "before": scores[0], "after": scores[1]}
    return {"kind": "comparison", "step": 1000, "epoch": 2.5, "seconds": 125.0} | compared


def analyzed_line(name: str, text: str = "Ein Hund läuft.") -> dict[str, Any]:
    """The scores on a test corpus with the results of `analyze_errors`."""
    row = {"source": text, "reference": text, "translation": text, "chrf": 12.3}
    return scores_line(
        name,
        best=[row | {"chrf": 98.7}],
        worst=[row],
        by_length=[{"name": "1 to 5", "sentences": 1234, "bleu": 40.0, "chrf": 60.0}],
        by_rarest_word=[{"name": "1,000 or more", "sentences": 77, "bleu": 41.0, "chrf": 61.0}],
        attention=[{"source": ["Ein", text], "translation": [text, "</s>"], "weights": [[91, 9], [45, 55]]}],
    )


def event_line(message: str) -> dict[str, Any]:
    return {"kind": "event", "step": 150, "seconds": 17.0, "message": message}


FINISHED_RUN = [line for step in STEPS for line in (train_line(step), validation_line(step, bleu=step / 25))]
FINISHED_RUN += [event_line("resumed from step 150"), scores_line("captions:test")]


class Elements(HTMLParser):
    """The elements and the visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)
