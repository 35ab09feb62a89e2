"""The page in a real browser: it fits, fetches nothing, and shows what the model computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.explanation.explain import Explanation
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.render import render_page
from dragoman.settings import Decoding
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park mit einem Hund."


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(TEXT)


@pytest.fixture(scope="module")
def page_source(translator: Translator, explanation: Explanation) -> str:
    return render_page([page_data(translator.bundle, translator.decoding, TEXT, explanation)])


@pytest.fixture(scope="module")
def address(page_source: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(page_source, encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    opened = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    messages = record_messages(opened)
    opened.goto(address)
    yield opened
    opened.close()
    assert messages == []


def record_messages(page: Any) -> list[str]:
    """Console messages and errors of a page, filled while it runs."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    return messages


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_inner_texts()
    return [text.removeprefix("·").strip() for text in found]


def plain(token: str) -> str:
    """A token without the mark of a space."""
    return token.removeprefix("▁") or token


def largest_weight(page: Any) -> tuple[str, str]:
    """The token that receives most attention according to the summary, and its weight in percent."""
    summary = page.locator("#summary").inner_text()
    match = re.search(r"attends to ·?(.+?) (\d+|\d\.\d+) %", summary)
    assert match, summary
    return match[1], match[2]


def chip_weights(page: Any, selector: str) -> list[float]:
    """The weights in percent in the titles of chips."""
    titles = [chip.get_attribute("title") for chip in page.locator(f"{selector} .chip").all()]
    return [float(title.removesuffix(" %")) for title in titles]


def brightness(color: str) -> float:
    return sum(float(part) for part in re.findall(r"[\d.]+", color)[:3])


# ---- the whole page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_fetches_nothing(browser: Any, address: str, width: int, scheme: Any) -> None:
    requests: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    messages = record_messages(page)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    for key in ("1", "w", "2", "w", "3"):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press(key)
    background, text = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (brightness(background) < brightness(text)) == (scheme == "dark")
    page.close()
    assert messages == []
    assert [request for request in requests if not request.startswith("data:")] == [address]


def test_button_and_key_switch_between_dark_and_light(page: Any) -> None:
    def background() -> float:
        return brightness(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    def masked_pixel() -> list[int]:
        """The top right corner of a head of the decoder, which is masked."""
        script = "canvas => [...canvas.getContext('2d').getImageData(canvas.width - 1, 0, 1, 1).data].slice(0, 3)"
        values: list[int] = page.locator("#heads canvas").first.evaluate(script)
        return values

    page.keyboard.press("2")
    light, light_pixel = background(), masked_pixel()
    page.get_by_role("button", name="Dark").click()
    assert background() < light / 3
    assert sum(masked_pixel()) < sum(light_pixel) / 3
    page.keyboard.press("d")
    assert (background(), masked_pixel()) == (light, light_pixel)


def test_a_sampled_translation_has_no_tree(browser: Any, translator: Translator, tmp_path: Path) -> None:
    sampling = Translator(translator.bundle, Decoding(beam_size=1, sampling=True, max_length=30))
    path = tmp_path / "sampled.html"
    path.write_text(
        render_page([page_data(sampling.bundle, sampling.decoding, TEXT, sampling.explain(TEXT))]), encoding="utf-8"
    )
    page = browser.new_page()
    messages = record_messages(page)
    page.goto(path.as_uri())
    assert page.get_by_text("there was no beam search").is_visible()
    assert page.get_by_role("treeitem").count() == 0
    assert page.locator("#queries .chip").count() > 0
    page.close()
    assert messages == []


# ---- output tokens


def test_alternatives_of_a_token(page: Any, explanation: Explanation) -> None:
    page.locator("#output .chip").nth(1).hover()
    assert texts(page, "#alternatives b") == [plain(token) for token, _ in explanation.alternatives[1]]
    page.locator("#output .chip").nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert texts(page, "#alternatives b") == [plain(token) for token, _ in explanation.alternatives[2]]


# ---- attention


@pytest.mark.parametrize(("key", "kind"), [("1", "encoder"), ("2", "decoder"), ("3", "cross")])
def test_hovering_a_query_shows_what_it_attends_to(page: Any, explanation: Explanation, key: str, kind: Any) -> None:
    page.keyboard.press(key)
    assert page.locator(f"input[value={kind}]").is_checked()
    attention = explanation.attention
    queries, keys = attention.queries(kind).tokens, attention.keys(kind).tokens
    assert page.locator("#queries .chip").count() == len(queries)
    weights = attention.mean(kind)[-1]  # the map that the page selects at first
    for index in (2, 4):
        page.locator("#queries .chip").nth(index).hover()
        token, percent = largest_weight(page)
        best = int(weights[index].argmax())
        assert token == plain(keys[best])
        assert float(percent) == pytest.approx(100 * weights[index, best], abs=1)
        np.testing.assert_allclose(chip_weights(page, "#keys"), 100 * weights[index], atol=1)


def test_the_summary_names_the_tokens_of_the_decoding_step(page: Any, explanation: Explanation) -> None:
    attention = explanation.attention
    page.locator("#queries .chip").nth(2).hover()
    summary = page.locator("#summary").inner_text().replace("·", "")
    read, predicted = plain(attention.target_input.tokens[2]), plain(attention.target_output.tokens[2])
    assert summary.startswith(f"After reading {read}, to predict {predicted}, the decoder attends to ")


def test_hovering_a_key_shows_which_queries_attend_to_it(page: Any, explanation: Explanation) -> None:
    page.locator("#keys .chip").nth(1).hover()
    assert "receives attention from" in page.locator("#summary").inner_text()
    weights = explanation.attention.mean("cross")[-1][:, 1]
    np.testing.assert_allclose(chip_weights(page, "#queries"), 100 * weights, atol=1)


def test_every_head_can_be_enlarged_by_pointer_and_keyboard(page: Any, explanation: Explanation) -> None:
    buttons = page.locator("#heads button")
    layers, heads = explanation.attention.weights["cross"].shape[:2]
    assert buttons.count() == layers * (heads + 2) + 3
    buttons.nth(0).click()
    assert page.locator("#map-title").inner_text() == "Cross-attention: Layer 1, head 1"
    weights = explanation.attention.weights["cross"][0]
    page.locator("#queries .chip").nth(2).hover()
    assert float(largest_weight(page)[1]) == pytest.approx(100 * weights[0, 2].max(), abs=1)
    buttons.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#map-title").inner_text() == "Cross-attention: Layer 1, head 2"
    assert float(largest_weight(page)[1]) == pytest.approx(100 * weights[1, 2].max(), abs=1)
    page.get_by_role("button", name="Rollout").click()
    rollout = explanation.attention.rollout("cross")
    assert float(largest_weight(page)[1]) == pytest.approx(100 * rollout[2].max(), abs=1)
    assert page.locator("#heads button[aria-pressed=true]").count() == 1


def test_words_replace_subwords(page: Any, explanation: Explanation) -> None:
    attention = explanation.attention
    assert texts(page, "#keys .chip") == [plain(token) for token in attention.source.tokens]
    page.get_by_text("Words", exact=True).click()
    assert texts(page, "#keys .chip") == [*TEXT.split(), "</s>"]
    page.locator("#queries .chip").nth(1).hover()
    weights = attention.by_word().mean("cross")[-1, 1]
    token, percent = largest_weight(page)
    assert token == attention.source.words[int(weights.argmax())].text
    assert float(percent) == pytest.approx(100 * weights.max(), abs=1)


def test_the_pointer_selects_rows_and_columns_of_the_enlarged_map(page: Any, explanation: Explanation) -> None:
    row, column = 3, 1
    page.evaluate("document.getElementById('heat-map').scrollIntoView()")
    box = page.locator("#heat-map image").bounding_box()
    rows, columns = explanation.attention.weights["cross"].shape[2:]
    x = box["x"] + (column + 0.5) * box["width"] / columns
    page.mouse.move(x, box["y"] + (row + 0.5) * box["height"] / rows)
    assert page.locator("#queries .chip").nth(row).get_attribute("aria-selected") == "true"
    assert page.locator("#keys .chip").nth(column).get_attribute("aria-selected") == "true"
    assert page.locator("#heat-map text.marked").count() == 1
    page.mouse.move(x, box["y"] - 10)
    assert "receives attention from" in page.locator("#summary").inner_text()


# ---- beam search


def test_the_tree_shows_every_candidate(page: Any, explanation: Explanation) -> None:
    assert page.get_by_role("treeitem").count() == 1 + sum(map(len, explanation.steps))
    assert page.locator("#hypotheses tr.winner td").first.inner_text() == explanation.translation.text
    assert explanation.translation.text in page.locator("#candidate").inner_text()


def test_arrow_keys_move_between_candidates(page: Any, explanation: Explanation) -> None:
    page.get_by_role("treeitem").nth(1).click()
    description = page.locator("#candidate")
    assert "step 1" in description.inner_text()
    page.keyboard.press("ArrowDown")
    assert f"{explanation.steps[0][1].score:.3f}" in description.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert "step 2" in description.inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "no token has been generated yet" in description.inner_text()


def test_dropped_candidates_can_be_hidden(page: Any, explanation: Explanation) -> None:
    dropped = sum(each.status == "dropped" for step in explanation.steps for each in step)
    assert page.locator("#tree g.dropped:visible").count() == dropped > 0
    before = page.locator("#tree svg").bounding_box()["height"]
    page.get_by_label("Show dropped candidates").uncheck()
    assert page.locator("#tree svg").bounding_box()["height"] <= before
    assert page.locator("#tree g.dropped:visible").count() == 0
