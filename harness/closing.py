"""What everything here that must be given back has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that closes itself at its end, after an error too."""

    @abstractmethod
    def close(self) -> None:
        """Give it back; safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
