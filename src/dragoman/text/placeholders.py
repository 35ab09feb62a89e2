"""Finding the parts of a sentence that translators copy: placeholders, tags, URLs, names, numbers, emoji."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias, cast

import regex

from dragoman.languages.scripts import WITHOUT_SPACES

Pattern: TypeAlias = "re.Pattern[str] | regex.Pattern[str]"

SpanKind = Literal["placeholder", "tag", "link", "number", "emoji"]


class Span(NamedTuple):
    """A part of a sentence, from `start` up to but not including `end`."""

    start: int
    end: int
    kind: SpanKind


LETTER = rf"[\w--[{WITHOUT_SPACES}]]"
"""A letter or digit of a script with spaces between words, in VERSION1 of the `regex` library."""

_LATIN = r"[\p{Script=Latin}\d_]"
"""Letters that would belong to a placeholder before them; those of other scripts are an ending, as in %sի and %d개."""

_OTHER_ESCAPE = r"\\[^nrt\"'\\\s]"
_LINE_ESCAPE = rf"""
    (?<!\\)(?<!{_OTHER_ESCAPE}\S{{0,80}})(?:\\r)?\\
    (?:(?<=[^\s$%\\(\[{{}}|&=^_]\\)[nrt]|[nrt](?![a-z]))
    (?![a-z]+[{{\[]|\S{{0,80}}?{_OTHER_ESCAPE})
"""
r"""A line break or a tab as programs write them, such as \n.

It is no part of a path or a command of LaTeX: no other letter follows a backslash in the same word, and if a letter in
lower case follows it, a letter or a punctuation mark is before it.
"""

_AFTER_FIRST = rf"%[1-9](?!{_LATIN}).{{0,200}}"
_NO_PROSE = r"(?!(?=[^\\\n]{0,200}?\p{L}{3})[^\\\n^_={}<>+*|]{1,200}+\\[)\]])"
"""Before the content of a formula, which has no words or some sign: brackets after backslashes are also for text."""
_TEMPLATE_TAG = r"<%(?:[^%<]|%(?!>)|<(?!%))*+%>|<\?(?:php(?!\w)|=)(?:[^?<]|\?(?!>)|<(?!\?))*+\?>"
"""A tag of ERB, EJS or ASP, such as <%= name %>, or of PHP."""
_BRACES = r"\{\{[^{}\n]{1,80}\}\}|\{%[^{}\n]{1,80}%\}"
TEMPLATE = rf"{_TEMPLATE_TAG}|(?=\{{[{{%][^{{}}\n]*[<>&])(?:{_BRACES})"
"""Code in templates with characters that HTML writes as references in text, such as {% if a < b %}."""
KEY_REFERENCE = r"\$t\([^()\n]{1,80}\)|(?<![A-Za-z0-9_])@(?:\.\w+)?:(?:[\w.]+\w|\{[^{}\n]*\})"
"""Where i18next and Vue insert another text: $t(key), @:key."""
_WIDTH = r"(?:\*(?:\d+\$)?|\d++)"
_CONVERSION = rf"[-+0\#]*+{_WIDTH}?+(?:\.{_WIDTH})?+(?:hh?|ll?|[zjtqL])?[sdiufxXeEgGcrp@]"
_PLACEHOLDER = rf"""
    {_TEMPLATE_TAG} | {KEY_REFERENCE}
  | {_BRACES}                                        # {{{{a.b}}}}, {{% if a %}}
  | \\\({_NO_PROSE}(?:[^\\\n]|\\(?!\))){{1,200}}+\\\)    # \(x^2\) of LaTeX
  | \\\[{_NO_PROSE}(?:[^\\\n]|\\(?!\])){{1,200}}+\\\]    # \[y\]
  | \[[a-z][\w-]*+(?:\s++[\w-]++=(?:"[^"\]\n]*+"|'[^'\]\n]*+'))++\s*+/?\]  # [gallery ids="1,2"]
  | [$\#]\{{[^{{}}\s]{{1,80}}\}} | (?<!\d)%\{{[^{{}}\s]{{1,80}}\}}  # ${{VAR}}, #{{user}}, %{{name}}
  | \$[(\[][A-Za-z_][\w.]*[)\]] | \[\[[A-Za-z_][A-Za-z0-9_.]*\]\]  # $(VAR), $[name], [[name]]
  | \{{[^{{}}\s]{{0,80}}\}}                           # {{name}}, {{0}}, {{}}
  | (?<![\d$])\$[A-Za-z_]{LETTER}*+(?!\$)             # $VAR, but no price
  | %(?:\d+\$|\([\w.-]+\)|<[A-Za-z_]\w*>){_CONVERSION}  # %1$s, %(name)s, %<name>s
  | (?<![\d%])%{_CONVERSION}(?!{_LATIN})              # %s, %*d, %.2f, but not the percent sign of 100%
  | (?<![\d%])%[1-9]\d?%(?!%|{_LATIN})                  # %1% of Boost
  | (?<![\d%])%(?:L?[1-9n](?!{_LATIN})|[A-Z][A-Z0-9_]{{2,}}+%?)  # %1, %L1, %n, %PRODUCTNAME, %PATH%
  | (?<![\d%])%[1-9]\d(?!{_LATIN})(?:(?=.{{0,200}}%[1-9](?!{_LATIN}))|(?<={_AFTER_FIRST}))  # %10 with %1, otherwise 10%
  | (?<!%)%%(?!%)                                      # %% of printf
  | &(?:[A-Za-z][A-Za-z0-9]{{1,30}}|\#\d{{1,7}}|\#[xX][0-9A-Fa-f]{{1,6}});  # &amp;
  | \[X\d+X\]
  | <[@\#!:][^<>\s]{{1,80}}>                            # <@U123>, <#C1|general>, <:name:123> of chats
  | (?<!\\)\\["'] | {_LINE_ESCAPE}                     # \", \n, \t
"""
_ATTRIBUTE = r"""\s++[\w:.-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=/]++)"""
_TAG = rf"</?+(?:[A-Za-z][\w:.-]*+(?:{_ATTRIBUTE})*+\s*+|\d{{1,3}})/?+>"
_URL_CHARACTERS = rf"[[\w\-._~:/?\#\[\]@!$&'()*+,;=%{{}}|]--[{WITHOUT_SPACES}]]"

_EXTENSION = (
    "pdf|docx?|xls[xm]?|pptx?|od[tspg]|ot[tspg]|txt|rtf|csv|tsv|jsonl?|xml|html?|css|js|ts|py|java|cpp|zip|gz|bz2|xz|7z"
    "|rar|jpe?g|png|gif|svg|bmp|tiff?|webp|mp[34]|wav|avi|exe|dll|deb|rpm|iso|ini|conf|cfg|ya?ml|toml|md|tex|log|sh|sql"
    "|db|tmx|xliff|xlf"
)
_FILE_CHARACTERS = rf"[[\w.+~/-]--[{WITHOUT_SPACES}]]"
_NO_PATH = r"\\/:*?\"<>|\n"
"""Characters that names of files and directories in Windows do not have."""

_WINDOWS_PATH = (
    rf"[A-Za-z]:\\(?:[^{_NO_PATH}\s][^{_NO_PATH}]{{0,60}}\\)*"
    rf"(?:(?![^{_NO_PATH}\s]*\.(?:{_EXTENSION})[ ])[^{_NO_PATH}\s]+[ ]){{0,2}}[^{_NO_PATH}\s]*"
    rf"|(?<!\\)(?:\.\.?|\\)\\(?:{_FILE_CHARACTERS}|\\)*"
)
_FILE = (
    rf"(?<!{_FILE_CHARACTERS})(?<!\\(?=[nrt]))(?:{_WINDOWS_PATH}|{_FILE_CHARACTERS}*){LETTER}\."
    rf"(?:{_EXTENSION}|{_EXTENSION.upper()})(?!\.?{LETTER})"
)
"""A name with a usual extension, perhaps with a path. It does not begin with the letter of an escaped line break."""

_DIRECTORY = (
    rf"(?<![\w\\])(?:[A-Za-z]:|\\\\[\w.$-]+)\\"
    rf"(?:[^{_NO_PATH}\s]{{1,60}}(?:[ ][^{_NO_PATH}\s]{{1,60}}){{0,2}}(?<![.!?,;])\\)*[^{_NO_PATH}\s“”„«»]+"
)
r"""A path in Windows without a usual extension: C:\new\table, \\server\share."""

_NAME_IN_PATH = rf"[._]?{LETTER}(?:{LETTER}|[.+@%-])*+"
_ROOT = (
    "bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Applications|Library|System|Users|Volumes"
)
_PATH = (
    rf"(?<!{LETTER}|[.+~/\\<=@:%&#*)\[\]}}-])"
    rf"(?:(?:~|\.\.?)(?:/{_NAME_IN_PATH})|/(?:{_ROOT})/{_NAME_IN_PATH})(?:/{_NAME_IN_PATH})*+/?"
)
"""A path in Unix: /usr/share, ~/a, ./a; not and/or, 1/2, /ə/."""

_OPTION = (
    rf"--(?<!(?:{LETTER}|[-–—.…!?])--)[a-z][A-Za-z0-9]*+"
    rf"(?:(?:-[A-Za-z0-9]++)++(?:=[\w./:,-]*\w)?+|=[\w./:,-]*\w)(?!{LETTER}|['’-])"
)
"""An option of a command: --no-color, --output=FILE. One word after two hyphens may be prose after a dash."""

_IDENTIFIER = rf"""
    (?<!{LETTER})(?:
        [vV]\d+(?:\.\d+)+                                      # v2.3.1
      | [0-9A-Fa-f]{{8}}-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}  # UUID
      | \#[0-9A-Fa-f]{{6}}                                     # the color #FF00AA
      | [A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+                 # font_size
      | \d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?  # 2024-01-05T10:30:00Z
    )(?!{_LATIN})
  | (?<!{LETTER}|[.-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info)(?!{LETTER}|-)  # server01.example.org
"""
_NAME = rf"""
    (?<!{LETTER}|[@.+/&\#-])@(?=[\p{{L}}_]){LETTER}++(?:[.-]{LETTER}++)*+(?:@{LETTER}++(?:[.-]{LETTER}++)*+)?(?:/[\w./-]*\w)?
  | (?<![\w@.+/&\#-])\#(?:(?=[\p{{L}}_])\w++\#?|\d++(?!(?:st|nd|rd|th)?(?!\w)){LETTER}++)
"""
"""@maria, @maria@example.org, @scope/package; #reading, #name#, #3days, but not #1 and #1st."""

_LINK = rf"""
    (?<![A-Za-z0-9_])(?i:(?:https?|ftps?|sftp|file|ssh|git|svn|ldap)://|mailto:|www\.)(?=[\w/\[{{%$]){_URL_CHARACTERS}++
  | (?<!{LETTER}|[.+-])(?:{LETTER}|[.+-])++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++
  | {_PATH} | {_FILE} | {_DIRECTORY} | {_OPTION} | {_IDENTIFIER} | {_NAME}
"""
SEPARATOR = r"[.,:/'’٫٬\u00a0\u202f-]"
_NUMBER = (
    rf"(?<!{LETTER})(?<!{LETTER}[.,:/'’_-])\d++(?:{SEPARATOR}\d++)*+(?:[eE][-+]?\d++)?+"
    rf"(?!{LETTER}|[\ufe0f\u20e3]|[.,:/'’]{LETTER})"
)
_PICTURE = r"""(?:\p{Emoji_Presentation}\ufe0f? | \p{Extended_Pictographic}\ufe0f | \p{Emoji}(?=\p{Emoji_Modifier}))
    \p{Emoji_Modifier}?"""
_EMOJI = rf"""
    (?:\p{{Regional_Indicator}}{{2}} | [0-9\#*]\ufe0f?\u20e3
      | {_PICTURE}[\U000e0020-\U000e007f]*(?:\u200d(?:{_PICTURE}|\p{{Extended_Pictographic}}\ufe0f?))*)++
  | [\ufdd0-\ufdef\U0001fffe\U0001ffff\U0002fffe]++  # the reserved characters themselves
  | (?<!:|{LETTER})(?::(?!-+:)[A-Za-z0-9_+-]{{1,40}}:)++(?!:|{LETTER})  # :smile: of chats
"""
SPANS = regex.compile(
    rf"(?P<tag>{_TAG})|(?P<link>{_LINK})|(?P<placeholder>{_PLACEHOLDER})|(?P<number>{_NUMBER})|(?P<emoji>{_EMOJI})",
    regex.VERSION1 | regex.VERBOSE,
)
SPAN_HINT = re.compile(
    r"[\d{$%@<\[&#_\\\u20e3\u2122-\u2bff\ufdd0-\ufdef\ufe0f\U0001f000-\U0001ffff\U0002fffe]|://|:[\w+-]+:"
    r"|/[\w.]|--[a-z]|(?i:www\.|mailto:|\.[a-z])"
)
"""Occurs in every text with a span, and is much faster to search."""

PUNCTUATION = ".,;:!?'*_|$"
BRACKETS = {")": "(", "]": "[", "}": "{"}


def find_spans(text: str) -> Iterator[Span]:
    """The spans of a text, in order; they do not overlap.

    A span of the kind "link" is a URL, an e-mail address, a file name, a path, an option of a command, an identifier,
    @name, or #tag. Not found are numbers in words (B2B, MP3, 42nd), the percent sign after a number, prices as
    variables ($5), and punctuation after a URL.
    """
    if not SPAN_HINT.search(text):
        return
    for match in SPANS.finditer(text):
        (start, end), kind = match.span(), cast(SpanKind, match.lastgroup)
        if kind == "link":
            end = start + len(_without_punctuation(match.group()))
        yield Span(start, end, kind)


def text_between(text: str, spans: Iterable[Span]) -> Iterator[str]:
    """The parts of a text before, between and after spans, which are in order: one more than there are spans."""
    last = 0
    for start, end, _ in spans:
        yield text[last:start]
        last = end
    yield text[last:]


def match_between(pattern: Pattern, text: str, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Where a pattern matches in a text before, between and after spans, which are in order."""
    last = 0
    for start, end in [*((span.start, span.end) for span in spans), (len(text), len(text))]:
        for match in pattern.finditer(text, last, start):
            yield match.span()
        last = end


def _without_punctuation(link: str) -> str:
    """The link without the punctuation that ends the sentence, and without a bracket that it does not open."""
    while link[-1] in PUNCTUATION or (link[-1] in BRACKETS and link.count(link[-1]) > link.count(BRACKETS[link[-1]])):
        link = link[:-1]
    return link
