"""Writes docs/dragoman.webp, the animated picture of the README: type, translate, inspect.

It shows the real pages of a server in Chromium: python docs/generate_animation.py runs/quickstart
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

SENTENCE = "Ein kleiner Junge spielt im Park mit einem Hund."
SIZE = {"width": 880, "height": 620}
LABEL = """text => {
  const label = document.getElementById("label") ?? document.body.appendChild(document.createElement("div"));
  label.id = "label";
  label.textContent = text;
  Object.assign(label.style, {position: "fixed", bottom: "12px", left: "50%", transform: "translateX(-50%)",
    zIndex: 9, padding: "6px 18px", borderRadius: "99px", background: "#1b4b8f", color: "white",
    font: "600 17px system-ui"});
}"""


@dataclass
class Film:
    """The pictures of the animation, each with its milliseconds."""

    frames: list[Image.Image] = field(default_factory=list)
    durations: list[int] = field(default_factory=list)

    def show(self, page: Page, milliseconds: int, label: str) -> None:
        """Add what the page shows now."""
        page.evaluate(LABEL, label)
        self.frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        self.durations.append(milliseconds)

    def save(self, path: Path) -> None:
        """Write an animated WebP that repeats forever."""
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=self.durations, loop=0, quality=70, method=6)


@contextmanager
def served(run: Path) -> Iterator[str]:
    """The address of a server with a run."""
    command = [sys.executable, "-m", "dragoman", "serve", str(run), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines: Any = server.stdout
        yield next(match[0] for line in lines if (match := re.search(r"http://[\d.:]+", line)))
    finally:
        server.terminate()
        server.wait()


def record(url: str, film: Film) -> None:
    """Type a sentence, look at other words, and open the inspector."""
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(url)
        page.locator("#to option").first.wait_for(state="attached")
        film.show(page, 600, "1  Type")
        typed = ""
        page.route("**/page/translate", lambda route: route.abort())  # a fast typist, whose pauses are too short
        for word in SENTENCE.split(" "):
            typed = f"{typed} {word}".strip()
            page.locator("#source").fill(typed)
            film.show(page, 250, "1  Type")
        page.unroute("**/page/translate")
        with page.expect_response("**/page/translate"):
            page.locator("#source").press("Control+Enter")
        page.locator("#output[aria-busy=false]").wait_for()
        film.show(page, 1500, "2  Read the translation")
        words = page.locator("#output .word")
        words.nth(2).hover()
        film.show(page, 1300, "2  Point at a word: what it translates")
        words.nth(2).click()
        page.locator("#choices button").first.wait_for()
        film.show(page, 1800, "2  Click it: other words")
        with page.context.expect_page() as opened:
            page.locator("#inspect button").click()
        inspect(opened.value, film)
        browser.close()


def inspect(page: Page, film: Film) -> None:
    """The inspector: probabilities, attention, beam search."""
    tokens = page.locator("#output [role=option]")
    tokens.first.wait_for()
    film.show(page, 1200, "3  Inspect: how sure is each token?")
    for number in (2, 4):
        tokens.nth(number).click()
        film.show(page, 900, "3  Inspect: how sure is each token?")
    page.evaluate("document.getElementById('attention-heading').scrollIntoView()")
    film.show(page, 1200, "3  Inspect: every layer and head")
    page.evaluate("document.getElementById('map-title').scrollIntoView()")
    queries = page.locator("#queries [role=option]")
    for number in (2, 4, 7):
        queries.nth(number).hover()
        time.sleep(0.1)
        film.show(page, 1000, "3  Inspect: where does it look?")
    page.evaluate("document.getElementById('search').scrollIntoView()")
    film.show(page, 2200, "3  Inspect: what did the search drop?")


if __name__ == "__main__":
    film = Film()
    with served(Path(sys.argv[1])) as url:
        record(url, film)
    path = Path(__file__).with_name("dragoman.webp")
    film.save(path)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(film.frames)} frames, {sum(film.durations) / 1000:.0f} s")
