"""The NumPy reference: the outputs that a device should give.

``Interpreter.from_file(path).invoke([x])`` runs a model; ``compare(obtained, expected)`` describes
how two tensors differ; ``quantize`` and ``dequantize`` convert real values and quantized ones.
"""

from __future__ import annotations

from harness.arithmetic import Arithmetic
from harness.reference.comparison import Comparison, Difference, compare
from harness.reference.explain import alternatives, compare_outputs
from harness.reference.interpreter import Interpreter
from harness.reference.layers import Layer, LayerReport, compare_layers, table
from harness.reference.node import Kernel, Node, Run
from harness.reference.quantization import dequantize, quantize
from harness.reference.registry import Kernels

__all__ = [
    "Arithmetic",
    "Comparison",
    "Difference",
    "Interpreter",
    "Kernel",
    "Kernels",
    "Layer",
    "LayerReport",
    "Node",
    "Run",
    "alternatives",
    "compare",
    "compare_layers",
    "compare_outputs",
    "dequantize",
    "quantize",
    "table",
]
