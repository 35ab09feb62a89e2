"""Scores of a translator on text with capital letters, missing punctuation and typing errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dragoman.evaluation.metrics import CorpusScores, corpus_scores
from dragoman.text.augmentation import TEXT_CHANGES, TextChange
from dragoman.text.masking import Masking
from dragoman.translator import Translator

SEED = "perturbed"  # training draws its typing errors with seeds that start with a number


@dataclass(frozen=True)
class PerturbedScores:
    """Scores on text that is changed in one way.

    `changed` is the number of sources with a change, and only these are scored. `bleu` and `chrf` ignore case; they are
    None if nothing is changed. `bleu_share` and `chrf_share` are the scores divided by those of the same texts without
    the change; they are None if those are zero.
    """

    changed: int
    bleu: float | None
    chrf: float | None
    bleu_share: float | None
    chrf_share: float | None
    bleu_signature: str
    chrf_signature: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def evaluate_perturbed(
    translator: Translator, sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> dict[str, PerturbedScores]:
    """Scores on the text as it is (`clean`) and after each change that training can make to whole sentences.

    The changes are those of `training.augmentation`, made to every pair; the typing errors are always the same. Where
    the punctuation at the end is missing in the source, it is removed from the reference too. Sources that a change
    leaves as they are would hide its effect, so they are not scored.

    Args:
        translator: The translator to score.
        sources: Texts to translate.
        references: The reference translation of each.
        translations: The translations of the unchanged texts.
    """
    data = translator.bundle.recipe.data
    languages = data.source_language, data.target_language
    pairs = list(zip(sources, references, strict=True))
    clean = corpus_scores(translations, references, lowercase=True)
    scores = {"clean": _compare(clean, clean, 0)}
    for kind, change in TEXT_CHANGES.items():
        changed = [_change(change, pair, languages, f"{SEED} {index}") for index, pair in enumerate(pairs)]
        places = [index for index, pair in enumerate(changed) if pair[0] != sources[index]]
        if not places:
            scores[kind] = replace(scores["clean"], bleu=None, chrf=None, bleu_share=None, chrf_share=None)
            continue
        translated = [str(each) for each in translator([changed[index][0] for index in places])]
        found = corpus_scores(translated, [changed[index][1] for index in places], lowercase=True)
        before = [translations[index] for index in places], [references[index] for index in places]
        scores[kind] = _compare(found, corpus_scores(*before, lowercase=True), len(places))
    return scores


def _change(change: TextChange, pair: tuple[str, str], languages: tuple[str, str], seed: str) -> tuple[str, str]:
    """Change a pair, but not its placeholders, tags, addresses and numbers."""
    source, target = map(Masking().mask, pair)
    changed = change(source.text, target.text, languages, seed)
    return source.restore(changed[0]), target.restore(changed[1])


def perturbed_table(scores: Mapping[str, PerturbedScores]) -> str:
    """The scores as text, one line for each kind of text."""
    (first, *_) = scores.values()
    lines = [
        f"BLEU {first.bleu_signature}, chrF {first.chrf_signature}",
        f"{'':18}  {'changed':>8}  {'BLEU':>6}  {'of clean':>8}  {'chrF':>6}  {'of clean':>8}",
    ]
    for name, each in scores.items():
        bleu, chrf = ("-" if score is None else f"{score:.2f}" for score in (each.bleu, each.chrf))
        bleu_share, chrf_share = (
            "-" if share is None else f"{share:.1%}" for share in (each.bleu_share, each.chrf_share)
        )
        words = name.replace("_", " ")
        lines.append(f"{words:18}  {each.changed:8,}  {bleu:>6}  {bleu_share:>8}  {chrf:>6}  {chrf_share:>8}")
    return "\n".join(lines)


def _compare(scores: CorpusScores, clean: CorpusScores, changed: int) -> PerturbedScores:
    return PerturbedScores(
        changed=changed,
        bleu=scores["bleu"],
        chrf=scores["chrf"],
        bleu_share=_share(scores["bleu"], clean["bleu"]),
        chrf_share=_share(scores["chrf"], clean["chrf"]),
        bleu_signature=scores["bleu_signature"],
        chrf_signature=scores["chrf_signature"],
    )


def _share(score: float, clean: float) -> float | None:
    return round(score / clean, 4) if clean else None
