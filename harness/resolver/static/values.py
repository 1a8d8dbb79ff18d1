"""Numbers and unknowns: the values of the abstract interpreter."""

from __future__ import annotations

from dataclasses import dataclass

from harness.elf.regions import RAM

MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class Cause:
    """The reason why a value is unknown: ``what`` happened at the instruction ``at``."""

    what: str
    at: int


class Unknown:
    """An unknown 32-bit value.

    ``external`` values are from outside (a peripheral, memory at power-on), so they cannot be
    addresses of memory that only the followed path has. ``base`` is an address in the object into
    which the value points, None if unknown. A ``shared`` word may change at any time: it is unknown
    after a store, too.
    """

    __slots__ = ("base", "cause", "external", "shared")

    def __init__(
        self, cause: Cause, *, external: bool = False, base: int | None = None, shared: bool = False
    ) -> None:
        self.cause = cause
        self.external = external
        self.base = base
        self.shared = shared

    def copied(self) -> Unknown:
        """The value as a load returns it, which is not shared."""
        return Unknown(self.cause, external=self.external, base=self.base)

    def __repr__(self) -> str:
        return f"Unknown({self.cause.what!r}, {self.cause.at:#x})"


Value = int | Unknown


def derived(*values: Value) -> Unknown:
    """The unknown result of an operation on ``values``, at least one of which is unknown."""
    unknown = [value for value in values if not isinstance(value, int)]
    external = all(value.external for value in unknown)
    return Unknown(unknown[0].cause, external=external)


def offset(first: Value, second: Value) -> Unknown:
    """The unknown sum or difference of two values; a pointer remains in its object."""
    result = derived(first, second)
    for value in (first, second):
        base = value if isinstance(value, int) else value.base
        if base is not None and base in RAM:
            result.base = base
            break
    return result


def signed(value: int) -> int:
    """``value`` as a two's complement number."""
    return value - (1 << 32) if value & 0x8000_0000 else value
