"""Check that documents come back as they were if the translator returns its input.

python benchmarks/documents.py my/documents
python benchmarks/documents.py my/documents --bundle runs/quickstart

The directory has one directory per format. Printed are the number of documents that are identical byte for byte, of
those with the same content, and of those that are refused. The second group are translation files with missing
translations: without what was added, they must have the same elements, attributes and texts in the same order.
Documents that are identical are then translated with one word more, and must have the same other texts.

With a bundle, the HTML documents are also translated with it, and the tags that they still have are counted.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman import TextTranslator, load
from dragoman.documents.formats import open_document
from dragoman.documents.formats.characters import read_xml
from dragoman.documents.formats.file import DocumentFile
from dragoman.documents.formats.html import HtmlText
from dragoman.errors import UserError
from dragoman.markup.po import read_messages
from dragoman.markup.xml import XmlNode, XmlText
from dragoman.text.translation import Translation

FILLED = (".po", ".pot", ".xlf", ".xliff", ".tmx")
SOURCE = re.compile(r'(?:source-language|srcLang|srclang)="([^"]+)"')
TARGET = re.compile(r'(?:(?:target-language|trgLang)="|^"Language: )([^"\\\s]+)', re.MULTILINE)
TAG = re.compile(r"</?[a-zA-Z][^>]*>")
TRANSLATED = re.compile(r"""((?:alt|title|placeholder|aria-label)=)(?:"[^"]*"|'[^']*')""")
ADDED = {"target", "tuv"}
CHANGED = {"state", "target-language", "trgLang"}


def find_languages(text: str) -> tuple[str, str]:
    """The languages that a file of translations states, or any other two."""
    source = SOURCE.search(text)
    target = TARGET.search(text)
    return source[1] if source else "en", target[1] if target else "xx"


def unchanged(data: bytes, name: str, languages: tuple[str, str]) -> bytes:
    document = open_document(data, name, languages)
    return document.assemble([Translation(segment.text) for segment in document.segments])


def is_changed_alone(data: bytes, name: str, languages: tuple[str, str]) -> bool:
    """Whether a changed sentence changes no other one."""
    document = open_document(data, name, languages)
    texts = [segment.text for segment in document.segments]
    if not texts:
        return True
    texts[len(texts) // 2] = f"Wort {texts[len(texts) // 2]}"
    after = document.assemble([Translation(text) for text in texts])
    again = [segment.text for segment in open_document(after, name, languages).segments]
    return " ".join(again).split() == " ".join(texts).split()


def content(data: bytes, name: str) -> Sequence[object]:
    """What a file of translations contains, apart from translations."""
    if name.endswith((".po", ".pot")):
        messages = read_messages(data.decode("latin-1").split("\n"), name)
        keys = ("msgctxt", "msgid", "msgid_plural")
        return [[message.texts.get(key) for key in keys] for message in messages if message.source]
    root, _ = read_xml(DocumentFile(data, name, ("en", "de")))
    return list(nodes_of(root.children))


def nodes_of(nodes: Sequence[XmlNode]) -> Iterator[object]:
    for node in nodes:
        if isinstance(node, XmlText):
            yield from [node.text] if node.text.strip() else []
        elif node.name not in ADDED:
            yield node.name, sorted((key, value) for key, value in node.attributes.items() if key not in CHANGED)
            yield from nodes_of(node.children)


def check(path: Path) -> str:
    """What happens to a document."""
    data = path.read_bytes()
    try:
        languages = find_languages(data.decode("latin-1"))
        after = unchanged(data, path.name, languages)
        if after == data:
            return "identical bytes" if is_changed_alone(data, path.name, languages) else "OTHER TEXTS CHANGE"
        same = path.suffix in FILLED and content(data, path.name) == content(after, path.name)
        return "same content" if same else "DIFFERENT"
    except UserError as error:
        return f"refused: {error}"


def count_tags(html: str) -> Counter[str]:
    """The tags of a document without the values that are translated."""
    return Counter(TRANSLATED.sub(r"\1", tag) for tag in TAG.findall(html))


def show_tags(paths: Sequence[Path], bundle: Path) -> None:
    """Translate HTML documents, and print how many of their tags the translations have."""
    translator = TextTranslator(load(bundle))
    tags, kept = 0, 0
    for path in paths:
        html = path.read_text("utf-8", "replace")
        before = count_tags(html)
        tags += before.total()
        kept += (before & count_tags(translator.translate(HtmlText(html, translator.source_language)))).total()
    print(f"{len(paths)} HTML documents, {tags} tags, {kept} of them kept")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--bundle", type=Path, help="translate HTML documents with it")
    arguments = parser.parse_args()
    for directory in sorted(filter(Path.is_dir, arguments.directory.iterdir())):
        results = {path: check(path) for path in sorted(directory.iterdir())}
        counts = Counter(result.partition(":")[0] for result in results.values())
        print(f"{directory.name:<8} {', '.join(f'{count} {result}' for result, count in counts.most_common())}")
        for path, result in results.items():
            if result.startswith(("refused", "DIFFERENT", "OTHER")):
                print(f"    {path.name}: {result}")
    if arguments.bundle:
        show_tags(sorted(arguments.directory.glob("*/*.htm*")), arguments.bundle)


if __name__ == "__main__":
    main()
