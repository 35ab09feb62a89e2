"""Export to a web page: the model in ONNX, onnxruntime, and the page's modules for text and search."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import tarfile
from base64 import b64encode
from pathlib import Path

from dragoman.bundle import Bundle, each_direction, languages_of
from dragoman.corpus.download import download
from dragoman.doctor.input import MUCH_LONGER, TrainingText
from dragoman.errors import UserError
from dragoman.export.onnx import exporter as onnx
from dragoman.export.onnx.exporter import OnnxModel
from dragoman.export.protocol import ExportedModel, list_other_settings, select_settings, write_readme
from dragoman.export.web.patterns import write_tables
from dragoman.languages.codes import language_name
from dragoman.system.cache import cache_directory
from dragoman.system.files import sha256
from dragoman.system.templates import template_environment
from dragoman.system.translation_page import SHARED_FILES
from dragoman.text.multilingual import without_language
from dragoman.text.registry import save_tokenizers
from dragoman.text.subword import SubwordTokenizer, store_masking
from dragoman.text.tokenizer import Tokenizer

COMPUTE_TYPES = ("int8", "float32")

DECODING_SETTINGS = ("beam_size", "length_penalty", "max_length", "max_length_ratio", "max_length_offset")

README = Path(__file__).with_name("README.md.j2")
PAGE = Path(__file__).with_name("page")

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self'; manifest-src 'self'; form-action 'none'; base-uri 'none'"
)
"""The page's Content-Security-Policy: nothing from other hosts, no other code than its files.

It does not apply to the worker, unless the server sends it as a header. It would apply to a worker in a blob, but with
that, Firefox does not open the page without a network.
"""


def unsupported(bundle: Bundle) -> list[str]:
    """What the page cannot do, see `Exporter.unsupported`."""
    tokenizers = {id(each): each for each in map(without_language, (bundle.source, bundle.target))}.values()
    return [*onnx.unsupported(bundle), *dict.fromkeys(reason for each in tokenizers for reason in _problems(each))]


def _problems(tokenizer: Tokenizer) -> list[str]:
    if not isinstance(tokenizer, SubwordTokenizer):
        return [f"text.tokenizer = {tokenizer.to_json()['type']!r}: must be 'bpe' or 'unigram', trained by dragoman"]
    if tokenizer.pre_tokenizer != "metaspace":
        return [f"text.pre_tokenizer = {tokenizer.pre_tokenizer!r}: must be 'metaspace'"]
    return []


def write(bundle: Bundle, directory: Path, compute_type: str) -> None:
    """Write the page into an existing directory."""
    runtime, data = read_runtime(), bundle.recipe.data
    compressed = {PROGRAM: runtime[PROGRAM]}
    compressed |= {f"{name}.onnx": graph for name, graph in onnx.make_graphs(bundle, compute_type).items()}
    for name, content in compressed.items():
        (directory / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
    (directory / SCRIPT).write_bytes(runtime[SCRIPT])
    write_modules(directory)
    save_tokenizers(directory, without_language(bundle.source), without_language(bundle.target))
    views = each_direction(bundle)
    codes = f"{data.source_language} → {data.target_language}" if len(views) == 1 else ", ".join(languages_of(bundle))
    title = f"{bundle.recipe.name}: {codes}"
    _write_json(directory / "config.json", _config(bundle))
    _write_json(directory / "manifest.webmanifest", _manifest(title))
    several, megabytes = len(views) > 1, _megabytes(directory)
    _render(directory, "index.html", title=title, several=several, policy=POLICY, megabytes=megabytes)
    files = sorted(path.name for path in directory.iterdir())
    version = hashlib.sha256(b"".join((directory / name).read_bytes() for name in files)).hexdigest()[:16]
    checksums = {name: _checksums(directory / name) for name in files}
    _render(directory, "service-worker.js", version=version, checksums={"./": checksums["index.html"], **checksums})
    settings = list_other_settings(bundle.recipe.decoding, DECODING_SETTINGS)
    values = {"name": bundle.recipe.name, "settings": settings, "policy": POLICY, "runtime": VERSION}
    write_readme(directory, README, values)


def write_modules(directory: Path) -> None:
    """Write the page's modules, those that it shares with the server, and the tables of Python that they use."""
    for path in [*PAGE.glob("*.js"), *SHARED_FILES]:
        (directory / path.name).write_bytes(path.read_bytes())
    (directory / "tables.js").write_text(write_tables(), encoding="utf-8")


def load(bundle: Bundle, directory: Path, compute_type: str) -> ExportedModel:
    """Load the graphs that `write` wrote with onnxruntime; the search in Python has the rules of the page's."""
    graphs = {name: gzip.decompress((directory / f"{name}.onnx.gz").read_bytes()) for name in onnx.GRAPHS}
    return OnnxModel(bundle, graphs, select_settings(bundle.recipe.decoding, DECODING_SETTINGS))


def _config(bundle: Bundle) -> dict[str, object]:
    """The settings of the page, and those of each direction; the first of them is there if there is no other."""
    decoding, views = bundle.recipe.decoding, each_direction(bundle)
    directions = [_direction_config(each) for each in views]
    codes = languages_of(bundle) or bundle.recipe.data.languages
    return {
        **directions[0],
        "max_length": bundle.model.settings.max_length,
        "decoding": {name: getattr(decoding, name) for name in DECODING_SETTINGS},
        "names": {code: language_name(code) for code in codes},
        **({"directions": directions} if len(views) > 1 else {}),
    }


def _direction_config(view: Bundle) -> dict[str, object]:
    """What differs between directions: the language token that sources begin with, and what is masked."""
    data, trained = view.recipe.data, view.table("training_text", TrainingText)
    config: dict[str, object] = {
        "source": data.source_language,
        "target": data.target_language,
        "max_characters": trained and math.floor(MUCH_LONGER * trained.longest),
    }
    if languages_of(view):
        config["first"] = list(view.source.language_ids)
        config["never"] = list(view.target.all_language_ids)
        config["spellings"] = [view.target.vocabulary.tokens[index] for index in view.target.all_language_ids]
        config["masking"] = store_masking(view.source.masking) if view.source.masking else {}
    return config


def _manifest(title: str) -> dict[str, object]:
    """What a browser needs to install the page."""
    icon = {"src": "icon.svg", "sizes": "any", "type": "image/svg+xml"}
    return {"name": title, "short_name": "dragoman", "start_url": "./", "display": "standalone", "icons": [icon]}


def _checksums(path: Path) -> str:
    """What the browser compares a file with; some servers decompress .gz files."""
    content = path.read_bytes()
    contents = [content, gzip.decompress(content)] if path.suffix == ".gz" else [content]
    return " ".join(f"sha256-{b64encode(hashlib.sha256(each).digest()).decode()}" for each in contents)


def _megabytes(directory: Path) -> int:
    return round(sum(path.stat().st_size for path in directory.iterdir()) / 1e6)


def _render(directory: Path, name: str, **values: object) -> None:
    environment = template_environment(PAGE, html=name.endswith(".html"))
    (directory / name).write_text(environment.get_template(f"{name}.j2").render(values), encoding="utf-8")


def _write_json(path: Path, data: dict[str, object]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")


NAME, VERSION = "onnxruntime-web", "1.30.0"
ARCHIVE = f"{NAME}-{VERSION}.tgz"
URL = f"https://registry.npmjs.org/{NAME}/-/{ARCHIVE}"
SHA256 = "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71"

SCRIPT, PROGRAM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
"""The files that a page needs: a JavaScript module and the compiled runtime."""


def read_runtime() -> dict[str, bytes]:
    """The content of `SCRIPT` and `PROGRAM`; the package is downloaded once and then read from the cache.

    Raises:
        UserError: The package cannot be downloaded, or has another content.
    """
    path = cache_directory() / "npm" / ARCHIVE
    if not path.is_file():
        try:
            download(URL, path, SHA256)
        except (OSError, ValueError) as error:
            raise UserError(f"cannot download {URL} ({error})\n{_manual_steps(path)}") from None
    if (found := sha256(path)) != SHA256:
        problem = f"{path}: wrong content: expected sha256 {SHA256}, found {found}"
        raise UserError(f"{problem}\nDelete the file to download it again.\n{_manual_steps(path)}")
    with tarfile.open(path) as archive:
        return {name: _read(archive, f"package/dist/{name}") for name in (SCRIPT, PROGRAM)}


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None, "the checksum determines the content"
    return member.read()


def _manual_steps(path: Path) -> str:
    return f"Put the package there yourself, on a computer with npm: npm pack {NAME}@{VERSION}\n  {path}"
