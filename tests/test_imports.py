"""Imports go one way, nothing is unpickled, and importing the package loads no large library."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "dragoman"
FILES = sorted(PACKAGE.rglob("*.py"))
ORDER = (
    {"errors"},
    {"system"},
    {"settings"},
    {"recipe"},
    {"languages"},
    {"text"},
    {"markup"},
    {"corpus"},
    {"lexicon"},
    {"dataset"},
    {"model"},
    {"kernels"},
    {"search"},
    {"bundle"},
    {"engines"},
    {"explanation"},
    {"translator"},
    {"evaluation"},
    {"doctor"},
    {"documents"},
    {"synthesis"},
    {"training"},
    {"planning"},
    {"export"},
    {"serving"},
    {"reference"},
    {"learn"},
    {"cli"},
    {"__init__", "__main__"},
)
"""Packages by rank: a package imports only from packages of lower rank."""

FORBIDDEN = {("model", name) for name in ("text", "corpus", "dataset")} | {("search", "model"), ("search", "kernels")}
"""Imports that the order would allow."""

LARGE = {"torch", "spacy", "matplotlib", "tokenizers", "sacrebleu", "numpy", "datasets", "jinja2"}
UNPICKLING = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve"}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(path: Path) -> Iterator[str]:
    """The dotted name of everything that a file imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_packages(path: Path) -> set[str]:
    """The packages and top-level modules of dragoman that a file imports."""
    parts = [name.split(".") for name in imported_modules(path)]
    return {name[1] for name in parts if name[0] == "dragoman" and len(name) > 1}


def rank_of(name: str) -> int:
    ranks = [index for index, names in enumerate(ORDER) if name in names]
    assert ranks, f"{name} is not in ORDER"
    return ranks[0]


def test_imports_go_one_way() -> None:
    for path in FILES:
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for imported in imported_packages(path) - {package}:
            assert rank_of(imported) < rank_of(package), f"{path} imports {imported}"
            assert (package, imported) not in FORBIDDEN, f"{path} imports {imported}"


def module_name(path: Path) -> str:
    return ".".join(("dragoman", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def test_no_files_import_each_other() -> None:
    """Not even for types, and not by way of other files."""
    names = {module_name(path) for path in FILES}
    imports = {}
    for path in FILES:
        modules = {name if name in names else name.rpartition(".")[0] for name in imported_modules(path)}
        imports[module_name(path)] = modules & names - {module_name(path)}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(error.args[1]))


def test_nothing_is_unpickled() -> None:
    for path in FILES:
        names = set(imported_modules(path))
        assert not {name.partition(".")[0] for name in names} & UNPICKLING, path
        assert "torch.load" not in names, path
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("torch", "load"), path
            assert not (isinstance(node, ast.keyword) and node.arg == "allow_pickle"), path


@pytest.mark.parametrize("module", ["dragoman", "dragoman.recipe", "dragoman.cli"])
def test_import_loads_no_large_library(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert module in loaded
    assert not LARGE & set(loaded)


def test_order_lists_exactly_the_existing_packages() -> None:
    existing = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert existing - {"__pycache__", "recipes", "course"} == set.union(*ORDER)


def test_top_level_has_four_modules() -> None:
    modules = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert modules == {"errors.py", "recipe.py", "bundle.py", "translator.py", "__init__.py", "__main__.py", "py.typed"}


def test_translator_can_be_imported_without_onednn() -> None:
    """torch has no oneDNN operators on processors other than x86."""
    remove = "import torch\nfrom types import SimpleNamespace\ntorch.ops.mkldnn = SimpleNamespace()\n"
    subprocess.run([sys.executable, "-c", remove + "import dragoman.translator"], check=True)


def test_dir_lists_names_that_are_imported_on_demand() -> None:
    code = "import dragoman; assert {'load', '__version__'} <= set(dir(dragoman)); dragoman.load"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_each_package_has_a_map_of_its_files() -> None:
    missing = {}
    for path in FILES:
        if path.name == "__init__.py" and path.parent != PACKAGE:
            files = {each.stem for each in path.parent.glob("*.py")} - {"__init__", "__main__"}
            named = set(re.findall(r"`(\w+)", ast.get_docstring(parsed(path)) or ""))
            missing[module_name(path)] = sorted(files - named)
    assert {package: names for package, names in missing.items() if names} == {}
