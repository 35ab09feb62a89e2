"""Translated documents state the language of their translation; unchanged ones keep theirs."""

from __future__ import annotations

import io
import zipfile

import pytest
from office_files import epub, odt, pptx
from segment_translators import assemble, translate_upper

from dragoman.documents.formats import open_document
from dragoman.documents.formats.language_labels import set_language

LABELED = {
    "a.html": (
        '<html lang="de-DE" xml:lang=de><i lang="fr">Un</i> <q lang="de-AT">Ein Hund</q><script>"<p lang=de>"</script>',
        '<html lang="en" xml:lang=en><i lang="fr">Un</i> <q lang="en">EIN HUND</q><script>"<p lang=de>"</script>',
    ),
    "a.arb": ('{"@@locale": "de_AT", "a": "Hund"}', '{"@@locale": "en", "a": "HUND"}'),
    "a.vtt": (
        "WEBVTT\nLanguage: de\n\n00:01.000 --> 00:02.000\nHund\n",
        "WEBVTT\nLanguage: en\n\n00:01.000 --> 00:02.000\nHUND\n",
    ),
    "b.vtt": (
        "WEBVTT\n00:01.000 --> 00:02.000\nLanguage: de\n",
        "WEBVTT\n00:01.000 --> 00:02.000\nLANGUAGE: DE\n",
    ),
    "b.html": (
        '<!--[if IE]><html lang="de"><![endif]--><html lang="de"><p>Hund',
        '<!--[if IE]><html lang="de"><![endif]--><html lang="en"><p>HUND',
    ),
    "c.html": ('<html lang="german"><p>Hund', '<html lang="german"><p>HUND'),
    "d.html": ('<html lang="fr"><p>Hund', '<html lang="fr"><p>HUND'),
    "b.arb": ('{"@@locale": "fr", "a": "Hund"}', '{"@@locale": "fr", "a": "HUND"}'),
    "a.htm": ('<p>Text: &lt;html lang="de"> <b lang="de">x</b>', '<p>TEXT: &lt;HTML LANG="DE"&gt; <b lang="en">X</b>'),
}
"""Documents, and the same in upper case and in English."""


@pytest.mark.parametrize("name", LABELED)
def test_labels_state_the_target_language(name: str) -> None:
    before, after = LABELED[name]
    assert assemble(open_document(before.encode(), name, ("de", "en")), translate_upper).decode() == after
    assert assemble(open_document(before.encode(), name, ("de", "en"))).decode() == before


@pytest.mark.parametrize(("stated", "expected"), [("", "pt_BR"), ("de", "pt_BR"), ("pt", "pt")])
def test_header_of_po_states_the_target_language(stated: str, expected: str) -> None:
    data = f'msgid ""\nmsgstr ""\n"Language: {stated}\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    document = open_document(f'{data}\nmsgid "Hund"\nmsgstr ""\n'.encode(), "a.po", ("de", "pt_BR"))
    assert f'"Language: {expected}\\n"' in assemble(document, translate_upper).decode()


def test_only_the_header_of_po_is_a_label() -> None:
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n\n'
    message = 'msgid ""\n"Language: de\\n"\n"Hund"\nmsgstr ""\n"Language: de\\n"\n'
    changed = set_language("a.po", (header + message).encode(), ("de", "en")).decode()
    assert changed == header.replace(": de", ": en") + message
    assert set_language("a.po", message.encode(), ("de", "en")).decode() == message


def test_regions_are_written_as_the_format_requires() -> None:
    for target in ("pt-BR", "pt_BR"):
        assert set_language("a.html", b"<html lang=de>", ("de", target)) == b"<html lang=pt-BR>"
        assert set_language("a.xml", b'<w:lang w:val="de"/>', ("de", target)) == b'<w:lang w:val="pt-BR"/>'
        assert set_language("a.arb", b'"@@locale": "de"', ("de", target)) == b'"@@locale": "pt_BR"'
    style = b'<style:text-properties fo:language="de" fo:country="%s"/>'
    for target, country in (("de-Latn", "none"), ("de_Latn_AT", "AT"), ("de-419", "419"), ("de-1996", "none")):
        changed = set_language("styles.xml", style % b"DE", ("de-DE", target))
        assert changed == style % country.encode()


def test_direction_of_a_page_is_that_of_its_language() -> None:
    page = b"<html lang='de'>"
    arabic = set_language("a.html", page, ("de", "ar"))
    assert arabic == b"<html dir=\"rtl\" lang='ar'>"
    assert set_language("a.html", arabic, ("ar", "de")) == b"<html dir=\"ltr\" lang='de'>"
    assert set_language("a.html", b"<html>", ("de", "ar")) == b"<html>"
    for source, body in (("ar", b"<body dir=ltr>"), ("fr", b"<body dir=rtl>")):
        page = b'<html lang="%s"><!--<body dir=rtl>--><body dir=rtl>' % source.encode()
        assert set_language("a.html", page, ("ar", "de")).endswith(b"<!--<body dir=rtl>-->" + body)


def test_direction_of_the_pages_of_a_book() -> None:
    spine = "<spine page-progression-direction='{}'/>"
    for source, after in (("ar", "ltr"), ("fr", "rtl")):
        book = f"<package><dc:language>{source}</dc:language>{spine.format('rtl')}</package>"
        assert spine.format(after) in set_language("a.opf", book.encode(), ("ar", "de")).decode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_labels_in_wide_encodings(encoding: str) -> None:
    for name in ("a.html", "a.arb", "a.vtt"):
        before, after = (text.encode(encoding) for text in LABELED[name])
        assert assemble(open_document(before, name, ("de", "en")), translate_upper) == after


def test_labels_in_archives() -> None:
    for name, data in (("a.pptx", pptx()), ("a.epub", epub()), ("a.odt", odt())):
        document = open_document(data, name, ("de", "en-GB"))
        with zipfile.ZipFile(io.BytesIO(assemble(document, translate_upper))) as archive:
            contents = "".join(
                archive.read(member).decode() for member in archive.namelist() if member.endswith(("xml", "opf"))
            )
        for label in ('lang="de"', ">de<", '"de"'):
            assert label not in contents, name


def test_labels_of_word_and_odt() -> None:
    words = b'<w:lang w:eastAsia="ja-JP" w:val="de-AT"/><w:lang w:val="fr-FR"/>'
    assert set_language("word/styles.xml", words, ("de", "en")) == words.replace(b"de-AT", b"en")
    core = b"<cp:coreProperties><dc:language>%s</dc:language>"
    assert set_language("docProps/core.xml", core % b"de-DE", ("de", "en")) == core % b"en"
    style = b'<style:text-properties fo:language="de" fo:country="DE"/><style:text-properties fo:language="fr"/>'
    for target, language, country in (("en-GB", b"en", b"GB"), ("hi", b"hi", b"none")):
        expected = style.replace(b'"de"', b'"%s"' % language).replace(b'"DE"', b'"%s"' % country)
        assert set_language("styles.xml", style, ("de", target)) == expected
