import json
import random
import re
import shutil
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dragoman.settings import Data, Recipe, Training
from dragoman.training.report import read_metrics, render_report

RECIPE = Recipe(
    name="little-run",
    data=Data(source_language="de", target_language="ar", train=("pairs.tsv",)),
    training=Training(steps=1000),
)
FACTS = [("Parameters", "7,612,416"), ("Machine", "2 <cores>")]
HOSTILE = "</dd><script>alert(1)</script><img src=x onerror=alert(2)>"
SIGNATURES = {"bleu_signature": "nrefs:1|case:mixed|tok:13a", "chrf_signature": "nrefs:1|nc:6|nw:0"}


def sample(translation: str) -> dict[str, str]:
    return {"source": "Ein Hund läuft.", "reference": "كلب يركض", "translation": translation}


def train(step: int, **changes: float) -> dict[str, Any]:
    line = {"kind": "train", "step": step, "epoch": step / 400, "seconds": step / 8, "loss": 2 + 500 / step}
    rest = {"learning_rate": 4e-4, "tokens_per_second": 3980.0, "padding": 0.02, "gradient_norm": 1.3}
    return line | rest | changes


def validation(step: int, **changes: Any) -> dict[str, Any]:
    line = {"kind": "validation", "step": step, "epoch": step / 400, "seconds": step / 8, "loss": 2.1, "bleu": 31.2}
    rest = {"perplexity": 8.17, "chrf": 52.1, "sentences": 1014, "best": True, "samples": [sample(f"at {step}")]}
    return line | rest | SIGNATURES | changes


def scored(name: str, **changes: Any) -> dict[str, Any]:
    line = {"kind": "test", "name": name, "step": 1000, "loss": 1.5, "perplexity": 4.48, "bleu": 39.4, "chrf": 61.9}
    rest = {"sentences": 1000, "samples": [sample("a test")], "decoding": "beam 5, length penalty 1.0"}
    return line | rest | SIGNATURES | changes


def event(message: str) -> dict[str, Any]:
    return {"kind": "event", "step": 150, "seconds": 17.0, "message": message}


def broken_down(name: str, text: str = "Ein Hund läuft.") -> dict[str, Any]:
    """A test with what `break_down` adds."""
    one = {"source": text, "reference": text, "translation": text, "chrf": 12.3}
    return scored(
        name,
        best=[one | {"chrf": 98.7}],
        worst=[one],
        by_length=[{"name": "1 to 5", "sentences": 1234, "bleu": 40.0, "chrf": 60.0}],
        by_rarest_word=[{"name": "1,000 or more", "sentences": 77, "bleu": 41.0, "chrf": 61.0}],
        attention=[{"source": ["Ein", text], "translation": [text, "</s>"], "weights": [[91, 9], [45, 55]]}],
    )


STEPS = range(100, 1001, 100)
FULL = [line for step in STEPS for line in (train(step), validation(step, bleu=step / 25))]
FULL += [event("resumed from step 150"), scored("captions:test")]


class Elements(HTMLParser):
    """Collects the elements and the visible text of a page."""

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

    def rows(self) -> int:
        return self.count("tr")


def render(metrics: Sequence[dict[str, Any]]) -> Elements:
    return Elements(render_report(RECIPE, FACTS, metrics))


def test_hostile_text_stays_text() -> None:
    hostile = {"source": HOSTILE, "reference": HOSTILE, "translation": HOSTILE}
    lines = [validation(step, samples=[hostile], bleu_signature=HOSTILE) for step in (100, 200)]
    lines += [event(HOSTILE), scored(HOSTILE, samples=[hostile], decoding=HOSTILE), broken_down("b", HOSTILE)]
    page = Elements(render_report(RECIPE, [(HOSTILE, HOSTILE)], lines))
    assert page.count("script") == page.count("img") == 0
    assert page.text.count(HOSTILE) >= 10


def test_page_is_self_contained_and_small() -> None:
    noise = random.Random(1).random
    long_run = [
        train(step, loss=noise(), padding=noise(), gradient_norm=noise(), tokens_per_second=noise())
        for step in range(1001, 7001)
    ]
    page = render_report(RECIPE, FACTS, [*FULL, *long_run])
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert all(address.startswith("#") for pair in addresses for address in pair if address)
    assert "@import" not in page
    assert {tag for tag, _ in Elements(page).elements}.isdisjoint({"script", "link", "iframe", "object", "embed"})
    assert len(page.encode()) < 300_000


def test_references_inside_the_page_lead_to_one_place() -> None:
    page = render_report(RECIPE, FACTS, FULL)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', page)) <= set(identifiers)


def test_every_validation_is_shown_and_the_last_best_one_marked() -> None:
    page = render([validation(step, bleu=step / 30, best=step < 900) for step in STEPS])
    for step in STEPS:
        assert f"{step:,}{step / 30:.1f}52.1" in page.text.replace("\n", "").replace(" ", "")
    assert [attributes.get("class") for tag, attributes in page.elements if tag == "tr"].index("best") == 8
    assert "Best validation, at step 800" in page.text


def test_tests_take_the_place_of_validation_scores() -> None:
    page = render([*FULL, scored("multi30k:test_2016_flickr", bleu=12.3), scored("captions:test", bleu=98.7)])
    assert "Best validation" not in page.text
    for shown in ("multi30k:test_2016_flickr", "12.3", "98.7", "1,000 sentences; beam 5", SIGNATURES["bleu_signature"]):
        assert shown in page.text
    assert page.text.count("Test: captions:test") == 1, "a test that ran again replaces its first score"


@pytest.mark.parametrize(
    ("metrics", "charts", "rows"),
    [
        ([], 0, 0),
        ([event("nothing yet")], 0, 2),
        ([train(50)], 5, 0),
        ([train(50), train(100)], 5, 0),
        ([validation(50)], 3, 2),
        ([validation(50, samples=[])], 3, 2),
        ([scored("captions:test")], 0, 0),
        (FULL, 7, 13),
    ],
)
def test_partial_data(metrics: list[dict[str, Any]], charts: int, rows: int) -> None:
    page = render(metrics)
    assert (page.count("svg"), page.rows()) == (charts, rows)
    assert "little-run" in page.text
    assert "7,612,416" in page.text
    assert "learning_rate = 0.001" in page.text, "the recipe is there"


def test_a_run_that_diverged_still_has_a_report() -> None:
    nan, infinity = float("nan"), float("inf")
    lines = [train(50, loss=nan, gradient_norm=infinity), train(100, loss=nan), train(150, loss=infinity)]
    assert render([*lines, validation(150, loss=nan, perplexity=infinity, bleu=0.0)]).count("svg") == 7


def test_steps_done_again_after_a_resume_replace_the_first_attempt() -> None:
    straight = [line for step in STEPS for line in (train(step), validation(step))]
    crashed = [train(step, loss=9.9) if step > 400 else train(step) for step in STEPS if step < 700]
    crashed += [validation(step, bleu=0.1) if step > 400 else validation(step) for step in STEPS if step < 700]
    resumed = crashed + [line for line in straight if line["step"] > 400]
    assert render_report(RECIPE, FACTS, resumed) == render_report(RECIPE, FACTS, straight)


def test_the_growth_of_a_translation_runs_from_the_first_to_the_last_validation() -> None:
    page = render([validation(step, samples=[sample(f"after {step}")]) for step in range(100, 3001, 100)])
    stages = re.findall(r"after (\d+)", page.text)
    assert stages[1:] == sorted(stages[1:], key=int), "the first one stands among the sample translations"
    assert (stages[1], stages[-1]) == ("100", "3000")
    assert len(stages) == 1 + 8


def test_the_breakdown_of_a_test_is_shown() -> None:
    page = render([*FULL, broken_down("multi30k:test")])
    for shown in ("98.7", "12.3", "1 to 5", "1,234", "1,000 or more", "Best and worst", "Where it looked"):
        assert shown in page.text
    weights = [attributes["style"] for tag, attributes in page.elements if "style" in attributes and tag == "td"]
    assert weights == ["--weight: 91%", "--weight: 9%", "--weight: 45%", "--weight: 55%"]
    assert "Where it looked" not in render(FULL).text, "older runs have no breakdown"


def test_what_happened_is_drawn_and_nothing_else() -> None:
    def titles(*lines: dict[str, Any]) -> str:
        return render(lines).text

    assert "Perplexity, logarithmic" in titles(train(50, perplexity=30.0), train(100, perplexity=20.0))
    assert "Teacher forcing" not in titles(validation(50), validation(100))
    assert "Teacher forcing" in titles(validation(50, teacher_forced=0.9), validation(100, teacher_forced=0.5))
    assert "Length of translations" in titles(validation(50), validation(100, length_ratio=0.98))


def test_texts_carry_their_language_and_direction() -> None:
    page = render([scored("captions:test")])
    languages = [
        (attributes["lang"], attributes["dir"])
        for tag, attributes in page.elements
        if tag == "dd" and "lang" in attributes
    ]
    assert languages == [("de", "auto"), ("ar", "auto"), ("ar", "auto")]


def test_metrics_come_back_without_the_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in FULL).encode()
    torn = json.dumps(event("größer"), ensure_ascii=False).encode()
    for length in range(len(torn)):
        path.write_bytes(whole + torn[:length])
        assert read_metrics(path) == FULL


@pytest.mark.parametrize("broken", ['{"kind": "tr', "[1, 2]", ""])
def test_a_broken_line_in_the_middle_is_named_and_skipped(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"kind": "event"}}\n{broken}\n{{"kind": "event"}}\n')
    with pytest.warns(UserWarning, match=r"metrics\.jsonl line 2"):
        assert read_metrics(path) == 2 * [{"kind": "event"}]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_in_a_browser(tmp_path: Path, width: int, scheme: Any) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    path = tmp_path / "report.html"
    wide = [event("long" * 200), scored("wide:" * 50, samples=[sample("wide" * 200)], chrf_signature="|" * 200)]
    page_text = render_report(
        RECIPE, [*FACTS, ("wide", "wide" * 50)], [*FULL, *wide, broken_down("wide", "wide" * 100) | {"samples": []}]
    )
    path.write_text(page_text, encoding="utf-8")
    messages: list[str] = []
    requests: list[str] = []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.get_by_text("a test").is_visible()
        assert page.get_by_role("img").count() == 7
        assert page.get_by_role("region", name="Events").evaluate("region => region.scrollWidth <= region.clientWidth")
        assert not page.get_by_text("learning_rate = 0.001").is_visible()
        page.get_by_text("Every setting, as resolved").click()
        assert page.get_by_text("learning_rate = 0.001").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert contrast(page, "svg text", "figure") >= 4.5
        assert contrast(page, "td", ".scroll") >= 4.5
        browser.close()
    assert messages == []
    assert requests == [path.as_uri()]


def contrast(page: Any, text: str, ground: str) -> float:
    """Contrast of a text's colour against its ground (WCAG 2.2, contrast ratio)."""
    style = "element => { const s = getComputedStyle(element); return [s.fill, s.color, s.backgroundColor]; }"
    fill, colour, _ = page.locator(text).first.evaluate(style)
    lights = [luminance(fill if text.startswith("svg") else colour)]
    lights.append(luminance(page.locator(ground).first.evaluate(style)[2]))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def luminance(colour: str) -> float:
    shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
