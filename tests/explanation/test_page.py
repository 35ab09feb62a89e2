"""The page of a translation: whole, self-contained, and in a real browser what the model did."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import Bundle
from dragoman.explanation.capture import KINDS
from dragoman.explanation.explain import Explanation
from dragoman.explanation.page import render_page
from dragoman.model.build import build_model
from dragoman.settings import Decoding, Model
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def large(translator: Translator) -> Translator:
    """A random model of 6 layers and 8 heads with the tokenizers of the tiny run."""
    recipe = translator.bundle.recipe
    settings = Model(d_model=32, heads=8, d_ff=32, encoder_layers=6, decoder_layers=6, max_length=64)
    source, target = translator.bundle.source, translator.bundle.target
    model = build_model(settings, len(source.vocabulary), len(target.vocabulary), source.vocabulary.pad, seed=1).eval()
    changed = recipe.model_copy(update={"model": settings})
    return Translator(Bundle(changed, model, source, target), Decoding(beam_size=5, max_length=41))


@pytest.fixture(scope="module")
def explained(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


class Elements(HTMLParser):
    """Tags, attributes and the data of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def data_of(page: str) -> dict[str, Any]:
    """What the page's script reads."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_page_of_forty_tokens_is_self_contained_and_small(large: Translator) -> None:
    words = " ".join(f"der Hund und die Katze {number}" for number in range(20))
    ids = large.bundle.source.encode([words])[0][:40]
    explained = large.explain(large.bundle.source.decode(ids))
    assert [len(explained.attention.queries(kind).tokens) for kind in KINDS] == [41, 41, 41]
    page = render_page(large, words, explained)
    assert len(page.encode()) < 2_000_000
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert {address for pair in addresses for address in pair if address} <= {"data:,"}
    assert {tag for tag, _ in Elements(page).elements}.isdisjoint({"iframe", "object", "embed", "img"})
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_hostile_text_stays_text(translator: Translator, explained: Explanation) -> None:
    harmless = Elements(render_page(translator, TEXT, explained))
    translation = replace(explained.translation, text=HOSTILE)
    alternatives = [[(HOSTILE, 0.5)]] * len(explained.alternatives)
    page = render_page(translator, HOSTILE, replace(explained, translation=translation, alternatives=alternatives))
    hostile = Elements(page)
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in harmless.elements]
    assert hostile.texts.count(HOSTILE) == 2
    assert data_of(page)["said"][0]["alternatives"][0][0].removeprefix("·") == HOSTILE


def test_the_maps_on_the_page_are_those_of_the_model(translator: Translator, explained: Explanation) -> None:
    data, attention = data_of(render_page(translator, TEXT, explained)), explained.attention
    for view, expected in (("tokens", attention), ("words", attention.by_word())):
        for kind in KINDS:
            there = data["views"][view]["maps"][kind]
            layers, heads, *size = expected.weights[kind].shape
            assert [len(there["queries"]), len(there["keys"])] == size
            levels = np.frombuffer(base64.b64decode(there["weights"]), np.uint8).reshape(-1, *size)
            maps = (levels / 255) ** 2
            assert len(maps) == layers * (heads + 2) + 3
            by_layer = maps[:-3].reshape(layers, heads + 2, *size)
            np.testing.assert_allclose(by_layer[:, :heads], expected.weights[kind], atol=0.005)
            np.testing.assert_allclose(by_layer[:, heads], expected.mean(kind), atol=0.005)
            np.testing.assert_allclose(maps[-1].sum(axis=-1), 1, atol=0.03)


def test_the_tree_leads_from_the_beginning_to_the_translation(translator: Translator, explained: Explanation) -> None:
    steps = data_of(render_page(translator, TEXT, explained))["steps"]
    ended = [(each["final"], number, each) for number, step in enumerate(steps) for each in step if each["final"]]
    _, number, node = max(ended, key=lambda each: each[0])
    assert node["text"] == explained.translation.text
    assert node["score"] == pytest.approx(sum(explained.translation.log_probabilities), abs=1e-3)
    way = [node]
    for step in reversed(steps[:number]):
        way.append(step[way[-1]["parent"]])
        assert way[-1]["fate"] == "kept"
    assert np.prod([each["probability"] for each in way]) == pytest.approx(np.exp(node["score"]), rel=1e-2)


def test_without_subwords_there_is_no_view_of_words(translator: Translator, explained: Explanation) -> None:
    words = replace(explained, attention=explained.attention.by_word())
    said = len(words.attention.predicted.tokens)
    translation = replace(explained.translation, log_probabilities=explained.translation.log_probabilities[:said])
    words = replace(words, translation=translation, alternatives=explained.alternatives[:said])
    assert list(data_of(render_page(translator, TEXT, words))["views"]) == ["tokens"]


# ---- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as browsers:
        launched = browsers.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(translator: Translator, explained: Explanation, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(render_page(translator, TEXT, explained), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    messages: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.goto(address)
    yield opened
    opened.close()
    assert messages == []


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_inner_texts()
    return [text.removeprefix("·").strip() for text in found]


def plain(token: str) -> str:
    """A token without the sign for a space."""
    return token.removeprefix("▁") or token


def looks(page: Any) -> tuple[str, str]:
    """What the page says of the chosen token: where it looks most, and how much."""
    said = page.locator("#reading").inner_text()
    match = re.search(r"looks? at ·?(.+?) (\d+|\d\.\d+) %", said)
    assert match, said
    return match[1], match[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_fits_and_fetches_nothing(browser: Any, address: str, width: int, scheme: Any) -> None:
    messages: list[str] = []
    requests: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    for key in ("1", "w", "2", "w", "3"):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press(key)
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (brightness(ground) < brightness(ink)) == (scheme == "dark")
    page.close()
    assert messages == []
    assert [request for request in requests if not request.startswith("data:")] == [address]


def brightness(colour: str) -> float:
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3])


@pytest.mark.parametrize(("key", "kind"), [("1", "encoder"), ("2", "decoder"), ("3", "cross")])
def test_hovering_a_token_shows_where_it_looks(page: Any, explained: Explanation, key: str, kind: Any) -> None:
    page.keyboard.press(key)
    assert page.locator(f"input[value={kind}]").is_checked()
    attention = explained.attention
    queries, keys = attention.queries(kind).tokens, attention.keys(kind).tokens
    assert page.locator("#queries .chip").count() == len(queries)
    weights = attention.mean(kind)[-1]  # what the page shows first
    for index in (2, 4):
        page.locator("#queries .chip").nth(index).hover()
        token, share = looks(page)
        best = int(weights[index].argmax())
        assert token == plain(keys[best])
        assert float(share) == pytest.approx(100 * weights[index, best], abs=1)
        titles = [page.locator("#keys .chip").nth(place).get_attribute("title") for place in range(len(keys))]
        shares = [float(title.removesuffix(" %")) for title in titles]
        np.testing.assert_allclose(shares, 100 * weights[index], atol=1)


def test_hovering_what_is_looked_at_shows_who_looks(page: Any, explained: Explanation) -> None:
    page.locator("#keys .chip").nth(1).hover()
    assert "is looked at by" in page.locator("#reading").inner_text()
    weights = explained.attention.mean("cross")[-1][:, 1]
    titles = [page.locator("#queries .chip").nth(place).get_attribute("title") for place in range(len(weights))]
    np.testing.assert_allclose([float(title.removesuffix(" %")) for title in titles], 100 * weights, atol=1)


def test_every_head_can_be_enlarged_by_pointer_and_keyboard(page: Any, explained: Explanation) -> None:
    heads = page.locator("#heads button")
    layers, of_each = explained.attention.weights["cross"].shape[:2]
    assert heads.count() == layers * (of_each + 2) + 3
    heads.nth(0).click()
    assert page.locator("#map-title").inner_text() == "Cross-attention: Layer 1, head 1"
    weights = explained.attention.weights["cross"][0]
    page.locator("#queries .chip").nth(2).hover()
    assert float(looks(page)[1]) == pytest.approx(100 * weights[0, 2].max(), abs=1)
    heads.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#map-title").inner_text() == "Cross-attention: Layer 1, head 2"
    assert float(looks(page)[1]) == pytest.approx(100 * weights[1, 2].max(), abs=1)
    page.get_by_role("gridcell", name="Rollout").click()
    assert float(looks(page)[1]) == pytest.approx(100 * explained.attention.rollout("cross")[2].max(), abs=1)
    assert page.locator("#heads button[aria-selected=true]").count() == 1


def test_words_take_the_place_of_subwords(page: Any, explained: Explanation) -> None:
    attention = explained.attention
    assert texts(page, "#keys .chip") == [plain(token) for token in attention.source.tokens]
    page.get_by_text("Words", exact=True).click()
    assert texts(page, "#keys .chip") == [*TEXT.split(), "</s>"]
    page.locator("#queries .chip").nth(1).hover()
    weights = attention.by_word().mean("cross")[-1, 1]
    token, share = looks(page)
    assert token == attention.source.words[int(weights.argmax())].text
    assert float(share) == pytest.approx(100 * weights.max(), abs=1)


def test_the_enlarged_map_answers_the_pointer(page: Any, explained: Explanation) -> None:
    row, column = 3, 1
    page.evaluate("document.getElementById('heat').scrollIntoView()")
    box = page.locator("#heat image").bounding_box()
    rows, columns = (len(side.tokens) for side in (explained.attention.predicted, explained.attention.source))
    x = box["x"] + (column + 0.5) * box["width"] / columns
    page.mouse.move(x, box["y"] + (row + 0.5) * box["height"] / rows)
    assert page.locator("#queries .chip").nth(row).get_attribute("aria-selected") == "true"
    assert page.locator("#keys .chip").nth(column).get_attribute("aria-selected") == "true"
    page.mouse.move(x, box["y"] - 10)
    assert "is looked at by" in page.locator("#reading").inner_text()


def test_alternatives_of_a_token(page: Any, explained: Explanation) -> None:
    page.locator("#said .chip").nth(1).hover()
    assert texts(page, "#alternatives b") == [plain(token) for token, _ in explained.alternatives[1]]
    page.locator("#said .chip").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert texts(page, "#alternatives b") == [plain(token) for token, _ in explained.alternatives[2]]


def test_the_tree_shows_every_candidate(page: Any, explained: Explanation) -> None:
    items = page.get_by_role("treeitem")
    assert items.count() == 1 + sum(map(len, explained.steps))
    assert page.locator("#hypotheses tr.winner td").first.inner_text() == explained.translation.text
    assert explained.translation.text in page.locator("#candidate").inner_text()
    items.nth(1).click()
    assert "step 1" in page.locator("#candidate").inner_text()
    page.keyboard.press("ArrowDown")
    dropped_or_kept = explained.steps[0][1]
    assert f"{dropped_or_kept.score:.3f}" in page.locator("#candidate").inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert "step 2" in page.locator("#candidate").inner_text()
    dropped = sum(each.fate == "dropped" for step in explained.steps for each in step)
    assert page.locator("#tree g.dropped:visible").count() == dropped > 0
    before = page.locator("#tree svg").bounding_box()["height"]
    page.get_by_label("Show dropped ones").uncheck()
    assert page.locator("#tree svg").bounding_box()["height"] <= before
    assert page.locator("#tree g.dropped:visible").count() == 0


def test_dark_and_light_by_button_and_key(page: Any) -> None:
    def ground() -> float:
        return brightness(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def pixel() -> list[int]:
        """The masked corner of a head of the decoder."""
        script = "canvas => [...canvas.getContext('2d').getImageData(canvas.width - 1, 0, 1, 1).data].slice(0, 3)"
        values: list[int] = page.locator("#heads canvas").first.evaluate(script)
        return values

    page.keyboard.press("2")
    light, light_pixel = ground(), pixel()
    page.get_by_role("button", name="Dark").click()
    assert ground() < light / 3
    assert sum(pixel()) < sum(light_pixel) / 3
    page.keyboard.press("d")
    assert (ground(), pixel()) == (light, light_pixel)
