"""Files whose lines are not sentences are refused by name or by content, and texts are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.corpus.corpus import count_texts, read_corpus
from dragoman.corpus.pair import Pair
from dragoman.errors import UserError
from dragoman.markup.file_kinds import FILE_KINDS
from dragoman.settings import FilePair

CONTENT = {
    "po": ('# x\n\nmsgid ""\nmsgstr "Language: de\\n"\n\nmsgid "%s"\nmsgstr "%s"\n', "rename it to .po"),
    "tmx": (
        '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">%s %s</tmx>',
        "rename it to .tmx",
    ),
    "xliff": ('<xliff version="1.2">%s\n%s</xliff>', "rename it to .xlf"),
    "srt": ("1\n00:00:01,000 --> 00:00:02,000\n%s\n%s\n", "copy the sentences"),
    "html": ("<!DOCTYPE html>\n<html><body><p>%s<p>%s", "copy the sentences"),
    "sgm": ('<srcset setid="x" srclang="any">\n<doc docid="a">\n<seg id="1">%s</seg>\n<seg id="2">%s</seg>', "sed -n"),
    "android": ('<resources>\n  <string name="a">%s</string>\n  <string name="b">%s</string>\n</resources>', "a2po"),
    "tbx": ('<?xml version="1.0"?><martif type="TBX">\n%s\n%s', "export its terms"),
    "qt": ('<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1">\n%s\n%s', "lconvert"),
    "xml": ('<?xml version="1.0"?>\n<texts>\n<a>%s</a><b>%s</b>', "copy the sentences"),
    "properties": ("# Menu\nmenu.open=%s\nmenu.close = %s\n", "prop2po"),
    "ini": ("[menu]\nopen=%s\nclose=%s\n", "one PO file"),
    "yaml": ("LANG:\n  menu:\n    open: %s\n    close: '%s'\n", "yaml2po"),
    "json": ('{\n  "menu": {\n    "Open": "%s",\n    "Close": "%s"\n  }\n}\n', "json2po"),
    "short json": ('{"open": "%s", "close": "%s"}', "json2po"),
    "strings": ('/* Menu */\n"Open" = "%s";\n"Close" = "%s";\n', "one PO file"),
}
"""What files contain, with two texts, and a part of the remedy."""


def write(directory: Path, content: str, suffix: str = "txt") -> FilePair:
    for language, texts in (("de", ("Öffnen Sie es.", "Schließen")), ("en", ("Open it.", "Close"))):
        path = directory / f"{language}.{suffix}"
        path.write_text((content % texts).replace("LANG", language), "utf-8")
    return FilePair(source=f"{directory}/de.{suffix}", target=f"{directory}/en.{suffix}")


def read(reference: FilePair) -> list[Pair]:
    return list(read_corpus(reference, source_language="de", target_language="en"))


@pytest.mark.parametrize("name", CONTENT)
def test_other_content_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    content, remedy = CONTENT[name]
    for start in ("", "\ufeff", "\n"):
        reference = write(tmp_path, start + content)
        with pytest.raises(UserError, match=r"de\.txt: is an? .*; ") as caught:
            read(reference)
        assert remedy in str(caught.value)


@pytest.mark.parametrize("suffix", [suffix for kind in FILE_KINDS for suffix in kind.suffixes])
def test_other_names_are_refused_with_a_remedy(suffix: str, tmp_path: Path) -> None:
    reference = write(tmp_path, "%s\n%s\n", suffix.removeprefix("."))
    with pytest.raises(UserError, match=rf"de\{suffix}: is an? .*; "):
        read(reference)
    with pytest.raises(UserError, match=rf"de\{suffix}: is an? .*; "):
        count_texts(reference.source)


@pytest.mark.parametrize(
    "content",
    [
        "%s\n%s\n",
        "Tom: %s\nAnna: %s\nTom: %s\nAnna: %s\n" * 9,
        "Tom: %s\nAnna: %s\n",
        "<b>%s</b>\n<i>%s</i>\n",
        '"%s"\n"%s"\n',
        "2 + 2 = 4 %s\nx = %s\n\n\n\na\n\nb\n\nc\n",
        "https://a.de %s\nhttps://b.de %s\n",
        "12:30 %s\n13:30 %s\n",
        "note: %s\nnote: %s\n" * 3,
        "<user>: %s\n<name> %s\n",
        "<s>%s</s>\n<s>%s</s>\n",
        "NATO 1:1 %s\nTom 12:30 %s\n",
        "[1] %s\n[2][3] %s\n",
        'HE "%s"\nSHE "%s"\n',
        "\\v 1 %s\n\\v 2 %s\n",
        "%s\n# %s\nmsgid\n",
    ],
)
def test_texts_are_read(content: str, tmp_path: Path) -> None:
    first, second, *rest = content.split("%s")
    assert read(write(tmp_path, f"{first}%s{second}%s{'Ein Satz.'.join(rest)}"))
