"""Matrices of an ONNX graph in int8, and the products with them in integers.

Each column of a matrix has a scale. The activations are quantized at run time, each row by itself: the result for a
sentence does not depend on the other sentences of its batch, or on padding. Values are unsigned with 128 as zero,
because products of two unsigned bytes are exact on every processor; without VNNI, signed ones may saturate.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_ZERO = 128
_LARGEST = 127
_TINY = 1e-30  # in place of the scale of a row of zeros
_CONSTANTS = {
    "int8_zero": np.array(_ZERO, np.uint8),
    "int8_rounding": np.array(_ZERO + 0.5, np.float32),  # conversion to integers truncates
    "int8_step": np.array(1 / _LARGEST, np.float32),
    "int8_tiny": np.array(_TINY, np.float32),
    "int8_last_axis": np.array([-1], np.int64),
    "int8_unsqueezed": np.array([-1], np.int64),
}


def quantize_matrices(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model in which `MatMul`, `Gemm` and `Gather` use int8 in place of constant float32 matrices."""
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    graph = quantized.graph
    writer = _Writer({each.name: numpy_helper.to_array(each) for each in graph.initializer})
    for node in graph.node:
        writer.add(node)
    kept = [each for each in graph.initializer if each.name in writer.still_used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(writer.nodes)
    graph.initializer.extend([*kept, *(numpy_helper.from_array(value, name) for name, value in writer.added.items())])
    return quantized


class _Writer:
    """Collects the nodes and constants of the new graph."""

    def __init__(self, constants: dict[str, NDArray[np.generic]]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.added: dict[str, NDArray[np.generic]] = dict(_CONSTANTS)
        self.still_used: set[str] = set()
        self._constants = constants
        self._quantized_rows: set[str] = set()

    def add(self, node: onnx.NodeProto) -> None:
        """Add a node of the original graph, or what replaces it."""
        is_product = node.op_type in ("MatMul", "Gemm") and self._is_matrix(node.input[1])
        if is_product and (node.op_type == "MatMul" or _is_linear(node)):
            self._add_product(node)
        elif node.op_type == "Gather" and self._is_matrix(node.input[0]) and _attributes(node).get("axis", 0) == 0:
            self._add_lookup(node)
        else:
            self.nodes.append(node)
            self.still_used.update(node.input)

    def _is_matrix(self, name: str) -> bool:
        constant = self._constants.get(name)
        return constant is not None and constant.ndim == 2 and constant.dtype == np.float32

    def _add_product(self, node: onnx.NodeProto) -> None:
        source, matrix, output = node.input[0], node.input[1], node.output[0]
        self._quantize_rows(source)
        # a matrix that is also an embedding is stored once, with the scales of its rows
        transposed = node.op_type == "Gemm"
        integers, scales = self._store(matrix, axis=1 if transposed else 0)
        if transposed:
            self._node("Transpose", [integers], f"{output}_matrix", perm=[1, 0])
            integers = f"{output}_matrix"
        zero = "int8_zero"
        self._node("MatMulInteger", [f"{source}_int8", integers, zero, zero], f"{output}_integers")
        self._node("Cast", [f"{output}_integers"], f"{output}_floats", to=TensorProto.FLOAT)
        self._node("Mul", [f"{output}_floats", f"{source}_scale"], f"{output}_rows")
        bias = node.input[2] if len(node.input) > 2 else None
        self._node("Mul", [f"{output}_rows", scales], f"{output}_product" if bias else output)
        if bias:
            self.still_used.add(bias)
            self._node("Add", [f"{output}_product", bias], output)

    def _add_lookup(self, node: onnx.NodeProto) -> None:
        matrix, ids, output = node.input[0], node.input[1], node.output[0]
        integers, scales = self._store(matrix, axis=1)
        self._node("Gather", [integers, ids], f"{output}_integers", axis=0)
        self._node("DequantizeLinear", [f"{output}_integers", "int8_one", "int8_zero"], f"{output}_floats")
        self.added["int8_one"] = np.array(1, np.float32)
        self._node("Gather", [scales, ids], f"{output}_scales", axis=0)
        self._node("Unsqueeze", [f"{output}_scales", "int8_unsqueezed"], f"{output}_column")
        self._node("Mul", [f"{output}_floats", f"{output}_column"], output)

    def _quantize_rows(self, name: str) -> None:
        """Add the nodes that quantize a tensor along its last axis, once."""
        if name in self._quantized_rows:
            return
        self._quantized_rows.add(name)
        self._node("Abs", [name], f"{name}_absolute")
        self._node("ReduceMax", [f"{name}_absolute", "int8_last_axis"], f"{name}_largest", keepdims=1)
        self._node("Mul", [f"{name}_largest", "int8_step"], f"{name}_step")
        self._node("Max", [f"{name}_step", "int8_tiny"], f"{name}_scale")
        self._node("Div", [name, f"{name}_scale"], f"{name}_steps")
        self._node("Add", [f"{name}_steps", "int8_rounding"], f"{name}_shifted")
        self._node("Cast", [f"{name}_shifted"], f"{name}_int8", to=TensorProto.UINT8)

    def _store(self, name: str, axis: int) -> tuple[str, str]:
        """The names of a matrix in integers and of its scales, which are equal along an axis."""
        integers, scales = f"{name}_int8_{axis}", f"{name}_scales_{axis}"
        if integers not in self.added:
            matrix = self._constants[name]
            values = np.maximum(np.abs(matrix).max(axis), _TINY) / _LARGEST
            steps = np.rint(matrix / np.expand_dims(values, axis))
            self.added[integers], self.added[scales] = (steps + _ZERO).astype(np.uint8), values.astype(np.float32)
        return integers, scales

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: object) -> None:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))


def _is_linear(node: onnx.NodeProto) -> bool:
    """Whether a `Gemm` computes a linear layer: the second matrix is transposed, nothing is scaled."""
    return _attributes(node) | {"alpha": 1.0, "beta": 1.0} == {"alpha": 1.0, "beta": 1.0, "transB": 1}


def _attributes(node: onnx.NodeProto) -> dict[str, object]:
    values = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    return {name: value for name, value in values.items() if not (name == "transA" and value == 0)}
