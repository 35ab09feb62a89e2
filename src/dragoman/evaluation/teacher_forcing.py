"""Loss, accuracy and BLEU of a model that is given the reference up to each token (teacher forcing)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.engines.choose import Ids
from dragoman.evaluation.metrics import token_bleu
from dragoman.text.tokenizer import encode_pairs
from dragoman.text.vocabulary import Vocabulary
from dragoman.translator import Translator


class TeacherForcedScores(NamedTuple):
    """How well a model predicts each next token of the references, given all tokens before it.

    `loss` is the mean negative log-likelihood of the target tokens in nats, end of sentence included; nan without
    pairs. `accuracy` is the fraction of these tokens that are the most probable ones. `bleu` is computed only if the
    recipe has training.teacher_forced_bleu: the BLEU-4, 0 to 100, of the most probable tokens against the reference
    tokens, end of sentence not included. Some publications call this the BLEU of a model. It does not score
    translations, because the model is given the correct prefix at every token: a model that only repeats the token
    before can have a BLEU of 70. Unknown words are <unk> on both sides.
    """

    loss: float
    accuracy: float
    bleu: float | None


def score_teacher_forced(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> TeacherForcedScores:
    """Scores of a model on pairs; each side is truncated to the maximum length of the model.

    Placeholders and numbers are masked as in training. As text, they would become ever less probable to a model that
    never sees them, and its loss would rise although it improves.

    Args:
        translator: The model, its tokenizers and its recipe.
        sources: Source sentences.
        references: The reference translation of each.
    """
    source, target = _encode(translator, sources, references)
    scores, bundle = translator.engine.score(source, target), translator.bundle
    predicted, vocabulary = [each.predictions for each in scores], bundle.target.vocabulary
    tokens = sum(map(len, predicted))
    if not tokens:
        return TeacherForcedScores(math.nan, 0.0, None)
    forced_bleu = _bleu(predicted, target, vocabulary) if bundle.recipe.training.teacher_forced_bleu else None
    pairs = zip(predicted, target, strict=True)
    correct = sum(
        one == other for ids, wanted in pairs for one, other in zip(ids, [*wanted, vocabulary.eos], strict=True)
    )
    total = math.fsum(value for each in scores for value in each.log_probabilities)
    return TeacherForcedScores(-total / tokens, correct / tokens, forced_bleu)


def score_references(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> list[float]:
    """The log-probability in nats of each reference with its end, given its source; arguments as above."""
    scores = translator.engine.score(*_encode(translator, sources, references))
    return [math.fsum(each.log_probabilities) for each in scores]


def _encode(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> tuple[list[Ids], list[Ids]]:
    """The ids of both sides, truncated to the maximum length of the model."""
    bundle, limit = translator.bundle, translator.source_limit
    source, target = encode_pairs(bundle.source, bundle.target, sources, references)
    return [ids[:limit] for ids in source], [ids[:limit] for ids in target]


def _bleu(predicted: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], vocabulary: Vocabulary) -> float:
    """The BLEU of predictions, each of which ends with that of eos, against token ids."""
    hidden = {vocabulary.pad, vocabulary.bos, vocabulary.eos}

    def join(ids: Sequence[int]) -> str:
        return " ".join(vocabulary.tokens[index] for index in ids if index not in hidden)

    return token_bleu([join(ids[:-1]) for ids in predicted], [join(ids) for ids in wanted])
