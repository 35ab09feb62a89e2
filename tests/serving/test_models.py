"""How the server opens bundles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.bundle import Bundle
from dragoman.documents.segment import Segment
from dragoman.serving.models import ModelOptions, load_models
from dragoman.text.shortlist import Shortlist

pytest.importorskip("ctranslate2")


def test_a_shortlist_is_used_only_on_request(finished_run: Path, tmp_path: Path) -> None:
    """With one, a translation would depend on the other requests in its batch."""
    bundle = Bundle.load(finished_run)
    decoding = bundle.recipe.decoding.model_copy(update={"shortlist": True})
    always = np.array(bundle.target.vocabulary.special_ids, np.int32)  # no words
    bounds = np.zeros(len(bundle.source.vocabulary) + 1, np.int32)
    shortlist = Shortlist(always, bounds, np.zeros(0, np.int32))
    recipe = bundle.recipe.model_copy(update={"decoding": decoding})
    replace(bundle, recipe=recipe, shortlist=shortlist).save(tmp_path / "student")
    for overrides in ([], ["decoding.shortlist=true"]):
        options = ModelOptions(engine="ctranslate2", overrides=overrides)
        (model,) = load_models([tmp_path / "student"], options).models
        (translated,) = model.translate([Segment("Ein Hund läuft.")])
        assert ("empty" in translated.problems) == bool(overrides)
