"""Checks of what a translator says: collapse, emptiness, loops, copies, length, and what the source is worth to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dragoman.doctor.findings.explanations import found
from dragoman.doctor.findings.finding import Finding
from dragoman.evaluation.evaluate import Report, evaluate
from dragoman.evaluation.teacher_forcing import score_teacher_forced
from dragoman.translator import Translator

COLLAPSED = 0.3  # of the different sources with the same translation
EMPTY = 0.01  # of the translations
LOOPS = 0.02  # of the translations, above that of the references
TURNS = 4  # times in a row that words must come to make a loop
PHRASE = 5  # most words of what comes again and again
COPIES = 0.05  # of the translations, above that of the references
UNKNOWN = 0.03  # of the tokens
LENGTH = 0.2  # by which the characters of all translations may differ from those of the references
GAP, TIMES = 15.0, 2.0  # points of BLEU, and times, by which teacher-forced may be above decoded
LEARNT = 20.0  # perplexity; before, a model says its input again, whose BLEU is high
SOURCE_WORTH = 0.05  # nats a token by which the loss must rise with the sources of others
FEWEST = 3  # cases; fewer are told of by no finding
COMPARED = 500  # pairs whose loss is measured with the sources of others


def check_output(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Sequence[str],
    report: Report | None = None,
) -> list[Finding]:
    """What is wrong with translations.

    Args:
        sources: What was translated.
        references: The right translation of each.
        translations: What came out.
        report: Scores of these translations, to compare teacher-forced and decoded ones.
    """
    findings = [
        *_collapsed(sources, references, translations),
        *_empty(sources, translations),
        *_loops(sources, references, translations),
        *_copies(sources, references, translations),
        *_length(references, translations),
    ]
    return findings + (list(_gap(report)) if report else [])


def diagnose_output(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> list[Finding]:
    """Translate texts, and say what is wrong with the translations, their vocabulary and what they were made of."""
    report, translations = evaluate(translator, sources, references)
    findings = check_output(sources, references, translations, report)
    findings += _unknown(translator, sources, references)
    findings += _source_ignored(translator, sources, references)
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def _collapsed(sources: Sequence[str], references: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    """Count the different sources of each translation and of each reference."""
    distinct = len(set(sources))
    most, count = _most_common(sources, translations)
    _, natural = _most_common(sources, references)
    if most.strip() and count >= FEWEST and count / distinct >= COLLAPSED and count > 2 * natural:
        yield found(
            "collapsed",
            f"{_share(count, distinct)} different sources have the same translation: {most[:80]!r}",
            count=count,
            of=distinct,
            translation=most,
        )


def _most_common(sources: Sequence[str], texts: Sequence[str]) -> tuple[str, int]:
    """The text of the most different sources, and of how many."""
    counts = Counter(text for _, text in dict.fromkeys(zip(sources, texts, strict=True)))
    return max(counts.items(), key=lambda item: item[1], default=("", 0))


def _empty(sources: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    worded = [text for source, text in zip(sources, translations, strict=True) if source.strip()]
    count = sum(not text.strip() for text in worded)
    if count >= FEWEST and count / len(worded) > EMPTY:
        yield found(
            "empty-output",
            f"{_share(count, len(worded))} translations are empty: the end of the sentence comes first",
            count=count,
            of=len(worded),
        )


def _loops(sources: Sequence[str], references: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    looping = [place for place, text in enumerate(translations) if longest_loop(text) >= TURNS]
    natural = sum(longest_loop(text) >= TURNS for text in references)
    if len(looping) >= FEWEST and (len(looping) - natural) / len(translations) > LOOPS:
        examples = [{"source": sources[place], "translation": translations[place]} for place in looping[:3]]
        yield found(
            "repetition",
            f"{_share(len(looping), len(translations))} translations go round in circles: "
            f"{translations[looping[0]][:80]!r}",
            count=len(looping),
            of=len(translations),
            examples=examples,
        )


def longest_loop(text: str) -> int:
    """How often in a row the same words, up to PHRASE of them, come."""
    words, longest = text.split(), 1
    for size in range(1, PHRASE + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            longest = max(longest, same // size + 1)
    return longest


def _copies(sources: Sequence[str], references: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    copied = [
        place for place, (a, b) in enumerate(zip(sources, translations, strict=True)) if a.strip() and _like(a, b)
    ]
    natural = sum(_like(a, b) for a, b in zip(sources, references, strict=True))
    if len(copied) >= FEWEST and (len(copied) - natural) / len(translations) > COPIES:
        yield found(
            "copying",
            f"{_share(len(copied), len(translations))} translations are the source itself: "
            f"{translations[copied[0]][:80]!r}",
            count=len(copied),
            of=len(translations),
        )


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({count / of:.0%})"


def _like(one: str, other: str) -> bool:
    return one.lower().split() == other.lower().split()


def _length(references: Sequence[str], translations: Sequence[str]) -> Iterator[Finding]:
    wanted, given = sum(map(len, references)), sum(map(len, translations))
    ratio = given / max(1, wanted)
    if len(references) >= FEWEST and abs(ratio - 1) > LENGTH:
        yield found(
            "output-length",
            f"translations have {ratio:.2f} times as many characters as the references",
            cause=None if ratio < 1 else "loops, or an end of the sentence that is never learnt",
            ratio=ratio,
        )


def _gap(report: Report) -> Iterator[Finding]:
    """Sound models score alike when told the right beginning and when not, give or take a few points."""
    forced, decoded = report.teacher_forced_bleu, report.bleu
    if forced - decoded > GAP and forced > TIMES * decoded and report.perplexity < LEARNT:
        yield found(
            "exposure-gap",
            f"told the right beginning, the model predicts the next word with a BLEU of {forced:.1f}; its own "
            f"translations score {decoded:.1f}",
            teacher_forced_bleu=forced,
            bleu=decoded,
            perplexity=report.perplexity,
        )


def _unknown(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> Iterator[Finding]:
    bundle = translator.bundle
    for side, tokenizer, texts in (("source", bundle.source, sources), ("target", bundle.target, references)):
        ids = tokenizer.encode(texts)
        total = sum(map(len, ids))
        count = sum(sentence.count(tokenizer.vocabulary.unk) for sentence in ids)
        if count >= FEWEST and count / total > UNKNOWN:
            yield found(
                "unknown-tokens",
                f"{count:,} of {total:,} {side} tokens ({count / total:.1%}) are not in the vocabulary",
                side=side,
                count=count,
                of=total,
            )


def _source_ignored(translator: Translator, sources: Sequence[str], references: Sequence[str]) -> Iterator[Finding]:
    """Compare the loss of references beside their own sources with that beside those of others."""
    bundle = translator.bundle
    sources, references = sources[:COMPARED], references[:COMPARED]
    if len(set(sources)) < FEWEST:
        return
    others = [*sources[len(sources) // 2 :], *sources[: len(sources) // 2]]
    own, strange = (score_teacher_forced(bundle, side, references).loss for side in (sources, others))
    if strange - own < SOURCE_WORTH:
        yield found(
            "translations-ignore-source",
            f"the references have a loss of {own:.3f} nats a token beside their own sources, and {strange:.3f} beside "
            "those of others",
            loss=own,
            loss_with_other_sources=strange,
        )
