"""Rendering of the page: a single file that needs no network access."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from dragoman.bundle import Bundle
from dragoman.explanation.explain import Explanation
from dragoman.explanation.page.data import page_data
from dragoman.explanation.tokens import label_spans
from dragoman.search.description import describe_decoding
from dragoman.settings import Decoding
from dragoman.system.templates import template_environment

HERE = Path(__file__).parent
SCRIPTS = ("shared.js", "output_tokens.js", "attention.js", "heat_map.js", "beam_search.js", "start.js")
"""In the order in which they run."""


def render_page(bundle: Bundle, decoding: Decoding, text: str, explanation: Explanation) -> str:
    """The page as HTML, with style, scripts and data inline.

    Args:
        bundle: The model that translated, with its recipe and tokenizers.
        decoding: The settings of the search.
        text: The source text.
        explanation: The explanation of its translation.
    """
    (mask,) = bundle.source.mask([text])
    data = page_data(label_spans(bundle, mask), explanation)
    environment = template_environment(HERE)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return environment.get_template("page.html.j2").render(
        recipe=bundle.recipe,
        text=text,
        translation=explanation.translation,
        has_subwords="words" in data["views"],
        decoding=describe_decoding(decoding),
        data=data,
        style=_read("page.css"),
        scripts=[_read(name) for name in SCRIPTS],
    )


def _read(name: str) -> Markup:
    return Markup((HERE / name).read_text("utf-8"))
