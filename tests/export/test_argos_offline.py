"""Argos packages without a network: the sentence splitter in them, alone, in MiniSBD, and in Argos Translate."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_bundles import make_bundle

from dragoman.export.run import export

pytest.importorskip("onnx")

from dragoman.export.argos.sentence_splitter import CLASSES, END_OF_SENTENCE, sentence_splitter

onnxruntime = pytest.importorskip("onnxruntime")

TEXTS: dict[str, list[str]] = {
    "marks": ["Ein Hund läuft.", "Wo ist er?", "Da!", "Er schläft …", "Ende."],
    "no end": ["Ein Hund", ""],
    "several marks": ["Was?!", "Nein...", "Doch."],
    "lowercase": ["Er rief „Halt!“ und lief.", "Ja."],
    "quotes": ["„Ein Hund läuft.“", "„Ja“, sagte sie.", "Er lachte (laut.)", "(Sehr laut.)", "Ende"],
    "abbreviations": [
        "Dr. Müller, Prof. Maier und J. S. Bach, z. B. Mrs. Smith.",
        "Am 3. Mai und am 21. Juni.",
        "Gut.",
    ],
    "numbers": ["Es kostet 3.50 Euro.", "Das war 1990.", "Danach 2.000 Euro."],
    "addresses": ["Siehe www.example.org oder a.b@example.org.", "Gut."],
    "Chinese": ["一只狗在跑。", "它在哪里？", "「在这里。」", "好"],
    "Hindi": ["एक कुत्ता दौड़ रहा है।", "वह कहाँ है?", "यहाँ।"],
    "Arabic": ["أين الكلب؟", "هنا.", "نعم"],
    "Russian": ["Собака бежит.", "Где она?", "Там."],
    "Khmer": ["នេះជាឆ្កែ។", "វារត់៕"],
    "one character": ["."],
}
"""Sentences by what they contain; a text is its sentences, joined by spaces except in Chinese."""

BLOCK_NETWORK = """
import socket

def refuse(*arguments, **options):
    raise OSError("this test has no network")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""


def joined(name: str) -> tuple[str, list[str]]:
    sentences = [sentence for sentence in TEXTS[name] if sentence]
    return ("" if name == "Chinese" else " ").join(sentences), sentences


def split(text: str) -> list[str]:
    """The sentences of a text, as MiniSBD finds them."""
    session = onnxruntime.InferenceSession(sentence_splitter(), providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    ids, config = json.loads(metadata["vocab"])["_unit2id"], json.loads(metadata["config"])
    units = np.array([[ids.get(character, ids["<UNK>"]) for character in text] + [ids["<PAD>"]]])
    features = np.zeros((*units.shape, len(config["feat_funcs"])), np.float32)
    (scores,) = session.run(None, {"units": units, "features": features})
    assert scores.shape == (*units.shape, CLASSES)
    classes = scores.argmax(axis=2)[0]
    assert set(classes.tolist()) <= {0, END_OF_SENTENCE}
    ends = [index for index in range(1, len(text)) if classes[index - 1] == END_OF_SENTENCE]
    return [text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_split_into_sentences(name: str) -> None:
    text, sentences = joined(name)
    assert split(text) == sentences


@pytest.mark.parametrize("name", TEXTS)
def test_minisbd_reads_the_splitter(name: str, tmp_path: Path) -> None:
    minisbd = pytest.importorskip("minisbd")
    (tmp_path / "rules.onnx").write_bytes(sentence_splitter())
    text, sentences = joined(name)
    assert minisbd.SBDetect(str(tmp_path / "rules.onnx"), use_gpu=False).sentences(text) == sentences


def test_the_program_in_the_readme_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("argostranslate")
    export(make_bundle(), "argos", tmp_path / "out")
    (program,) = re.findall(r"```python\n(.*?)```", (tmp_path / "out" / "README.md").read_text("utf-8"), re.DOTALL)
    program = BLOCK_NETWORK + program.replace("…", "Ein Hund läuft. Zwei Frauen lesen.")
    directories = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CACHE", "CONFIG", "DATA")}
    command = [sys.executable, "-c", program]
    finished = subprocess.run(
        command, cwd=tmp_path / "out", env=os.environ | directories, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip()
