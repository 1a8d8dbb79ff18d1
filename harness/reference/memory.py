"""State between inferences, except variable tensors: resource variables and operators' buffers.

Source: tflite-micro, ``MicroResourceVariables`` and ``MicroInterpreter::Reset``. A resource
variable is a named buffer of bytes. VAR_HANDLE outputs its number, ASSIGN_VARIABLE sets its size
when it is prepared and its content when it runs, READ_VARIABLE outputs a copy of the content.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array


class BadResource(Exception):
    """A resource variable is missing or has another size; the caller adds the operator's name."""


@dataclass
class Resource:
    """One resource variable: its name and, if an operator assigns it, its bytes.

    ``default`` is the value of each byte after a reset.
    """

    container: str | None
    shared_name: str | None
    default: int = 0
    buffer: Array | None = None


class ModelMemory:
    """Resource variables and operators' buffers of one interpreter."""

    def __init__(self) -> None:
        self._resources: list[Resource] = []
        self._buffers: list[OperatorBuffer] = []
        self._handles: dict[tuple[int, int], int] = {}

    @property
    def used(self) -> bool:
        """True if any state is allocated: inferences can depend on earlier ones."""
        return bool(self._resources or self._buffers)

    def handle(self, container: str | None, shared_name: str | None) -> int:
        """The number of the resource of this name, which is created if it is new.

        An empty container matches every container.
        """
        for number, each in enumerate(self._resources):
            if each.shared_name == shared_name and container in (None, each.container):
                return number
        self._resources.append(Resource(container, shared_name))
        return len(self._resources) - 1

    def bind(self, graph: int, tensor: int, number: int) -> None:
        """Records the resource of a handle tensor, for operators that are prepared later."""
        self._handles[graph, tensor] = number

    def bound(self, graph: int, tensor: int) -> int | None:
        """The resource that :meth:`bind` recorded for a tensor, or None."""
        return self._handles.get((graph, tensor))

    def allocate(self, number: int, tensor: Tensor, width: int) -> None:
        """Allocates a resource like ``tensor``, unless an earlier operator has done so.

        ``width`` is the size of one element in bytes. Each byte is initially the zero point.
        """
        resource = self._resource(number)
        if resource.buffer is None:
            resource.default = tensor.zero_point & 0xFF
            resource.buffer = np.full(tensor.elements * width, resource.default, np.uint8)

    def read(self, number: int, size: int) -> Array:
        """A copy of the resource's bytes. Raises BadResource if there are not ``size``."""
        return self._bytes(number, size).copy()

    def assign(self, number: int, data: Array) -> None:
        """Replaces the resource's bytes by those of ``data``. Raises BadResource."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._bytes(number, flat.size)[:] = flat

    def cell(self, initial: Array, *, survives_reset: bool = False) -> Array:
        """A new buffer of an operator, a copy of ``initial``, to be changed in place."""
        self._buffers.append(OperatorBuffer(initial.copy(), initial.copy(), survives_reset))
        return self._buffers[-1].value

    def reset(self, *, restart: bool) -> None:
        """Resets as TFLM's ``Reset`` does; with ``restart`` also buffers that survive it."""
        for resource in self._resources:
            if resource.buffer is not None:
                resource.buffer[:] = resource.default
        for buffer in self._buffers:
            if restart or not buffer.survives_reset:
                buffer.value[...] = buffer.initial

    def _resource(self, number: int) -> Resource:
        if not 0 <= number < len(self._resources):
            raise BadResource(f"there is no resource variable {number}")
        return self._resources[number]

    def _bytes(self, number: int, size: int) -> Array:
        resource = self._resource(number)
        name = repr((resource.shared_name or "")[:64])
        if resource.buffer is None:
            raise BadResource(f"no operator assigns the resource variable {name}")
        if resource.buffer.size != size:
            raise BadResource(
                f"the resource variable {name} has {resource.buffer.size} bytes, not {size}"
            )
        return resource.buffer


@dataclass(frozen=True)
class OperatorBuffer:
    """The buffer of one operator, and its value after a reset."""

    value: Array
    initial: Array = field(repr=False)
    survives_reset: bool
