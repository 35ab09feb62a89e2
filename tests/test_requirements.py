"""The pinned versions of other packages can be installed wherever dragoman can."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PINNED = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize("pinned", PINNED, ids=lambda pinned: pinned.name)
def test_pinned_versions_support_the_oldest_python(pinned: Requirement) -> None:
    """Also its first release: Debian 12 has Python 3.11.2, which some packages for 3.11 refuse."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    oldest = about["project"]["requires-python"].removeprefix(">=") + ".0"
    try:
        installed = metadata(pinned.name)
    except PackageNotFoundError:
        pytest.skip("not installed")
    if installed["Version"] not in pinned.specifier:
        pytest.skip("another version is installed")
    assert oldest in SpecifierSet(installed["Requires-Python"] or "")


def test_every_package_that_is_needed_is_pinned() -> None:
    """Also by the packages of the optional parts, as far as they are installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pending = [*project["dependencies"], *(each for part in project["optional-dependencies"].values() for each in part)]
    seen, needed = set(), set()
    while pending:
        requirement = Requirement(pending.pop())
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            further = map(Requirement, requires(requirement.name) or [])
        except PackageNotFoundError:
            continue  # not installed
        needed.add(canonicalize_name(requirement.name))
        for each in further:
            if each.marker is None or any(each.marker.evaluate({"extra": name}) for name in ("", *requirement.extras)):
                pending.append(str(each))
    assert needed - {canonicalize_name(pinned.name) for pinned in PINNED} == set()
