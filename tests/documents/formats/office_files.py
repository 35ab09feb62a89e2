"""Documents in the formats of office programs, with the structure that these programs write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20


def package(members: Mapping[str, str | bytes], stored: str = "") -> bytes:
    """A ZIP archive; one member is not compressed."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10))
            info.compress_type = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return output.getvalue()


def run(text: str, properties: str = "", revision: str = "") -> str:
    """A run of a Word document."""
    tag = f'<w:r w:rsidR="{revision}">' if revision else "<w:r>"
    return f'{tag}{properties and f"<w:rPr>{properties}</w:rPr>"}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(instruction: str, result: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> '
        f'{instruction} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(result)}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def letter() -> str:
    """The body of a letter."""
    return "".join(
        [
            f"{HEAD}<w:document {W} {R}><w:body>",
            f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>{run("Sehr geehrte Frau ")}',
            f"{run('Müller', '<w:b/>')}</w:p>",
            f'<w:p w:rsidR="00A1">{run("Der Hund ", revision="00B2")}<w:proofErr w:type="spellStart"/>',
            f'{run("läuft ", revision="00B3")}<w:proofErr w:type="spellEnd"/>{run("schnell", "<w:i/>")}',
            run(" nach Hause"),
            '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>',
            f"{run('. Er bellt &amp; frisst &lt;viel&gt;.')}</w:p>",
            f'<w:p><w:hyperlink r:id="rId4">{run("Unsere Seite", "<w:u/>")}</w:hyperlink>{run(" im Netz, ")}',
            f"{field('PAGE', '3')}{run(' und ')}{field('HYPERLINK &quot;http://a.de&quot;', 'mehr dazu')}",
            f"{run(' hier.')}</w:p>",
            "<w:tbl><w:tblPr/><w:tr><w:tc><w:tcPr/>",
            f"<w:p>{run('Menge')}</w:p></w:tc><w:tc><w:p>{run('12,50')}</w:p></w:tc></w:tr></w:tbl>",
            f"<w:p>{run('Name:')}<w:r><w:tab/><w:t>links</w:t><w:br/><w:t>Neue Zeile</w:t></w:r></w:p>",
            '<w:p><w:ins w:id="1" w:author="A">',
            f'{run("Neuer Text ")}</w:ins><w:del w:id="2" w:author="A"><w:r><w:delText>alter Text</w:delText></w:r>',
            "</w:del>",
            f'{run("bleibt stehen.")}<w:bookmarkStart w:id="0" w:name="x"/><w:bookmarkEnd w:id="0"/></w:p>',
            "<w:p><w:r><w:pict><w:txbxContent>",
            f"<w:p>{run('Text im Kasten')}</w:p></w:txbxContent></w:pict></w:r>{run('Neben dem Kasten')}</w:p>",
            f"<w:p>{run('A')}</w:p><w:p><w:r><w:t/></w:r></w:p><w:p/>",
            "<w:sectPr/></w:body></w:document>",
        ]
    )


def notes(kind: str) -> str:
    return (
        f'{HEAD}<w:{kind}s {W}><w:{kind} w:id="2"><w:p>{run("Eine Anmerkung zum Hund.")}</w:p></w:{kind}></w:{kind}s>'
    )


def relationships(targets: Mapping[str, str]) -> str:
    """A member .rels: the kind of each target."""
    types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{types}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(targets.items(), start=1)
    )
    return f'{HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{listed}</Relationships>'


def docx(body: str | None = None, main: str = "word/document.xml", notes_name: str = "footnotes.xml") -> bytes:
    """A Word document; programs differ in the names of the members."""
    directory, _, name = main.rpartition("/")
    others = {notes_name: "footnotes", "header1.xml": "header", "/word/footer1.xml": "footer", "styles.xml": "styles"}
    return package(
        {
            "[Content_Types].xml": f"{HEAD}<Types/>",
            "_rels/.rels": relationships({main: "officeDocument"}),
            main: letter() if body is None else body,
            f"{directory}/_rels/{name}.rels": relationships(others),
            f"{directory}/{notes_name}": notes("footnote"),
            f"{directory}/header1.xml": f"{HEAD}<w:hdr {W}><w:p>{run('Kopfzeile')}</w:p></w:hdr>",
            "word/footer1.xml": f"{HEAD}<w:ftr {W}><w:p>{run('Seite ')}{field('PAGE', '1')}</w:p></w:ftr>",
            "word/styles.xml": f"{HEAD}<w:styles {W}><w:style><w:name w:val='Überschrift'/></w:style></w:styles>",
            "word/media/image1.png": PICTURE,
        }
    )


def slide(number: int, content: str = "") -> str:
    """The content is that of a text box."""
    if content:
        return f'{HEAD}<p:sld {A} xmlns:p="p"><p:txBody>{content}</p:txBody></p:sld>'
    return (
        f'{HEAD}<p:sld {A} xmlns:p="p"><p:cSld><p:spTree><p:sp><p:txBody><a:bodyPr/><a:p><a:pPr lvl="0"/>'
        f'<a:r><a:rPr lang="de" b="1"/><a:t>Folie {number}</a:t></a:r><a:r><a:t> über Hunde</a:t></a:r>'
        '<a:br/><a:r><a:t>Zweite Zeile</a:t></a:r><a:fld id="{1}" type="slidenum"><a:t>1</a:t></a:fld>'
        '<a:endParaRPr lang="de"/></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>'
    )


def pptx(
    main: str = "ppt/presentation.xml", slides: Sequence[str] = ("slide1", "slide2", "slide10"), content: str = ""
) -> bytes:
    """A presentation with slides 1, 2 and 10, whose members have these names; the archive has them in another order."""
    directory, _, name = main.rpartition("/")
    members = {f"slides/{each}.xml": slide(number, content) for each, number in zip(slides, (1, 2, 10), strict=True)}
    listed = dict.fromkeys(sorted(members), "slide")
    keys = {each: f"rId{number}" for number, each in enumerate(listed, start=1)}
    order = "".join(f'<p:sldId id="{256 + number}" r:id="{keys[each]}"/>' for number, each in enumerate(members))
    return package(
        {
            "[Content_Types].xml": f"{HEAD}<Types/>",
            "_rels/.rels": relationships({f"/{main}": "officeDocument"}),
            main: f"{HEAD}<p:presentation {R} xmlns:p='p'><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
            f"{directory}/_rels/{name}.rels": relationships(listed),
            **{f"{directory}/{each}": content for each, content in sorted(members.items())},
            "ppt/media/image1.png": PICTURE,
        }
    )


_ODT_TEXT = (
    '<text:h text:style-name="H1">Ein <text:span text:style-name="T1">großer</text:span> Hund</text:h>'
    '<text:p text:style-name="P1">Er läuft<text:note text:id="n1"><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>Die Fußnote.</text:p></text:note-body></text:note> nach "
    '<text:a xlink:href="http://a.de">Hause</text:a>.<text:s text:c="2"/>Dann&#x20;frisst er.<text:line-break/>'
    "Neue Zeile<text:tab/>nach dem Tabulator</text:p>"
    "<text:list><text:list-item><text:p>Punkt &amp; Komma</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>Menge</text:p></table:table-cell><table:table-cell>"
    "<text:p>12</text:p></table:table-cell></table:table-row></table:table>"
    "<text:p><draw:frame><draw:text-box><text:p>Im Kasten</text:p></draw:text-box></draw:frame>Daneben "
    "<office:annotation><dc:creator>Anna</dc:creator><text:p>Kommentar</text:p></office:annotation>"
    "steht es.</text:p>"
)


def odt_content(content: str = "") -> str:
    """The content is that of the text."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content xmlns:office="o" xmlns:text="t" '
        'xmlns:table="b" xmlns:draw="d" xmlns:xlink="x" xmlns:dc="dc"><office:automatic-styles>'
        '<x:y xmlns:x="n">Stil</x:y>'
        "</office:automatic-styles><office:body><office:text><text:sequence-decls/>"
        "<text:tracked-changes><text:p>Gelöscht</text:p></text:tracked-changes>"
        f"{content or _ODT_TEXT}"
        "</office:text></office:body></office:document-content>"
    )


def odt(manifest: str = "<manifest/>", content: str = "") -> bytes:
    styles = (
        '<office:document-styles xmlns:office="o" xmlns:style="s" xmlns:text="t"><office:styles><x>Stil</x>'
        "</office:styles><office:master-styles><style:master-page><style:header><text:p>Kopf <text:page-number>1"
        "</text:page-number></text:p></style:header></style:master-page></office:master-styles>"
        "</office:document-styles>"
    )
    return package(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": odt_content(content),
            "styles.xml": styles,
            "Pictures/1.png": PICTURE,
            "META-INF/manifest.xml": manifest,
        },
        stored="mimetype",
    )


def epub(chapter: str = "", name: str = "chapter.xhtml", book: str = "OEBPS/content.opf") -> bytes:
    """A book with one chapter; programs differ in the names of the members."""
    chapter = chapter or (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
        '"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml"><head>'
        "<title>Kapitel</title><style>p { color: red }</style></head><body><h1>Ein Hund</h1>\n<p>Er läuft&nbsp;<b>sehr"
        "</b> schnell <code>run()</code> weg.<br/>Neue Zeile <span translate='no'>Dragoman</span> hier.</p>"
        "<pre><code>Code bleibt</code></pre>"
        "<ul><li>Punkt<ul><li>innen</li></ul></li></ul><img src='a.png' alt='x'/></body></html>"
    )
    return package(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'<container><rootfiles><rootfile full-path="{book}"/></rootfiles></container>',
            book: f"<package><dc:title xmlns:dc='d'>1984</dc:title><manifest><item id='n' href='toc.ncx' "
            f"media-type='application/x-dtbncx+xml'/><item id='c' href='{name}' media-type='application/xhtml+xml'/>"
            "</manifest><spine><itemref idref='c'/></spine></package>",
            f"OEBPS/{unquote(name)}": chapter,
            "OEBPS/toc.ncx": "<ncx><head><meta content='x'/></head><navPoint><text>Ein Hund</text></navPoint></ncx>",
            "OEBPS/a.png": PICTURE,
        },
        stored="mimetype",
    )
