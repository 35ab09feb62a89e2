"""Measure a translator as a web page in Chromium: speed, size, and the same translations as in Python.

python benchmarks/web.py runs/quickstart
python benchmarks/web.py runs/multi30k-de-en --corpus multi30k:test_2016_flickr --beams 1 5
"""

from __future__ import annotations

import argparse
import http.server
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from dragoman.bundle import Bundle, find_bundle
from dragoman.corpus.corpus import read_corpus
from dragoman.evaluation.metrics import corpus_scores
from dragoman.export.run import export
from dragoman.export.web.exporter import load
from dragoman.translator import Translator

TRANSLATE = """
async ([texts, repeats]) => {
  const { loadTranslator } = await import(new URL("translator.js", location.href));
  const translator = await loadTranslator();
  const found = [], seconds = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const start = performance.now();
    for await (const results of translator.translate(texts)) {
      for (const { index, translation } of results) found[index] = translation;
    }
    seconds.push((performance.now() - start) / 1000);
  }
  return { found, seconds };
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?", default=Path("runs/quickstart"), help="or a run directory")
    parser.add_argument("--corpus", default="captions:test", help="pairs to translate, as recipes name them")
    parser.add_argument("--sentences", type=int, default=1000, help="number of pairs")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    bundle = Bundle.load(find_bundle(arguments.bundle))
    data = bundle.recipe.data
    pairs = read_corpus(arguments.corpus, source_language=data.source_language, target_language=data.target_language)
    chosen = list(islice(pairs, arguments.sentences))
    sources, references = [pair.source for pair in chosen], [pair.target for pair in chosen]
    print("beam  site (MB)  sent at the first visit (MB)  ready (s)  words/s  as in Python  BLEU: page  ONNX  engine")
    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for beam in arguments.beams:
            decoding = bundle.recipe.decoding.model_copy(update={"beam_size": beam})
            changed = replace(bundle, recipe=bundle.recipe.model_copy(update={"decoding": decoding}))
            measure(browser, changed, sources, references, arguments.repeats)


def measure(browser: Browser, bundle: Bundle, sources: Sequence[str], references: Sequence[str], repeats: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        site = Path(directory) / "site"
        export(bundle, "web", site)
        page = visit(browser, site, sources, repeats)
        python = load(bundle, site, "int8").translate(sources)
        size = sum(path.stat().st_size for path in site.iterdir()) / 1e6
    engine = [str(each) for each in Translator(bundle, device="cpu").stream(sources)]
    same = statistics.mean(map(str.__eq__, page.translations, python))
    words = sum(len(source.split()) for source in sources) / statistics.median(page.seconds)
    bleu = [corpus_scores(found, references)["bleu"] for found in (page.translations, python, engine)]
    print(
        f"{bundle.recipe.decoding.beam_size:4}  {size:9.1f}  {page.megabytes:28.1f}  {page.ready:9.1f}  {words:7,.0f}  "
        f"{same:12.1%}  {bleu[0]:10.2f}  {bleu[1]:.2f}  {bleu[2]:.2f}",
        flush=True,
    )


@dataclass(frozen=True)
class Visit:
    """What a page translated, in how many seconds each time, and what the server sent until it was ready."""

    translations: list[str]
    seconds: list[float]
    ready: float
    megabytes: float


def visit(browser: Browser, site: Path, sources: Sequence[str], repeats: int) -> Visit:
    with serve(site) as (address, sent):
        page = browser.new_page()
        hosts: set[str] = set()
        page.context.on("request", lambda request: hosts.add("/".join(request.url.split("/")[:3])))
        start = time.perf_counter()
        page.goto(address)
        page.locator("#status").filter(has_not_text="Loading").wait_for(timeout=60_000, state="attached")
        ready = time.perf_counter() - start
        page.locator("#offline").wait_for(timeout=60_000)  # all files are in the browser's cache
        megabytes = sum(sent) / 1e6
        result: dict[str, Any] = page.evaluate(TRANSLATE, [list(sources), repeats])
        page.close()
    assert hosts == {address}, hosts
    return Visit(result["found"], result["seconds"], ready, megabytes)


class CountingHandler(http.server.SimpleHTTPRequestHandler):
    """Counts the bytes of the files that it sends."""

    def __init__(self, *arguments: Any, sent: list[int], **options: Any) -> None:
        self.sent = sent
        super().__init__(*arguments, **options)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        content = source.read()
        self.sent.append(len(content))
        outputfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def serve(directory: Path) -> Iterator[tuple[str, list[int]]]:
    """The address of a server of a directory, and the sizes of what it sends."""
    sent: list[int] = []
    handler = partial(CountingHandler, directory=str(directory), sent=sent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()


if __name__ == "__main__":
    main()
