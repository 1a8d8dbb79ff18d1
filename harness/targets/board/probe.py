"""MemoryAccess of a running board through its debug probe, for ``session.memory``.

pyOCD attaches without halting or resetting the core: on the nRF9160 the AHB access port reads RAM,
flash and peripherals while the core runs.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any, Protocol

from harness.base.core_state import CoreState
from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.base.platforms import ChipTable
from harness.targets.base import MemoryAccess
from harness.targets.board.core import core_state
from harness.targets.board.lab import unpadded

#: Options of pyOCD's session besides the chip's name. A locked chip is not unlocked: that would
#: erase all of it.
OPTIONS = {
    "connect_mode": "attach",
    "auto_unlock": False,
    "resume_on_disconnect": True,
    "no_config": True,
}
_LIMIT = 1 << 20


def options(chip: ChipTable) -> dict[str, object]:
    """The options of pyOCD's session."""
    return {"target_override": chip.tools.pyocd_target, **OPTIONS}


class ProbeMemory(MemoryAccess, Protocol):
    """A memory that holds a debug probe until it is closed."""

    def core_state(self) -> CoreState:
        """The core, halted for a moment. Raises :class:`TargetLost` if the probe fails."""
        ...

    def close(self) -> None:
        """Release the probe; safe to call twice."""
        ...


class PyocdMemory:
    """The address space of one board. Opened at the first access, closed with the session."""

    def __init__(self, probe: str, chip: ChipTable, *, connect: Any = None) -> None:
        self._probe, self._chip = unpadded(probe), chip
        self._connect = connect or partial(_connect, chip=chip)
        self._session: Any = None

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``. Raises :class:`TargetLost` if the probe fails."""
        _in_range(address, size)
        if not size:
            return b""
        try:
            return bytes(self._target().read_memory_block8(address, size))
        except (OSError, RuntimeError, _pyocd_error()) as error:
            raise self._failed(f"read {size} bytes at 0x{address:08x}", error) from error

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` to RAM or registers; flash is written by flashing."""
        _in_range(address, len(data))
        try:
            self._target().write_memory_block8(address, list(data))
        except (OSError, RuntimeError, _pyocd_error()) as error:
            raise self._failed(f"write {len(data)} bytes at 0x{address:08x}", error) from error

    def word(self, address: int) -> int:
        """Read a register; errors are pyOCD's."""
        return int(self._target().read32(address))

    def write_word(self, address: int, word: int) -> None:
        """Write a register; errors are pyOCD's."""
        self._target().write32(address, word)

    def core_state(self) -> CoreState:
        """The core, halted for a moment. Raises :class:`TargetLost` if the probe fails."""
        try:
            return core_state(self, self._chip)
        except (OSError, RuntimeError, _pyocd_error()) as error:
            raise self._failed("read the core", error) from error

    def close(self) -> None:
        """Release the probe; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            # The board may be gone by now; then there is nothing to release.
            with contextlib.suppress(Exception):
                session.close()

    def _target(self) -> Any:
        if self._session is None:
            self._session = self._connect(self._probe)
        return self._session.target

    def _failed(self, action: str, error: BaseException) -> TargetLost:
        return TargetLost(
            f"the probe {self._probe} could not {action}: {error}",
            hint="is the chip locked (APPROTECT), or is another debugger connected?",
        )


def _connect(probe: str, chip: ChipTable) -> Any:
    try:
        from pyocd.core.helpers import ConnectHelper  # noqa: PLC0415 - an extra
    except ImportError:
        raise EnvironmentMissing(
            "reading a board's memory needs pyOCD, which is not installed",
            hint="pip install 'tflm-hil[pyocd]'",
        ) from None
    session = ConnectHelper.session_with_chosen_probe(
        unique_id=probe, blocking=False, return_first=True, options=options(chip)
    )
    if session is None:
        raise TargetLost(f"pyOCD does not see the probe {probe}", hint="check its USB cable")
    try:
        session.open()
    except (OSError, RuntimeError, _pyocd_error()) as error:
        raise TargetLost(f"pyOCD could not connect through probe {probe}: {error}") from error
    return session


def _pyocd_error() -> type[BaseException]:
    try:
        from pyocd.core.exceptions import Error  # noqa: PLC0415 - an extra
    except ImportError:
        return TargetLost
    error: type[BaseException] = Error
    return error


def _in_range(address: int, size: int) -> None:
    if address < 0 or size < 0 or address + size > 1 << 32 or size > _LIMIT:
        raise UsageError(f"no memory access of {size} bytes at 0x{address:x}")
