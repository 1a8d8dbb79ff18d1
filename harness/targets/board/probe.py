"""Memory of a running board, accessed through its debug probe with pyOCD.

pyOCD attaches without halting or resetting the core: the AHB access port of the nRF9160 accesses
RAM, flash and peripherals while the core runs.
"""

from __future__ import annotations

import contextlib
import importlib.util
from functools import partial
from typing import Any

from harness.base.core_state import CoreState
from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.base.platforms import ChipTable
from harness.targets.board.core import core_state

#: Options of pyOCD's session besides the target. Unlocking a chip would erase all of it.
OPTIONS = {
    "connect_mode": "attach",
    "auto_unlock": False,
    "resume_on_disconnect": True,
    "no_config": True,
}
_LIMIT = 1 << 20


def options(chip: ChipTable) -> dict[str, object]:
    """The options of pyOCD's session for ``chip``."""
    return {"target_override": chip.tools.pyocd_target, **OPTIONS}


class PyocdMemory:
    """The address space of a board. The probe is connected at the first access.

    ``probe`` is pyOCD's name of the probe.
    """

    def __init__(self, probe: str, chip: ChipTable, *, connect: Any = None) -> None:
        self._probe, self._chip = probe, chip
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
        """Writes ``data`` to RAM or registers, not to flash.

        Raises :class:`TargetLost` if the probe fails.
        """
        _in_range(address, len(data))
        try:
            self._target().write_memory_block8(address, list(data))
        except (OSError, RuntimeError, _pyocd_error()) as error:
            raise self._failed(f"write {len(data)} bytes at 0x{address:08x}", error) from error

    def word(self, address: int) -> int:
        """The value of the register at ``address``. Raises errors of pyOCD."""
        return int(self._target().read32(address))

    def write_word(self, address: int, word: int) -> None:
        """Writes the register at ``address``. Raises errors of pyOCD."""
        self._target().write32(address, word)

    def core_state(self) -> CoreState:
        """The state of the core, halted briefly. Raises :class:`TargetLost` if the probe fails."""
        try:
            return core_state(self, self._chip)
        except (OSError, RuntimeError, _pyocd_error()) as error:
            raise self._failed("read the core", error) from error

    def close(self) -> None:
        """Releases the probe; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            # The board may have been unplugged.
            with contextlib.suppress(Exception):
                session.close()

    def _target(self) -> Any:
        if self._session is None:
            self._session = self._connect(self._probe)
        return self._session.target

    def _failed(self, action: str, error: BaseException) -> TargetLost:
        return TargetLost(
            f"the probe {self._probe} could not {action}: {error}",
            hint="check that the chip is not locked (APPROTECT) and no other debugger is connected",
        )


def has_pyocd() -> bool:
    """True if pyOCD is installed."""
    return importlib.util.find_spec("pyocd") is not None


def pyocd_missing(user: str, others: str = "") -> EnvironmentMissing:
    """The error for a missing pyOCD; its message begins with ``user`` and ends with ``others``."""
    return EnvironmentMissing(
        f"{user} needs pyOCD, which is not installed{others}", hint="pip install 'tflm-hil[pyocd]'"
    )


def require_pyocd(user: str) -> None:
    """Raises :class:`EnvironmentMissing`, which names ``user``, if pyOCD is not installed."""
    if not has_pyocd():
        raise pyocd_missing(user)


def _connect(probe: str, chip: ChipTable) -> Any:
    require_pyocd("reading a board's memory")
    from pyocd.core.helpers import ConnectHelper  # noqa: PLC0415 - an extra

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
