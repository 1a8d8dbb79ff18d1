"""Reading a ``.tflite`` model: operators, tensors, quantization.

``Model.from_file(path)`` reads and checks the whole structure and copies no weights; a broken file
raises :class:`BadModel`. Needs neither NumPy nor TensorFlow.
"""

from __future__ import annotations

from harness.model.model import Model
from harness.model.types import Operator, Quantization, Subgraph, Tensor

__all__ = ["Model", "Operator", "Quantization", "Subgraph", "Tensor"]
