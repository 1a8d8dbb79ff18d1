"""What the harness reaches through the agent: memory as bytes, peripherals in words, a loss."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from fake_renode import DIES, FakeRenode

from harness.base.errors import TargetLost
from harness.targets.renode.client import AgentClient, RenodeMemory
from harness.targets.renode.server import RenodeServer

RAM, DEVICE = 0x2000_0000, 0x5000_8000


class Chip:
    """128 KiB of RAM, and 64 bytes of a peripheral that takes words alone."""

    def __init__(self) -> None:
        self.ram = bytearray(range(256)) * 512
        self.registers = list(range(0x0302_0100, 0x0302_0110))
        self.renode = FakeRenode(
            send_bytes=lambda at, size: [self.ram[at - RAM :][:size].hex().upper()],
            send_words=lambda at, count: ["".join(f"{one:08x}" for one in self._words(at, count))],
            write_bytes=self._write_bytes,
            write_word=self._write_word,
        )

    def _words(self, at: int, count: int) -> list[int]:
        return self.registers[(at - DEVICE) // 4 :][:count]

    def _write_bytes(self, at: int, data: str) -> list[str]:
        self.ram[at - RAM : at - RAM + len(data) // 2] = bytes.fromhex(data)
        return []

    def _write_word(self, at: int, value: int) -> list[str]:
        self.registers[(at - DEVICE) // 4] = value
        return []


@pytest.fixture
def chip() -> Chip:
    return Chip()


@pytest.fixture
def memory(chip: Chip) -> Iterator[RenodeMemory]:
    with RenodeServer(connect=chip.renode.connect) as server:
        agent = AgentClient(server.client, server)
        yield RenodeMemory(agent, agent.call)


SIZES = pytest.mark.parametrize("size", [0, 1, 0x7FFF, 0x8000, 0x8001, 0x1_8002])


@SIZES
def test_memory_is_read_in_pieces_of_at_most_32_kib(chip, memory, size):
    assert memory.read(RAM + 3, size) == bytes(chip.ram[3 : 3 + size])
    assert len(chip.renode.calls) == -(-size // 0x8000)


@SIZES
def test_memory_is_written_in_pieces_of_at_most_32_kib(chip, memory, size):
    before, data = bytes(chip.ram), b"\xa5" * size
    memory.write(RAM + 5, data)
    assert chip.ram == before[:5] + data + before[5 + size :]
    assert len(chip.renode.calls) == -(-size // 0x8000)


@pytest.mark.parametrize("offset", range(5))
@pytest.mark.parametrize("size", [1, 2, 4, 5, 8])
def test_registers_are_read_by_whole_words(chip, memory, offset, size):
    stored = struct.pack("<16I", *chip.registers)
    assert memory.read(DEVICE + offset, size) == stored[offset : offset + size]


@pytest.mark.parametrize(("address", "word"), [(RAM, 0x0302_0100), (DEVICE + 4, 0x0302_0101)])
def test_a_word_is_little_endian(memory, address, word):
    assert memory.word(address) == word


def test_registers_are_written_by_whole_words(chip, memory):
    memory.write(DEVICE + 4, struct.pack("<2I", 7, 0x8000_0000))
    assert chip.registers[:4] == [0x0302_0100, 7, 0x8000_0000, 0x0302_0103]


@pytest.mark.parametrize(("address", "size"), [(DEVICE + 2, 4), (DEVICE, 3), (0x4000_0001, 4)])
def test_a_part_of_a_register_cannot_be_written(chip, memory, address, size):
    with pytest.raises(ValueError, match=f"aligned words, not {size} B at 0x{address:x}"):
        memory.write(address, bytes(size))
    assert chip.renode.calls == []


@pytest.mark.parametrize(
    ("address", "call"),
    [(0x3FFF_FFFF, "send_bytes(1073741823, 1)"), (0x4000_0000, "send_words(1073741824, 1)")],
)
def test_peripherals_begin_at_0x40000000(memory, chip, address, call):
    chip.renode.answers |= {"send_bytes": ["00"], "send_words": ["00000000"]}
    memory.read(address, 1)
    assert chip.renode.calls == [call]


def test_a_client_whose_renode_is_lost_says_so_ever_after_and_the_server_starts_another():
    fake = FakeRenode(pin=[DIES])
    with RenodeServer(connect=fake.connect) as server:
        client = AgentClient(server.client, server)
        with pytest.raises(TargetLost, match="lost the connection"):
            client.call("pin(1)")
        server.client.command("help")
        with pytest.raises(TargetLost, match="lost the connection") as lost:
            client.call("drive(1, True)")
    assert lost.value.hint == "open a new session"
    assert (fake.starts, fake.calls) == (2, ["pin(1)"])
