"""Translations and references in different forms: HTML entities, escapes, tokens, subwords, lower case, ae for ä.

A form is named only if it explains a part of the score, however small if usual text is never in it: what it does is
undone in the texts that have it, or done to the other side, and BLEU is measured again.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import regex

from dragoman.doctor.findings.finding import Finding
from dragoman.doctor.findings.finding_types import make_finding
from dragoman.errors import shortened
from dragoman.evaluation.metrics import corpus_scores, token_bleu
from dragoman.text.detokenizer import join_words
from dragoman.text.normalization import visible_form

MIN_GAIN, MIN_GAIN_SHARE = 1.0, 0.03  # BLEU, and share of what BLEU is then
MIN_WORD_GAIN = 5.0  # BLEU of words as they stand between spaces, for forms that BLEU's own tokenizer hides
MIN_DIFFERENCE = 0.05  # share of the lines that have a form on one side, but not on the other
MAX_UNFOLDED = 0.02  # share of the lines of a side in a form that are not in it
_SPACED_ENTITY = re.compile(r"&\s?(#?)\s?(\w+)\s?;")
_SUBWORD_MARKS = re.compile(r"@@(?: |$)|(?<=\S) ##(?=\w)")
_ESCAPES = re.compile(r"(?:\\u[\da-fA-F]{4})+")
_PERCENT = re.compile(r"(?:%[89A-Fa-f][\dA-Fa-f]){2,}")
_TAGS = re.compile(r">>[^<>]{1,20}<<|<[^<>]{1,40}>")
_PUNCTUATION = regex.compile(r"\p{P}+")
_TWO_LETTERS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"}
)
_WITHOUT_PARTS = str.maketrans({"ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae"})


@dataclass(frozen=True)
class TextForm:
    """A form that one of two texts may have.

    Attributes:
        name: How messages name it.
        change: Undoes the form; or, if `is_loss`, brings other text into it.
        is_loss: Whether the form loses something that nothing can restore.
        fix: What to do with texts in this form.
        is_damage: Whether usual text is never in it. Then any gain of BLEU is enough, also of words between
            spaces, because BLEU's own tokenizer decodes some entities.
    """

    name: str
    change: Callable[[str], str]
    is_loss: bool
    fix: str
    is_damage: bool = False


def _unescape(text: str) -> str:
    return html.unescape(html.unescape(_SPACED_ENTITY.sub(r"&\1\2;", text)))


def _decode_escapes(text: str) -> str:
    return _ESCAPES.sub(lambda each: bytes.fromhex(each[0].replace("\\u", "")).decode("utf-16-be", "replace"), text)


def _decode_percent(text: str) -> str:
    return _PERCENT.sub(lambda each: unquote(each[0]), text)


def _fix_encoding(text: str) -> str:
    import ftfy

    return text if text.isascii() else ftfy.fix_encoding(text)


def _without_tags(text: str) -> str:
    return " ".join(_TAGS.sub(" ", text).split()) if _TAGS.search(text) else text


def _join_subwords(text: str) -> str:
    if "▁" in text:
        text = text.replace(" ", "").replace("▁", " ").strip()
    return _SUBWORD_MARKS.sub("", text)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text.translate(_WITHOUT_PARTS))
    return "".join(each for each in decomposed if not unicodedata.combining(each))


def _as_ascii(errors: str) -> Callable[[str], str]:
    return lambda text: text.encode("ascii", errors).decode()


_ENCODING_FIX = "use the original text in UTF-8, and look for the step that loses letters"
FORMS: tuple[tuple[TextForm, ...], ...] = (
    (TextForm("a wrong encoding, such as Ã¤ for ä", _fix_encoding, False, _ENCODING_FIX, True),),
    (TextForm("HTML entities, such as &quot;", _unescape, False, "decode them with html.unescape", True),),
    (TextForm(r"escapes, such as \u00e4", _decode_escapes, False, "decode them, for example with json.loads", True),),
    (
        TextForm(  # usual in addresses
            "percent codes, such as %C3%A4", _decode_percent, False, "decode them with urllib.parse.unquote"
        ),
    ),
    (TextForm("tags, such as <s>, <p> or >>de<<", _without_tags, False, "remove them, for example with sed"),),
    (
        TextForm(
            "invisible characters, or accents that are separate characters",
            visible_form,
            False,
            "use Unicode's normal form C, and remove byte order marks and spaces of no width",
        ),
    ),
    (TextForm("subwords that were not joined (@@, ▁ or ##)", _join_subwords, False, "join them: sed 's/@@ //g'"),),
    (
        TextForm(
            "words and punctuation separated by spaces",
            lambda text: join_words(text.split()),
            False,
            "use text that was not tokenized, or detokenize it, for example with sacremoses",
        ),
    ),
    (
        TextForm("lower case", str.lower, True, "use text with its usual capitals"),
        TextForm("capital letters", str.upper, True, "use text with its usual capitals"),
    ),
    (
        TextForm(
            "two letters in place of one (ae for ä)", lambda text: text.translate(_TWO_LETTERS), True, _ENCODING_FIX
        ),
        TextForm("letters without their accents", _without_accents, True, _ENCODING_FIX),
        TextForm("question marks in place of letters", _as_ascii("replace"), True, _ENCODING_FIX),
        TextForm("no letters outside of ASCII", _as_ascii("ignore"), True, _ENCODING_FIX),
    ),
    (TextForm("no punctuation", lambda text: _PUNCTUATION.sub("", text), True, "use text with its usual punctuation"),),
)
"""Groups of forms that exclude each other, in the order in which they are undone."""


def check_text_forms(
    references: Sequence[str], translations: Sequence[str]
) -> tuple[list[Finding], list[str], list[str]]:
    """Find forms in which translations and references differ.

    Returns:
        The findings, and the references and the translations in the same form.
    """
    findings: list[Finding] = []
    references, translations = list(references), list(translations)
    score = corpus_scores(translations, references)["bleu"]
    for group in FORMS:
        best: tuple[float, float, TextForm, list[str], list[str]] | None = None
        for form in group:
            changed = [[form.change(text) for text in texts] for texts in (references, translations)]
            if _side_in_form(form, (references, translations), changed) is None:
                continue
            gained = corpus_scores(changed[1], changed[0])["bleu"]
            by_words = token_bleu(changed[1], changed[0]) - token_bleu(translations, references)
            explains = gained - score >= max(MIN_GAIN, MIN_GAIN_SHARE * gained)
            explains |= form.is_damage and gained >= score and by_words > 0
            if (explains or (not form.is_loss and by_words >= MIN_WORD_GAIN)) and (not best or gained > best[0]):
                best = gained, by_words, form, changed[0], changed[1]
        if best:
            gained, by_words, form, *changed = best
            in_form = _side_in_form(form, (references, translations), changed)
            side, texts, others = (
                ("references", references, changed[0]) if in_form == 0 else ("translations", translations, changed[1])
            )
            examples = [one for one, other in zip(texts, others, strict=True) if form.is_loss or one != other]
            findings.append(_report(form, side, score, gained, by_words, examples[0]))
            references, translations, score = changed[0], changed[1], gained
    return findings, references, translations


def _side_in_form(
    form: TextForm, texts: tuple[Sequence[str], Sequence[str]], changed: Sequence[Sequence[str]]
) -> int | None:
    """The side that has a form, 0 for the references, if the other one does not have it."""
    shares = [
        sum(one != other for one, other in zip(side, others, strict=True)) / max(1, len(side))
        for side, others in zip(texts, changed, strict=True)
    ]
    if abs(shares[0] - shares[1]) < MIN_DIFFERENCE or (form.is_loss and min(shares) > MAX_UNFOLDED):
        return None
    return int((shares[1] > shares[0]) != form.is_loss)


def _report(form: TextForm, side: str, score: float, gained: float, by_words: float, example: str) -> Finding:
    compared = "in the same form, BLEU is" if form.is_loss else "without this form, BLEU is"
    words = f" (of words between spaces, {by_words:+.1f})" if by_words >= MIN_WORD_GAIN else ""
    other = "references" if side == "translations" else "translations"
    return make_finding(
        "text-form" if side == "translations" else "reference-form",
        f"the {side}, but not the {other}, have {form.name}: {compared} {gained:.1f} in place of "
        f"{score:.1f}{words}: {shortened(example)!r}",
        {"side": side, "form": form.name, "bleu": score, "bleu_in_same_form": gained},
        fix=form.fix,
    )
