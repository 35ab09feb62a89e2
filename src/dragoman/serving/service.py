"""What all protocols share: models, scheduler, keys, limits and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request

from dragoman.languages.codes import find_language, language_name
from dragoman.serving.detection import UNKNOWN, LanguageDetector
from dragoman.serving.documents import DocumentSlots, UploadedDocument
from dragoman.serving.downloads import Downloads
from dragoman.serving.errors import RequestError
from dragoman.serving.keys import KEYS_FILE, KeyFile, state_directory
from dragoman.serving.limits import RateLimiter, client_address, while_connected
from dragoman.serving.models import ModelTable, Route
from dragoman.serving.monitoring import Metrics
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.segments import Client
from dragoman.serving.storage import CORRECTIONS_FILE, GLOSSARIES_FILE, CorrectionStore, GlossaryStore
from dragoman.serving.texts import OpenText, TranslatedText, open_plain_text, read_words, translate_texts
from dragoman.settings.serving import Serving
from dragoman.text.glossary import Glossary

Result = TypeVar("Result")
KEY_PARAMETERS = ("api_key", "auth_key", "key")
"""What the protocols call the API key."""

_SCHEME = "DeepL-Auth-Key "
_LISTED = 20  # languages in a message
_SMALL = 100_000  # bytes of a body that is read even if the address has sent too many requests


@dataclass
class Service:
    """Everything that answers requests. `models` and `detector` are replaced together by `use_models`.

    Args:
        settings: The limits.
        models: What is served.
        scheduler: Translates.
    """

    settings: Serving
    models: ModelTable
    scheduler: Scheduler
    detector: LanguageDetector = field(init=False)
    keys: KeyFile = field(init=False)
    glossaries: GlossaryStore = field(init=False)
    corrections: CorrectionStore = field(init=False)
    rates: RateLimiter = field(init=False)
    metrics: Metrics = field(init=False)
    documents: DocumentSlots = field(init=False)
    downloads: Downloads = field(init=False)
    uploads: dict[str, UploadedDocument] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    is_stopping: bool = False

    def __post_init__(self) -> None:
        self.use_models(self.models, LanguageDetector.of(self.models))
        state = state_directory(self.settings)
        self.keys = KeyFile(state / KEYS_FILE)
        self.corrections = CorrectionStore(state / CORRECTIONS_FILE, self.settings.corrections)
        self.glossaries = GlossaryStore(
            state / GLOSSARIES_FILE, self.settings.glossaries, self.settings.glossaries_per_client
        )
        self.rates = RateLimiter(self.settings.requests_per_minute)
        self.metrics = Metrics(self.scheduler)
        self.documents = DocumentSlots(self.settings.documents, self.settings.documents_bytes)
        self.downloads = Downloads(self.settings.stored_bytes)

    def close(self) -> None:
        """Stop the threads, and delete all files."""
        for task in self.tasks:
            task.cancel()
        self.scheduler.close()
        self.documents.close()
        self.downloads.close()

    def use_models(self, models: ModelTable, detector: LanguageDetector) -> None:
        """Translate with these models from now on; open requests are finished by the earlier ones."""
        self.models, self.detector = models, detector

    def admit(self, request: Request, key: str) -> Client:
        """Check the API key of a request, and count the request.

        Raises:
            RequestError: The key is missing or wrong, or there are too many requests.
        """
        client = self._client(request, self.require_key(key))
        self.rates.admit(client.name)
        return client

    def admit_head(self, request: Request) -> None:
        """Refuse a request before its body is read: for its key, or because there were too many requests.

        The key may also be in the body. So an address that has sent too many requests may send one with a small body.

        Raises:
            RequestError: It is refused.
        """
        key = stated_key(request)
        owner = self.require_key(key) if key else None
        size = request.headers.get("content-length", "0" if request.method == "GET" else "")
        if owner is not None or not (size.isdecimal() and int(size) <= _SMALL):
            self.rates.require_room(self._client(request, owner).name)

    def require_key(self, key: str) -> str | None:
        """The name of a key; None for wrong and missing keys, if the server requires none.

        Raises:
            RequestError: The key is missing or wrong.
        """
        owner = self.keys.owner(key) if key else None
        if owner is None and self.settings.require_keys:
            message = "Invalid API key" if key else "Please contact the server operator to get an API key"
            raise RequestError(403 if key else 400, message)
        return owner

    def _client(self, request: Request, owner: str | None) -> Client:
        address = client_address(request.client.host) if request.client else ""
        return Client(f"key {owner}" if owner is not None else f"address {address}")

    def require_size(self, texts: Sequence[str]) -> None:
        """Check the size of a request.

        Raises:
            RequestError: There are too many texts or characters.
        """
        if len(texts) > self.settings.list_length:
            raise RequestError(
                400, f"Invalid request: request ({len(texts)}) exceeds list limit ({self.settings.list_length})"
            )
        if (characters := sum(map(len, texts))) > self.settings.characters:
            raise RequestError(
                400, f"Invalid request: request ({characters}) exceeds text limit ({self.settings.characters})"
            )

    def route(self, source: str, target: str) -> Route:
        """The models from one language to another, given as codes of a client; empty if they are the same language.

        Raises:
            RequestError: A language is not served, or there are no such models.
        """
        from_language, to_language = self.language(source), self.language(target)
        route = self.models.route(from_language, to_language)
        if not route and from_language != to_language:
            raise RequestError(
                400,
                f"{language_name(to_language)} ({target}) is not available as a target language from "
                f"{language_name(from_language)} ({source}); targets: {_listed(self.models.targets(from_language))}",
            )
        return route

    def language(self, code: str) -> str:
        """The served language that a client's code means.

        Raises:
            RequestError: It is not served.
        """
        language = find_language(code, tuple(self.models.languages))
        if language is None:
            raise RequestError(400, f"{code} is not supported; languages: {_listed(self.models.languages)}")
        return language

    async def detect_each(
        self, texts: Sequence[str], text_format: str = "text", target: str | None = None
    ) -> list[tuple[str, float]]:
        """The language of each text with the confidence; of few words, one that is translated into the target."""
        possible = [each for each in self.models.sources if target and self.models.route(each, target)]
        return self.detector.detect_each([await read_words([text], text_format) for text in texts], possible, target)

    async def find_routes(
        self, source: str, target: str, texts: Sequence[str], text_format: str = "text"
    ) -> tuple[list[Route], list[tuple[str, float]]]:
        """The models for each text, and its language with the confidence. Without a source, languages are detected.

        A text in an unknown language has no models, so that it is returned unchanged; neither has one in a language
        that cannot be translated into the target, unless all are.

        Raises:
            RequestError: A language is not served, or there are no such models.
        """
        if source:
            language, route = self.language(source), self.route(source, target)
            return [route] * len(texts), [(language, 1.0)] * len(texts)
        found = await self.detect_each(texts, text_format, target=self.language(target))
        known = dict.fromkeys(each for each, _ in found if each != UNKNOWN)
        routes = {each: self.models.route(each, self.language(target)) for each in known}
        if not any(routes.values()):
            routes = {each: self.route(each, target) for each in known}
        return [routes.get(each, ()) for each, _ in found], found

    async def translate(
        self,
        request: Request,
        routes: Sequence[Route],
        texts: Sequence[str],
        open_text: OpenText,
        client: Client,
        glossary: Glossary | None = None,
    ) -> list[TranslatedText]:
        """The translations of texts by the models for each: those that the operator approved, or of the models.

        Raises:
            RequestError: The queue is full, the time is over, or the client has disconnected.
        """

        async def translate_all() -> list[TranslatedText]:
            translated: dict[int, TranslatedText] = {}
            for route in dict.fromkeys(routes):  # texts for the same models are translated together
                places = [place for place, each in enumerate(routes) if each == route]
                chosen = [texts[place] for place in places]
                found = await self._find_translations(route, chosen, open_text, client, glossary)
                translated.update(zip(places, found, strict=True))
            return [translated[place] for place in range(len(texts))]

        return await while_connected(request, translate_all(), self.settings.seconds)

    async def _find_translations(
        self,
        route: Route,
        texts: Sequence[str],
        open_text: OpenText,
        client: Client,
        glossary: Glossary | None = None,
    ) -> list[TranslatedText]:
        """The translations of texts by the same models. With a glossary, it must be one model.

        Raises:
            RequestError: The queue is full.
        """
        corrected: dict[str, str] = {}
        if route and glossary is None and open_text is open_plain_text and self.corrections.exist:
            languages = route[0].source, route[-1].target
            corrected = await asyncio.to_thread(self.corrections.find, languages, texts)
        others = [text for text in texts if text not in corrected]
        found = iter(await translate_texts(self.scheduler, route, others, open_text, client, glossary))
        return [TranslatedText(corrected[text]) if text in corrected else next(found) for text in texts]


def _listed(codes: Sequence[str]) -> str:
    """The codes of languages for a message; an imported model may have hundreds."""
    return ", ".join([*codes[:_LISTED], *(["…"] if len(codes) > _LISTED else [])]) or "none"


def stated_key(request: Request) -> str:
    """The API key in the header or in the query of a request, which arrive before its body."""
    header = request.headers.get("authorization", "")
    if header.startswith(_SCHEME):
        return header.removeprefix(_SCHEME).strip()
    return next((key for name in KEY_PARAMETERS if (key := request.query_params.get(name, "").strip())), "")


def service_of(request: Request) -> Service:
    """The service of the application that got a request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
