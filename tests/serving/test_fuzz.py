"""Valid, odd and hostile requests in all protocols: each reply has the form of its protocol, and no text is lost.

`make fuzz` sends more of them than `make test`.
"""

from __future__ import annotations

import html
import json
import logging
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote_plus

import hypothesis
import pytest
from detectors import german_or_english
from hypothesis import strategies as st
from running_server import Running, StartServer
from test_documents import DOCX, EPUB, archive

from dragoman.documents.formats import DOCUMENT_FORMATS
from dragoman.serving.keys import hash_key
from dragoman.text.glossary import Glossary

KEY = "a key"
GLOSSARY_ID = "0123456789abcdef" * 2
"""Stands for the id of a glossary that exists."""

FRAGMENTS = (
    *(
        "Ein Hund läuft.",
        "Eine Frau liest ein Buch im Park.",
        "A man is reading a book.",
        "Tom",
        "12:30",
        " ",
        "\n",
        "",
    ),
    *("%s", "{name}", "[X1X]", "$x", "https://example.org/a?b=c", "😀", "🇩🇪", "<b>", "</b>", "<br", "&amp;", "&#0;"),
    *("<p>Ein <i>Hund</p>", "<a title='Ein Hund'>", "<!--", "<script>", "]]>", "<0>", "</0>", "<x id=1/>", "<![CDATA["),
    *("\x00", "\x0b", "\x1b", "\r", "\r\n", "\u2028", "\u200b", "\u202e", "\ufeff", "\ufffe", "e\u0301", "\U0010ffff"),
    *("%5B%22", "%5B%22a%22%5D", '["a"]', "null", "NaN", "en[", "]", "'", '"', "\\", "..", "。", "中文。", "नमस्ते।"),
    *("x" * 600, "Ein Hund läuft. " * 100, "ä" * 25_000, "<b>" * 500),
)
TEXT = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=5).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
ODD_LANGUAGES = ("DE", "en-US", "EN-GB", "deu", "auto", "zz", "", "de\x00", "ä", "e" * 300)
SOURCE = st.sampled_from([*["de"] * 10, "auto", "en", *ODD_LANGUAGES])
TARGET = st.sampled_from([*["en"] * 10, "es", "es", *ODD_LANGUAGES])
NOT_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.just("\ud800") | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TEXTS = TEXT | st.lists(TEXT, max_size=6) | st.lists(st.just("Ein Hund."), min_size=499, max_size=502)
GLOSSARY = st.sampled_from(
    ["Hund\thound", "Hund,hound", "Hund\tdog\nHund\thound", "Hund", "\t", 'Hund,"a', "\x00\ta", ""]
)
NUMBER = st.sampled_from([*[0, 1, 3] * 3, 4, -1, "2", "x", "", "9" * 5000, 2.5, True])
TAGS = st.sampled_from(["b", "p", "x,y", "0", "", ",", "<b>"]) | st.lists(TEXT, max_size=2)
FILES = (
    ("brief.txt", "Ein Hund läuft.\r\n\r\nEine Frau.".encode()),
    ("brief.txt", "Ein Hund läuft.".encode("utf-16")),
    ("brief.txt", b"Ein Hund l\xe4uft."),
    ("brief.md", b"# Ein Hund\n\n- *Ein* [Hund](a.md)\n\n```\nHund\n"),
    ("brief.html", "<p>Ein <b>Hund<p title='Ein Hund'>läuft".encode()),
    ("brief.srt", b"1\n00:00:01,000 --> 00:00:02,000\nEin Hund.\n"),
    ("brief.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nEin Hund.\n"),
    ("brief.json", b'{"a": "Ein Hund.", "b": ["Ein {n} Hund.", 1, null], "c": "\\ud800 Hund"}'),
    ("brief.json", b'{"a": NaN, "a": "Ein Hund."}'),
    ("brief.json", b"[" * 100_000),
    ("brief.po", b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Ein Hund."\nmsgstr ""\n'),
    ("brief.xliff", b"<xliff version='1.2'><file><body><trans-unit id='1'><source>Ein Hund.</source></trans-unit>"),
    ("brief.tmx", b"<tmx><body><tu><tuv xml:lang='de'><seg>Ein Hund.</seg></tuv></tu></body></tmx>"),
    ("brief.csv", b'Ein Hund.;Eine Frau.\n"Ein Mann'),
    ("brief.xml", b"<a><b>Ein Hund.</b><!DOCTYPE x [<!ENTITY y 'z'>]></a>"),
    ("brief.docx", archive(DOCX)),
    ("brief.epub", archive(EPUB)),
    ("brief.odt", b"PK\x03\x04"),
    ("brief.pptx", archive({"a": "b"})),
    ("brief", b"Ein Hund."),
    ("a.exe", b"MZ\x00\x01"),
    ("../../brief\x00.txt", b"Ein Hund."),
    ("Bri\u202eef ä.txt", b""),
    (".txt", b"\x00" * 100),
    ("", b"Ein Hund."),
    ("x" * 300 + ".txt", b"Ein Hund."),
)
NAMES = st.sampled_from([*(name for name, _ in FILES), *(f"brief{suffix}" for suffix in DOCUMENT_FORMATS)])


def damaged(file: tuple[str, bytes], place: int, damage: bytes) -> tuple[str, bytes]:
    """A file in which some bytes are others, or after which some follow."""
    name, data = file
    place %= len(data) + 1
    return name, data[:place] + damage + data[place + len(damage) :]


FILE = st.one_of(
    st.sampled_from(FILES),
    st.tuples(NAMES, st.sampled_from(FILES)).map(lambda both: (both[0], both[1][1])),
    st.tuples(NAMES, st.binary(max_size=50)),
    st.builds(damaged, st.sampled_from(FILES), st.integers(0, 10**6), st.binary(min_size=1, max_size=4)),
)


@dataclass(frozen=True)
class Endpoint:
    """A request of a protocol.

    Args:
        protocol: Whose errors it has.
        method: The HTTP method.
        path: The path.
        parameters: What it takes; those that are not required may be left out.
        required: The names of those that a valid request has.
        texts: The parameter with the texts to translate.
    """

    protocol: str
    method: str
    path: str
    parameters: dict[str, st.SearchStrategy[Any]] = field(repr=False)  # it is long
    required: tuple[str, ...] = ()
    texts: str = ""


DEEPL_LANGUAGES = {"source_lang": SOURCE, "target_lang": TARGET}
LIBRE_LANGUAGES = {"source": SOURCE, "target": TARGET}
FORMAT = st.sampled_from([*["text", "html"] * 5, "xyz", ""])
APERTIUM = {
    "q": TEXT,
    "langpair": st.sampled_from([*["de|en"] * 10, "de|en", "deu|eng", "de|es", "en|en", "de", "|", "de|zz", "a|b|c"]),
    "markUnknown": st.just("no"),
    "format": FORMAT,
    "key": TEXT,
}
ENDPOINTS = (
    Endpoint(
        "libretranslate",
        "POST",
        "/translate",
        {"q": TEXTS, **LIBRE_LANGUAGES, "format": FORMAT, "alternatives": NUMBER, "api_key": TEXT},
        ("q", "source", "target"),
        "q",
    ),
    Endpoint("libretranslate", "POST", "/detect", {"q": TEXTS, "api_key": TEXT}, ("q",)),
    Endpoint(
        "libretranslate", "POST", "/suggest", {"q": TEXT, "s": TEXT, **LIBRE_LANGUAGES}, ("q", "s", "source", "target")
    ),
    Endpoint(
        "libretranslate", "POST", "/translate_file", {"file": FILE, **LIBRE_LANGUAGES}, ("file", "source", "target")
    ),
    Endpoint("libretranslate", "GET", "/download_file/x", {}),
    Endpoint("libretranslate", "GET", "/languages", {"q": NOT_TEXT}),
    Endpoint("libretranslate", "GET", "/frontend/settings", {}),
    Endpoint("libretranslate", "GET", "/health", {}),
    Endpoint(
        "deepl",
        "POST",
        "/v2/translate",
        {
            "text": TEXTS,
            **DEEPL_LANGUAGES,
            "tag_handling": st.sampled_from([*["html", "xml", ""] * 5, "text"]),
            "ignore_tags": TAGS,
            "splitting_tags": TAGS,
            "non_splitting_tags": TAGS,
            "outline_detection": st.sampled_from([*["0", "1", False, True] * 3, "banana"]),
            "glossary_id": st.sampled_from([*["", GLOSSARY_ID] * 5, "x", "\x00"]),
            "auth_key": st.just(KEY) | TEXT,
        },
        ("text", "target_lang"),
        "text",
    ),
    Endpoint(
        "deepl",
        "POST",
        "/v2/document",
        {
            "file": FILE,
            **DEEPL_LANGUAGES,
            "filename": TEXT,
            "glossary_id": st.just(GLOSSARY_ID),
            "auth_key": st.just(KEY),
        },
        ("file", "target_lang"),
    ),
    Endpoint("deepl", "POST", "/v2/document/x", {"document_key": TEXT}),
    Endpoint("deepl", "POST", "/v2/document/%C3%A4%00/result", {"document_key": TEXT}),
    Endpoint(
        "deepl",
        "POST",
        "/v2/glossaries",
        {
            "name": TEXT,
            **DEEPL_LANGUAGES,
            "entries": GLOSSARY | TEXT,
            "entries_format": st.sampled_from([*["tsv", "csv"] * 5, "x"]),
            "auth_key": st.just(KEY),
        },
        ("name", "source_lang", "target_lang", "entries", "entries_format", "auth_key"),
    ),
    Endpoint("deepl", "GET", "/v2/glossaries", {"auth_key": st.just(KEY)}, ("auth_key",)),
    Endpoint("deepl", "GET", "/v2/glossaries/x%FF", {"auth_key": st.just(KEY)}, ("auth_key",)),
    Endpoint("deepl", "DELETE", "/v2/glossaries/x", {"auth_key": TEXT}, ("auth_key",)),
    Endpoint("deepl", "GET", "/v2/glossary-language-pairs", {"auth_key": st.just(KEY)}, ("auth_key",)),
    Endpoint("deepl", "POST", "/v2/languages", {"type": st.sampled_from(["source", "target", "x"])}),
    Endpoint("deepl", "GET", "/v2/usage", {}),
    Endpoint("apertium", "GET", "/translate", APERTIUM, ("q", "langpair"), "q"),
    Endpoint("apertium", "POST", "/json/translate", APERTIUM, ("q", "langpair"), "q"),
    Endpoint("apertium", "GET", "/listPairs", {}),
    Endpoint(
        "page",
        "POST",
        "/page/translate",
        {"q": TEXT, **LIBRE_LANGUAGES, "glossary": GLOSSARY},
        ("q", "source", "target"),
    ),
    Endpoint(
        "page",
        "POST",
        "/page/alternatives",
        {"q": TEXT, **LIBRE_LANGUAGES, "prefix": TEXT},
        ("q", "source", "target", "prefix"),
    ),
)
MAIN_ENDPOINTS = [each for each in ENDPOINTS if each.texts or "file" in each.parameters]
FORM = "application/x-www-form-urlencoded"
KINDS = ("application/json", FORM, "multipart/form-data; boundary=x")
WRONG_KINDS = (
    *("text/plain", "", "application/json; charset=utf-16", "application/vnd.api+json", "multipart/form-data"),
    *(f"{FORM}; charset=latin-1", "multipart/form-data; boundary=x; charset=utf-7", "a" * 500, "ä/ö", "json"),
)
ENDS = ("whole", "half", "too long", "chunked", "wrong chunk")
"""How a body ends: the client closes its side after half of it, or sends more than it announced."""

TRANSPORT: dict[str, st.SearchStrategy[Any]] = {
    "stated": st.sampled_from(WRONG_KINDS),
    "charset": st.sampled_from(["utf-16", "utf-7", "latin-1"]),
    "end": st.sampled_from(ENDS),
    "method": st.sampled_from(["GET", "POST", "PUT", "OPTIONS", "HEAD", "DELETE"]),
    "host": st.sampled_from(["[::1", "a b", "", "x:99999999", "ä", "[::1]:5", "x/y?z#"]),
    "damage": st.binary(max_size=4) | st.sampled_from([b"--x", b"\r\n\r\n", b"\xff", b"%f", b"\x00"]),
}
CHANGES = st.sampled_from(["drop", "repeat", "replace", "add"])


@dataclass(frozen=True)
class Request:
    """A request as it is sent.

    Args:
        endpoint: To whom.
        body: The parameters in the body.
        query: The parameters in the query.
        kind: How the body is written, one of `KINDS`.
        stated: What the header Content-Type states.
        charset: The charset of the body.
        end: One of `ENDS`.
        method: The method.
        host: The header Host.
        damage: Bytes that replace a part of the body.
    """

    endpoint: Endpoint
    body: list[tuple[str, Any]]
    query: list[tuple[str, Any]]
    kind: str
    stated: str
    charset: str
    end: str
    method: str
    host: str
    damage: bytes | None

    @property
    def is_plain(self) -> bool:
        """Whether the server reads the parameters that were written."""
        is_usual = self.end in ("whole", "chunked") and self.charset == "utf-8" and self.method == self.endpoint.method
        return is_usual and self.damage is None and (not self.body or self.stated == self.kind)

    def values(self, name: str) -> list[Any]:
        """All values of a parameter; the server refuses others in the query than in the body."""
        return _values(self.body, name, self.kind == "application/json") or _values(self.query, name, is_json=False)

    def encoded(self) -> bytes:
        """The bytes that are sent."""
        body = self._encoded_body()
        if self.damage is not None:
            body = body[: len(body) // 3] + self.damage + body[len(body) // 3 + len(self.damage) :]
        target = self.endpoint.path + ("?" + _urlencoded(self.query) if self.query else "")
        head = [
            f"{self.method} {target} HTTP/1.1",
            f"Host: {self.host}",
            f"Content-Type: {self.stated}",
            "Connection: close",
        ]
        if self.end in ("chunked", "wrong chunk"):
            size = f"{len(body):x}" if self.end == "chunked" else "-1"
            body = (f"{size}\r\n".encode() + body + b"\r\n" if body else b"") + b"0\r\n\r\n"
            head.append("Transfer-Encoding: chunked")
        else:
            head.append(f"Content-Length: {len(body) - 1 if self.end == 'too long' and body else len(body)}")
            body = body[: len(body) // 2] if self.end == "half" else body
        return "\r\n".join([*head, "", ""]).encode() + body

    @property
    def _errors(self) -> str:
        return "surrogatepass" if self.charset.startswith("utf-") and self.charset != "utf-7" else "replace"

    def _encoded_body(self) -> bytes:
        if not self.body:
            return b""
        if self.kind == "application/json":
            members = (f"{json.dumps(name)}: {_as_json(value)}" for name, value in self.body)
            return f"{{{', '.join(members)}}}".encode(self.charset, self._errors)
        if self.kind == FORM:
            return _urlencoded(self.body).encode(self.charset, self._errors)
        parts = []
        for name, value in self.body:
            for each in value if isinstance(value, list) else [value]:
                file = isinstance(each, tuple)
                filename = f'; filename="{each[0]}"' if file else ""
                head = f'--x\r\nContent-Disposition: form-data; name="{name}"{filename}\r\n\r\n'
                content = each[1] if file else _as_text(each).encode(self.charset, self._errors)
                parts.append(head.encode("utf-8", "surrogatepass") + content + b"\r\n")
        return b"".join([*parts, b"--x--\r\n"])


def _urlencoded(pairs: Iterable[tuple[str, Any]]) -> str:
    def quote(text: str) -> str:
        return quote_plus(text.encode("utf-8", "surrogatepass"))

    flat = ((name, item) for name, value in pairs for item in (value if isinstance(value, list) else [value]))
    return "&".join(f"{quote(name)}={quote(_as_text(item))}" for name, item in flat)


def _values(pairs: list[tuple[str, Any]], name: str, is_json: bool) -> list[Any]:
    """All values of a name; those of forms are text."""
    found = [value for each, value in pairs if each == name]
    if not is_json:
        return [_as_text(item) for value in found for item in (value if isinstance(value, list) else [value])]
    found = [value for value in found if value is not None]
    return list(found[0]) if len(found) == 1 and isinstance(found[0], list) else found


def _as_text(value: Any) -> str:
    if isinstance(value, tuple):
        return str(value[0])
    return value if isinstance(value, str) else json.dumps(value)


def _as_json(value: Any) -> str:
    return json.dumps(value[0] if isinstance(value, tuple) else value)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """A request with odd values, with wrong parameters, or that is sent in a wrong way."""
    endpoint = draw(st.sampled_from([*ENDPOINTS, *MAIN_ENDPOINTS * 3]))
    names = [name for name in endpoint.parameters if name in endpoint.required or draw(st.booleans())]
    pairs = [(name, draw(endpoint.parameters[name])) for name in names]
    what = draw(st.sampled_from(["values", "values", "parameters", "transport"]))
    for change in draw(st.lists(CHANGES, min_size=1, max_size=2)) if what == "parameters" else ():
        place = draw(st.integers(0, max(0, len(pairs) - 1)))
        if change == "add":
            pairs.append((draw(TEXT | st.sampled_from(["q", "text", "api_key"])), draw(NOT_TEXT)))
        elif pairs and change == "drop":
            del pairs[place]
        elif pairs and change == "repeat":
            pairs.append((pairs[place][0], draw(endpoint.parameters.get(pairs[place][0], TEXT))))
        elif pairs:
            pairs[place] = pairs[place][0], draw(NOT_TEXT)
    kind = KINDS[2] if "file" in names else draw(st.sampled_from(KINDS))
    usual: dict[str, Any] = {
        "split": 0 if endpoint.method == "GET" else draw(st.sampled_from([len(pairs)] * 5 + [0])),
        "stated": kind,
        "charset": "utf-8",
        "end": "whole",
        "method": endpoint.method,
        "host": "x",
        "damage": None,
    }
    if what == "transport":
        wrong = draw(st.sampled_from([*usual]))
        usual[wrong] = draw(st.integers(0, len(pairs)) if wrong == "split" else TRANSPORT[wrong])
    split = usual.pop("split")
    return Request(endpoint, pairs[:split], pairs[split:], kind, **usual)


Reply = tuple[int, str, bytes]
"""Status, type and body."""


def send(server: Running, request: Request, glossary: str = GLOSSARY_ID) -> Reply | None:
    """The reply; None if the server closes the connection without one."""
    data = request.encoded().replace(GLOSSARY_ID.encode(), glossary.encode())
    with socket.create_connection(server.address, timeout=20) as connection:
        try:
            connection.sendall(data)
            if request.end == "half":
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before everything was sent
        reply = HTTPResponse(connection, method=request.method)
        try:
            reply.begin()
            return reply.status, reply.headers.get("content-type", ""), reply.read()
        except (HTTPException, ConnectionError):
            return None


Check = Callable[[Any], bool]
"""Whether a value has a form."""


def one_of(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def each(check: Check, most: float = float("inf")) -> Check:
    return lambda value: isinstance(value, list) and len(value) <= most and all(map(check, value))


def members(optional: dict[str, Check] | None = None, /, **required: Check) -> Check:
    """An object with these members and no others."""
    checks = {**required, **(optional or {})}
    return lambda value: (
        isinstance(value, dict)
        and required.keys() <= value.keys() <= checks.keys()
        and all(checks[name](member) for name, member in value.items())
    )


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def exactly(*values: Any) -> Check:
    return lambda value: value in values


def nonempty(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


DETECTED = members(confidence=lambda value: number(value) and 0 <= value <= 100, language=nonempty)
MATCH = members(kind=text, score=number)
PROBLEMS, CONFIDENCE, ALTERNATIVES = each(text), one_of(number, exactly(None)), each(text, 3)
TERM = members(source=text, target=text, used=exactly("exactly", "inflected", "not"))
GLOSSARY_REPLY = members(
    glossary_id=nonempty,
    name=nonempty,
    ready=exactly(True),
    source_lang=nonempty,
    target_lang=nonempty,
    creation_time=nonempty,
    entry_count=number,
)


def libretranslate(value_of: Callable[[Check], Check]) -> Check:
    """A reply of LibreTranslate for one text, or for several."""
    optional = {
        name: value_of(check)
        for name, check in {
            "alternatives": ALTERNATIVES,
            "problems": PROBLEMS,
            "match": MATCH,
            "confidence": CONFIDENCE,
            "pivot": one_of(text, exactly(None)),
        }.items()
    }
    return members(optional, translatedText=value_of(text), detectedLanguage=value_of(DETECTED))


def apertium(data: Check) -> Check:
    return members(responseData=data, responseDetails=exactly(None), responseStatus=exactly(200))


SCHEMAS: dict[tuple[str, str], Check] = {
    ("libretranslate", "/translate"): one_of(libretranslate(lambda check: check), libretranslate(each)),
    ("libretranslate", "/detect"): each(DETECTED),
    ("libretranslate", "/suggest"): members(success=exactly(True)),
    ("libretranslate", "/translate_file"): members(translatedFileUrl=nonempty),
    ("libretranslate", "/languages"): each(members(code=nonempty, name=nonempty, targets=each(nonempty))),
    ("libretranslate", "/frontend/settings"): members(
        charLimit=number,
        frontendTimeout=number,
        apiKeys=exactly(False),
        keyRequired=exactly(False),
        suggestions=exactly(True),
        filesTranslation=exactly(True),
        supportedFilesFormat=each(nonempty),
        language=members(source=members(code=nonempty, name=nonempty), target=members(code=nonempty, name=nonempty)),
    ),
    ("libretranslate", "/health"): members(status=exactly("ok")),
    ("deepl", "/v2/translate"): members(
        translations=each(
            members(
                {"problems": PROBLEMS, "confidence": number, "terms": each(TERM), "pivot": nonempty},
                text=text,
                detected_source_language=nonempty,
                billed_characters=number,
            )
        )
    ),
    ("deepl", "/v2/document"): members(document_id=nonempty, document_key=nonempty),
    ("deepl", "/v2/glossaries"): one_of(GLOSSARY_REPLY, members(glossaries=each(GLOSSARY_REPLY))),
    ("deepl", "/v2/glossary-language-pairs"): members(
        supported_languages=each(members(source_lang=nonempty, target_lang=nonempty))
    ),
    ("deepl", "/v2/languages"): each(members({"supports_formality": exactly(False)}, language=nonempty, name=nonempty)),
    ("deepl", "/v2/usage"): members(character_count=number, character_limit=number),
    ("apertium", "/translate"): apertium(members({"pivot": nonempty}, translatedText=text)),
    ("apertium", "/json/translate"): apertium(members({"pivot": nonempty}, translatedText=text)),
    ("apertium", "/listPairs"): apertium(each(members(sourceLanguage=nonempty, targetLanguage=nonempty))),
    ("page", "/page/alternatives"): each(members(text=text, word=each(number), probability=number)),
    ("page", "/page/translate"): lambda value: isinstance(value, dict) and text(value["translatedText"]),
}
"""The replies with the status 200 or 201."""

ERRORS: dict[str, Check] = {
    "libretranslate": members(error=nonempty),
    "page": members(error=nonempty),
    "deepl": members(message=nonempty),
    "apertium": members(status=exactly("error"), code=number, message=nonempty, explanation=nonempty),
}
PUBLIC = ("/languages", "/frontend/settings", "/health", "/listPairs")
"""Paths that need no key."""

STATUSES = {400, 403, 404, 405, 408, 413, 415, 429, 503, 507}


def letters(value: str) -> list[str]:
    """The characters of a text without spaces, and without those that `FakeTranslator` adds."""
    return [character for character in value if not character.isspace() and character not in "[]ens"]


def keeps(source: str, translated: str, is_markup: bool) -> bool:
    """Whether a translation has all characters of a text, or of a text with tags all letters."""
    if not is_markup:
        return letters(source) == letters(translated)
    before, after = (Counter(filter(str.isalnum, letters(html.unescape(each)))) for each in (source, translated))
    return before <= after


def translations(request: Request, reply: Any) -> list[str]:
    """The translated texts in a reply."""
    if request.endpoint.protocol == "apertium":
        return [reply["responseData"]["translatedText"]]
    if request.endpoint.protocol == "deepl":
        return [each["text"] for each in reply["translations"]]
    translated = reply["translatedText"]
    return translated if isinstance(translated, list) else [translated]


def check_texts(request: Request, reply: Any) -> None:
    """Each text of a request has a translation."""
    texts, translated = request.values(request.endpoint.texts), translations(request, reply)
    if len(texts) == 1 and texts[0].startswith("%5B%22"):
        return  # a list in one string, for PHP's client
    if request.endpoint.protocol == "apertium" and len(set(texts)) == 1:
        texts = texts[:1]  # equal values are one
    markup = request.values("format") == ["html"] or request.values("tag_handling") not in ([], [""])
    assert len(texts) == len(translated), "a translation for each text"
    for source, target in zip(texts, translated, strict=True):
        assert keeps(source, target, markup), f"{target!r} is not a translation of {source!r}"


def check_reply(server: Running, request: Request, reply: Reply | None) -> None:
    """The reply has the form of its protocol."""
    if reply is None:
        assert request.end != "whole", "no reply"
        return
    status, kind, body = reply
    assert status in STATUSES | {200, 201, 204}, body
    if request.method in ("OPTIONS", "HEAD") or status == 204 or kind.startswith("text/plain"):
        assert status != 200 or request.method in ("OPTIONS", "HEAD")
        return
    endpoint = request.endpoint
    assert kind == "application/json", kind
    value = json.loads(body)
    path, protocol = endpoint.path, endpoint.protocol
    if path == "/translate":
        protocol = "apertium" if request.method == "GET" else "libretranslate"
    if status >= 400:
        is_refused_method = request.method == "GET" and not _values(request.query, "langpair", is_json=False)
        assert ERRORS["libretranslate" if path == "/translate" and is_refused_method else protocol](value), value
        return
    assert SCHEMAS.get((protocol, path), lambda value: False)(value), value
    if request.is_plain and endpoint.texts:
        check_texts(request, value)
    if path == "/translate_file":
        check_download(server, request, value["translatedFileUrl"])


def check_download(server: Running, request: Request, url: str) -> None:
    """The translated file has all words of the file."""
    files = [value for name, value in request.body if name == "file" and isinstance(value, tuple)]
    token = url.rpartition("/")[2]
    content = server.service.downloads.get(token).path.read_bytes()
    server.service.downloads.remove(token)
    if request.is_plain and files and not files[0][1].startswith(b"PK"):
        assert content.count(b"Hund") >= files[0][1].count(b"Hund"), content


@pytest.fixture
def no_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged as an error."""
    with caplog.at_level(logging.ERROR):
        yield
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def for_requests(config: pytest.Config, check: Callable[[Request], None]) -> None:
    """Check as many requests as `--requests` says; the shortest one that fails is shown."""
    limits = hypothesis.settings(
        max_examples=config.getoption("--requests"),
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    seed = hypothesis.seed(config.getoption("--case-seed"))
    seed(limits(hypothesis.given(requests())(check)))()


def test_requests_of_all_protocols(start_server: StartServer, no_errors: None, request: pytest.FixtureRequest) -> None:
    """Each reply has the form of its protocol, no text is lost, and no request fails because of the server."""
    server = start_server(requests_per_minute=10**8, corrections=10**6, glossaries=10**6, seconds=20)
    server.service.detector = german_or_english()

    terms = Glossary.parse(["Hund\tHund", "Ein\tEin"])  # texts stay as they are, so that they can be compared
    glossary = server.service.glossaries.add(hash_key(KEY), "a client", "terms", ("de", "en"), terms).number
    for_requests(request.config, lambda sent: check_reply(server, sent, send(server, sent, glossary)))
    deadline = time.monotonic() + 60
    while server.service.tasks:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    states = [document.state() for document in server.service.uploads.values()]
    assert all(state["status"] in ("done", "error") for state in states)
    assert not re.findall(rb'dragoman_requests_total\{[^}]*status="500"', server.service.metrics.text())
    assert server.translate("Ein Hund.").json()["translatedText"] == "en[Ein Hund.]"


def test_without_a_key_nothing_is_answered(
    start_server: StartServer, no_errors: None, request: pytest.FixtureRequest
) -> None:
    """A server that requires keys shows only what it can do."""
    server = start_server(require_keys=True, requests_per_minute=10**8, corrections=10**6)

    def check(sent: Request) -> None:
        reply = send(server, sent)
        if sent.endpoint.path in PUBLIC or sent.method in ("OPTIONS", "HEAD"):
            return
        assert reply is None or reply[0] in STATUSES, reply
        if reply is not None and reply[1] == "application/json":
            check_reply(server, sent, reply)

    for_requests(request.config, check)
    assert not server.fakes["de-en"].batches
