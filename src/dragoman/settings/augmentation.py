"""Settings of the augmentation: changes to training pairs that make a translator robust."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dragoman.settings.base import Settings

Share = Annotated[float, Field(ge=0.0, le=1.0)]


def _shares_fit(augmentation: Augmentation) -> str | None:
    shares = {name: getattr(augmentation, name) for name in Augmentation.model_fields}
    if (total := sum(shares.values())) <= 1 + 1e-9:
        return None
    listed = ", ".join(f"{name} = {share:g}" for name, share in shares.items() if share)
    return f"the shares add up to {total:g}, which is more than 1: {listed}; lower some of them"


class Augmentation(Settings):
    """Shares of the training pairs that are changed, each in one way; they are drawn again in each epoch."""

    rules = (_shares_fit,)
    upper_case: Share = Field(0.0, description="Share in capital letters, on both sides.")
    title_case: Share = Field(0.0, description="Share in which every word starts with a capital letter, on both sides.")
    no_end_punctuation: Share = Field(
        0.0,
        description="Share from which the punctuation at the end is removed. Pairs that do not have it on both sides "
        "remain unchanged.",
    )
    typos: Share = Field(
        0.0, description="Share with typing errors in a few words of the source: letters swapped, lost, doubled, wrong."
    )
    terms: Share = Field(
        0.0,
        description="Share in which some source terms are followed by the dictionary form of their translation, so "
        "that the translator learns to follow a glossary. Some of these translations are wrong, so that it learns to "
        "ignore terms that do not fit. Needs text.terms; has no effect on languages without spaces between words.",
    )
    fuzzy_matches: Share = Field(
        0.0,
        description="Share whose source is followed by the translation of a similar training pair, so that the "
        "translator can use a translation memory. Pairs without a similar one remain unchanged.",
    )
    single_words: Share = Field(
        0.0,
        description="Share that is replaced by a word and its translation, from a dictionary that is learned from the "
        "training text; there is none for languages without spaces between words.",
    )
