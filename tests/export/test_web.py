"""Export to a web page: Chromium translates as Python does, without a network, and asks no other host."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from random_bundles import make_bundle, sentences
from web_pages import run_module, serve_directory, translate_in

from dragoman import TextTranslator, load
from dragoman.bundle import Bundle
from dragoman.documents.sentences import join_translations
from dragoman.errors import UserError
from dragoman.export.run import export
from dragoman.translator import Translator

exporter = pytest.importorskip("dragoman.export.web.exporter")

TEXT = "Ein kleiner Junge spielt im Park.\n\n  Zwei Hunde laufen am Strand. Eine Frau liest."


@pytest.fixture(scope="module")
def site(finished_run: Path, web_runtime: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the tiny run."""
    directory = tmp_path_factory.mktemp("web") / "site"
    export(Bundle.load(finished_run / "bundle"), "web", directory)
    return directory


def make_random(beam: int = 4) -> Bundle:
    return make_bundle("placeholders", model__encoder_layers=1, model__decoder_layers=1, decoding__beam_size=beam)


@pytest.fixture(scope="module")
def random_bundle() -> Bundle:
    """A bundle with random weights and placeholders; its model is converted once."""
    return make_random()


@pytest.fixture(scope="module")
def random_site(random_bundle: Bundle, web_runtime: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the random bundle, in float32."""
    directory = tmp_path_factory.mktemp("random")
    exporter.write(random_bundle, directory, "float32")
    return directory


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The page as soon as it can translate; it reports no error, and asks no other host."""
    with serve_directory(site) as address:
        context = browser.new_context()
        messages: list[str] = []
        requests: list[str] = []
        context.on("console", lambda message: messages.append(message.text))
        context.on("weberror", lambda error: messages.append(str(error.error)))
        context.on("request", lambda request: requests.append(request.url))
        opened = context.new_page()
        opened.goto(address)
        opened.locator("#offline").wait_for()
        yield opened
        context.close()
    assert messages == []
    assert requests
    assert all(request.startswith(f"{address}/") for request in requests)


def type_text(page: Any, text: str) -> str:
    """Type a text and return its translation."""
    page.locator("#output").evaluate("output => output.ariaBusy = 'unknown'")
    page.locator("#source").fill(text)
    page.locator("#output[aria-busy=false]").wait_for()
    translation: str = page.locator("#output").text_content()
    return translation


# ---- Translations


def test_the_page_translates_sentences_as_the_graphs_in_python(page: Any, site: Path, finished_run: Path) -> None:
    model = exporter.load(Bundle.load(finished_run / "bundle"), site, "int8")
    parts = ["Ein kleiner Junge spielt im Park.", "Zwei Hunde laufen am Strand.", "Eine Frau liest."]
    first, second, third = model.translate(parts)
    spans = [(place := TEXT.index(part), place + len(part)) for part in parts]
    assert type_text(page, TEXT) == join_translations(TEXT, spans, [first, second, third])
    assert type_text(page, "") == ""


def test_texts_without_letters_stay_as_they_are(page: Any, finished_run: Path) -> None:
    """The model masks no numbers, and would lose some."""
    translate = TextTranslator(load(finished_run))
    for text in ("2. 3.", "7 + 5 = 12\n\n100. 200.", "- 2! 3!"):
        assert type_text(page, text) == translate(text) == text


@pytest.mark.parametrize("beam", [1, 4])
def test_every_search_finds_the_same(beam: int, browser: Any, random_site: Path) -> None:
    """In float32: with random weights, rounding decides often."""
    bundle = make_random(beam)
    config = json.loads((random_site / "config.json").read_text("utf-8"))
    config["decoding"]["beam_size"] = beam
    (random_site / "config.json").write_text(json.dumps(config), "utf-8")
    spans = ["Siehe %s und https://a.de/b.", "Ein 12 😀 {name}!", "\ufdd0 x"]
    texts = [*sentences(), *spans, "", " – ", "a" * 700]
    with serve_directory(random_site) as address:
        opened = browser.new_page()
        opened.goto(address)
        found = translate_in(opened, texts)
        opened.close()
    model = exporter.load(bundle, random_site, "float32")
    assert [text for text, _ in found] == model.translate(texts)
    translations = list(Translator(bundle).stream(texts))
    assert [problems for _, problems in found] == [each.problems for each in translations]
    assert "%s" in dict(zip(texts, found, strict=True))[spans[0]][0]


# ---- The page


def test_the_page_works_without_a_server_after_the_first_visit(browser: Any, site: Path) -> None:
    context = browser.new_context()
    opened = context.new_page()
    with serve_directory(site) as address:
        opened.goto(address)
        opened.locator("#offline").wait_for()
        expected = type_text(opened, TEXT)
    opened.goto("about:blank")
    opened.goto(address)
    assert type_text(opened, TEXT) == expected != ""
    context.close()


def test_the_translation_is_copied_where_browsers_offer_no_clipboard(browser: Any, site: Path) -> None:
    """They offer it to pages of HTTPS and of this computer only."""
    with serve_directory(site) as address:
        context = browser.new_context()
        context.add_init_script("delete Navigator.prototype.clipboard")
        opened = context.new_page()
        opened.goto(address)
        translation = type_text(opened, "Ein Hund läuft.")
        opened.locator("#copy").click()
        opened.locator("#status", has_text="Copied").wait_for()
        opened.locator("#source").fill("")
        opened.keyboard.press("Control+V")
        assert opened.locator("#source").input_value() == translation != ""
        context.close()


@contextmanager
def open_page(browser: Any, site: Path, **changes: str) -> Iterator[Any]:
    """The page with changes to its config.json."""
    with serve_directory(site) as address:
        context = browser.new_context(service_workers="block")
        config = json.loads((site / "config.json").read_text("utf-8")) | changes
        context.route("**/config.json", lambda route: route.fulfill(json=config))
        opened = context.new_page()
        opened.goto(address)
        yield opened
        context.close()


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        pytest.param("de_AT", "Austrian German", marks=pytest.mark.slow),
        ("hin_Deva", "Hindi (Devanagari)"),
        ("x", "x"),
    ],
)
def test_every_code_of_a_language_is_accepted(code: str, shown: str, browser: Any, site: Path) -> None:
    with open_page(browser, site, source=code) as opened:
        opened.locator("#from").filter(has_text=re.compile(f"^{re.escape(shown)}$")).wait_for()
        assert type_text(opened, "Ein Hund läuft.")


@pytest.mark.parametrize(
    ("code", "direction"),
    [
        ("pa-Arab", "rtl"),
        ("pa", "ltr"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("he", "rtl"), ("x", "ltr"))),
    ],
)
def test_the_script_decides_the_direction(code: str, direction: str, browser: Any, site: Path) -> None:
    with open_page(browser, site, target=code) as opened:
        opened.locator(f"#output[dir={direction}]").wait_for(state="attached")


def test_invisible_characters_do_not_change_translations(page: Any) -> None:
    assert type_text(page, "Ein Hu\u00adnd \u200eläuft\ufeff.") == type_text(page, "Ein Hund läuft.") != ""


def test_texts_much_longer_than_the_training_text_are_divided(browser: Any, site: Path) -> None:
    texts = ["Ein Hund läuft, " * 8 + "ein Kind lacht.", "Ein Hund läuft."]
    program = """
      const { config, texts } = argument, { Tokenizer } = await import(new URL("tokenizer.js", location.href));
      const data = await (await fetch("source.tokenizer.json")).json();
      const translator = new module.Translator(null, config, new Tokenizer(data), new Tokenizer(data));
      return texts.map(translator.isTooLong);
    """
    config = json.loads((site / "config.json").read_text("utf-8"))
    assert config["max_characters"] < 500
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(f"{address}/config.json")
        for longest, expected in ((100, [True, False]), (None, [False, False])):
            argument = {"config": config | {"max_characters": longest}, "texts": texts}
            assert run_module(opened, "translator.js", program, argument) == expected
        opened.close()


def test_a_text_is_too_long_if_the_model_does_not_read_all_of_its_tokens(browser: Any, site: Path) -> None:
    program = """
      const { config, texts } = argument, { Tokenizer } = await import(new URL("tokenizer.js", location.href));
      const tokenizer = new Tokenizer(await (await fetch("source.tokenizer.json")).json());
      const { isTooLong } = new module.Translator(null, config, tokenizer, tokenizer);
      return texts.map((text) => [isTooLong(text), tokenizer.encode(text).length >= config.max_length]);
    """
    config = json.loads((site / "config.json").read_text("utf-8")) | {"max_length": 16, "max_characters": None}
    texts = ["x" * number for number in range(10, 20)]
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(f"{address}/config.json")
        found = run_module(opened, "translator.js", program, {"config": config, "texts": texts})
        opened.close()
    assert [is_long for is_long, _ in found] == [expected for _, expected in found]
    assert {expected for _, expected in found} == {True, False}


@pytest.mark.parametrize("redirects", [("/index.html", "/"), ("/", "/index.html")])
def test_a_server_that_redirects_the_index_does_not_break_the_second_visit(
    redirects: tuple[str, str], browser: Any, site: Path
) -> None:
    context = browser.new_context()
    opened = context.new_page()
    with serve_directory(site, redirects) as address:
        opened.goto(f"{address}/index.html")
        opened.locator("#offline").wait_for()
        opened.goto(f"{address}/index.html")
        assert type_text(opened, "Ein Hund läuft.")
    for path in ("/", "/index.html?x"):
        opened.goto("about:blank")
        opened.goto(f"{address}{path}")
        assert type_text(opened, "Ein Hund läuft.")
    context.close()


def test_a_visit_while_the_page_is_copied_to_the_server_does_not_break_it(
    browser: Any, site: Path, random_bundle: Bundle, tmp_path: Path
) -> None:
    served, update = Path(shutil.copytree(site, tmp_path / "site")), tmp_path / "update"
    update.mkdir()
    exporter.write(random_bundle, update, "int8")
    context = browser.new_context()
    opened = context.new_page()
    with serve_directory(served) as address:
        opened.goto(address)
        opened.locator("#offline").wait_for()
        shutil.copytree(update, served, dirs_exist_ok=True)
        complete = (served / "encoder.onnx.gz").read_bytes()
        (served / "encoder.onnx.gz").write_bytes(complete[: len(complete) // 2])
        assert update_worker(opened) == "redundant"  # the browser discarded it
        (served / "encoder.onnx.gz").write_bytes(complete)
        os.utime(served / "encoder.onnx.gz", (time.time() + 2,) * 2)  # the server compares times in seconds
        assert update_worker(opened) == "activated"
    opened.reload()
    assert type_text(opened, TEXT)
    context.close()


def update_worker(page: Any) -> str:
    """Fetch the service worker again, and return in what state it ends."""
    program = """async () => {
      const registration = await (await navigator.serviceWorker.ready).update(), worker = registration.installing;
      return new Promise((resolve) => {
        const ends = () => ["activated", "redundant"].includes(worker.state) && resolve(worker.state);
        worker.addEventListener("statechange", ends);
        ends();
      });
    }"""
    state: str = page.evaluate(program)
    return state


def test_what_is_typed_while_the_model_is_loading_is_translated(browser: Any, site: Path) -> None:
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(address, wait_until="commit")
        opened.locator("#source").wait_for()
        assert type_text(opened, "Ein Hund läuft.")
        opened.close()


def test_an_unfinished_translation_is_not_copied_and_disappears_with_its_text(browser: Any, site: Path) -> None:
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(address)
        type_text(opened, "Ein Hund läuft.")
        opened.locator("#source").fill("\n".join(f"Ein Hund läuft {number}." for number in range(400)))
        opened.locator("#output", has_text="…").wait_for()
        assert opened.locator("#copy").is_disabled()
        opened.locator("#clear").click()
        opened.wait_for_function("document.querySelector('#output').textContent === ''")  # after a batch at work
        opened.wait_for_timeout(1000)
        assert opened.locator("#output").text_content() == ""
        assert type_text(opened, "Ein Hund läuft.") != ""
        assert opened.locator("#copy").is_enabled()
        opened.locator("#source").evaluate(
            """source => {
              source.value += " Ja";
              source.dispatchEvent(new Event("input"));
              window.isDisabled = document.querySelector("#copy").disabled; // before the pause without a key is over
            }"""
        )
        assert opened.evaluate("() => isDisabled")
        opened.close()


def test_only_new_sentences_of_a_long_text_are_translated(browser: Any, site: Path, tmp_path: Path) -> None:
    served = Path(shutil.copytree(site, tmp_path / "site"))
    worker = (served / "worker.js").read_text("utf-8")
    (served / "worker.js").write_text(worker.replace("REMEMBERED = 2000", "REMEMBERED = 2"), "utf-8")
    observe = """output => {
      window.shown = [];
      new MutationObserver(() => shown.push(output.textContent)).observe(output, { childList: true });
    }"""
    with serve_directory(served) as address:
        opened = browser.new_page()
        opened.goto(address)
        type_text(opened, "Ein Hund.\nEine Frau.\nEin Kind.\nEin Mann.\nEin Ball.")
        opened.locator("#output").evaluate(observe)
        type_text(opened, "Ein Hund.\nEine Frau.\nEin Kind.\nEin Mann.\nEin Ball.\nEin Park.")
        assert opened.evaluate("() => shown[0]").count("…") == 1
        opened.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("decoder.onnx.gz", "decoder.onnx.gz cannot be loaded (error 404)."),
        ("sentences.js", "A file of this page cannot be loaded."),
    ],
)
def test_a_file_that_is_missing_is_reported(name: str, message: str, browser: Any, site: Path) -> None:
    with serve_directory(site) as address:
        context = browser.new_context()
        context.route(f"**/{name}", lambda route: route.fulfill(status=404))
        opened = context.new_page()
        opened.goto(address)
        opened.locator("#error:not(:empty)").wait_for()
        assert opened.locator("#error").text_content() == message
        context.close()


def test_a_damaged_file_is_reported(browser: Any, site: Path) -> None:
    with serve_directory(site) as address:
        context = browser.new_context()
        half = (site / "encoder.onnx.gz").read_bytes()[:1000]
        context.route("**/encoder.onnx.gz", lambda route: route.fulfill(body=half))
        opened = context.new_page()
        opened.goto(address)
        opened.locator("#error:not(:empty)").wait_for()
        assert opened.locator("#error").text_content() == "encoder.onnx.gz is damaged."
        context.close()


def test_the_policy_forbids_other_hosts_and_other_code(browser: Any, site: Path) -> None:
    with serve_directory(site) as address:
        opened = browser.new_page()
        opened.goto(address)
        refused = opened.evaluate(
            """async ([own]) => {
              const reached = async (url) => fetch(url).then(() => true, () => false);
              const script = Object.assign(document.createElement("script"), { textContent: "window.ran = true" });
              document.head.append(script);
              return [await reached(own), await reached(own.replace("127.0.0.1", "localhost")), window.ran ?? false];
            }""",
            [address],
        )
        assert refused == [True, False, False]
        opened.close()


def test_the_page_is_accessible_and_fits_a_phone(browser: Any, site: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with serve_directory(site) as address:
        opened = browser.new_page(viewport={"width": 360, "height": 740}, bypass_csp=True)
        opened.goto(address)
        opened.locator("#offline").wait_for()
        type_text(opened, f"{TEXT} {'x' * 300}")
        for scheme in ("light", "dark"):
            opened.emulate_media(color_scheme=scheme)
            violations = axe.run(opened).response["violations"]
            assert not [each for each in violations if each["impact"] in ("serious", "critical")], json.dumps(
                violations
            )
        assert opened.evaluate("document.documentElement.scrollWidth") <= 360
        opened.close()


# ---- The export


@pytest.mark.slow
def test_exports_are_equal(random_site: Path, tmp_path: Path, digests: Callable[[Path], dict[str, str]]) -> None:
    exporter.write(make_random(), tmp_path, "float32")
    expected, found = digests(random_site), digests(tmp_path)
    del expected["config.json"], found["config.json"]  # a test changes it
    assert found == expected


def test_what_the_page_cannot_do_is_refused_by_name() -> None:
    unsupported = exporter.unsupported
    assert unsupported(make_bundle()) == []
    assert unsupported(make_bundle("split words")) == ["text.pre_tokenizer = 'whitespace': must be 'metaspace'"]
    assert unsupported(make_bundle("words")) == [
        "text.tokenizer = 'whitespace': must be 'bpe' or 'unigram', trained by dragoman"
    ]
    with pytest.raises(UserError, match=r"web does not support this bundle:\n  text\.pre_tokenizer"):
        export(make_bundle("split words"), "web", Path("never-written"))
