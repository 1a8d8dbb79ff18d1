"""A model's memory between inferences, besides its variable tensors.

Source: tflite-micro, ``MicroResourceVariables`` and ``MicroInterpreter::Reset``. A resource
variable is a named buffer of bytes; VAR_HANDLE gives its number, ASSIGN_VARIABLE gives it its size
when the model is prepared, READ_VARIABLE copies it out. Operators may have buffers of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array


class BadResource(Exception):
    """A resource variable is missing or has another size; kernels add the operator's name."""


@dataclass
class Resource:
    """One resource variable: its name and, once something assigns it, its bytes."""

    container: str | None
    shared_name: str | None
    default: int = 0
    buffer: Array | None = None


class ModelMemory:
    """Resource variables and the operators' own buffers of one interpreter."""

    def __init__(self) -> None:
        self._resources: list[Resource] = []
        self._cells: list[OperatorBuffer] = []
        self._handles: dict[tuple[int, int], int] = {}

    @property
    def used(self) -> bool:
        """True if an inference can depend on an earlier one through this memory."""
        return bool(self._resources or self._cells)

    def handle(self, container: str | None, shared_name: str | None) -> int:
        """The number of the resource of this name; a new one if there is none.

        An empty container matches every container.
        """
        for number, each in enumerate(self._resources):
            if each.shared_name == shared_name and container in (None, each.container):
                return number
        self._resources.append(Resource(container, shared_name))
        return len(self._resources) - 1

    def bind(self, graph: int, tensor: int, number: int) -> None:
        """Note the resource of a tensor's handle, before anything runs."""
        self._handles[graph, tensor] = number

    def bound(self, graph: int, tensor: int) -> int | None:
        """The resource that :meth:`bind` noted for a tensor, or None."""
        return self._handles.get((graph, tensor))

    def allocate(self, number: int, tensor: Tensor, width: int) -> None:
        """Set size and first value of a resource; the first operator that assigns it decides.

        ``width`` is the size of one element in bytes. Each byte starts as the tensor's zero point.
        """
        resource = self._resource(number)
        if resource.buffer is None:
            resource.default = tensor.zero_point & 0xFF
            resource.buffer = np.full(tensor.elements * width, resource.default, np.uint8)

    def read(self, number: int, size: int) -> Array:
        """A copy of the resource's ``size`` bytes."""
        return self._bytes(number, size).copy()

    def assign(self, number: int, data: Array) -> None:
        """Replace the resource's bytes by those of ``data``."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._bytes(number, flat.size)[:] = flat

    def cell(self, initial: Array, *, survives_reset: bool = False) -> Array:
        """A new buffer for an operator, to be changed in place; it starts as ``initial``."""
        self._cells.append(OperatorBuffer(initial.copy(), initial.copy(), survives_reset))
        return self._cells[-1].value

    def reset(self, *, restart: bool) -> None:
        """Reset as TFLM's ``Reset`` does; ``restart``, as a reboot does: CALL_ONCE's flags, too."""
        for resource in self._resources:
            if resource.buffer is not None:
                resource.buffer[:] = resource.default
        for cell in self._cells:
            if restart or not cell.survives_reset:
                cell.value[...] = cell.initial

    def _resource(self, number: int) -> Resource:
        if not 0 <= number < len(self._resources):
            raise BadResource(f"there is no resource variable {number}")
        return self._resources[number]

    def _bytes(self, number: int, size: int) -> Array:
        resource = self._resource(number)
        name = repr((resource.shared_name or "")[:64])
        if resource.buffer is None:
            raise BadResource(f"the resource variable {name} is assigned by no operator")
        if resource.buffer.size != size:
            raise BadResource(
                f"the resource variable {name} has {resource.buffer.size} bytes, not {size}"
            )
        return resource.buffer


@dataclass(frozen=True)
class OperatorBuffer:
    """A buffer of one operator."""

    value: Array
    initial: Array = field(repr=False)
    survives_reset: bool
