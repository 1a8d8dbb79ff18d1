"""A ``.tflite`` model: operators, tensors, quantization."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from harness.base import files
from harness.base.errors import BadModel
from harness.model import reader
from harness.model.types import Operator, Subgraph, Tensor

#: Bytes of a model whose content is kept: the next case of a run mostly has the same model.
_KEPT = 1 << 20
_read = lru_cache(maxsize=4)(reader.read)


@dataclass(frozen=True)
class Model:
    """A model. :attr:`operators`, :attr:`tensors`, :attr:`inputs`, :attr:`outputs` are those of the
    main subgraph.

    ``name`` is the file's name, for messages. ``subgraphs`` has all subgraphs, the main one first.
    """

    name: str
    data: bytes = field(repr=False)
    version: int
    description: str
    subgraphs: tuple[Subgraph, ...] = field(repr=False)

    @classmethod
    def from_file(cls, path: Path | str) -> Model:
        """The model in ``path``. Raises :class:`BadModel` if it is unreadable or broken."""
        path = Path(path)
        return cls.from_bytes(files.read(path, error=BadModel), path.name)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "model") -> Model:
        """The model with the bytes ``data``. Raises :class:`BadModel` if it is broken."""
        data = bytes(data)
        content = (_read if len(data) <= _KEPT else reader.read)(data, name)
        return cls(name, data, content.version, content.description, content.subgraphs)

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The main subgraph's operators in execution order."""
        return self.subgraphs[0].operators

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The main subgraph's tensors; ``tensors[i].index == i``."""
        return self.subgraphs[0].tensors

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The main subgraph's input tensors."""
        return tuple(self.tensors[index] for index in self.subgraphs[0].inputs)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The main subgraph's output tensors."""
        return tuple(self.tensors[index] for index in self.subgraphs[0].outputs)

    @cached_property
    def operator_names(self) -> tuple[str, ...]:
        """The names of all operators, each once, in order of first use."""
        names = (operator.name for graph in self.subgraphs for operator in graph.operators)
        return tuple(dict.fromkeys(names))

    @property
    def custom_operator_names(self) -> tuple[str, ...]:
        """The names of custom operators, each once, in order of first use."""
        operators = (operator for graph in self.subgraphs for operator in graph.operators)
        return tuple(dict.fromkeys(operator.name for operator in operators if operator.custom))

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self.data)

    @cached_property
    def crc32(self) -> int:
        """The CRC-32 (IEEE 802.3) of the file."""
        return zlib.crc32(self.data)
