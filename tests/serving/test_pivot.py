"""Texts that two models translate one after the other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from document_samples import FILLED_SAMPLES, SAMPLES
from running_server import FakeTranslator
from segment_translators import translate_shuffled

from dragoman.documents.segment import Segment
from dragoman.serving.documents import DocumentSlot, Upload, translate_document
from dragoman.serving.fair_queue import Priority
from dragoman.serving.models import ServedModel
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.segments import Client
from dragoman.serving.texts import TranslatedText, open_plain_text, translate_texts
from dragoman.settings.serving import Serving
from dragoman.text.link import Link
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


def translate_into_itself(segment: Segment) -> Translation:
    words = [word.span() for word in re.finditer(r"\S+", segment.text)]
    return Translation(segment.text, links=[Link(*span, *span) for span in words] if segment.aligned else ())


PIVOTED = [
    (name, data.replace(b"en-US", b"es").replace(b"Language: en", b"Language: es").replace(b'"EN"', b'"es"'))
    for name, data in SAMPLES + FILLED_SAMPLES
]


@pytest.mark.parametrize(("name", "data"), PIVOTED, ids=[name for name, _ in PIVOTED])
def test_a_file_is_the_same_as_from_one_model(name: str, data: bytes) -> None:
    """In every format: only what is translated differs between one and two models, and here it does not."""
    shuffled = ServedModel("de", "en", lambda segments: [translate_shuffled(each) for each in segments], len)
    kept = ServedModel("en", "es", lambda segments: [translate_into_itself(each) for each in segments], len)
    direct = replace(shuffled, target="es")

    async def translate() -> list[bytes]:
        scheduler = Scheduler(Serving(), 1)
        scheduler.start()
        with ThreadPoolExecutor(1) as threads:
            slot = DocumentSlot(threads, lambda: None)
            files = [
                await translate_document(scheduler, slot, route, Upload(name, data), "a")
                for route in ((direct,), (shuffled, kept))
            ]
        scheduler.close()
        return files

    by_one, by_two = asyncio.run(translate())
    assert by_two == by_one
    assert by_one != data
