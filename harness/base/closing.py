"""The base of context managers that only close something."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that calls :meth:`close` at the end of its block, also after an error."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
