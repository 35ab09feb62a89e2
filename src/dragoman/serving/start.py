"""Starting the server with bundles, and loading them again."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from starlette.applications import Starlette

from dragoman.errors import UserError, counted
from dragoman.serving.app import build_app
from dragoman.serving.detection import LanguageDetector
from dragoman.serving.models import ModelOptions, load_models
from dragoman.serving.monitoring import configure_logging
from dragoman.serving.scheduler import Scheduler
from dragoman.serving.server import run_server
from dragoman.serving.service import Service
from dragoman.settings.serving import Serving
from dragoman.system.cpu import usable_cores

_LOG = logging.getLogger(__name__)
_SECONDS_TO_END = 2.0
"""A thread that still computes then would abort the process when the interpreter ends, so the process ends at once."""

_INTERRUPTED = 128 + signal.SIGINT  # exit status


def serve_bundles(bundles: Sequence[Path], options: ModelOptions, settings: Serving, host: str, port: int) -> None:
    """Serve bundles until SIGTERM or SIGINT.

    Raises:
        UserError: A bundle cannot be loaded.
    """
    torch.set_num_threads(settings.threads)
    workers = settings.workers or max(1, usable_cores() // settings.threads)
    options = replace(options, threads=workers * settings.threads)
    scheduler = Scheduler(settings, workers, lambda: torch.set_num_threads(settings.threads))
    service = Service(settings, load_models(bundles, options), scheduler)
    configure_logging()
    run_service(build_app(service, BundleReloader(service, bundles, options).listen), service, host, port)


def run_service(app: Starlette, service: Service, host: str, port: int) -> None:
    """Answer requests until SIGTERM or SIGINT, and end the threads of the service.

    Raises:
        UserError: The port cannot be used.
    """
    try:
        run_server(app, service, host, port)
    finally:
        service.scheduler.close()
        if not service.scheduler.has_ended(_SECONDS_TO_END):
            _exit_at_once(sys.exc_info()[1])


def _exit_at_once(error: BaseException | None) -> None:
    """End the process with the exit status of an exception, which is logged if it is an error."""
    status: int | str | None = 0
    if isinstance(error, SystemExit):
        status = error.code or 0
    elif isinstance(error, KeyboardInterrupt):
        status = _INTERRUPTED
    elif error is not None:
        _LOG.critical("the server failed", exc_info=error)
        status = 1
    logging.shutdown()
    os._exit(status if isinstance(status, int) else 1)


class BundleReloader:
    """Loads the bundles again on SIGHUP. If that fails, the earlier ones stay.

    Args:
        service: What serves them.
        bundles: The paths of the bundles.
        options: How they are opened.
    """

    def __init__(self, service: Service, bundles: Sequence[Path], options: ModelOptions) -> None:
        self._service, self._bundles, self._options = service, bundles, options
        self._loading: asyncio.Task[None] | None = None
        self._is_outdated = False  # what is being loaded

    def listen(self) -> None:
        """Wait for SIGHUP in the running event loop."""
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.start)

    def start(self) -> None:
        """Begin to load, or load once more after what is under way."""
        self._is_outdated = True
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_latest())

    async def _load_latest(self) -> None:
        while self._is_outdated:
            self._is_outdated = False
            await self._load()

    async def _load(self) -> None:
        try:
            models = await asyncio.to_thread(load_models, self._bundles, self._options)
            self._service.use_models(models, await asyncio.to_thread(LanguageDetector.of, models))
        except UserError as error:
            _LOG.error("the bundles could not be loaded again, so the earlier ones stay in use: %s", error)
        except Exception:
            _LOG.exception("the bundles could not be loaded again, so the earlier ones stay in use")
        else:
            _LOG.info("loaded %s again", counted(len(self._bundles), "bundle"))
