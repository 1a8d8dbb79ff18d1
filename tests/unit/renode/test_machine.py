"""The Monitor commands of a machine, and its reuse for the next image."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from fake_renode import R1_16, R1_17, FakeRenode

from harness.base import paths
from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.file import Segment
from harness.targets.base import Elapsed, Stop
from harness.targets.renode import open as open_renode
from harness.targets.renode.find import RenodeProgram
from harness.targets.renode.server import RenodeServer
from harness.targets.renode.session import RenodeSession

PLATFORMS = paths.platforms()


def served(renode: FakeRenode, folder: Path, version: tuple[int, int, int]) -> RenodeServer:
    server = RenodeServer(connect=renode.connect)
    server.program = RenodeProgram(folder, version, ("a known bug",))
    return server


def told(renode: FakeRenode) -> list[str]:
    """The commands so far, without where this checkout lies."""
    return [command.replace(f"@{PLATFORMS}/", "@") for command in renode.commands]


MADE = [
    "Clear",
    "emulation SetGlobalAdvanceImmediately true",
    "emulation Mode SynchronizedTimers",
    'emulation SetGlobalQuantum "0.001000"',
    'mach create "nrf9160dk"',
]
MODELS = [
    'machine PyDevFromFile @peripherals/nvmc.py 0x50039000 0x1000 True "nvmc"',
    "sysbus Redirect 0x40039000 0x50039000 0x1000",
    'machine PyDevFromFile @peripherals/dppic.py 0x50017000 0x1000 True "dppic"',
    "sysbus Redirect 0x40017000 0x50017000 0x1000",
]
SPU = 'machine PyDevFromFile @peripherals/spu.py 0x50003000 0x1000 True "attribution"'


def test_a_machine_is_made_command_by_command(renode, firmware, tmp_path):
    with served(renode, tmp_path, (1, 17, 0)) as server:
        server.machine(firmware, tmp_path, 0)
        assert told(renode) == [
            *MADE,
            "machine LoadPlatformDescription @nrf9160dk_trustzone.repl",
            "sysbus.nvic FilterCcrDiv0Write false",
            *MODELS,
            f"sysbus LoadBinary @{tmp_path}/segment0.bin 0x0",
        ]
        assert (tmp_path / "segment0.bin").read_bytes() == firmware.segments[0].data


def test_machine_before_1_17_has_no_trustzone(firmware, tmp_path):
    renode = FakeRenode(R1_16)
    with served(renode, tmp_path, (1, 16, 1)) as server:
        server.machine(firmware, tmp_path, 0)
        made = ["machine LoadPlatformDescription @nrf9160dk.repl", *MODELS]
        assert told(renode)[:-1] == [*MADE, *made]


def test_a_trustzone_machine_has_a_model_of_the_spu(renode, firmware, tmp_path):
    with served(renode, tmp_path, (1, 17, 0)) as server:
        server.machine(firmware, tmp_path, 0, both_worlds=True)
        assert told(renode)[5] == "machine LoadPlatformDescription @nrf9160dk_worlds.repl"
        assert told(renode)[7] == SPU
        assert told(renode)[8].startswith("sysbus SetHookBeforePeripheralWrite sysbus.nvic")


def test_a_server_may_synchronise_more_often(firmware, tmp_path):
    renode = FakeRenode(R1_17)
    with RenodeServer(connect=renode.connect, quantum=0.00001) as server:
        server.machine(firmware, tmp_path, 0)
    assert 'emulation SetGlobalQuantum "0.000010"' in renode.commands


def test_the_agent_knows_vectors_ram_and_the_clock(renode, firmware, tmp_path):
    with RenodeServer(connect=renode.connect) as server:
        server.machine(firmware, tmp_path, 0x8200)
        agent = renode.agent
        assert (agent.vectors, agent.mips) == (0x8200, 64)
        assert agent.ram == (0x2000_0000, 0x2004_0000)


def test_segments_without_bytes_are_not_loaded(renode, firmware, tmp_path):
    empty = Segment(0x2000_0000, 0x2000_0000, 64, b"")
    late = Segment(0x2000_0000, 0x1000, 2, b"ab")
    image = replace(firmware, composed=(*firmware.segments, empty, late))
    (tmp_path / "a b").mkdir()
    with RenodeServer(connect=renode.connect) as server:
        server.machine(image, tmp_path / "a b", 0)
    loaded = [command for command in renode.commands if "LoadBinary" in command]
    place = str(tmp_path / "a b").replace(" ", "\\ ")
    assert loaded == [
        f"sysbus LoadBinary @{place}/segment0.bin 0x0",
        f"sysbus LoadBinary @{place}/segment2.bin 0x1000",
    ]


def test_machine_is_reused_after_a_clean_session(renode, firmware, tmp_path):
    with RenodeServer(connect=renode.connect) as server:
        for reusable, machines in ((True, 1), (True, 1), (False, 1), (False, 2), (True, 3)):
            server.machine(firmware, tmp_path, 0)
            assert (server.machines, server.starts, server.busy) == (machines, 1, True)
            with pytest.raises(UsageError, match="runs another session"):
                server.machine(firmware, tmp_path, 0)
            server.release(reusable=reusable)
            assert not server.busy


@pytest.mark.slow
def test_a_process_makes_fifty_machines(renode, firmware, tmp_path):
    with RenodeServer(connect=renode.connect) as server:
        for number in range(1, 52):
            server.machine(firmware, tmp_path, 0)
            server.release(reusable=False)
            assert server.starts == 1 + (number > 50)
        server.machine(firmware, tmp_path, 0)
        assert (server.starts, server.machines) == (2, 52)


# -- a session's beginning and end ------------------------------------------------------------


def image(folder: Path, *words: int, at: int = 0) -> Image:
    """An image whose vector table begins with these words."""
    data = struct.pack(f"<{len(words)}I", *words)
    path = folder / "made.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", at, data, load=at, executable=True)],
        [MadeSymbol("main", at + 1, 4, "func")],
    ))  # fmt: skip
    return Image.from_elf(path)


def test_faults_are_hooked_once_for_each_handler_that_there_is(renode, tmp_path):
    """HardFault, MemManage, BusFault and UsageFault, from the image's own table."""
    table = (0x2000_1000, 0x41, 0x43, 0x61, 0x51, 0x61, 0, *[0x41] * 11)
    server = RenodeServer(connect=renode.connect)
    with RenodeSession(image(tmp_path, *table), server, owns_server=True):
        assert sorted(renode.machine.cpu.hooks) == [0x50, 0x60]


def test_an_image_whose_table_ends_before_its_fault_handlers_is_refused(renode, tmp_path):
    with pytest.raises(UsageError, match="without fault handlers"):
        RenodeSession(image(tmp_path, 0x2000_1000, 0x11, 0x11, 0x11, 0x11, 0x11),
                      RenodeServer(connect=renode.connect), owns_server=True)  # fmt: skip


def test_known_bugs_are_notes_of_each_session(renode, firmware, tmp_path):
    with (
        served(renode, tmp_path, (1, 17, 0)) as server,
        RenodeSession(firmware, server, owns_server=False) as session,
    ):
        assert [note.message for note in session.findings] == ["a known bug"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoils", "machines"),
    [(lambda session: None, 1), (lambda session: session.profile(), 2),
     (lambda session: session.reset(), 2)],
    ids=["nothing", "a profile", "a reset"],
)  # fmt: skip
def test_machine_is_replaced_after_a_session_that_a_reset_does_not_undo(
    renode, firmware, spoils, machines
):
    with RenodeServer(connect=renode.connect) as server:
        for _ in range(2):
            with RenodeSession(firmware, server, owns_server=False) as session:
                session.run(Elapsed(0.001), session.deadline(1))
                spoils(session)
        assert server.machines == machines


def test_session_ends_only_the_renode_that_it_started(renode, firmware):
    with RenodeServer(connect=renode.connect) as server:
        with open_renode(firmware, server=server) as session:
            assert session.deadline(1).guard == 60.0
            assert session.run(None, session.deadline(0.001)) is Stop.DEADLINE
            folder = session._folder
            assert folder.is_dir()
        assert not folder.exists()
        assert server.client.call("1") == []  # it is still there
        session.close()
    mine = RenodeServer(connect=renode.connect)
    RenodeSession(firmware, mine, owns_server=True).close()
    assert mine._client is None


def test_output_of_one_instant_is_one_chunk_until_it_is_read(renode, firmware):
    renode.script = [(1000, b"one\n"), (2000, b"two\n"), (2000, b"three\n")]
    server = RenodeServer(connect=renode.connect)
    with RenodeSession(firmware, server, owns_server=True) as session:
        session.run(Elapsed(0.001), session.deadline(1))
        assert [chunk.data for chunk in session.console] == [b"one\n", b"two\nthree\n"]
        assert session.read() == b"one\ntwo\nthree\n"
        session._print(2e-6, b"four")  # what was read stays as it was
        assert [chunk.data for chunk in session.console][1:] == [b"two\nthree\n", b"four"]
