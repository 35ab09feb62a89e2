"""The inspector's page on this machine, `dragoman inspect --serve`."""

from __future__ import annotations

from typing import get_args

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dragoman.explanation.page.render import render_served
from dragoman.serving.app import build_app
from dragoman.serving.errors import RequestError
from dragoman.serving.inspector import Answer, Changes, Inspector, Question
from dragoman.serving.limits import while_connected
from dragoman.serving.models import ModelTable, ServedModel
from dragoman.serving.parameters import Parameters, read_parameters
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.service import Service, service_of
from dragoman.serving.start import run_service
from dragoman.settings.serving import Serving
from dragoman.translator import Translator

HOST = "127.0.0.1"
SETTINGS = Serving(characters=2000, seconds=300.0, shutdown_seconds=1)
WORKERS = 2
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def serve_inspector(translators: dict[str, Translator], text: str, port: int) -> None:
    """Serve the page on this machine until SIGTERM or SIGINT.

    Args:
        translators: One model, or two models to compare, by the names that the page shows.
        text: The text to show first; may be empty.
        port: The port to listen on; 0 for a free one.

    Raises:
        UserError: The port cannot be used.
    """
    scheduler = Scheduler(SETTINGS, WORKERS)
    service, app = build_inspector(translators, text, scheduler)
    run_service(app, service, HOST, port)


def build_inspector(translators: dict[str, Translator], text: str, scheduler: Scheduler) -> tuple[Service, Starlette]:
    """The service and the application, which answer only requests to this machine's names."""
    first = next(iter(translators.values()))
    data, inspector = first.bundle.recipe.data, Inspector(translators)
    model = ServedModel(data.source_language, data.target_language, inspector.answer, lambda _: 1, first.bundle)
    service = Service(SETTINGS, ModelTable([model]), scheduler)
    page = render_served(data.languages, list(translators), text)

    async def show_inspector(request: Request) -> Response:
        """GET /: the page."""
        return HTMLResponse(page, headers=_HEADERS)

    routes = [Route("/", show_inspector), Route("/{answer}", answer_question, methods=["POST"])]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return service, build_app(service, routes=routes, access=hosts)


async def answer_question(request: Request) -> Response:
    """POST /explain, /influence and /page: the explanations of a text as JSON, or as a page that needs no server."""
    answer = request.path_params["answer"]
    if answer not in get_args(Answer):
        raise HTTPException(404, "Not Found")
    _refuse_other_pages(request)
    service = service_of(request)
    parameters = await read_parameters(request)
    client = service.admit(request, "")
    (model,) = service.models.models
    question = _read_question(parameters, answer)
    if (characters := len(question.text)) > SETTINGS.characters:
        raise RequestError(
            400,
            f"This text is too long: it has {characters:,} characters, and the limit is {SETTINGS.characters:,}.",
        )
    work = service.scheduler.translate(model.translate, model.count_tokens, [question], client.name, client.priority)
    (found,) = await while_connected(request, work, service.settings.seconds)
    kind = "text/html" if answer == "page" else "application/json"
    return Response(found.text, media_type=kind, headers=_HEADERS)


def _refuse_other_pages(request: Request) -> None:
    """Refuse what a browser sends for another page, which can post forms without reading the reply."""
    own = f"http://{request.headers['host']}"
    site = request.headers.get("sec-fetch-site", "same-origin")
    if request.headers.get("origin", own) != own or site not in ("same-origin", "none"):
        raise RequestError(403, f"This request comes from another page; open {own} and ask there.")


def _read_question(parameters: Parameters, answer: Answer) -> Question:
    changes = {name: value for name in Changes.model_fields if (value := parameters[name]) is not None}
    try:
        return Question(parameters.text("q"), answer=answer, changes=Changes(**changes))
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(400, f"Invalid request: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
