"""Exporting: every format of the table, a new format, and what is refused or must not be overwritten."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fake_exporter
import pytest
from random_bundles import make_bundle, sentences

from dragoman.bundle import Bundle
from dragoman.errors import UserError
from dragoman.export.parity import Sample, read_sample
from dragoman.export.protocol import Outputs
from dragoman.export.run import FORMATS, export, load_exporter
from dragoman.settings import Decoding


@pytest.fixture
def fake_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more line in the table."""
    monkeypatch.setitem(FORMATS, "fake", "fake_exporter")


@pytest.mark.usefixtures("fake_format")
def test_a_new_format_needs_one_module_and_one_line(tmp_path: Path) -> None:
    parity = export(make_bundle(), "fake", tmp_path / "out", sample=Sample(sentences()))
    assert (parity.largest_difference, parity.same_text) == (0.0, 1.0)
    assert parity.own_sentences
    stored = json.loads((tmp_path / "out" / "parity.json").read_text())
    assert "copy/bundle.json" in stored.pop("files")
    assert stored == parity.to_dict()
    Bundle.load(tmp_path / "out" / "copy")


@pytest.mark.usefixtures("fake_format")
def test_all_reasons_against_an_export_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fake does not support this bundle") as caught:
        export(make_bundle("pre-norm, rotary"), "fake", tmp_path / "out", "int8")
    assert str(caught.value).splitlines()[1:] == [
        "  --compute-type int8: must be float32",
        "  model.positions = 'rotary'",
    ]
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("fake_format")
def test_nothing_is_written_if_the_parity_check_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    correct = fake_exporter.FakeModel.outputs

    def wrong(
        self: fake_exporter.FakeModel, sources: Sequence[list[int]], targets: Sequence[list[int]]
    ) -> list[Outputs]:
        return [values + 1e-3 for values in correct(self, sources, targets)]

    monkeypatch.setattr(fake_exporter.FakeModel, "outputs", wrong)
    with pytest.raises(UserError, match=r"export to fake failed its parity check: logits differ by up to 0\.001"):
        export(make_bundle(), "fake", tmp_path / "out")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("fake_format")
def test_a_directory_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UserError, match="already exists and is not an earlier export"):
        export(make_bundle(), "fake", tmp_path)
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.usefixtures("fake_format")
def test_an_export_onto_a_link_is_written_to_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    for _ in range(2):  # the target is missing, then an earlier export
        export(make_bundle(), "fake", tmp_path / "link", sample=Sample(sentences()))
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target" / "parity.json").is_file()
        assert sorted(os.listdir(tmp_path)) == ["link", "target"]


@pytest.mark.usefixtures("fake_format")
def test_an_earlier_export_is_replaced(tmp_path: Path) -> None:
    export(make_bundle(), "fake", tmp_path / "out")
    before = (tmp_path / "out" / "parity.json").stat().st_ino
    export(make_bundle(), "fake", tmp_path / "out")
    assert (tmp_path / "out" / "parity.json").stat().st_ino != before


@pytest.mark.usefixtures("fake_format")
def test_an_earlier_export_with_other_files_is_kept(tmp_path: Path) -> None:
    """For example a repository that publishes a web page."""
    export(make_bundle(), "fake", tmp_path / "out")
    (tmp_path / "out" / ".git").mkdir()
    for name in (".git/HEAD", "CNAME", "copy/thesis.txt", ".DS_Store"):
        (tmp_path / "out" / name).touch()
    with pytest.raises(UserError, match=r"would be deleted: \.git/HEAD, CNAME, copy/thesis\.txt; choose another"):
        export(make_bundle(), "fake", tmp_path / "out")
    assert (tmp_path / "out" / "CNAME").exists()


@pytest.mark.usefixtures("fake_format")
def test_an_export_of_an_older_version_does_not_list_its_files(tmp_path: Path) -> None:
    export(make_bundle(), "fake", tmp_path / "out")
    (tmp_path / "out" / "parity.json").write_text("{}")
    (tmp_path / "out" / "unknown").touch()
    export(make_bundle(), "fake", tmp_path / "out")
    assert not (tmp_path / "out" / "unknown").exists()


@pytest.mark.usefixtures("fake_format")
def test_files_that_appear_during_an_export_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = fake_exporter.write

    def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
        original(bundle, directory, compute_type)
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "thesis.txt").write_text("precious")

    monkeypatch.setattr(fake_exporter, "write", write)
    with pytest.raises(UserError, match="is not an earlier export"):
        export(make_bundle(), "fake", tmp_path / "out")
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"
    assert os.listdir(tmp_path) == ["out"]


def test_a_sample_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blank").write_text(" \n\n", "utf-8")
    with pytest.raises(UserError, match="contains no text"):
        read_sample(tmp_path / "blank", None)


def test_unknown_formats_are_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'ctranslate2'"):
        export(make_bundle(), "ctranslate", Path("nowhere"))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "fake", "package_that_does_not_exist")
    with pytest.raises(UserError, match=r"export to fake needs package_that_does_not_exist: pip install '\.\[fake\]'"):
        load_exporter("fake")


ONE_LAYER: dict[str, Any] = {"model__encoder_layers": 1, "model__decoder_layers": 1}
"""Exporting more layers to ONNX takes seconds; tests/export/test_onnx.py does it."""


@pytest.fixture(
    params=[pytest.param(each, marks=pytest.mark.slow) if each in ("onnx", "web") else each for each in FORMATS]
)
def name(request: pytest.FixtureRequest) -> str:
    """The name of each format."""
    format_name: str = request.param
    if format_name == "web":
        request.getfixturevalue("web_runtime")
    return format_name


def test_decoding_settings_that_a_program_lacks_are_listed_and_do_not_prevent_an_export(
    name: str, tmp_path: Path
) -> None:
    """The parity check ignores them: the exported program searches without them."""
    values: dict[str, Any] = {"min_length": 6, "no_repeat_ngram": 2, "mbr_samples": 8, "temperature": 1.5}
    bundle = make_bundle(**ONE_LAYER, **{f"decoding__{setting}": value for setting, value in values.items()})
    assert export(bundle, name, tmp_path / "out", "float32", Sample(sentences())).same_text > 0.9
    decoding = load_exporter(name).load(bundle, tmp_path / "out", "float32").decoding
    exported = {"min_length", "no_repeat_ngram"} if name in ("ctranslate2", "huggingface") else set()
    readme = (tmp_path / "out" / "README.md").read_text("utf-8")
    for setting, value in values.items():
        if setting in exported:
            assert getattr(decoding, setting) == value
            assert f"`{setting} = " not in readme
        else:
            assert getattr(decoding, setting) == Decoding.model_fields[setting].default
            assert f"`{setting} = {value}`" in readme
    assert "Placeholders" not in readme, "the bundle has none"


def test_settings_of_the_search_do_not_fail_the_parity_check(tmp_path: Path) -> None:
    bundle = make_bundle(decoding__min_length=25, decoding__no_repeat_ngram=1, decoding__mbr_samples=8)
    assert export(bundle, "ctranslate2", tmp_path / "out", sample=Sample(sentences())).same_text == 1.0


def test_unknown_position_encodings_are_refused_by_name(name: str) -> None:
    bundle = make_bundle()
    model = bundle.recipe.model.model_copy(update={"positions": "unheard-of"})
    unknown = Bundle(bundle.recipe.model_copy(update={"model": model}), bundle.model, bundle.source, bundle.target)
    reasons = load_exporter(name).unsupported(unknown)
    assert len(reasons) == 1
    assert "model.positions = 'unheard-of'" in reasons[0]


def test_masking_is_described_or_refused(name: str, tmp_path: Path) -> None:
    options = {} if name != "huggingface" else {"model__norm": "pre"}
    bundle = make_bundle("placeholders", **ONE_LAYER, **options)
    sample = Sample([*sentences(), "Siehe https://a.de und %s.", "\ufdd0 100"])
    if name == "argos":
        with pytest.raises(UserError, match=r"text\.placeholders = true: Argos.* --set text\.placeholders=false"):
            export(bundle, name, tmp_path / "out", sample=sample)
        return
    assert export(bundle, name, tmp_path / "out", "float32", sample).same_text > 0.9
    readme = (tmp_path / "out" / "README.md").read_text("utf-8")
    if name == "web":
        assert "Placeholders" not in readme, "the page masks them"
        return
    assert "| number | U+FDE4 to U+FDEB |" in readme
    (code,) = re.findall(r"after `(.*?)`, this does it:\n`(.*?)`", readme)
    names: dict[str, Any] = {"text": "Siehe %s."}
    exec("\n".join(code), names)
    assert names["mask"].restore(names["mask"].text) == "Siehe %s."
    assert "%s" not in names["mask"].text


def test_slow_steps_are_announced(fake_format: None, tmp_path: Path) -> None:
    messages: list[str] = []
    export(make_bundle(**ONE_LAYER), "fake", tmp_path / "out", log=messages.append)
    assert messages == ["writing the model for fake …", "comparing it with the bundle …"]
