"""Reading and writing a Renode machine's address space through the agent."""

from __future__ import annotations

from collections.abc import Callable

_PERIPHERALS = 0x4000_0000
_PIECE = 0x8000


class RenodeMemory:
    """Memory as bytes; peripherals (from 0x4000_0000 up) in aligned 32-bit words."""

    def __init__(self, call: Callable[[str], str]) -> None:
        self._call = call

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``; 32-bit accesses where peripherals live."""
        if address >= _PERIPHERALS:
            first, end = address & ~3, (address + size + 3) & ~3
            text = self._call(f"read_words({first}, {(end - first) // 4})").strip()
            words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
            data = b"".join(word.to_bytes(4, "little") for word in words)
            return data[address - first : address - first + size]
        pieces = []
        for start in range(address, address + size, _PIECE):
            count = min(_PIECE, address + size - start)
            pieces.append(bytes.fromhex(self._call(f"read_bytes({start}, {count})").strip()))
        return b"".join(pieces)

    def word(self, address: int) -> int:
        """The 32-bit word at ``address``."""
        return int.from_bytes(self.read(address, 4), "little")

    def write(self, address: int, data: bytes) -> None:
        """Write ``data``; peripherals take whole aligned words."""
        if address >= _PERIPHERALS:
            if address % 4 or len(data) % 4:
                raise ValueError(
                    f"peripherals take aligned words, not {len(data)} B at {address:#x}"
                )
            for offset in range(0, len(data), 4):
                value = int.from_bytes(data[offset : offset + 4], "little")
                self._call(f"write_word({address + offset}, {value})")
            return
        for offset in range(0, len(data), _PIECE):
            piece = data[offset : offset + _PIECE]
            self._call(f"write_bytes({address + offset}, '{piece.hex()}')")
