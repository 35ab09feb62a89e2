"""The page in a real browser with a running server: it translates, links words, and sends nothing elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from detectors import german_or_english
from running_server import Running, StartServer

from dragoman.bundle import Bundle
from dragoman.documents.segment import Segment
from dragoman.documents.translate import TextTranslator
from dragoman.evaluation.confidence import Confidence
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, ModelTable, ServedModel, load_models
from dragoman.serving.page.words import SegmentInWords, WordTranslator
from dragoman.translator import Translator

TEXT = "Ein kleiner Junge spielt im Park.\n\n– Zwei Hunde laufen 😀 am Strand. Eine Frau liest."


@pytest.fixture(scope="module")
def real_server(start_server: StartServer, finished_run: Path) -> Running:
    """A server with the tiny model."""
    running = start_server(characters=500)
    models = load_models([finished_run], ModelOptions())
    running.service.use_models(models, LanguageDetector.of(models))
    return running


@pytest.fixture
def page(browser: Any, real_server: Running) -> Iterator[Any]:
    """The page of the server; it reports no error and asks no other host, and no address contains text."""
    opened, messages, requests = open_page(browser, real_server.url)
    yield opened
    opened.close()
    assert messages == []
    assert all(request.startswith(f"{real_server.url}/") for request in requests)
    assert not [request for request in requests if "?" in request or "Junge" in request]


def open_page(browser: Any, url: str, **options: Any) -> tuple[Any, list[str], list[str]]:
    """A page with its console messages and the addresses of its requests, filled while it runs."""
    opened = browser.new_page(**options)
    messages: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(url)
    opened.locator("#to option").first.wait_for(state="attached")
    return opened, messages, requests


def type_text(page: Any, text: str = TEXT) -> str:
    """Type a text and return its translation."""
    with page.expect_response("**/page/translate"):
        page.locator("#source").fill(text)
    return translated(page)


def translated(page: Any) -> str:
    """The translation as soon as it is shown."""
    page.locator("#output[aria-busy=false]").wait_for()
    text: str = page.locator("#output").evaluate("output => output.textContent")
    return text


def ask(running: Running, path: str, **parameters: object) -> Any:
    reply = httpx.post(f"{running.url}/{path}", json={"source": "de", "target": "en", **parameters}, timeout=30)
    return reply.raise_for_status().json()


# ---- Requests of the page


def test_words_and_links_are_places_in_the_text_and_in_its_translation(real_server: Running) -> None:
    reply = ask(real_server, "page/translate", q=TEXT)
    text = reply["translatedText"]
    assert text == ask(real_server, "translate", q=TEXT)["translatedText"]
    sentences = [TEXT[slice(*segment["source"])] for segment in reply["segments"]]
    assert sentences == ["Ein kleiner Junge spielt im Park.", "Zwei Hunde laufen 😀 am Strand.", "Eine Frau liest."]
    for sentence, segment in zip(sentences, reply["segments"], strict=True):
        alone = ask(real_server, "page/translate", q=sentence)
        assert text[slice(*segment["target"])] == alone["translatedText"]
        for (start, end, probability), (first, last, expected) in zip(
            segment["words"], alone["segments"][0]["words"], strict=True
        ):
            assert text[start:end] == alone["translatedText"][first:last]
            assert text[start:end].strip() == text[start:end] != ""
            assert probability == pytest.approx(expected, abs=1e-3)
            assert 0 <= probability <= 1
        places = {tuple(word[:2]) for word in segment["words"]}
        links = {tuple(link[2:]) for link in segment["links"]}
        assert links
        assert links <= places  # a word without a counterpart has no link
        assert all(segment["source"][0] <= a < b <= segment["source"][1] for a, b, _, _ in segment["links"])


def test_segments_have_a_confidence_and_replies_the_lowest(start_server: StartServer, finished_run: Path) -> None:
    confidence = Confidence(constant=1.0, mean=0.5, probability=0.1, length=-0.5)
    bundle = replace(Bundle.load(finished_run / "bundle"), confidence=confidence.model_dump())
    translator = Translator(bundle, bundle.recipe.decoding)
    texts = TextTranslator(translator)
    model = ServedModel(
        "de", "en", texts.translate_segments, translator.text_search.count_tokens, bundle, words=WordTranslator(texts)
    )
    running = start_server(characters=500)
    table = ModelTable([model])
    running.service.use_models(table, LanguageDetector.of(table))
    reply = ask(running, "page/translate", q=TEXT)
    sentences = [TEXT[slice(*segment["source"])] for segment in reply["segments"]]
    expected = [each.confidence or 0.0 for each in texts.stream(sentences)]
    assert [segment["confidence"] for segment in reply["segments"]] == pytest.approx(expected, rel=1e-3)
    assert len(set(expected)) == 3
    lists = ask(running, "translate", q=["–", TEXT, TEXT])["confidence"]
    assert lists == [None, *[pytest.approx(min(expected), abs=1e-3)] * 2]
    deepl = ask(running, "v2/translate", text=[TEXT], source_lang="DE", target_lang="EN")["translations"]
    assert deepl[0]["confidence"] == lists[1] == ask(running, "translate", q=TEXT)["confidence"]


def test_alternatives_continue_the_prefix(real_server: Running) -> None:
    sentence = "Ein kleiner Junge spielt im Park."
    words = ask(real_server, "page/translate", q=sentence)["translatedText"].split()
    alternatives = ask(real_server, "page/alternatives", q=sentence, prefix=words[0])
    assert len(alternatives) > 1
    probabilities = [each["probability"] for each in alternatives]
    assert probabilities == sorted(probabilities, reverse=True)
    for each in alternatives:
        begin = each["text"][: each["word"][1]]
        assert begin.split()[:-1] == words[:1]
        again = ask(real_server, "page/translate", q=sentence, prefixes={sentence: begin})
        assert again["translatedText"].startswith(begin)


@pytest.mark.parametrize("prefixes", ["A", ["A"], {"Ein Hund.": 1}])
def test_wrong_prefixes_are_refused(real_server: Running, prefixes: object) -> None:
    request = {"q": "Ein Hund.", "source": "de", "target": "en", "prefixes": prefixes}
    assert httpx.post(f"{real_server.url}/page/translate", json=request).status_code == 400


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("inspect", {"q": "  "}),
        ("alternatives", {"q": "Ein Hund.", "prefix": "dog " * 300}),
        ("translate", {"q": "Ein Hund.", "prefixes": {"Ein Hund.": "dog " * 300}}),
    ],
    ids=["nothing to inspect", "long prefix of a word", "long prefix"],
)
def test_what_cannot_be_answered_is_the_mistake_of_the_request(
    real_server: Running, path: str, parameters: dict[str, Any]
) -> None:
    request = {"source": "de", "target": "en", **parameters}
    reply = httpx.post(f"{real_server.url}/page/{path}", json=request)
    assert reply.status_code == 400
    assert reply.json()["error"] != "The text could not be translated."


def test_beginnings_count_as_characters_of_the_request(real_server: Running) -> None:
    sentence, beginning = "Ein Hund läuft.", "A dog" * 100
    for path, parameters in (
        ("alternatives", {"prefix": beginning}),
        ("translate", {"prefixes": {sentence: beginning}}),
        ("translate", {"prefixes": {str(number): "a" * 10 for number in range(50)}}),
    ):
        request = {"q": sentence, "source": "de", "target": "en", **parameters}
        reply = httpx.post(f"{real_server.url}/page/{path}", json=request)
        assert (reply.status_code, "limit" in reply.text) == (400, True)


def test_long_sentences_are_divided_into_segments(start_server: StartServer, finished_run: Path) -> None:
    running = start_server(batch_tokens=50)
    models = load_models([finished_run], ModelOptions())
    running.service.use_models(models, LanguageDetector.of(models))
    text = "Ein Hund läuft " * 20
    segments = ask(running, "page/translate", q=text)["segments"]
    sources = [text[slice(*segment["source"])] for segment in segments]
    assert "".join(" ".join(sources).split()) == "".join(text.split())
    (model,) = models.models
    assert max(map(model.count_tokens, sources)) <= 50
    for path in ("alternatives", "inspect"):
        request = {"q": text, "source": "de", "target": "en"}
        assert httpx.post(f"{running.url}/page/{path}", json=request).status_code == 400


def test_long_sentences_have_the_links_of_their_parts_and_no_wrong_probabilities(finished_run: Path) -> None:
    texts = TextTranslator(Translator(Bundle.load(finished_run / "bundle"), device="cpu"))
    words = WordTranslator(texts)
    long = " ".join(["ein mann mit einem hut läuft zum strand,"] * 30)
    assert len(texts.divide(long)) > 1
    found, short = words.translate([Segment(long), Segment("Ein Hund läuft.")])
    (expected,) = texts.translate_segments([Segment(long, aligned=True)])
    assert (found.text, found.links) == (expected.text, expected.links)
    assert max(link.source_end for link in found.links) > len(long) - 10
    assert isinstance(found, SegmentInWords)
    assert isinstance(short, SegmentInWords)
    assert not found.words, "the model cannot read it at once"
    assert short.words


def test_chosen_beginnings_have_problems_and_say_if_they_are_ignored(real_server: Running) -> None:
    short, long = "Ein Hund mit {name} und %s.", "ein mann mit einem hut " * 20
    found = ask(real_server, "page/translate", q=short, prefixes={short: "A dog"})["segments"][0]
    assert found["problems"], "the prefix leaves out the placeholders"
    found = ask(real_server, "page/translate", q=long, prefixes={long.strip(): "A dog"})["segments"][0]
    assert any("too long" in problem for problem in found["problems"])


def test_two_models_translate_without_words(start_server: StartServer) -> None:
    reply = ask(start_server(), "page/translate", q="Hallo", target="es")
    assert (reply["translatedText"], reply["segments"]) == ("es[en[Hallo]]", [])


def test_terms_are_used_and_reported(real_server: Running, start_server: StartServer) -> None:
    reply = ask(real_server, "page/translate", q=TEXT, glossary="Frau = Wauwau\nKatze = cat")
    plain = ask(real_server, "page/translate", q=TEXT, glossary="")
    assert "wauwau" in reply["translatedText"].lower()
    assert [each["terms"] for each in reply["segments"]] == [
        [],
        [],
        [{"source": "Frau", "target": "Wauwau", "used": "exactly"}],
    ]
    assert reply["segments"][:2] == plain["segments"][:2]
    for lines in ("Frau = Wau=wau\n\nKatze = cat", "Frau=Wau\nKatze = cat", "Frau\tWau=wau\nKatze\ta = b"):
        reply = ask(real_server, "page/translate", q=TEXT, glossary=lines)
        assert reply["segments"][2]["terms"][0]["target"] in ("Wau=wau", "Wau")
    pivot = ask(start_server(), "page/translate", q="Hallo Frau", target="es", glossary="Frau = mujer")
    assert pivot["problems"] == ["missing term: mujer"]
    damaged = {"q": "Hallo", "source": "de", "target": "en", "glossary": "Frau"}
    error = httpx.post(f"{real_server.url}/page/translate", json=damaged).json()["error"]
    assert "glossary line 1: expected 'term = translation'" in error


def test_the_policy_allows_only_own_files(real_server: Running) -> None:
    index = httpx.get(real_server.url)
    names = re.findall(r'(?:src|href)="([^"]+)"', index.text)
    assert all(re.fullmatch(r"page/[a-z]+\.(js|css|svg)", name) for name in names)
    for name in ["", *names]:
        reply = httpx.get(f"{real_server.url}/{name}")
        assert reply.status_code == 200
        policy = dict(part.split(" ", 1) for part in reply.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert set(policy.values()) == {"'none'", "'self'"}
    assert not re.search(r"<script>|<style| style=| on\w+=", index.text)
    assert httpx.get(f"{real_server.url}/page/requests.py").status_code == 404


# ---- Text


def test_the_page_translates_what_is_typed(page: Any, real_server: Running) -> None:
    assert type_text(page) == ask(real_server, "translate", q=TEXT)["translatedText"]
    assert page.locator("#from option").first.inner_text() == "German (auto)"
    assert page.locator("#output .word").count() > 5
    assert page.locator("#count").inner_text() == f"{len(TEXT)} / 500"
    page.locator("#clear").click()
    assert page.locator("#output").inner_text() == page.locator("#source").input_value() == ""


def test_uncertain_words_are_shaded(page: Any, real_server: Running) -> None:
    type_text(page)
    words = [word for each in ask(real_server, "page/translate", q=TEXT)["segments"] for word in each["words"]]
    shaded = page.locator("#output [class*=unsure]").all_inner_texts()
    text = ask(real_server, "translate", q=TEXT)["translatedText"]
    assert shaded == [text[a:b] for a, b, probability in words if probability < 0.5 and text[a:b].isalnum()]


def test_words_are_linked_in_both_directions(page: Any) -> None:
    type_text(page)
    page.locator("#output .word").nth(1).hover()
    linked = page.locator("#backdrop .linked")
    assert linked.count() >= 1
    box = linked.first.bounding_box()
    page.mouse.move(0, 0)
    assert page.locator(".linked").count() == 0
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#backdrop .linked").count() == 1
    assert "linked" in page.locator("#output .word").nth(1).get_attribute("class")


def test_a_chosen_word_changes_the_rest_of_its_sentence(page: Any) -> None:
    before = type_text(page)
    page.locator("#output .word").nth(1).focus()
    page.keyboard.press("Enter")
    choice = page.locator("#choices button").first
    choice.wait_for()
    chosen = choice.inner_text()
    page.keyboard.press("Enter")
    page.locator("#output .chosen").nth(1).wait_for()
    after = translated(page)
    assert after.split()[:2] == [before.split()[0], re.split(r"\W", chosen)[0]]
    assert after.partition("\n")[2] == before.partition("\n")[2]
    assert page.evaluate("document.activeElement.textContent") == after.split()[1]
    page.locator("#output .word").nth(0).click()
    with page.expect_response("**/page/translate"):
        page.locator("#reset").click()
    assert translated(page) == before


def test_the_glossary_is_used_and_kept(page: Any) -> None:
    type_text(page)
    page.get_by_text("Glossary", exact=True).click()
    page.get_by_label("Glossary").press_sequentially("Frau", delay=100)
    page.wait_for_timeout(500)
    assert page.locator("#error").inner_text() == "", "an unfinished line is not sent"
    page.get_by_label("Glossary").press_sequentially(" = water spaniel")
    page.locator("#output", has_text=re.compile("water spaniel", re.IGNORECASE)).wait_for()
    page.reload()
    assert page.locator("#glossary:enabled").input_value() == "Frau = water spaniel"
    assert "water spaniel" in type_text(page).lower()


def test_each_target_language_has_its_glossary(browser: Any, start_server: StartServer) -> None:
    page, messages, _ = open_page(browser, start_server(("de-en", "de-es")).url)
    page.evaluate("localStorage.setItem('dragoman-glossary', 'Hund = perro')")  # of an earlier version
    page.evaluate("localStorage.setItem('dragoman-languages', 'de es')")
    page.reload()
    field = page.locator("#glossary:enabled")
    assert field.input_value() == "Hund = perro"
    assert type_text(page, "Hund") == "es[perro]"
    page.locator("#to").select_option("en")
    assert field.input_value() == ""
    field.fill("Hund = hound")
    page.get_by_text("en[hound]", exact=True).wait_for()
    page.locator("#to").select_option("es")
    assert field.input_value() == "Hund = perro"
    page.close()
    assert messages == []


def test_the_inspector_explains_a_sentence(page: Any) -> None:
    type_text(page)
    page.locator("#output .word").first.click()
    with page.expect_popup() as popup:
        page.locator("#inspect button").click()
    popup.value.locator("#output .chip").first.wait_for()
    blocked = "image => new Promise(done => { const test = new Image(); test.onload = () => done(false);"
    blocked += " test.onerror = () => done(true); test.src = image.getAttribute('href'); })"
    assert not popup.value.locator("#heat-map image").evaluate(blocked), "the page's policy blocks the map"
    assert popup.value.locator("h1").inner_text() == "Ein kleiner Junge spielt im Park."
    assert popup.value.evaluate("origin") == "null"
    popup.value.close()


def test_only_the_last_text_is_shown(browser: Any, start_server: StartServer) -> None:
    running = start_server()
    fake = running.fakes["de-en"]
    page, messages, _ = open_page(browser, running.url)
    page.locator("#from").select_option("de")
    fake.gate.clear()
    with page.expect_request("**/page/translate"):
        page.locator("#source").fill("Hal")
    with page.expect_event("requestfailed"):
        page.locator("#source").fill("Hallo")
    fake.gate.set()
    page.get_by_text("en[Hallo]", exact=True).wait_for()
    assert page.locator(".word").count() == 0
    page.close()
    assert messages == []


def test_swapped_languages(browser: Any, start_server: StartServer) -> None:
    page, messages, _ = open_page(browser, start_server(("en-ar", "ar-en")).url)
    page.locator("#from").select_option("en")
    assert type_text(page, "Hi") == "ar[Hi]"
    assert page.locator("#output").get_attribute("dir") == "rtl"
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.get_by_text("en[ar[Hi]]", exact=True).wait_for()
    assert [page.locator(name).input_value() for name in ("#from", "#to", "#source")] == ["ar", "en", "ar[Hi]"]
    assert page.locator("#source").get_attribute("dir") == "rtl"
    page.close()
    assert messages == []


def test_the_chosen_language_comes_back_when_the_text_is_in_another_one(
    browser: Any, start_server: StartServer
) -> None:
    """A text in the language into which it would be translated is translated into another one, but no other text."""
    running = start_server(("de-en", "en-hi"))
    running.service.detector = german_or_english()
    page, messages, _ = open_page(browser, running.url)
    page.locator("#to").select_option("en")
    assert type_text(page, "ein mann und eine frau") == "en[ein mann und eine frau]"
    page.locator("#source").fill("a man and a woman")
    page.get_by_text("hi[a man and a woman]", exact=True).wait_for()
    page.locator("#source").fill("eine frau und ein hund")
    page.get_by_text("en[eine frau und ein hund]", exact=True).wait_for()
    assert page.locator("#to").input_value() == "en"
    page.close()
    assert messages == []


def test_problems_are_told_in_words_and_once(browser: Any, real_server: Running) -> None:
    sentence = "Ein Hund mit {name} und %s."
    found = ask(real_server, "page/translate", q=f"{sentence} {sentence}")["segments"]
    first, second = (each["problems"] for each in found)
    assert first == second
    assert "loop" in first or "too long" in first, "the model has hardly been trained"
    page, messages, _ = open_page(browser, real_server.url)
    type_text(page, f"{sentence} {sentence}")
    page.locator("#notes li").first.wait_for()
    notes = page.locator("#notes li").all_inner_texts()
    assert len(notes) == len(set(first))
    for note in notes:
        assert note.startswith(f"“{sentence}”: ")
        assert note.endswith(" (2 times)")
    assert not any(": loop" in note or ": too long" in note for note in notes)
    page.close()
    assert messages == []


def test_a_copied_text_says_why(browser: Any, start_server: StartServer) -> None:
    """The server translates from German only, and detects German and English."""
    running = start_server(("de-en",))
    running.service.detector = german_or_english()
    page, messages, _ = open_page(browser, running.url)
    for text, reason in (
        ("a man and a woman", "The text seems to be in English; this server does not translate from it."),
        ("мужчина и женщина", "The language was not recognized; this server translates only from German."),
    ):
        assert type_text(page, text) == text
        page.locator("#notes li").get_by_text(reason, exact=True).wait_for()
    assert page.locator("#output").get_attribute("dir") == "auto"
    assert type_text(page, "ein mann und eine frau") == "en[ein mann und eine frau]"
    assert page.locator("#notes li").count() == 0
    assert page.locator("#output").get_attribute("dir") == "ltr"
    page.close()
    assert messages == []


def test_languages_without_a_way_back_cannot_be_swapped(browser: Any, start_server: StartServer) -> None:
    page, messages, _ = open_page(browser, start_server(("en-de",)).url)
    page.locator("#from").select_option("en")
    assert type_text(page, "Hi") == "de[Hi]"
    assert page.locator("#swap").is_disabled()
    assert "does not translate from German" in page.locator("#swap").get_attribute("title")
    page.close()
    assert messages == []


def test_codes_with_underscores_and_unknown_codes(browser: Any, start_server: StartServer) -> None:
    page, messages, _ = open_page(browser, start_server(("en-fa_IR", "en-x")).url)
    page.locator("#from").select_option("en")
    assert page.locator("#from option").count() == 2, "languages that are only targets cannot be translated"
    assert type_text(page, "Hi") == "fa_IR[Hi]"
    assert [page.locator("#output").get_attribute(name) for name in ("dir", "lang")] == ["rtl", "fa-IR"]
    assert page.evaluate("[...document.querySelectorAll('#to option')].every((each) => each.text)")
    page.close()
    assert messages == []


def test_a_locked_server_gets_the_key(browser: Any, start_server: StartServer) -> None:
    running = start_server(require_keys=True)
    key = running.service.keys.add("tester")
    page, _, requests = open_page(browser, running.url)
    page.locator("#from").select_option("de")
    page.locator("#source").fill("Hallo")
    page.locator("#error").get_by_text("Enter an API key").wait_for()
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    page.get_by_text("en[Hallo]", exact=True).wait_for()
    assert page.locator("#error").inner_text() == ""
    assert not [request for request in requests if key in request]
    page.close()


# ---- Errors, documents and layout


def test_errors_appear_next_to_the_text(browser: Any, real_server: Running) -> None:
    page, _, _ = open_page(browser, real_server.url)
    translation = type_text(page)
    page.locator("#source").fill("a" * 501)
    page.locator("#error").get_by_text("at most 500 characters").wait_for()
    assert page.locator("#output").inner_text() == "", "not the translation of the text before"
    page.context.set_offline(True)
    page.locator("#source").fill("Ein Hund.")
    page.locator("#error").get_by_text("cannot be reached").wait_for()
    page.context.set_offline(False)
    assert type_text(page) == translation
    assert page.locator("#error").inner_text() == ""
    page.close()


def drop(page: Any, name: str, content: str) -> None:
    """Drop a file on the page."""
    data = page.evaluate_handle("new DataTransfer()")
    data.evaluate("(data, [name, content]) => data.items.add(new File([content], name))", [name, content])
    page.dispatch_event("#files", "dragover", {"dataTransfer": data})
    assert page.locator("body.dragging").count() == 1
    page.dispatch_event("#files", "drop", {"dataTransfer": data})


def test_a_dropped_file_can_be_downloaded(page: Any, real_server: Running) -> None:
    drop(page, "brief.txt", TEXT)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "brief_en.txt"
    assert download.value.path().read_text("utf-8") == ask(real_server, "translate", q=TEXT)["translatedText"]


def test_a_refused_file_shows_the_reason(browser: Any, real_server: Running) -> None:
    page, _, _ = open_page(browser, real_server.url)
    drop(page, "brief.exe", "MZ")
    page.locator("#documents .error").wait_for()
    assert page.locator("#documents progress").count() == 0
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(browser: Any, real_server: Running, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _, _ = open_page(browser, real_server.url, color_scheme=scheme)
    type_text(page)
    found = []
    for state in ("translated", "refused", "menu"):
        if state == "refused":
            drop(page, "brief.exe", "MZ")
            page.locator("#documents .error").wait_for()
        if state == "menu":
            page.locator("#output .word").nth(2).click()
            page.locator("#choices button").first.wait_for()
        found += [each for each in axe.run(page).response["violations"] if each["impact"] in ("serious", "critical")]
    assert not found, json.dumps(found, indent=1)
    page.close()


def test_the_page_fits_a_phone(browser: Any, real_server: Running) -> None:
    page, messages, _ = open_page(browser, real_server.url, viewport={"width": 360, "height": 740})
    type_text(page, "Donaudampfschifffahrtsgesellschaftskapitänspatent " * 3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#output").evaluate("output => output.append('x'.repeat(200))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
    assert messages == []
