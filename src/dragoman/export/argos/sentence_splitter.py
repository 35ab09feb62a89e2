"""A splitter of texts into sentences by rules, as a model for MiniSBD, with which Argos splits texts.

Without it, Argos would download a model of MiniSBD for the source language at the first translation. MiniSBD runs an
ONNX graph on the ids of the characters of a text; the ids are in the metadata of the file. Argos uses the file in the
directory ``minisbd`` of a package.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import regex
from numpy.typing import NDArray
from onnx import TensorProto, helper

from dragoman.languages.sentence_marks import CLOSING_MARKS, OPENING_MARKS, SPACED_ENDS, UNSPACED_ENDS

OPSET = 13
CLASSES = 5
"""MiniSBD's classes of a character: inside a token, end of a token, end of a sentence, and two for contractions."""
END_OF_SENTENCE = 2

_BASIC = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
UPPER = [character for character in _BASIC if character.isupper()]
LOWER = [character for character in _BASIC if character.islower()]
DIGITS = [character for character in _BASIC if character.isdecimal()]
UNSPACED_MARKS = [character for character in _BASIC if regex.match(UNSPACED_ENDS, character, regex.VERSION1)]
"""Marks that always end a sentence; `SPACED_ENDS` only do if white space follows, and then no lowercase letter."""
CONTINUING = [*LOWER, *"-–—,;:)%&"]
"""Characters that do not begin a sentence."""
ABBREVIATIONS = ("Prof", "Mrs", "Mme", "bzw", "vgl", "evtl", "ca")
"""Words before a period that does not end a sentence, besides single letters and Dr, Mr, St and other short ones."""

_MARKS = [*SPACED_ENDS, *UNSPACED_MARKS, *CLOSING_MARKS, *OPENING_MARKS]
_CHARACTERS = ["<PAD>", "<UNK>", *dict.fromkeys([" ", *UPPER, *LOWER, *DIGITS, *_MARKS, *CONTINUING])]
_IDS = {character: index for index, character in enumerate(_CHARACTERS)}


def sentence_splitter() -> bytes:
    """The file of the model: ids of characters ``units``, (batch, length), int64 -> scores, (batch, length, classes).

    The input ``features``, (batch, length, 1), is not used, but MiniSBD provides it.
    """
    graph = _Graph()
    scores = graph.scores(_sentence_ends(graph))
    inputs = [
        helper.make_tensor_value_info("units", TensorProto.INT64, ["batch", "length"]),
        helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", "length", 1]),
    ]
    outputs = [helper.make_tensor_value_info(scores, TensorProto.FLOAT, ["batch", "length", CLASSES])]
    made = helper.make_graph(graph.nodes, "sentence_splitter", inputs, outputs, graph.constants)
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="dragoman"
    )
    metadata = {"config": {"feat_funcs": ["capitalized"]}, "vocab": {"_unit2id": _IDS}, "lexicon": None}
    helper.set_model_props(model, {name: json.dumps(value) for name, value in metadata.items()})
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


class _Graph:
    """Nodes on truth values of characters, (batch, length), stored as 0.0 and 1.0."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic]) -> str:
        self.constants.append(onnx.numpy_helper.from_array(value, f"constant_{len(self.constants)}"))
        return str(self.constants[-1].name)

    def node(self, operator: str, *inputs: str) -> str:
        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name]))
        return name

    def is_any(self, characters: str | list[str]) -> str:
        """Whether each character is one of these."""
        table = np.zeros(len(_CHARACTERS), np.float32)
        table[[_IDS[character] for character in characters]] = 1
        return self.node("Gather", self.constant(table), "units")

    def either(self, *values: str) -> str:
        return self.node("Max", *values)

    def both(self, first: str, second: str) -> str:
        return self.node("Mul", first, second)

    def negated(self, value: str) -> str:
        return self.node("Sub", self.constant(np.ones(1, np.float32)), value)

    def at(self, offset: int, value: str) -> str:
        """The value of the character that many places further; outside of the text it is false."""
        before, after = max(0, -offset), max(0, offset)
        padded = self.node("Pad", value, self.constant(np.array([0, before, 0, after], np.int64)))
        start, end = after, -before if before else sys.maxsize
        bounds = (self.constant(np.array([bound], np.int64)) for bound in (start, end, 1))
        return self.node("Slice", padded, *bounds)

    def scores(self, ends: str) -> str:
        """Scores of the classes, (batch, length, classes): highest for the end of a sentence, or for no end."""
        inside, end = np.zeros((2, CLASSES), np.float32)
        inside[0], end[END_OF_SENTENCE] = 0.5, 1
        last = self.node("Unsqueeze", ends, self.constant(np.array([2], np.int64)))  # (batch, length, 1)
        return self.node("Add", self.node("Mul", last, self.constant(end)), self.constant(inside))


def _sentence_ends(graph: _Graph) -> str:
    """Whether a sentence ends with each character."""
    closing, mark = graph.is_any(CLOSING_MARKS), graph.is_any([*SPACED_ENDS, *UNSPACED_MARKS])
    period = graph.is_any(".")
    abbreviated = graph.both(period, _abbreviation(graph))
    spaced = graph.both(graph.is_any(SPACED_ENDS), graph.negated(abbreviated))
    spaced = graph.both(_with_closing(graph, spaced, closing), _sentence_starts(graph))
    unspaced = _with_closing(graph, graph.is_any(UNSPACED_MARKS), closing)
    unspaced = graph.both(unspaced, graph.negated(graph.at(1, graph.either(closing, mark))))
    return graph.either(spaced, unspaced)


def _with_closing(graph: _Graph, mark: str, closing: str) -> str:
    """Whether each character is a mark, or one of at most two closing quotes or brackets after it."""
    first = graph.both(closing, graph.at(-1, mark))
    return graph.either(mark, first, graph.both(closing, graph.at(-1, first)))


def _sentence_starts(graph: _Graph) -> str:
    """Whether a space follows each character, and then one that can begin a sentence, with or without a quote."""
    continuing = graph.is_any(CONTINUING)
    quoted = graph.both(graph.is_any(OPENING_MARKS), graph.at(1, graph.is_any(LOWER)))
    return graph.both(graph.at(1, graph.is_any(" ")), graph.negated(graph.at(2, graph.either(continuing, quoted))))


def _abbreviation(graph: _Graph) -> str:
    """Whether an abbreviation or an ordinal number of one or two digits ends before each character."""
    upper, digit = graph.is_any(UPPER), graph.is_any(DIGITS)
    letter = graph.either(upper, graph.is_any(LOWER))

    def absent(offset: int, value: str) -> str:
        return graph.negated(graph.at(offset, value))

    found = [
        graph.both(graph.at(-1, letter), absent(-2, letter)),
        graph.both(graph.both(graph.at(-1, letter), graph.at(-2, upper)), absent(-3, letter)),
        graph.both(graph.at(-1, digit), graph.either(absent(-2, digit), absent(-3, digit))),
    ]
    for word in ABBREVIATIONS:
        matched = absent(-len(word) - 1, letter)
        for place, character in enumerate(reversed(word), start=1):
            matched = graph.both(matched, graph.at(-place, graph.is_any(character)))
        found.append(matched)
    return graph.either(*found)
