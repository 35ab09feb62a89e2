"""Texts that two models translate one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from running_server import FakeTranslator

from dragoman.documents.segment import Segment
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.texts import Client, TranslatedText, open_plain_text, translate_texts
from dragoman.settings.serving import Serving
from dragoman.text.translation import Translation


def served(source: str, target: str, confidence: float | None = None) -> ServedModel:
    def translate(segments: Sequence[Segment]) -> list[Translation]:
        return [replace(each, confidence=confidence) for each in fake.translate(segments)]

    fake = FakeTranslator(target)
    return ServedModel(source, target, translate, len)


def test_a_full_queue_does_not_refuse_the_second_half_of_a_request() -> None:
    async def check() -> None:
        scheduler = Scheduler(Serving(queue_tokens=41, batch_tokens=40), 1)
        scheduler.start()
        first, second, other = FakeTranslator("en"), FakeTranslator("es"), FakeTranslator("fr")
        first.gate.clear()
        other.gate.clear()
        route = ServedModel("de", "en", first.translate, len), ServedModel("en", "es", second.translate, len)
        request = asyncio.create_task(translate_texts(scheduler, route, ["Hund"], open_plain_text, Client("a")))
        while not first.batches:
            await asyncio.sleep(0.001)
        texts = [Segment("y" * 40), Segment("z" * 40)]
        others = asyncio.create_task(scheduler.translate(other.translate, len, texts, "b", Priority.INTERACTIVE))
        await asyncio.sleep(0)
        first.gate.set()
        while not other.batches or (scheduler.waiting[Priority.INTERACTIVE] <= 40 and not request.done()):
            await asyncio.sleep(0.001)
        other.gate.set()
        assert [each.text for each in await request] == ["es[en[Hund]]"]
        await others
        scheduler.close()

    asyncio.run(asyncio.wait_for(check(), 20))


@pytest.mark.parametrize(
    ("confidences", "lowest"), [((0.3, 0.9), 0.3), ((0.9, 0.3), 0.3), ((None, 0.5), 0.5), ((None, None), None)]
)
def test_the_confidence_is_that_of_the_less_certain_model(
    confidences: tuple[float | None, float | None], lowest: float | None
) -> None:
    async def translate() -> list[TranslatedText]:
        scheduler = Scheduler(Serving(), 1)
        scheduler.start()
        route = served("de", "en", confidences[0]), served("en", "es", confidences[1])
        translated = await translate_texts(scheduler, route, ["Hund"], open_plain_text, Client("a"))
        scheduler.close()
        return translated

    (translated,) = asyncio.run(translate())
    assert (translated.text, translated.confidence) == ("es[en[Hund]]", lowest)
