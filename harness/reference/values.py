"""The tensors' values at the end of an inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.errors import UsageError
from harness.model import Model
from harness.reference.fixedpoint import Array


class UnknownTensor(UsageError, KeyError):
    """The last inference has no value of this index."""


class LastValues(Mapping[int, Array]):
    """The tensors of one inference by index; each access gives a copy, without the runs axis.

    ``values`` are the interpreter's own buffers; it calls :meth:`keep` before it writes to them
    again.
    """

    def __init__(self, model: Model, values: Mapping[int, Array]) -> None:
        self._model = model
        self._values = values

    def keep(self) -> None:
        """Copy the values out of the buffers."""
        self._values = {index: value.copy() for index, value in self._values.items()}

    def __getitem__(self, index: int) -> Array:
        if index in self._values:
            value: Array = self._values[index][0].copy()
            return value
        name, count = self._model.name, len(self._model.tensors)
        if not isinstance(index, int) or not 0 <= index < count:
            raise UnknownTensor(f"{name} has no tensor {index!r}: there are {count}, from 0 on")
        tensor = self._model.tensors[index]
        named = f"{name}: tensor {index} ({tensor.name!r})"
        if tensor.constant:
            hint = f"its bytes are model.tensors[{index}].data"
            raise UnknownTensor(
                f"{named} is a constant of the model: nothing computes it", hint=hint
            )
        if not self._values:
            raise UnknownTensor(f"{named} has no value before the first inference")
        raise UnknownTensor(
            f"{named} is neither an input of the model nor an output of an operator"
        )

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<values of {len(self)} tensors of {self._model.name}: {list(self)}>"
