"""The parts of a model: subgraphs, operators, tensors, quantization."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (quantized - zero point).

    There is one scale and zero point for the whole tensor, or one for each index along ``axis``.
    Scales are float32 in the file, represented exactly by Python floats.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True)
class Tensor:
    """One tensor. ``dtype`` is NumPy's name of the type, or ``int4``, ``string``, ...

    ``data`` are a constant's bytes in the file (``int4``: two per byte, low nibble first), None for
    a computed tensor. ``variable`` tensors keep their value between inferences. ``free`` are the
    axes of dynamic size (-1 in ``shape_signature``), for which TFLM uses the size in ``shape``.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: memoryview | None = field(default=None, repr=False)
    variable: bool = False
    free: tuple[int, ...] = ()

    @property
    def scale(self) -> float:
        """The first scale, 0.0 if the tensor is not quantized."""
        return self.quantization.scales[0] if self.quantization else 0.0

    @property
    def zero_point(self) -> int:
        """The first zero point, 0 if the tensor is not quantized."""
        return self.quantization.zero_points[0] if self.quantization else 0

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def constant(self) -> bool:
        """True if the file contains the value."""
        return self.data is not None

    def to_json(self) -> Mapping[str, Any]:
        """The tensor without its data, as JSON types."""
        return {
            "index": self.index,
            "name": self.name,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "scale": self.scale,
            "zero_point": self.zero_point,
        }


def shown(name: str) -> str:
    """An operator's name for a message: truncated and escaped, as a damaged file has any text."""
    return name[:64] if name.isprintable() else ascii(name[:64])


@dataclass(frozen=True)
class Operator:
    """One operator. Tensors are indices in the subgraph, -1 for an omitted optional input.

    ``name`` is the schema's name (``CONV_2D``), or that of a custom operator. ``options`` are the
    fields of the options table with the schema's names and defaults, and enumerators by name
    (``"SAME"``, ``"RELU6"``). ``custom_options`` are the raw bytes of a custom operator.
    """

    index: int
    name: str
    custom: bool
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    intermediates: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    custom_options: bytes = b""

    def __str__(self) -> str:
        kind = "custom operator, " if self.custom else ""
        return f"operator {self.index} ({shown(self.name)}, {kind}version {self.version})"


@dataclass(frozen=True)
class Subgraph:
    """A graph of operators in execution order; ``inputs`` and ``outputs`` are tensor indices."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
