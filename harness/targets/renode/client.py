"""What the harness reaches in Renode through its agent: calls, memory, pins."""

from __future__ import annotations

from collections.abc import Callable

from harness.base.errors import TargetLost
from harness.targets.renode.link import AgentLink
from harness.targets.renode.server import RenodeServer

_PERIPHERALS = 0x4000_0000  # lowest address of peripherals: Armv8-M ARM, B3.1
_PIECE = 0x8000  # bytes of memory per request


class AgentClient:
    """Calls methods of the agent inside Renode; permanently unusable once Renode is lost."""

    def __init__(self, link: AgentLink, server: RenodeServer) -> None:
        self._link, self._server = link, server
        self.gone = ""  # the reason for the loss of Renode

    def call(
        self, *calls: str, timeout: float = 0.0, take: Callable[[str], None] | None = None
    ) -> list[str]:
        """Runs methods of the agent in one round trip; returns the lines that they sent.

        With ``take``, each line is passed to it on arrival instead. Raises :class:`TargetLost` if
        Renode has ended or does not answer within ``timeout`` seconds.
        """
        if self.gone:
            raise TargetLost(self.gone, hint="open a new session")
        try:
            text = "; ".join(f"hil['agent'].{call}" for call in calls)
            return self._link.call(text, timeout=timeout, take=take)
        except TargetLost as lost:
            self.gone = lost.message
            self._server.lost()
            raise


class RenodeMemory:
    """The memory of the machine; peripherals (from 0x4000_0000) are accessed in 32-bit words."""

    def __init__(self, agent: AgentClient, change: Callable[[str], None]) -> None:
        """``change`` calls a method of the agent that changes the machine."""
        self._agent, self._change = agent, change

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``; peripherals are read in aligned words."""
        if address >= _PERIPHERALS:
            first, end = address & ~3, (address + size + 3) & ~3
            (text,) = self._agent.call(f"send_words({first}, {(end - first) // 4})")
            words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
            data = b"".join(word.to_bytes(4, "little") for word in words)
            return data[address - first : address - first + size]
        pieces = []
        for start in range(address, address + size, _PIECE):
            count = min(_PIECE, address + size - start)
            (text,) = self._agent.call(f"send_bytes({start}, {count})")
            pieces.append(bytes.fromhex(text))
        return b"".join(pieces)

    def word(self, address: int) -> int:
        """The 32-bit word at ``address``."""
        return int.from_bytes(self.read(address, 4), "little")

    def write(self, address: int, data: bytes) -> None:
        """Writes ``data``. Raises ValueError if it is not of aligned words for peripherals."""
        if address >= _PERIPHERALS:
            if address % 4 or len(data) % 4:
                raise ValueError(
                    f"peripherals need aligned words, not {len(data)} B at {address:#x}"
                )
            for offset in range(0, len(data), 4):
                value = int.from_bytes(data[offset : offset + 4], "little")
                self._change(f"write_word({address + offset}, {value})")
            return
        for offset in range(0, len(data), _PIECE):
            piece = data[offset : offset + _PIECE]
            self._change(f"write_bytes({address + offset}, '{piece.hex()}')")


class RenodePins:
    """Port 0 of Renode's model; see :class:`harness.targets.pins.Pins`."""

    def __init__(self, agent: AgentClient, change: Callable[[str], None]) -> None:
        self._agent, self._change = agent, change

    def read(self, pin: int) -> bool:
        """The level of ``pin``."""
        return self._agent.call(f"pin({pin})") == ["pin 1"]

    def drive(self, pin: int, level: bool | None) -> None:
        """Drives ``pin``; None releases it to its pull resistor."""
        self._change(f"drive({pin}, {level})")
