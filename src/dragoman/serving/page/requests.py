"""What only the page asks for: words of translations, other words, and the inspector's page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from dragoman.documents.segment import Segment, TranslateSegments, with_glossary
from dragoman.documents.sentences import divide, find_text_spans, join_translations
from dragoman.errors import UserError
from dragoman.serving.errors import RequestError
from dragoman.serving.libretranslate import AUTO, require_parameter
from dragoman.serving.limits import while_connected
from dragoman.serving.models import Route, ServedModel
from dragoman.serving.page.words import PrefixedSegment, SegmentInWords, WordTranslator
from dragoman.serving.parameters import Parameters, read_parameters
from dragoman.serving.scheduler import run_by_size
from dragoman.serving.segments import Client
from dragoman.serving.service import service_of
from dragoman.serving.storage import split_lines
from dragoman.serving.texts import open_plain_text
from dragoman.text.glossary import Glossary
from dragoman.text.term_matcher import TermMatcher, missing_terms
from dragoman.text.translation import Translation

INSPECTOR_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
"""The inspector's page contains its scripts, styles and pictures; the sandbox keeps it away from the server's page."""


class _PageRequest:
    """A request of the page, after its key and its size were checked."""

    def __init__(self, request: Request, parameters: Parameters, beginnings: Sequence[str] = ()) -> None:
        self._request, self._service = request, service_of(request)
        self._client: Client = self._service.admit(request, parameters.text("api_key"))
        self.text = parameters.text("q")
        self._service.require_size([self.text, *beginnings])
        self._source, self._target = (require_parameter(parameters, name) for name in ("source", "target"))

    async def route(self) -> tuple[Route, str, float]:
        """The models, the language of the text, and the confidence of its detection."""
        given = "" if self._source == AUTO else self._source
        (route,), ((language, confidence),) = await self._service.find_routes(given, self._target, [self.text])
        return route, language, confidence

    async def single(self) -> tuple[ServedModel, WordTranslator]:
        """The only model of the route; the text is one sentence."""
        route, _, _ = await self.route()
        if not (single := _single(route)):
            raise RequestError(400, "Other words and explanations are not available for this pair of languages.")
        model, words = single
        if not await run_by_size(len(self.text), lambda: self.fits(self.text, model)):
            raise RequestError(400, f"The sentence has more than {self._service.settings.batch_tokens} tokens.")
        return model, words

    def fits(self, text: str, model: ServedModel) -> bool:
        """Whether a text is short enough to be translated at once."""
        return model.count_tokens(text) <= self._service.settings.batch_tokens

    async def run(
        self, model: ServedModel, translate: TranslateSegments, segments: Sequence[Segment]
    ) -> list[Translation]:
        """Let the scheduler call a function of a model's words."""
        scheduler, client = self._service.scheduler, self._client
        work = scheduler.translate(translate, model.count_tokens, segments, client.name, client.priority)
        return await while_connected(self._request, work, self._service.settings.seconds)

    async def translate_plainly(self, route: Route, glossary: Glossary) -> str:
        """The translation without words; a pivot language has other terms."""
        terms = glossary if len(route) == 1 else None
        work = self._service.translate(self._request, [route], [self.text], open_plain_text, self._client, terms)
        return (await work)[0].text


async def translate_words(request: Request) -> JSONResponse:
    """POST /page/translate: the translation of a text; if one model translates, with its words."""
    parameters = await read_parameters(request)
    prefixes = parameters["prefixes"] or {}
    if not (isinstance(prefixes, dict) and all(isinstance(prefix, str) for prefix in prefixes.values())):
        raise RequestError(400, "Invalid request: prefixes must be strings by sentence")
    asked = _PageRequest(request, parameters, list(prefixes.values()))
    terms = parameters.text("glossary")
    glossary = await run_by_size(len(terms), lambda: _read_glossary(terms))
    route, language, confidence = await asked.route()
    reply: dict[str, Any] = {"detectedLanguage": {"language": language, "confidence": round(100 * confidence, 1)}}
    if single := _single(route):
        model, words = single
        spans = await run_by_size(
            len(asked.text), lambda: _find_parts(asked.text, model, lambda part: asked.fits(part, model))
        )
        sentences = [asked.text[start:end] for start, end in spans]
        segments = [PrefixedSegment(sentence, prefix=prefixes.get(sentence, "")) for sentence in sentences]
        found = await asked.run(model, words.translate, with_glossary(segments, glossary))
        text = join_translations(asked.text, spans, [each.text for each in found])
        return JSONResponse({**reply, "translatedText": text, "segments": list(_describe(text, spans, found))})
    text = await asked.translate_plainly(route, glossary)
    matcher = TermMatcher.of(language, route[-1].target if route else language)  # text in the target language stays
    checked = await run_by_size(len(asked.text), lambda: matcher.check(asked.text, glossary, text))
    problems = missing_terms(checked)
    return JSONResponse({**reply, "translatedText": text, "segments": [], "problems": problems})


async def replace_word(request: Request) -> JSONResponse:
    """POST /page/alternatives: translations of a sentence with a prefix, each with another word after it."""
    parameters = await read_parameters(request)
    prefix = parameters.text("prefix")
    asked = _PageRequest(request, parameters, [prefix])
    segment = PrefixedSegment(asked.text, prefix=prefix)
    model, words = await asked.single()
    (found,) = await asked.run(model, words.replace_word, [segment])
    assert isinstance(found, SegmentInWords)
    return JSONResponse(
        [
            {"text": other.text, "word": [word.start, word.end], "probability": word.probability}
            for other, word in zip(found.alternatives, found.words, strict=True)
        ]
    )


async def inspect_sentence(request: Request) -> HTMLResponse:
    """POST /page/inspect: the inspector's page for a sentence."""
    asked = _PageRequest(request, await read_parameters(request))
    model, words = await asked.single()
    (page,) = await asked.run(model, words.explain, [Segment(asked.text)])
    return HTMLResponse(page.text, headers={"Content-Security-Policy": INSPECTOR_POLICY, "Cache-Control": "no-store"})


def _read_glossary(text: str) -> Glossary:
    lines = split_lines(text)
    try:
        return Glossary.parse(lines, separator=Glossary.separator_of(lines, default="="))  # as the page describes it
    except UserError as error:
        raise RequestError(400, str(error)) from None


def _single(route: Route) -> tuple[ServedModel, WordTranslator] | None:
    """The model of a route, and its words, if it is the only one and has them."""
    return (route[0], route[0].words) if len(route) == 1 and route[0].words else None


def _find_parts(text: str, model: ServedModel, fits: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The start and the end of each sentence of a text, or of the parts of those that are too long."""
    return [
        (start + first, start + last)
        for start, end in find_text_spans(text, model.source, model.whole_lines)
        for first, last in divide(text[start:end], fits)
    ]


def _describe(text: str, spans: Sequence[tuple[int, int]], found: Sequence[Translation]) -> Iterator[Any]:
    """Each segment with its words and links; places are characters of the whole text and of its translation."""
    begin = last = 0
    for (start, end), segment in zip(spans, found, strict=True):
        assert isinstance(segment, SegmentInWords)
        begin = text.index(segment.text, begin + start - last)  # there may also be an additional space
        yield {
            "source": [start, end],
            "target": [begin, begin + len(segment.text)],
            "words": [[begin + word.start, begin + word.end, round(word.probability, 4)] for word in segment.words],
            "links": [[start + a, start + b, begin + c, begin + d] for a, b, c, d in segment.links],
            "problems": list(segment.problems),
            "confidence": segment.confidence,
            "terms": [asdict(term) for term in segment.terms],
        }
        begin, last = begin + len(segment.text), end
