"""The NumPy reference: what a device's outputs are held against.

``Interpreter.from_file(path).invoke([x])`` runs a model; ``compare(obtained, expected)`` says how
two tensors differ; ``quantize`` and ``dequantize`` go between real and quantized values.
"""

from __future__ import annotations

from harness.reference.comparison import Comparison, Difference, compare
from harness.reference.interpreter import Interpreter
from harness.reference.node import Kernel, Node, Run
from harness.reference.quantization import dequantize, quantize
from harness.reference.registry import Kernels

__all__ = [
    "Comparison",
    "Difference",
    "Interpreter",
    "Kernel",
    "Kernels",
    "Node",
    "Run",
    "compare",
    "dequantize",
    "quantize",
]
