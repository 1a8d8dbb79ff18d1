"""Which counting core runs: the native one where it was built, the Python one elsewhere."""

from __future__ import annotations

import ctypes
from typing import Any

from harness.simulator import library as uc
from harness.simulator.counting import AccessHandler, CodeRegion, Core
from harness.simulator.python_core import PythonCore


def mmio_callbacks(view: memoryview, *, native: bool) -> tuple[Any, Any]:
    """What Unicorn reads from a window after it asked (user data: the window's host address)."""
    if native:
        from harness.simulator import _native  # noqa: PLC0415

        return ctypes.c_void_p(_native.MMIO_READ), ctypes.c_void_p(_native.MMIO_WRITE)

    def read(_engine: int, offset: int, size: int, _user: int) -> int:
        return int.from_bytes(view[offset : offset + size], "little")

    def write(_engine: int, _offset: int, _size: int, _value: int, _user: int) -> None:
        """The access handler has carried it out."""

    return uc.MMIO_READ(read), uc.MMIO_WRITE(write)


def native_available() -> bool:
    """True when the C implementation was built."""
    try:
        from harness.simulator import _native  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def make_core(
    library: ctypes.CDLL,
    engine: int,
    context: int,
    access: AccessHandler,
    code: list[CodeRegion],
    windows: list[tuple[int, int, int]],
    *,
    native: bool,
) -> Core:
    """The native core, or the Python one where ``native`` is False."""
    if not native:
        return PythonCore(library, engine, context, access, code, windows)
    from harness.simulator import _native  # noqa: PLC0415

    functions = tuple(uc.function_address(library, name) for name in uc.NATIVE_FUNCTIONS)
    regions = [(r.base, r.size, r.host, r.stable) for r in code]
    core: Core = _native.Core(engine, context, functions, access, regions, windows)
    return core
