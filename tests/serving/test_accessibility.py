"""axe-core finds nothing serious on any page, in light and dark colors, on a desktop and on a phone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running_inspector import running_inspector
from running_server import StartServer
from web_pages import serve_directory

from conftest import Command
from dragoman.bundle import Bundle
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.render import render_page
from dragoman.export.run import export
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, load_models
from dragoman.training.run.open_checkpoint import open_checkpoint
from dragoman.translator import Translator

AXE = Path(__file__).parents[2] / ".venv" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
"""Where `make node` installs it."""

TEXT = "Ein kleiner Junge spielt im Park. Zwei Hunde laufen."
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 800}}


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    if not AXE.is_file():
        assert "REQUIRE_NODE" not in os.environ, "axe-core is not installed"
        pytest.skip("axe-core is not installed; make node installs it")
    return AXE.read_text(encoding="utf-8")


def check(page: Any, place: str) -> None:
    """Check that axe-core finds nothing serious, and that nothing is wider than the page."""
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    faults = [
        f"{place}: {fault['id']}: {node['html'][:150]} {node['failureSummary'][:400]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"][:4]
    ]
    assert not faults, "\n".join(faults)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, place


@pytest.fixture
def check_page(browser: Any, axe: str) -> Callable[..., None]:
    """Checks a page at an address after `prepare`, in all colors and sizes."""

    def check_all(address: str, prepare: Callable[[Any], None] = lambda page: None) -> None:
        for name, size in SIZES.items():
            context = browser.new_context(viewport=size, bypass_csp=True)  # axe is a script
            page = context.new_page()
            page.goto(address)
            prepare(page)
            page.evaluate(axe)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                if directory := os.environ.get("DRAGOMAN_SCREENSHOTS"):
                    test = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].split(" ")[0]
                    page.screenshot(path=f"{directory}/{test}-{scheme}-{name}.png", full_page=True)
                check(page, f"{scheme}, {name}")
            context.close()

    return check_all


def test_inspector(check_page: Callable[..., None], translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    explanation = translator.explain(TEXT)
    path.write_text(
        render_page([page_data(translator.bundle, translator.decoding, TEXT, explanation)]), encoding="utf-8"
    )
    check_page(path.as_uri())


def test_served_inspector(check_page: Callable[..., None], translator: Translator, finished_run: Path) -> None:
    other = Translator(open_checkpoint(min((finished_run / "checkpoints").iterdir())))

    def change(page: Any) -> None:
        page.locator("#save:not(:disabled)").wait_for()
        page.locator("#words button").nth(2).click()
        page.locator("#change").wait_for()
        page.locator("#heads button").first.click()
        page.locator("#switches button").first.click()
        page.locator("#heads button.off").first.wait_for()
        page.locator("#save:not(:disabled)").wait_for()

    with running_inspector({"tiny": translator, "checkpoint": other}, TEXT) as address:
        check_page(address, change)


def test_report(check_page: Callable[..., None], finished_run: Path) -> None:
    check_page((finished_run / "report.html").as_uri())


def test_comparison(
    check_page: Callable[..., None], finished_run: Path, corpus: Path, command: Command, tmp_path: Path
) -> None:
    files = ("--source", corpus / "test.de", "--reference", corpus / "test.en", "--output", tmp_path / "page.html")
    assert command("compare", finished_run, finished_run, *files, "--set", "decoding.beam_size=1").code == 0
    check_page((tmp_path / "page.html").as_uri())


def test_server(check_page: Callable[..., None], start_server: StartServer, finished_run: Path) -> None:
    server, models = start_server(), load_models([finished_run], ModelOptions())
    server.service.use_models(models, LanguageDetector.of(models))

    def open_menu(page: Any) -> None:
        page.locator("#to option").first.wait_for(state="attached")
        page.locator("#source").fill(TEXT)
        page.locator("#output .word").first.click()
        page.locator("#choices button").first.wait_for()

    check_page(server.url, open_menu)


@pytest.fixture(scope="module")
def site(finished_run: Path, web_runtime: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of the tiny run."""
    pytest.importorskip("dragoman.export.web.exporter")
    directory = tmp_path_factory.mktemp("web") / "site"
    export(Bundle.load(finished_run / "bundle"), "web", directory)
    with serve_directory(directory) as address:
        yield address


@pytest.mark.slow
def test_web_page(check_page: Callable[..., None], site: str) -> None:
    def translate(page: Any) -> None:
        page.locator("#offline").wait_for()
        page.locator("#source").fill(TEXT)
        page.locator("#output[aria-busy=false]").wait_for()

    check_page(site, translate)
