"""`dragoman inspect --serve`: answers equal what the model computes, and the page in Chromium shows them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from random_bundles import make_bundle
from running_inspector import running_inspector

from dragoman.serving.inspector import Changes, Inspector, Off, Question
from dragoman.serving.inspector_app import SETTINGS
from dragoman.text.multilingual import MultilingualTokenizer
from dragoman.training.run.open_checkpoint import open_checkpoint
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park."
HOSTILE = '</script><script>document.title="run"</script><img src=x onerror="document.title=\'run\'">'


@pytest.fixture(scope="module")
def address(translator: Translator) -> Iterator[str]:
    with running_inspector({"tiny": translator}, TEXT) as url:
        yield url


@pytest.fixture(scope="module")
def checkpoint(finished_run: Path) -> Path:
    return min((finished_run / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def compared(translator: Translator, checkpoint: Path) -> Iterator[str]:
    with running_inspector({"tiny": translator, checkpoint.name: Translator(open_checkpoint(checkpoint))}, TEXT) as url:
        yield url


def ask(address: str, answer: str, **parameters: Any) -> Any:
    reply = httpx.post(f"{address}/{answer}", json={"q": TEXT, **parameters}, timeout=60)
    return reply.raise_for_status().json()


def error_of(address: str, **parameters: Any) -> tuple[int, str]:
    reply = httpx.post(f"{address}/explain", json=parameters, timeout=60)
    return reply.status_code, reply.json()["error"]


# ---- Answers


def test_answers_are_those_of_python(address: str, translator: Translator) -> None:
    explanation = translator.explain(TEXT)
    (shown,) = ask(address, "explain")["explanations"]
    assert shown["translation"] == explanation.translation.text
    np.testing.assert_allclose(shown["lens"]["probabilities"], explanation.logit_lens.probabilities, atol=1e-3)
    (influence,) = ask(address, "influence")["influences"]
    assert influence["words"] == TEXT.split()
    np.testing.assert_allclose(influence["decreases"], explanation.influence.by_word(), atol=1e-3)
    weights = explanation.attention.by_word().weights["cross"].mean(axis=(0, 1))[:, :-1]  # without </s>
    np.testing.assert_allclose(influence["attention"], weights, atol=1e-3)


def test_a_change_is_measured_on_the_earlier_translation(address: str, translator: Translator) -> None:
    earlier = translator.explain(TEXT)
    (shown,) = ask(address, "explain", without=[2])["explanations"]
    change = shown["change"]
    assert change["translation"] == earlier.translation.text
    without = earlier.influence.without[2]
    np.testing.assert_allclose(np.array(change["after"]), np.exp(without), atol=1e-3)
    assert change["totals"] == pytest.approx([earlier.influence.log_probabilities.sum(), without.sum()], abs=1e-2)
    assert shown["translation"] == translator.explain(TEXT, [2]).translation.text
    off = [{"heads": [["cross", 0, 0]], "layers": [["encoder", 0]]}]
    (changed,) = ask(address, "explain", off=off)["explanations"]
    assert changed["name"] == "tiny without 1 head, 1 layer"
    assert changed["change"]["before"] == change["before"]
    assert changed["change"]["totals"][1] < changed["change"]["totals"][0]
    assert changed["off"] == off[0]


def test_wrong_requests_are_refused(address: str) -> None:
    assert error_of(address, q=" ") == (400, "this text contains no word to translate")
    assert error_of(address, q=TEXT, without=[99])[0] == 400
    assert "no head with the index 7" in error_of(address, q=TEXT, off=[{"heads": [["cross", 0, 7]]}])[1]
    assert "more models" in error_of(address, q=TEXT, off=[{}, {}])[1]
    assert "off.0.heads" in error_of(address, q=TEXT, off=[{"heads": "x"}])[1]
    assert "it has 2,001 characters, and the limit is 2,000" in error_of(address, q="x" * (SETTINGS.characters + 1))[1]
    assert httpx.post(f"{address}/other", json={"q": TEXT}).status_code == 404


def test_other_hosts_and_pages_are_kept_out(address: str) -> None:
    for host, expected in (("127.0.0.1", 200), ("localhost:1234", 200), ("evil.example", 400)):
        assert httpx.get(address, headers={"Host": host}).status_code == expected
    for foreign in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": address},
    ):
        reply = httpx.post(f"{address}/explain", data={"q": TEXT}, headers=foreign)
        assert reply.status_code == 403, foreign
        assert not [name for name in reply.headers if name.startswith("access-control")]
    own = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
    assert httpx.post(f"{address}/explain", json={"q": TEXT}, headers=own, timeout=60).status_code == 200
    assert "frame-ancestors 'none'" in httpx.get(address).headers["content-security-policy"]


def test_a_text_longer_than_the_limit_is_cut(address: str) -> None:
    (shown,) = ask(address, "explain", q="Hund " * 300)["explanations"]
    assert shown["truncated"]


@pytest.mark.parametrize("variant", ["placeholders", "words", "multilingual"])
def test_texts_of_all_kinds_are_explained(variant: str) -> None:
    bundle = make_bundle("pre-norm, tied" if variant == "multilingual" else variant)
    if variant == "multilingual":
        tokens = {code: bundle.source.vocabulary.tokens[-index] for index, code in enumerate(("de", "en"), start=1)}
        source, target = (MultilingualTokenizer(bundle.source, tokens, code) for code in ("de", "en"))
        bundle = replace(bundle, source=source, target=target)
    inspector = Inspector({"random": Translator(bundle)})
    texts = [
        *("Ein %s mit {name} auf https://example.org/x?y=1.", "القطة تجلس على السجادة", "एक कुत्ता दौड़ रहा है।"),
        *("他在公园里玩。", "🐕‍🦺", "x", "Hund\u200bHund\u2028Katze", "\u202eabc", HOSTILE, "Wort" * 200),
    ]
    for text in texts:
        explained = json.loads(inspector.answer_question(Question(text)))
        found = json.loads(inspector.answer_question(Question(text, answer="influence")))
        (influence,), words = found["influences"], explained["words"]
        assert influence["words"] == words != []
        assert np.isfinite(influence["decreases"]).all()
        if len(words) > 1:
            changes = Changes(without=(0,), off=(Off(heads=(("encoder", 1, 1),)),))
            (changed,) = json.loads(inspector.answer_question(Question(text, changes=changes)))["explanations"]
            assert np.isfinite(changed["change"]["totals"]).all()


def test_many_questions_at_once(address: str) -> None:
    texts = [f"{TEXT} {number}" for number in range(4)] * 2
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda text: ask(address, "influence", q=text), texts))
    assert replies[:4] == replies[4:]


# ---- The page


@contextmanager
def opened_page(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """The page after its first answers; it reports no error, and asks no other host."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(url)
    yield page
    page.close()
    assert messages == []
    assert all(request.startswith((url, "data:", "blob:")) for request in requests)


def wait(page: Any) -> None:
    """Wait for all answers."""
    page.locator("#save:not(:disabled)").wait_for()


def test_the_text_is_edited(browser: Any, address: str, translator: Translator) -> None:
    with opened_page(browser, address) as page:
        wait(page)
        assert page.locator("#translation").inner_text() == translator(TEXT).text
        assert page.locator("#words button").all_inner_texts() == TEXT.split()
        assert page.locator("#influence-sources .chip").all_inner_texts() == TEXT.split()
        page.locator("#text").fill("Zwei Hunde laufen.")
        page.locator("#words button", has_text="Hunde").wait_for()
        wait(page)
        assert page.locator("#translation").inner_text() == translator("Zwei Hunde laufen.").text
        assert page.locator("#queries .chip").count() == page.locator("#output .chip").count()
        page.locator("#text").fill("")
        page.locator("#explanation").wait_for(state="hidden")


def test_words_and_heads_are_switched_off_and_on(browser: Any, address: str, translator: Translator) -> None:
    with opened_page(browser, address) as page:
        wait(page)
        page.locator("#words button").nth(2).click()
        page.locator("#change").wait_for()
        assert page.locator("#change-translation").inner_text() == translator(TEXT).text
        assert page.locator("#translation").inner_text() == translator.explain(TEXT, [2]).translation.text
        page.locator("#heads button").first.click()
        page.get_by_role("button", name="Switch off: head 1 of layer 1").click()
        page.locator("#heads button.off").first.wait_for()
        wait(page)
        assert page.locator("#heads button.off").count() == 1
        assert page.locator("#change-list button").count() == 2
        page.get_by_role("button", name="Switch off: decoder layer 1").click()
        page.locator("#lens-table th", has_text="Layer 1 (switched off)").wait_for()
        assert page.locator("#lens-table th", has_text="switched off").count() == 1
        page.get_by_role("button", name="Switch on: decoder layer 1").click()
        wait(page)
        for name in ("Junge", "head 1 of layer 1"):
            page.locator("#change-list button", has_text=name).click()
            page.locator("#change-list button", has_text=name).wait_for(state="hidden")
        wait(page)
        assert page.locator("#translation").inner_text() == translator(TEXT).text


def test_the_saved_page_needs_no_server(browser: Any, address: str, tmp_path: Path) -> None:
    with opened_page(browser, address) as page:
        wait(page)
        with page.expect_download() as download:
            page.locator("#save").click()
        path = tmp_path / "saved.html"
        download.value.save_as(path)
        translation = page.locator("#translation").inner_text()
    with opened_page(browser, path.as_uri()) as saved:
        assert saved.locator("#translation").inner_text() == translation
        assert saved.locator("#influence-map svg").is_visible()
        assert saved.locator("#lens-table tbody td").count() > 0
        assert saved.locator("#text").count() == 0


def test_markup_is_shown_as_text(browser: Any, address: str) -> None:
    with opened_page(browser, address) as page:
        wait(page)
        page.locator("#text").fill(HOSTILE)
        page.locator("#words button", has_text="onerror").wait_for()
        wait(page)
        assert page.title() != "run"
        assert page.locator("img").count() == 0


def test_two_checkpoints_side_by_side(browser: Any, compared: str, translator: Translator, checkpoint: Path) -> None:
    other = Translator(open_checkpoint(checkpoint))
    with opened_page(browser, compared) as page:
        wait(page)
        expected = [each(TEXT).text or "(empty)" for each in (translator, other)]
        assert page.locator("#sides .translation").all_inner_texts() == expected
        assert page.locator("#sides svg").count() == 4
        page.locator("#models label").nth(1).click()
        assert page.locator("#translation").inner_text() == other(TEXT).text


def test_two_browsers_at_once(browser: Any, address: str, translator: Translator) -> None:
    with opened_page(browser, address) as one, opened_page(browser, address) as two:
        for page, text in ((one, "Ein Hund läuft."), (two, "Eine Frau liest.")):
            wait(page)
            page.locator("#text").fill(text)
        for page, text in ((one, "Ein Hund läuft."), (two, "Eine Frau liest.")):
            page.locator("#words button", has_text=text.split()[1]).wait_for()
            wait(page)
            assert page.locator("#translation").inner_text() == translator(text).text


# ---- The command


def start(*arguments: object) -> tuple[subprocess.Popen[str], str]:
    """The process of the command, and what it prints first."""
    command: Sequence[str] = [sys.executable, "-m", "dragoman", "inspect", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    return process, process.stderr.readline()


@pytest.mark.slow
def test_the_command_serves_until_ctrl_c(finished_run: Path, checkpoint: Path) -> None:
    process, printed = start(finished_run, TEXT, "--serve", "--compare", checkpoint)
    with process:
        match = re.fullmatch(r"dragoman: (http://127\.0\.0\.1:\d+)\n", printed)
        assert match, printed
        assert len(ask(match[1], "explain")["explanations"]) == 2
        assert json.dumps(TEXT, ensure_ascii=False) in httpx.get(match[1]).text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130, -signal.SIGINT)
