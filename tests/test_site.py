"""`make site`: the pages build without a warning, every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md") if path.name != "README.md")


class Links(HTMLParser):
    """The links of a page, the files that it loads, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value for name, value in attrs if value}
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(attributes["href"])
        elif "src" in attributes:
            self.loaded.append(attributes["src"])


def test_every_page_is_in_the_navigation_once() -> None:
    kinds = runpy.run_path(str(ROOT / "docs" / "conf.py"))["navigation"]()
    assert list(kinds) == ["Tutorials", "How-to guides", "Reference", "Background"]
    listed = [page for pages in kinds.values() for page in pages]
    assert len(listed) == len(set(listed))
    assert set(listed) >= {page.with_suffix("").as_posix() for page in PAGES}, "add the new page to docs/README.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it."""
    pytest.importorskip("furo", reason="the extra site is not installed")
    output = tmp_path_factory.mktemp("site")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\t\$\(BIN\)/python -m (sphinx .*) build/site$", makefile, re.MULTILINE)
    words = [sys.executable, "-m", *command.split(), str(output / "site"), "--doctree-dir", str(output / "doctrees")]
    completed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
    return output / "site"


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    assert site / "index.html" in pages
    assert len(pages) > len(PAGES)
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"


@pytest.mark.slow
def test_the_site_works_offline(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not [address for address in Links(path).loaded if urlsplit(address).netloc], path
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?https?:", sheet.read_text(encoding="utf-8")), sheet
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "back-translation" in index or "backtransl" in index
