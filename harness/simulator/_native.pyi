"""The native counting core, made from ``_native.c``."""

from typing import Any

MMIO_READ: int
MMIO_WRITE: int

class Core:
    """See :class:`harness.simulator.counting.Core`."""

    def __init__(self, *arguments: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
