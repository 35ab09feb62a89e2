"""Decoding settings: which are exported, and which are listed as not exported."""

from __future__ import annotations

from dragoman.export.protocol import list_other_settings, select_settings
from dragoman.settings import Decoding

NAMES = ("beam_size", "max_length")


def test_selected_settings_keep_their_values_and_others_have_their_defaults() -> None:
    decoding = Decoding(beam_size=3, max_length=40, min_length=7, sampling=True, temperature=2.0)
    assert select_settings(decoding, NAMES) == Decoding(beam_size=3, max_length=40)


def test_every_setting_that_affects_translations_is_selected_or_listed() -> None:
    listed = list_other_settings(Decoding(sampling=True, top_k=5, length_penalty=0.6), NAMES)
    assert not any(f"`{name} =" in listed for name in NAMES)
    for name in Decoding.model_fields.keys() - {*NAMES, "cache", "batch_tokens"}:
        assert f"`{name} = " in listed
    assert "`sampling = true`, " in listed
    assert "`top_k = 5`, `top_p = none`" in listed
    assert "`length_penalty = 0.6`" in listed
