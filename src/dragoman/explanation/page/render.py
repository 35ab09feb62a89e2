"""Rendering of the page: a single file that needs no network access, or the page of `dragoman inspect --serve`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dragoman.bundle import Bundle
from dragoman.explanation.explain import Explanation
from dragoman.explanation.page.data import page_data
from dragoman.settings import Decoding
from dragoman.system.templates import template_environment

HERE = Path(__file__).parent
SCRIPTS = (
    *("shared.js", "output_tokens.js", "attention.js", "heat_map.js", "influence.js", "logit_lens.js"),
    *("beam_search.js", "comparison.js", "start.js"),
)
"""In the order in which they run."""

CONTROLS = "controls.js"
"""What asks the server and shows what it answers; only the served page has it, after all others."""


def render_page(bundle: Bundle, decoding: Decoding, text: str, explanation: Explanation) -> str:
    """The page of one translation as HTML, with style, scripts and data inline.

    Args:
        bundle: The model that translated, with its recipe and tokenizers.
        decoding: The settings of the search.
        text: The source text.
        explanation: The explanation of its translation.
    """
    return render_data([page_data(bundle, decoding, text, explanation)])


def render_data(explanations: Sequence[dict[str, Any]]) -> str:
    """The self-contained page of what `page_data` returns for one model, or for two that are compared."""
    return _render({"explanations": explanations, "served": None}, SCRIPTS)


def render_served(languages: Sequence[str], names: Sequence[str], text: str, characters: int) -> str:
    """The page that asks the server for explanations.

    Args:
        languages: The codes of the languages of source and target.
        names: The names of the models, one or two.
        text: The text to show first; may be empty.
        characters: The maximum length of a text.
    """
    served = {"languages": languages, "names": names, "text": text, "characters": characters}
    return _render({"explanations": [], "served": served}, (*SCRIPTS, CONTROLS))


def page_policy(scripts: Sequence[str], sources: str) -> str:
    """The content security policy: only these scripts run, and the page connects to these sources."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; connect-src {sources}; "
        "base-uri 'none'; form-action 'none'"
    )


def _render(data: dict[str, Any], names: Sequence[str]) -> str:
    scripts = [_read(name) for name in names]
    environment = template_environment(HERE)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment.get_template("page.html.j2").render(
        data=data,
        shown=data["explanations"][0] if data["explanations"] else None,
        served=data["served"],
        style=Markup(_read("page.css")),
        policy=page_policy(scripts, "'self'" if data["served"] else "'none'"),
        scripts=[Markup(script) for script in scripts],
    )


def _read(name: str) -> str:
    return (HERE / name).read_text("utf-8")
