"""The NumPy reference: the expected outputs of a model.

``Interpreter.from_file(path).invoke([x])`` runs a model; ``compare(obtained, expected)`` describes
how two tensors differ; ``quantize`` and ``dequantize`` convert between real and quantized values.
Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

#: Public name -> module that defines it.
_PUBLIC = {
    "Arithmetic": "harness.base.arithmetic",
    "Adequacy": "harness.reference.adequacy",
    "Comparison": "harness.reference.comparison",
    "Difference": "harness.reference.comparison",
    "Interpreter": "harness.reference.interpreter",
    "Kernel": "harness.reference.node",
    "Kernels": "harness.reference.registry",
    "Layer": "harness.reference.layers",
    "LayerReport": "harness.reference.layers",
    "Node": "harness.reference.node",
    "Run": "harness.reference.node",
    "FoundVectors": "harness.reference.vectors",
    "alternatives": "harness.reference.explain",
    "compare": "harness.reference.comparison",
    "compare_layers": "harness.reference.layers",
    "compare_outputs": "harness.reference.explain",
    "dequantize": "harness.reference.quantization",
    "examine": "harness.reference.adequacy",
    "find_vectors": "harness.reference.vectors",
    "quantize": "harness.reference.quantization",
    "table": "harness.reference.layers",
}
__all__ = [*_PUBLIC]  # noqa: PLE0604 - the table is the list

if TYPE_CHECKING:
    from harness.base.arithmetic import Arithmetic as Arithmetic
    from harness.reference.adequacy import Adequacy as Adequacy
    from harness.reference.adequacy import examine as examine
    from harness.reference.comparison import Comparison as Comparison
    from harness.reference.comparison import Difference as Difference
    from harness.reference.comparison import compare as compare
    from harness.reference.explain import alternatives as alternatives
    from harness.reference.explain import compare_outputs as compare_outputs
    from harness.reference.interpreter import Interpreter as Interpreter
    from harness.reference.layers import Layer as Layer
    from harness.reference.layers import LayerReport as LayerReport
    from harness.reference.layers import compare_layers as compare_layers
    from harness.reference.layers import table as table
    from harness.reference.node import Kernel as Kernel
    from harness.reference.node import Node as Node
    from harness.reference.node import Run as Run
    from harness.reference.quantization import dequantize as dequantize
    from harness.reference.quantization import quantize as quantize
    from harness.reference.registry import Kernels as Kernels
    from harness.reference.vectors import FoundVectors as FoundVectors
    from harness.reference.vectors import find_vectors as find_vectors


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'harness.reference' has no attribute {name!r}")
    value: object = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
