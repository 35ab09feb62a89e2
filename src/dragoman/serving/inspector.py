"""What the inspector's page asks when it is served: explanations by one or two models, changed or not.

The answers are queued like translations, as segments whose "translations" are JSON or HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from dragoman.documents.segment import Segment
from dragoman.errors import UserError, counted
from dragoman.explanation.explain import Explanation
from dragoman.explanation.influence import removable_words, score_each_source
from dragoman.explanation.page.data import page_data
from dragoman.explanation.page.reasons import change_data, influence_data, lens_data
from dragoman.explanation.page.render import render_page
from dragoman.explanation.switch_off import Head, Layer, switch_off
from dragoman.text.translation import Translation
from dragoman.translator import Translator

_KEPT = 8
"""Explanations that are kept for the next request about the same text."""

_KEPT_TRANSLATORS = 2
"""Translators with something switched off that are kept."""

Answer = Literal["explain", "influence", "page"]
"""Translation, attention and logit lens; the influence of source words; a page with all of it."""


class Off(BaseModel):
    """What is switched off in a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    heads: tuple[Head, ...] = ()
    layers: tuple[Layer, ...] = ()


NOTHING_OFF = Off()


class Changes(BaseModel):
    """What the page changes: words of the text that are left out, and what is switched off in each model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    without: tuple[int, ...] = ()
    off: tuple[Off, ...] = ()


NO_CHANGES = Changes()


@dataclass(frozen=True)
class Question(Segment):
    """What the page asks about a text."""

    answer: Answer = "explain"
    changes: Changes = NO_CHANGES


class Inspector:
    """Explains translations by one model, or by two models that are compared.

    Args:
        translators: The models by the names that the page shows.
    """

    def __init__(self, translators: dict[str, Translator]) -> None:
        self._translators = translators
        self._changed = lru_cache(_KEPT_TRANSLATORS)(self._switch_off)
        self._explain = lru_cache(_KEPT)(self._explain_text)

    def answer(self, segments: Sequence[Segment]) -> list[Translation]:
        """The answers to questions, as if they were translations."""
        return [Translation(self.answer_question(each)) for each in segments if isinstance(each, Question)]

    def answer_question(self, question: Question) -> str:
        """JSON for the page, or a page that needs no server.

        Raises:
            UserError: The text contains nothing to translate, or a model lacks a word, head or layer of the question.
        """
        words = self._words(question)
        if question.answer == "influence":
            found = [influence_data(explanation) for _, _, explanation in self._explanations(question)]
            return json.dumps({"influences": found}, ensure_ascii=False)
        described = [self._describe(question, *each) for each in self._explanations(question)]
        if question.answer == "page":
            return render_page(described)
        return json.dumps({"explanations": described, "words": words}, ensure_ascii=False)

    def translations(self, text: str) -> dict[str, str]:
        """The translation by each model."""
        return {name: self._explain(name, text, (), NOTHING_OFF).translation.text for name in self._translators}

    def _words(self, question: Question) -> list[str]:
        """The words of the text that can be left out.

        Raises:
            UserError: Words are left out, but the models split the text differently.
        """
        inputs = [self._explain(name, question.text, (), NOTHING_OFF).model_input for name in self._translators]
        words = [[word.text for word in removable_words(each.bundle, each.source)] for each in inputs]
        if question.changes.without and any(each != words[0] for each in words):
            raise UserError("the two models split this text into different words, so that none can be left out")
        return words[0]

    def _explanations(self, question: Question) -> Iterator[tuple[str, Off, Explanation]]:
        """Each model's name, what is switched off in it, and its explanation."""
        for name, off in zip_longest(self._translators, question.changes.off, fillvalue=NOTHING_OFF):
            if not isinstance(name, str):
                raise UserError("something is switched off in more models than there are")
            yield name, off, self._explain(name, question.text, question.changes.without, off)

    def _describe(self, question: Question, name: str, off: Off, explanation: Explanation) -> dict[str, Any]:
        """What the page shows of one model; the influence of words only if the page is saved, as it takes longer."""
        translator = self._translators[name]
        changes = ((question.changes.without, "word"), (off.heads, "head"), (off.layers, "layer"))
        changed = ", ".join(counted(len(items), kind) for items, kind in changes if items)
        shown = f"{name} without {changed}" if changed else name
        data = page_data(translator.bundle, translator.decoding, question.text, explanation, shown)
        data["lens"] = lens_data(translator.bundle, question.text, explanation)
        data["off"] = off.model_dump()
        if changed:
            data["change"] = self._describe_change(name, question.text, explanation)
        if question.answer == "page":
            data["influence"] = influence_data(explanation)
        return data

    def _describe_change(self, name: str, text: str, explanation: Explanation) -> dict[str, Any]:
        """What a change does to the translation that the model made without it."""
        earlier = self._explain(name, text, (), NOTHING_OFF)
        target = earlier.model_input.target
        before, after = (
            score_each_source(each.model_input.bundle, [each.model_input.source], target)[0]
            for each in (earlier, explanation)
        )
        return change_data(before, after, earlier.attention.target_output, earlier.translation.text)

    def _explain_text(self, name: str, text: str, without: tuple[int, ...], off: Off) -> Explanation:
        translator = self._translators[name] if off == NOTHING_OFF else self._changed(name, off)
        return translator.explain(text, without)

    def _switch_off(self, name: str, off: Off) -> Translator:
        translator = self._translators[name]
        changed = switch_off(translator.bundle, off.heads, off.layers)
        return Translator(changed, translator.decoding, str(translator.device))
