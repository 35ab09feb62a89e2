"""dragoman serve."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import ComputeType, Device, EngineName, Overrides

ServingFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file with the section [serving].")
]


def serve(
    bundles: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUNDLE", help="Bundles or run directories, one for each direction, or with several languages."
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 5000,
    config: ServingFile = None,
    overrides: Overrides = None,
    engine: EngineName = None,
    device: Device = "auto",
    compute_type: ComputeType = "auto",
) -> None:
    """Answer requests for translations over HTTP.

    The server speaks the protocols of LibreTranslate, DeepL and Apertium. It loads changed bundles on SIGHUP, and it
    finishes open requests on SIGTERM.

    Example: dragoman serve runs/quickstart --port 5000
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the server can load bundles again

    from dragoman.errors import UserError
    from dragoman.serving.config import load_serving
    from dragoman.serving.models import ModelOptions
    from dragoman.serving.start import serve_bundles

    if not host.strip():  # the system would listen on all addresses
        raise UserError("--host is empty; give an address, such as 127.0.0.1, or 0.0.0.0 for all")
    changes = overrides or []
    settings = load_serving(config, [each for each in changes if not each.startswith("decoding.")])
    decoding = [each for each in changes if each.startswith("decoding.")]
    options = ModelOptions(engine, compute_type, device, decoding, settings.alternatives, settings.memories)
    serve_bundles(bundles, options, settings, host, port)
