"""Sentences: the marks that end them, what surrounds these marks, and where a sentence continues after one.

The marks are those with the property Sentence_Terminal of Unicode, the ellipsis, and the shad of Tibetan.
"""

from __future__ import annotations

import regex

from dragoman.languages.scripts import begins_small

SENTENCE_ENDS = r"\p{Sentence_Terminal}…།༎-༑"
"""The marks that may end a sentence, as part of a set of characters of the `regex` library."""

SPACED_ENDS = ".!?…․‼‽⁇⁈⁉⸮؟؝؞﹒﹖﹗"
"""Those that end one only before a space or the end of a text. The others always do."""

UNSPACED_ENDS = rf"[{SENTENCE_ENDS}--[{SPACED_ENDS}]]"
"""Those that always do, as a set of characters in VERSION1 of the `regex` library."""

OPENING_MARKS = "\"'“‘„‚«‹»([{¿¡「『（【〈《"
"""What may stand before the first letter of a sentence, with the quotation marks of all languages."""

CLOSING_MARKS = "\"'”’“»›)]}」』）】〉》"
"""What may follow the mark at the end of a sentence."""

UNSPACED_BEFORE = ".,;:!?…)]}»”’।॥。"
"""Before these marks, most languages write no space."""

QUESTION_MARKS = "?？؟;՞፧⁇⸮"
"""Those of all scripts; the Greek one is U+037E or a semicolon."""

_ORDINAL_LANGUAGES = "bs cs da de dsb et fi hr hsb hu is lb lv no nb pl sk sl sr tr"
ORDINAL_POINTS = frozenset(_ORDINAL_LANGUAGES.split())
"""Languages that write a point after an ordinal number: no sentence ends in "der 2. Weltkrieg"."""

CAPITAL_NOUNS = frozenset(("de", "lb"))
"""Languages in which nouns begin with a capital letter: "10 min. Pause"."""

OPENING, CLOSING = (f"[{regex.escape(marks, special_only=False)}]" for marks in (OPENING_MARKS, CLOSING_MARKS))
"""These marks as sets of characters of the `regex` library."""

_QUOTES = f"(?:{OPENING}|{CLOSING})*+"

BETWEEN_SENTENCES = regex.compile(
    rf"(?<=[{SENTENCE_ENDS}]{CLOSING}?)\s+(?=\S)|(?<={UNSPACED_ENDS}{CLOSING}?)(?!{CLOSING})(?=[^\s{SENTENCE_ENDS}])",
    regex.VERSION1,
)
"""Where a sentence may end inside of a text: the spaces there, or nothing. Abbreviations are not considered."""

_END = regex.compile(rf"[\s{SENTENCE_ENDS}]+$")
LINE_START = regex.compile(rf"\p{{White_Space}}*{_QUOTES}")
SENTENCE_START = regex.compile(rf"[{SENTENCE_ENDS}]{_QUOTES}\p{{White_Space}}+{_QUOTES}\Z")
NEAR = 10  # characters between two sentences, at most

_ORDINAL = regex.compile(r"(?<![\w.,])(?:\d{1,2}|[IVXL]{2,8}|#|%(?:\d\$)?[diu])\.$")
"""A number or numeral, or the placeholder of a number."""
_TITLES = (
    *("डॉ", "प्रो", "पं", "श्री", "सुश्री", "श्रीमती", "कु", "मि", "नं", "ডা", "মো", "মি", "ਡਾ", "ਸ਼੍ਰੀ", "ડૉ", "ડો", "શ્રી"),
    *("திரு", "திருமதி", "డా", "శ్రీ", "ಡಾ", "ಶ್ರೀ", "ഡോ", "ശ്രീ"),
    *("(?i:mevr|dhr|geb|jl|str|npr|нпр|в?ул|тзв)", r"(?i:t\.ex|f\.eks|bl\.a)", "med", "TP", "TS", "ThS", "GS", "PGS"),
    "[Dd]r|[Dd]vs|[Ff]r[kl]|[Hh]l|[Hh]ptm|[Ii]nż|[Kk]nj?|[Kk]pt|[Kk]s|[Mm]gr|[Mm]jr|[Pp]łk|ppłk|[Pp]ř|[Pp]ś|[SsŚśŠš]v",
    "[Ss]wj?|[Śś]w|[Ss]zt",
    *("Bpk", "Dl", "Dna", "Mnr", "Ms", "Mx", "Pfc", "Sgt", "Smt", "Sn", "Wm"),
)
"""Abbreviations before names that `sentencex` does not know: of languages of India, Europe, Vietnam and Indonesia."""

_BEFORE_NUMBERS = "art|fig|tab|nr|kl|kb|cca|pp?|p[áa]g|afb|bls|lk|gbr|str|čl?|vol|[ck]ap|αρ|σελ|рис|табл|стр|гл|ст|п|бр"
_ABBREVIATION = regex.compile(
    rf"(?:^|(?<!\d)\s){OPENING}?(?:{'|'.join(_TITLES)})\.$"
    r"|(?:^|\s)[\p{Arabic}\p{Hebrew}\p{Devanagari}\p{Bengali}\p{Gujarati}\p{Gurmukhi}&&\p{Lo}]\.$"  # a single letter
    r"|[\p{Thai}\p{Lao}]\p{M}*\.$"  # in these scripts, no mark ends a sentence
    rf"|^{OPENING}?\p{{Lu}}\p{{M}}*\.$",  # an initial, before which nothing is
    regex.VERSION1,
)
_LISTS = (
    r"usw|etc|u\. ?v\. ?m|enz|osv|m\.m|m\.fl|o\.s\.v|jne|jms|ym|ecc|itd|itp|atd|apod|ipd|ipod|stb|ktl|κ\.?λπ|κ\.ά|и др"
    r"|[иі] т\. ?[дп]|atď|ir t\. ?t|ir pan|u\. ?c|u\. ?tml|[șş]\.a|o\.fl|o\.s\.frv|etj|и т\.н|eċċ|ayb|srl|eus"
)
AFTER_LIST = regex.compile(rf"(?<=\b(?:{_LISTS})\.{CLOSING}?)\s+(?={OPENING}?\p{{Lu}})")
"""Where a sentence ends after "and so on", if a capital letter follows."""

_UNITS = "[kmµ]?g|[kcm]?m|m?l|ha|km/h|kWh|kr|Ft|zł|Kč|lei|[кмд]г|[ксм]м|мл|руб|грн|тг|min|мин|сек"
AFTER_UNIT = regex.compile(rf"(?<=\d[ \u00a0\u202f]?(?:{_UNITS})\.{CLOSING}?)\s+(?={OPENING}?\p{{Lu}})")
"""Where a sentence ends after a number with a unit, if a capital letter follows, and nouns have none."""

AFTER_COPIED = regex.compile(rf"[.!?]+{CLOSING}?\s+(?={OPENING}?\p{{Lu}})")
"""The end of a sentence after something that is copied, such as a URL, which is no abbreviation."""

AFTER_BRACKET = regex.compile(rf"(?<=[{SENTENCE_ENDS}]\p{{Pe}})\s+(?={OPENING}?\p{{Lu}})")
"""Where a sentence ends after a bracket, if its last word is no abbreviation, see `follows_end`."""

_LONGEST_ABBREVIATION = 10  # with the character before it

_VOWEL = "[aeiouyáàâäãåāăąæéèêëēėęěíìîïīįıóòôöõøōőœúùûüūůűųýÿ]"
_SHORT_WORDS = """
    abb abs abschn abt adr al anh anl anm ans approx apr apt art aufl aug avg bearb bem best bsp ca co corp dec dept dez
    dipl ebd ed eds ehem einschl engl enz esim est etc evtl excl exkl ext fa febr fig franz gem gen geb gest ggf gov
    inc incl ing inkl itd itp jan jne kap kat klo kpl lat lit max maks min mind mio misc mod nov no nos nro obr odd
    odst okt op opr orig osv popr popř poz pozn příp príp prof prot puh rak rel resp rev röm rys sec sect seit sen
    sep sept sog spec spez tab tel temp tis tit tlf tsd tzn ugs univ urspr usw vers vgl vol vyd vyh wobr ym zák zit
    zl zob
"""
"""Abbreviations with a vowel, which look like words."""

_WORD = (
    rf"(?<![\p{{L}}.])(?!(?:{'|'.join(_SHORT_WORDS.split())})\.)\p{{L}}{{2,40}}(?<={_VOWEL}\p{{L}}{{0,40}})(?<!nr|str)"
)
_AFTER_WORD = regex.compile(rf"(?:[!?…]|(?<={_WORD})\.){CLOSING}?\s+\Z", regex.IGNORECASE)
"""The end of a sentence after a word in Latin script that is no abbreviation: "läuft. ", but not "Abb. "."""

_LONGEST_END = 20  # with the last letters of the word

_QUOTED = rf"(?<=[{SENTENCE_ENDS}]{CLOSING}+\s*)"
_CONTINUATIONS = (
    "[,;،、，；]",
    # Japanese: a particle after a quotation, or after an exclamation without quotation marks
    rf"(?:{_QUOTED}|(?<=[！？!?…]))(?:と(?!ある|うとう|おく|き|く|ころ|ても|にかく|も|りあえず)|って|など|なん[てか]|を)",
    rf"{_QUOTED}(?:[がはもにの](?=[\p{{Han}}、])|[でかや](?=\p{{Han}})|の?よう|らし|みたい|だ[とっ])",
    # Korean: the same
    rf"{_QUOTED}(?:이?라[고는며면]|하[고는며면]|[고는]\s)",
    # Chinese: who says it
    rf"{_QUOTED}\p{{Han}}{{0,6}}?[说說问問道答喊叫嚷][道着著]?[。，,；！]",
    # Khmer: the abbreviation of "and so on"
    "(?<=។)(?:ល|បេ)។",
    # a number after an abbreviation that `sentencex` does not know
    rf"(?<=(?<!\p{{L}})(?i:{_BEFORE_NUMBERS})\.\s+)\d",
    # a date, such as 2024. 5. 3., and a number with an ending
    r"(?<=\b\d{1,4}\.\s*)\d{1,2}\.(?!\d)|(?<=\d\.)\p{Lo}|[ºª]",
)
_CONTINUATION = regex.compile("|".join(_CONTINUATIONS))
_SPEAKER = regex.compile(r"[–—―]\s*|-\s+")
"""The dash before who says something: "— Привет! — сказала Анна."."""
_CLOSED = regex.compile(rf"(?<=\S)(?:[\p{{Pe}}\p{{Pf}}]|[¹²³⁰⁴-⁹]+(?!\w))+\s*|(?:{UNSPACED_ENDS}\s*)+", regex.VERSION1)


def without_end(text: str) -> str:
    """The text without the punctuation at its end, which may be all of it."""
    return _END.sub("", text)


def starts_sentence(text: str, start: int) -> bool:
    """Whether a word is the first one of a text or, judging by the punctuation before it, of a sentence."""
    before = text[max(0, start - NEAR) : start]
    return (start <= NEAR and LINE_START.fullmatch(before) is not None) or bool(SENTENCE_START.search(before))


def ends_in_abbreviation(text: str, language: str) -> bool:
    """Whether a text ends in an abbreviation, such as a title before a name, or in the point of an ordinal number.

    Args:
        text: What precedes the possible end of a sentence, with its mark.
        language: The code of the language without its region.
    """
    end = text.strip()[-_LONGEST_ABBREVIATION:]
    return bool(_ABBREVIATION.search(end) or (language in ORDINAL_POINTS and _ORDINAL.search(end)))


def follows_end(text: str, start: int) -> bool:
    """Whether the end of a sentence precedes a place of a text, even if a number or a placeholder is there.

    The word before it must not look like an abbreviation, unlike in "Abb. 3 zeigt" and "approx. {count}".
    """
    return _AFTER_WORD.search(text, max(0, start - _LONGEST_END), start) is not None


def after_closing(text: str, place: int) -> int:
    """Where a sentence ends that seems to end before its closing bracket, the number of a note, or another mark."""
    closing = _CLOSED.match(text, place)
    return closing.end() if closing else place


def begins_inside(text: str, place: int) -> bool:
    """Whether what follows a mark begins with a small letter, perhaps after a dash, unlike a sentence."""
    dash = _SPEAKER.match(text, place)
    start = dash.end() if dash else place
    return begins_small(text[start : start + 1])


def sentence_continues(text: str, place: int) -> bool:
    """Whether a sentence does not end at a place after a mark, because of what follows, such as a particle."""
    return _CONTINUATION.match(text, place) is not None
