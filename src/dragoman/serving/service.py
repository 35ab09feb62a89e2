"""What all protocols share: models, scheduler, keys, limits and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.requests import Request

from dragoman.serving.detection import LanguageDetector
from dragoman.serving.documents import DocumentTranslator, UploadedDocument
from dragoman.serving.downloads import Downloads
from dragoman.serving.errors import RequestError
from dragoman.serving.keys import KEYS_FILE, KeyFile, state_directory
from dragoman.serving.languages import language_name, match_language
from dragoman.serving.limits import RateLimiter, while_connected
from dragoman.serving.metrics import Metrics
from dragoman.serving.models import ModelTable, Route
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.texts import Client, TranslatedText, translate_texts
from dragoman.settings.serving import Serving

MISSING_KEY = "Please contact the server operator to get an API key"


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
    rates: RateLimiter = field(init=False)
    metrics: Metrics = field(init=False)
    documents: DocumentTranslator = field(init=False)
    downloads: Downloads = field(init=False)
    uploads: dict[str, UploadedDocument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.use_models(self.models)
        self.keys = KeyFile(state_directory(self.settings) / KEYS_FILE)
        self.rates = RateLimiter(self.settings.requests_per_minute)
        self.metrics = Metrics(self.scheduler)
        self.documents = DocumentTranslator(self.scheduler, self.settings.documents, self.settings.document_seconds)
        self.downloads = Downloads()

    def use_models(self, models: ModelTable) -> None:
        """Translate with these models from now on; open requests are finished by the earlier ones."""
        self.models, self.detector = models, LanguageDetector.of(models)

    def admit(self, request: Request, key: str) -> Client:
        """Check the API key of a request, and count the request.

        Raises:
            RequestError: The key is missing or wrong, or there are too many requests.
        """
        owner = self.keys.owner(key) if key else None
        if owner is None and self.settings.require_keys:
            raise RequestError(403, "Invalid API key") if key else RequestError(400, MISSING_KEY)
        address = request.client.host if request.client else ""
        client = Client(f"key {owner}" if owner is not None else f"address {address}")
        self.rates.admit(client.name)
        return client

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
                f"{language_name(from_language)} ({source})",
            )
        return route

    def language(self, code: str) -> str:
        """The served language that a client's code means.

        Raises:
            RequestError: It is not served.
        """
        language = match_language(code, self.models.languages)
        if language is None:
            raise RequestError(400, f"{code} is not supported")
        return language

    def detect(self, texts: Sequence[str]) -> tuple[str, float]:
        """The language of texts, or "unknown", and the confidence from 0 to 1."""
        return self.detector.detect("\n".join(texts))[0]

    async def translate(
        self, request: Request, route: Route, texts: Sequence[str], text_format: str, client: Client
    ) -> list[TranslatedText]:
        """The translations of texts.

        Raises:
            RequestError: The queue is full, the time is over, or the client has disconnected.
        """
        work = translate_texts(self.scheduler, route, texts, text_format, client)
        return await while_connected(request, work, self.settings.seconds)


def service_of(request: Request) -> Service:
    """The service of the application that got a request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
