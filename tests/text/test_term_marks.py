"""Marked terms: without marks and translations, a source is what it was, and no text is encoded as a mark."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UserError
from dragoman.recipe import build_recipe
from dragoman.settings import Text
from dragoman.text.bpe_dropout import BPEDropout
from dragoman.text.masking import ALL_RESERVED
from dragoman.text.registry import load_tokenizer, train_tokenizers
from dragoman.text.subword import SubwordTokenizer
from dragoman.text.term_marks import TERM_MARKS, MarkedTerm, mark_terms

GERMAN = ["Der Hund läuft.", "Siehe (den Hund) und die Katze!", "Die Katze schläft im Garten"] * 3
WORDS = ["Der", "Hund", "(den", "Katze!", "schläft", "\ufdd0", "."]


def train(**settings: object) -> SubwordTokenizer:
    text = Text.model_validate({"vocabulary_size": 400, "placeholders": True, "terms": True, **settings})
    tokenizer, _ = train_tokenizers(GERMAN, [], text, source_language="de", target_language="en")
    assert isinstance(tokenizer, SubwordTokenizer)
    return tokenizer


TRAINED = {"bpe": train(), "unigram": train(tokenizer="unigram"), "no bytes": train(byte_fallback=False)}


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[MarkedTerm]]:
    """A text, and some of its words as terms."""
    words, terms, text = draw(st.lists(st.sampled_from(WORDS), min_size=1)), [], ""
    for word in words:
        text += " " if text else ""
        if draw(st.booleans()):
            terms.append(MarkedTerm(len(text), len(text) + len(word), draw(st.sampled_from(["cat", "dog house"]))))
        text += word
    return text, terms


@pytest.mark.parametrize("name", TRAINED)
@given(case=marked())
def test_without_translations_a_source_has_the_same_text_and_subwords(
    name: str, case: tuple[str, list[MarkedTerm]]
) -> None:
    (text, terms), tokenizer = case, TRAINED[name]
    with_marks = mark_terms(text, terms)
    term, lemma, end = tuple(TERM_MARKS)
    assert re.sub(f"{lemma}[^{end}]*{end}|{term}", "", with_marks).removeprefix(" ") == text
    assert re.findall(f"{lemma} ([^{end}]*){end}", with_marks) == [each.lemma for each in terms]
    ids, plain = tokenizer.encode_masked([with_marks, text])
    assert [each for each in ids if each in tokenizer.term_marks] == list(tokenizer.term_marks) * len(terms)
    assert tokenizer.decode_masked(tokenizer.text_ids(ids)) == tokenizer.decode_masked(plain)
    first = bool(terms) and terms[0].start == 0  # then an additional space
    assert list(tokenizer.text_ids(ids))[first:] == plain


@pytest.mark.parametrize("name", TRAINED)
@given(text=st.text(st.sampled_from(TERM_MARKS + ALL_RESERVED[:2] + "ab 1.")))
def test_no_text_is_encoded_as_a_mark(name: str, text: str) -> None:
    tokenizer = TRAINED[name]
    (mask,) = tokenizer.mask([text])
    assert mask.restore(mask.text) == text
    assert mask.starts()[-1] == len(text)
    for ids in (*tokenizer.encode([text]), *tokenizer.encode_masked([mask.text])):
        assert not set(ids) & set(tokenizer.term_marks)


def test_marks_survive_saving_and_bpe_dropout_and_are_never_shown() -> None:
    tokenizer = TRAINED["bpe"]
    loaded = load_tokenizer(tokenizer.to_json())
    assert isinstance(loaded, SubwordTokenizer)
    assert loaded.term_marks == tokenizer.term_marks != []
    (ids,) = loaded.encode_masked([mark_terms("Der Hund läuft", [MarkedTerm(4, 8, "dog")])])
    assert loaded.decode_masked(ids) == "Der Hund dog läuft"
    import numpy as np

    changed = BPEDropout(tokenizer, 0.5, 1, 100)(ids, np.random.default_rng(1))
    assert [each for each in changed if each in loaded.term_marks] == loaded.term_marks
    assert loaded.decode_masked(list(changed)) == "Der Hund dog läuft"
    assert train(terms=False).term_marks == []


@pytest.mark.parametrize(
    ("override", "message"),
    [("text.terms=true", "terms needs placeholders"), ("training.augmentation.terms=0.1", "needs text.terms = true")],
)
def test_settings_that_need_each_other(override: str, message: str) -> None:
    document = {"name": "a", "data": {"source_language": "de", "target_language": "en", "train": ["copy"]}}
    with pytest.raises(UserError, match=message):
        build_recipe(document | {"training": {"steps": 1}}, [override])
