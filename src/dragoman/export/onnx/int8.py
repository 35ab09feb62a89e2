"""Matrices of an ONNX graph stored in int8: a quarter of the size.

onnxruntime computes the float32 matrices once, when it loads the graph. Products in int8 would be faster for many
sentences at once, but slower for one, and their result depends on the last bit of every activation: two builds of
onnxruntime would disagree about 1.5 % of translations.
"""

from __future__ import annotations

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_LARGEST = 127


def quantize_matrices(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model whose float32 matrices are integers times the scales of their rows or columns."""
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    graph = quantized.graph
    nodes, constants = [], []
    for constant in graph.initializer:
        matrix = numpy_helper.to_array(constant)
        if matrix.ndim == 2 and matrix.dtype == np.float32:
            integers, scales = _quantize(matrix, _output_axis(graph, constant.name))
            names = f"{constant.name}_int8", f"{constant.name}_scales", f"{constant.name}_float"
            constants += [numpy_helper.from_array(integers, names[0]), numpy_helper.from_array(scales, names[1])]
            nodes.append(helper.make_node("Cast", [names[0]], [names[2]], names[2], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Mul", [names[2], names[1]], [constant.name], constant.name))
        else:
            constants.append(constant)
    nodes.extend(graph.node)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
    return quantized


def _output_axis(graph: onnx.GraphProto, name: str) -> int:
    """The axis with one scale per index: columns of a matrix that is multiplied from the right, otherwise rows."""
    return 1 if any(node.op_type == "MatMul" and node.input[1] == name for node in graph.node) else 0


def _quantize(matrix: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A matrix in integers, and their scales, which have the shape (rows, 1) or (1, columns)."""
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scales = np.where(largest > 0, largest, 1) / np.float32(_LARGEST)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)
