"""Labels of tokens."""

from __future__ import annotations

from dragoman.explanation.tokens import TokenSequence, sequence_labels, token_label
from dragoman.translator import Translator


def test_a_dot_marks_tokens_that_continue_a_word(translator: Translator) -> None:
    tokenizer = translator.bundle.source
    sequence = TokenSequence.from_ids(tokenizer, [*tokenizer.encode(["Hunde Zebra"])[0], tokenizer.vocabulary.eos])
    labels = sequence_labels(sequence)
    assert labels == [token_label(tokenizer, token) for token in sequence.tokens]
    assert "".join(labels).replace("·", "").replace("▁", "") == "HundeZebra</s>"
    assert [not label.startswith("·") for label in labels].count(True) == len(sequence.words)
