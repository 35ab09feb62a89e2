"""Rendering of the page: a single file that needs no network access, or the page of `dragoman inspect --serve`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dragoman.system.templates import template_environment

HERE = Path(__file__).parent
SCRIPTS = (
    *("shared.js", "output_tokens.js", "attention.js", "heat_map.js", "influence.js", "logit_lens.js"),
    *("beam_search.js", "comparison.js", "start.js"),
)
"""In the order in which they run."""

CONTROLS = "controls.js"
"""What asks the server and shows what it answers; only the served page has it, after all others."""


def render_page(explanations: Sequence[dict[str, Any]], served: dict[str, Any] | None = None) -> str:
    """The page as HTML, with style, scripts and data inline.

    Args:
        explanations: What `page_data` returns for one model, or for two that are compared; none if a server answers.
        served: What the page needs to ask a server, see `render_served`.
    """
    scripts = [(HERE / name).read_text("utf-8") for name in (*SCRIPTS, *([CONTROLS] if served else []))]
    environment = template_environment(HERE)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment.get_template("page.html.j2").render(
        data={"explanations": explanations, "served": served},
        shown=explanations[0] if explanations else None,
        served=served,
        style=Markup((HERE / "page.css").read_text("utf-8")),
        policy=Markup(page_policy(scripts, "'self'" if served else "'none'")),
        scripts=[Markup(script) for script in scripts],
    )


def render_served(languages: Sequence[str], names: Sequence[str], text: str) -> str:
    """The page that asks the server for explanations.

    Args:
        languages: The codes of the languages of source and target.
        names: The names of the models, one or two.
        text: The text to show first; may be empty.
    """
    return render_page([], {"languages": languages, "names": names, "text": text})


def page_policy(scripts: Sequence[str], sources: str) -> str:
    """The content security policy: only these scripts run, and the page connects to these sources."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; connect-src {sources}; "
        "base-uri 'none'; form-action 'none'"
    )
