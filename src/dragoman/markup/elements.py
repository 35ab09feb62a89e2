"""What the elements of all formats do to the sentence around them: one table.

A format maps what it contains (tags, elements of XML, kinds of Markdown) to a row, and has no other list of names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dragoman.languages.codes import same_language


@dataclass(frozen=True, slots=True)
class Element:
    """What an element does. Without any of this, it is a part of the sentence with its content, as `<b>` is.

    Attributes:
        ends: A sentence ends before and after it.
        wraps: It only breaks a line: the sentence continues if the text after it begins with a lower-case letter.
        kept: It is left alone, with all that it contains.
        apart: Its content is a separate text, as that of a footnote or a drawing is.
        word: It stands for a word: the sentence has a placeholder, such as {1}.
        counts: It stands for a number, which a full stop may make an ordinal one: "den {1}. Hund".
        alone: It stands for a word only if it touches no letter; otherwise it is probably formatting.
        filled: It stands for a word only if it contains text.
        space: It takes up space: the words on both sides of it are two words, also if there is no space.
        clings: It belongs to the word before it, and moves with that word.
        note: It refers to a note if its text is a number or a sign, and touches the text before it or follows a
            sentence; then it is left alone, and clings. One that takes up space may be anywhere. One that clings must
            touch a word or punctuation: a link to "2" in "(2)" or "1.2" is text.
        lines: Each line of its text is a text by itself.
        hollow: Without text, it is left out, because its marks would be read as text.
        lost: It is about the words of the source, as a mark of a spelling checker is, so that a translation lacks it.
        text: What it stands for, such as a space.
    """

    ends: bool = False
    wraps: bool = False
    kept: bool = False
    apart: bool = False
    word: bool = False
    counts: bool = False
    alone: bool = False
    filled: bool = False
    space: bool = False
    clings: bool = False
    note: bool = False
    lines: bool = False
    hollow: bool = False
    lost: bool = False
    text: str = ""


INLINE = Element()
BLOCK = Element(ends=True)
LINES = Element(ends=True, lines=True)
BREAK = Element(ends=True, wraps=True, kept=True)
DIVIDER = Element(ends=True, kept=True)
WORD = Element(kept=True, word=True)
NUMBER = Element(kept=True, word=True, counts=True)
CODE = Element(kept=True, word=True, alone=True)
FIELD = Element(kept=True, word=True, filled=True)
OBJECT = Element(kept=True, space=True)
HIDDEN = Element(kept=True)
CLINGING = Element(kept=True, clings=True)
MAYBE_NOTE = Element(note=True)
STATED_NOTE = Element(note=True, space=True)
LINK = Element(note=True, clings=True)
BOX = Element(apart=True, space=True)
FOOTNOTE = Element(apart=True, clings=True)
LOST = Element(kept=True, lost=True)
EMPHASIS = Element(hollow=True)

_DESCRIPTIONS = frozenset(
    ("description", "og:title", "og:description", "og:image:alt", "twitter:title", "twitter:description")
)
_TEXTS_BY_VALUE: Mapping[tuple[str, str], Mapping[str, frozenset[str]]] = {
    ("meta", "content"): {"name": _DESCRIPTIONS, "property": _DESCRIPTIONS},
    ("input", "value"): {"type": frozenset(("button", "submit", "reset"))},
}
"""Attributes that people read, in elements of which another attribute has one of these values."""
_LABELS = {
    ("optgroup", "label"),
    ("option", "label"),
    ("track", "label"),
    ("table", "summary"),
    ("th", "abbr"),
    ("tblCaption", "w:val"),
    ("listItem", "w:displaytext"),
    ("tblDescription", "w:val"),
}
"""Others that people read, in these elements only. Left alone are names of files (`download`), other documents
(`srcdoc`), and Braille."""

_NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Elements:
    """The elements of a format.

    Attributes:
        rows: What each does, by its name; with the usual prefix where names without it mean two things.
        others: What those do that have no row.
        single: What those do that have no row, no content and no closing tag.
        texts: The attributes that people read.
        language: Elements that state another language than this one are left alone. Empty: no element is.
    """

    rows: Mapping[str, Element]
    others: Element = INLINE
    single: Element = HIDDEN
    texts: Collection[str] = ()
    language: str = ""

    def with_rows(self, element: Element, names: Collection[str]) -> Elements:
        """The elements, in which these names have another row."""
        return replace(self, rows={**self.rows, **dict.fromkeys(names, element)})

    def find(self, name: str, attributes: Mapping[str, str] = _NO_ATTRIBUTES) -> Element:
        """What an element with these attributes does."""
        row = self.rows.get(name, self.others)
        if attributes and self.is_excluded(name, attributes):
            return DIVIDER if row.ends and not row.wraps else HIDDEN if _is_page(attributes) else FIELD
        if row.note or "epub:type" in attributes or "role" in attributes:
            return _find_note(row, attributes)
        return row

    def is_text(self, name: str, attribute: str, attributes: Mapping[str, str]) -> bool:
        """Whether people read an attribute of an element."""
        stated = _TEXTS_BY_VALUE.get((name, attribute))
        if stated and self.texts:
            return any(attributes.get(key, "").lower() in values for key, values in stated.items())
        return attribute in self.texts or (bool(self.texts) and (name, attribute) in _LABELS)

    def is_excluded(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element says that it must not be translated, is in another language, or numbers pages.

        The language of a whole page is often stated wrongly, so it does not count.
        """
        classes = attributes.get("class", "").lower().split()
        if attributes.get("translate", "").lower() == "no" or "notranslate" in classes:
            return True
        if attributes.get("mtype") == "protected" or _is_page(attributes):
            return True
        stated = attributes.get("lang") or attributes.get("xml:lang")
        is_part = bool(self.language and stated) and name not in ("html", "body", "ncx")
        return is_part and not same_language(stated or "", self.language)


def _is_page(attributes: Mapping[str, str]) -> bool:
    """Whether an element of a book says that it is the number of a page, or a list of them."""
    stated = f"{attributes.get('epub:type', '')} {attributes.get('role', '')}"
    return any(name in stated for name in ("pagebreak", "page-list", "pagelist"))


def _find_note(row: Element, attributes: Mapping[str, str]) -> Element:
    """The row of an element that may refer to a note: one that says so, a raised one, or a link to a place nearby."""
    stated = f"{attributes.get('epub:type', '')} {attributes.get('role', '')}"
    if "noteref" in stated:
        return STATED_NOTE
    is_near = any(
        (name.endswith("href") and "#" in value) or name.endswith(":anchor") for name, value in attributes.items()
    )
    return INLINE if row is LINK and not is_near else row


def _table(*rows: tuple[Element, str]) -> Mapping[str, Element]:
    """Rows by name, given the names of each element."""
    return {name: element for element, names in rows for name in names.split()}


_OF_DRAWINGS = "desc text"
"""Elements of SVG with text, which programs use as names of other things, too."""

_VOID_BLOCKS = "base col frame link meta"
"""Elements of HTML without content that programs use as names of other things in their strings, as in `<link>`."""

HTML = Elements(
    _table(
        (
            BLOCK,
            "address article aside blockquote body button caption center colgroup dd details dialog dir div dl dt "
            "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li "
            "main menu nav noframes noscript ol optgroup option p search section select summary table tbody td tfoot "
            f"th thead title tr ul {_VOID_BLOCKS} {_OF_DRAWINGS}",
        ),
        (LINES, "pre"),
        (BREAK, "br"),
        (DIVIDER, "textarea"),
        (WORD, "code kbd math samp var"),
        (OBJECT, "area embed img input"),
        (BOX, "audio canvas iframe object svg video"),
        (HIDDEN, "metadata param script source style track wbr"),
        (Element(apart=True), "template"),
        (CLINGING, "rp rt rtc"),
        (MAYBE_NOTE, "sup"),
        (LINK, "a"),
        (
            INLINE,
            "abbr acronym b bdi bdo big cite data del dfn em font i ins label mark nobr q rb rbc ruby s small span "
            "strike strong sub time tt u",
        ),
    ),
    single=CODE,
    texts=frozenset(
        (
            "alt",
            "title",
            "placeholder",
            "aria-label",
            "aria-description",
            "aria-placeholder",
            "aria-roledescription",
            "aria-valuetext",
        )
    ),
)
"""HTML, EPUB and Markdown; names are in lower case."""

SUBTITLES = HTML.with_rows(INLINE, ("c", "lang")).with_rows(BLOCK, ("v",))
"""SRT and WebVTT, in which each voice is a speaker."""

VOID = frozenset(f"area br embed hr img input param source track wbr {_VOID_BLOCKS}".split())
"""The elements of HTML without content and closing tag."""

_NAMES_IN_STRINGS = HTML.rows.keys() - {
    *f"{_VOID_BLOCKS} {_OF_DRAWINGS}".split(),
    "metadata",
    "param",
    "source",
    "track",
    "area",
    "embed",
    "input",
}
STRINGS = replace(HTML, rows={name: HTML.rows[name] for name in _NAMES_IN_STRINGS})
"""HTML in the strings of programs, which have other tags, too, such as `<0>` and `<link>`."""

UNCLOSED = frozenset(("br", "hr", "img", "li", "p", "wbr"))
"""Elements that need no closing tag in a string."""

XML = Elements(
    {
        **{name: row for name, row in HTML.rows.items() if row in (WORD, CLINGING, MAYBE_NOTE, LINK)},
        "img": OBJECT,
        "svg": BOX,
    }
)
"""XML of an unknown vocabulary: what has the same name as a part of a sentence in HTML is probably the same."""

CODES = Elements(
    _table((INLINE, "g mrk pc hi"), (CODE, "x ph"), (HIDDEN, "bpt bx cp ec ept ex it sc sub ut")), others=HIDDEN
)
"""The inline elements of translation files (XLIFF, TMX)."""

NCX = Elements(_table((DIVIDER, "head docAuthor pageList")), others=BLOCK)
"""Tables of contents of EPUB books."""

ODT = Elements(
    _table(
        (Element(text=" "), "s"),
        (LINK, "a"),
        (INLINE, "span meta meta-field ruby ruby-base"),
        (BREAK, "line-break"),
        (CLINGING, "ruby-text"),
        (
            FIELD,
            "bookmark-ref reference-ref note-ref sequence sequence-ref page-number page-count date time chapter "
            "file-name author-name author-initials title subject variable-set variable-get variable-input "
            "user-field-get user-field-input drop-down expression text-input placeholder conditional-text creator "
            "creation-date creation-time modification-date modification-time print-date print-time printed-by "
            "initial-creator description keywords editing-cycles editing-duration word-count character-count "
            "paragraph-count table-count image-count object-count bibliography-mark number measure user-defined "
            "sender-firstname sender-lastname sender-initials sender-title sender-position sender-email "
            "sender-phone-private sender-phone-work sender-fax sender-company sender-street sender-city "
            "sender-postal-code sender-country sender-state-or-province page-variable-set page-variable-get "
            "page-continuation template-name sheet-name database-display database-name database-row-number "
            "dde-connection execute-macro table-formula",
        ),
        (
            HIDDEN,
            "annotation annotation-end bookmark bookmark-start bookmark-end change change-start change-end "
            "reference-mark reference-mark-start reference-mark-end soft-page-break hidden-text "
            "hidden-paragraph database-next database-row-select script "
            "alphabetical-index-mark alphabetical-index-mark-start alphabetical-index-mark-end toc-mark "
            "toc-mark-start toc-mark-end user-index-mark note-citation",
        ),
        (OBJECT, "control"),
        (BLOCK, "svg:title"),  # of a picture, unlike that of the document
        (FOOTNOTE, "note"),
        (BOX, "frame custom-shape text-box rect g"),
        (
            DIVIDER,
            "automatic-styles font-face-decls scripts styles tracked-changes sequence-decls variable-decls "
            "user-field-decls forms event-listeners table-of-content-source illustration-index-source "
            "table-index-source object-ole alphabetical-index-source bibliography-source user-index-source "
            "object-index-source math settings",
        ),
    ),
    others=BLOCK,
)
"""Text documents of LibreOffice."""

OFFICE = Elements(
    _table(
        (BLOCK, "p"),
        (LINK, "hyperlink"),
        (INLINE, "ins moveTo smartTag customXml sdt sdtContent dir bdo ruby rubyBase"),
        (DIVIDER, "tab ptab"),
        (BREAK, "br cr"),
        (WORD, "oMath oMathPara m fldSimple fld"),
        (OBJECT, "sym"),
        (BOX, "drawing pict object AlternateContent"),
        (CLINGING, "footnoteReference endnoteReference"),
        (CLINGING, "rt"),
        (LOST, "proofErr lastRenderedPageBreak softHyphen t"),
        (Element(text="\u2011"), "noBreakHyphen"),
    ),
    others=Element(apart=True),
    texts=frozenset(("descr", "title")),
)
"""Word and PowerPoint; everything else in a paragraph is a mark without text, or contains other paragraphs."""

MARKDOWN: Mapping[str, Element] = {
    **dict.fromkeys(("em", "strong", "s"), EMPHASIS),
    "math": WORD,
    "code": WORD,
    "autolink": WORD,
    "template": WORD,
    "image": OBJECT,
    "footnote": CLINGING,
    "attributes": HIDDEN,
    "label": DIVIDER,
    "softbreak": INLINE,
    "hardbreak": BREAK,
}
"""The kinds of Markdown that are not links and text."""
