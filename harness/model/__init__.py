"""Reading a ``.tflite`` model: operators, tensors, quantization.

``Model.from_file(path)`` reads and checks the whole structure without copying weights; it raises
:class:`BadModel` for a broken file. Neither NumPy nor TensorFlow is imported.
"""

from __future__ import annotations

from harness.model.model import Model
from harness.model.types import Operator, Quantization, Subgraph, Tensor

__all__ = ["Model", "Operator", "Quantization", "Subgraph", "Tensor"]
