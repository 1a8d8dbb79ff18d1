"""Renode's memory as bytes, and its peripherals in the words that they take."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from harness.targets.renode.session import RenodeMemory

RAM, DEVICE = 0x2000_0000, 0x5000_8000


class Agent:
    """The agent's end: 128 KiB of RAM and 64 bytes of a peripheral that takes words alone."""

    def __init__(self) -> None:
        self.ram = bytearray(range(256)) * 512
        self.registers = list(range(0x0302_0100, 0x0302_0110))
        self.calls: list[str] = []

    def call(self, request: str) -> list[str]:
        self.calls.append(request)
        known: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("read_bytes", "read_words", "write_bytes", "write_word")
        }
        return str(eval(request, {"__builtins__": {}}, known)).splitlines()

    def read_bytes(self, address: int, count: int) -> str:
        assert 0 <= address - RAM <= len(self.ram) - count
        return bytes(self.ram[address - RAM :][:count]).hex() + "\n"

    def read_words(self, address: int, count: int) -> str:
        first = (address - DEVICE) // 4
        assert address % 4 == 0 and 0 <= first <= len(self.registers) - count
        return "".join(f"{word:08X}" for word in self.registers[first : first + count]) + "\n"

    def write_bytes(self, address: int, data: str) -> str:
        self.ram[address - RAM : address - RAM + len(data) // 2] = bytes.fromhex(data)
        return ""

    def write_word(self, address: int, value: int) -> str:
        assert address % 4 == 0
        self.registers[(address - DEVICE) // 4] = value
        return ""


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.mark.parametrize("size", [0, 1, 0x7FFF, 0x8000, 0x8001, 0x1_8002])
def test_memory_is_read_in_pieces_of_at_most_32_kib(agent: Agent, size: int) -> None:
    assert RenodeMemory(agent).read(RAM + 3, size) == bytes(agent.ram[3 : 3 + size])
    assert len(agent.calls) == -(-size // 0x8000)


@pytest.mark.parametrize("size", [0, 1, 0x8000, 0x8001, 0x1_8002])
def test_memory_is_written_in_pieces_of_at_most_32_kib(agent: Agent, size: int) -> None:
    before, data = bytes(agent.ram), b"\xa5" * size
    RenodeMemory(agent).write(RAM + 5, data)
    assert agent.ram == before[:5] + data + before[5 + size :]
    assert len(agent.calls) == -(-size // 0x8000)


@pytest.mark.parametrize("offset", range(5))
@pytest.mark.parametrize("size", [1, 2, 4, 5, 8])
def test_registers_are_read_by_whole_words(agent: Agent, offset: int, size: int) -> None:
    stored = struct.pack("<16I", *agent.registers)
    assert RenodeMemory(agent).read(DEVICE + offset, size) == stored[offset : offset + size]


def test_a_word_is_little_endian(agent: Agent) -> None:
    memory = RenodeMemory(agent)
    assert memory.word(RAM) == 0x0302_0100
    assert memory.word(DEVICE + 4) == 0x0302_0101


def test_registers_are_written_by_whole_words(agent: Agent) -> None:
    memory = RenodeMemory(agent)
    memory.write(DEVICE + 4, struct.pack("<2I", 7, 0x8000_0000))
    assert agent.registers[:4] == [0x0302_0100, 7, 0x8000_0000, 0x0302_0103]
    assert agent.calls == [f"write_word({DEVICE + 4}, 7)", f"write_word({DEVICE + 8}, {1 << 31})"]


@pytest.mark.parametrize(("address", "size"), [(DEVICE + 2, 4), (DEVICE, 3), (0x4000_0001, 4)])
def test_a_part_of_a_register_cannot_be_written(agent: Agent, address: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"aligned words, not {size} B at 0x{address:x}"):
        RenodeMemory(agent).write(address, bytes(size))
    assert agent.calls == []


def test_peripherals_begin_at_0x40000000(agent: Agent) -> None:
    for address, call in ((0x3FFF_FFFF, "read_bytes"), (0x4000_0000, "read_words")):
        with pytest.raises(AssertionError):
            RenodeMemory(agent).read(address, 1)
        assert agent.calls[-1].startswith(call)
