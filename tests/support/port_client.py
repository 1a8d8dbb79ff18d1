"""A client of a virtual board's debug port, for the stand-ins of flash tools.

It uses pyOCD's remote-probe protocol (pyOCD's docs, "Remote probe protocol"), one request at a
time.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from harness.base.closing import Closing
from harness.base.debug_access import (
    C_DEBUGEN,
    C_HALT,
    DEMCR,
    DHCSR,
    DHCSR_KEY,
    ERASE,
    ERASEALL,
    LOOPBACK,
    NVMC_CONFIG,
    NVMC_ERASEALL,
    PROTECTION,
    READ,
    WRITE,
)  # fmt: skip
from harness.base.platforms import ChipTable
from harness.elf.hexfile import Block

_SECONDS = 30.0
_SELECT = 0x8
#: Largest number of bytes in a request.
_CHUNK = 1 << 14
_ERASED = b"\xff"


class PortError(Exception):
    """The debug port refused a request, or does not answer."""


class PortClient(Closing):
    """A connection to the debug port of a ``chip``, at TCP port ``number`` of this machine.

    Every method raises :class:`PortError` if the port refuses a request or does not answer.
    """

    def __init__(self, number: int, chip: ChipTable) -> None:
        self._number, self.chip, self._ports = 0, chip, chip.debug
        try:
            self._socket = socket.create_connection((LOOPBACK, number), _SECONDS)
        except OSError as error:
            raise PortError(f"the debug port does not answer: {error}") from error
        self._answers = self._socket.makefile("rb")
        self._ask("hello", 1)

    def close(self) -> None:
        """Closes the connection; safe to call twice."""
        self._answers.close()
        self._socket.close()

    def _ask(self, request: str, *arguments: Any) -> Any:
        self._number += 1
        text = json.dumps({"id": self._number, "request": request, "arguments": arguments})
        try:
            self._socket.sendall(text.encode() + b"\n")
            answer = json.loads(self._answers.readline() or b"{}")
        except (OSError, ValueError) as error:
            raise PortError(f"the debug port does not answer: {error}") from error
        if answer.get("status") != 0:
            raise PortError(answer.get("error", "the debug port closed the connection"))
        return answer.get("result")

    # memory

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes of the core's address space."""
        starts = range(address, address + size, _CHUNK)
        parts = (
            self._ask("read_block8", self._ports.core, start, min(_CHUNK, address + size - start))
            for start in starts
        )
        return b"".join(map(bytes, parts))

    def word(self, address: int) -> int:
        """The value of the register at ``address``."""
        return int(self._ask("read_mem", self._ports.core, address, 32))

    def write_word(self, address: int, word: int) -> None:
        """Writes the register at ``address``."""
        self._ask("write_mem", self._ports.core, address, word, 32)

    # run control

    def halt(self) -> None:
        """Halts the core."""
        self.write_word(DHCSR, DHCSR_KEY << 16 | C_DEBUGEN | C_HALT)

    def reset(self) -> None:
        """Disables debugging of the core, and pulses the reset pin."""
        self._ask("assert_reset", True)
        if not self.locked:
            self.write_word(DEMCR, 0)
            self.write_word(DHCSR, DHCSR_KEY << 16)
        self._ask("assert_reset", False)

    # flash

    @property
    def locked(self) -> bool:
        """True if the chip is protected, according to CTRL-AP."""
        return self._control(PROTECTION) == 0

    def recover(self) -> None:
        """Erases flash, UICR and RAM by CTRL-AP, which unlocks the chip."""
        self._control(ERASEALL, 1)

    def _control(self, register: int, value: int | None = None) -> int:
        self._ask("write_dp", _SELECT, self._ports.control << 24 | register & 0xF0)
        if value is not None:
            self._ask("write_ap", register & 0xC, value)
            return value
        return int(self._ask("read_ap", register & 0xC))

    def erase_all(self) -> None:
        """Erases flash and UICR by NVMC."""
        self._mode(ERASE)
        self.write_word(self._nvmc + NVMC_ERASEALL, 1)
        self._mode(READ)

    def erase_pages(self, blocks: Sequence[Block]) -> None:
        """Erases the flash pages of ``blocks`` by NVMC; blocks in UICR are ignored."""
        flash, page = self.chip.area("flash"), self.chip.flash.page
        pages = {
            number
            for address, data in blocks
            if flash.holds(address, len(data))
            for number in range(address // page, (address + len(data) - 1) // page + 1)
        }
        self._mode(ERASE)
        for number in sorted(pages):
            self.write_word(number * page, 0xFFFF_FFFF)
        self._mode(READ)

    def program(self, blocks: Sequence[Block]) -> None:
        """Writes ``blocks`` by NVMC, in whole words."""
        self._mode(WRITE)
        for address, data in blocks:
            before, behind = address % 4, -(address + len(data)) % 4
            words = _ERASED * before + data + _ERASED * behind
            for at in range(0, len(words), _CHUNK):
                part = memoryview(words)[at : at + _CHUNK].cast("I").tolist()
                self._ask("write_block32", self._ports.core, address - before + at, part)
        self._mode(READ)

    def _mode(self, value: int) -> None:
        self.write_word(self._nvmc + NVMC_CONFIG, value)

    @property
    def _nvmc(self) -> int:
        return max(self.chip.peripheral("NVMC").addresses)
