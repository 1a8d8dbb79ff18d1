"""The Monitor commands of a machine, and its reuse for the next image."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from fake_renode import R1_16, R1_17, FakeRenode, Fault

from harness.base import paths, platforms
from harness.base.errors import UsageError
from harness.base.power_on import pattern
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
STUBS = [
    command
    for name, at, size, window in (
        ("regulators", 0x50004000, 0x1000, True), ("ctrlapperi", 0x50006000, 0x1000, False),
        ("saadc", 0x5000E000, 0x1000, True), ("pwm0", 0x50021000, 0x1000, True),
        ("pwm1", 0x50022000, 0x1000, True), ("pwm2", 0x50023000, 0x1000, True),
        ("pwm3", 0x50024000, 0x1000, True), ("pdm", 0x50026000, 0x1000, True),
        ("i2s", 0x50028000, 0x1000, True), ("ipc", 0x5002A000, 0x1000, True),
        ("fpu", 0x5002C000, 0x1000, True), ("vmc", 0x5003A000, 0x1000, True),
        ("cryptocell", 0x50840000, 0x2000, False), ("itm", 0xE0000000, 0x1000, False),
        ("fpb", 0xE0002000, 0x1000, False), ("tpiu", 0xE0040000, 0x1000, False),
        ("etm", 0xE0041000, 0x1000, False),
    )
    for command in [
        f'machine PyDevFromFile @peripherals/stub.py {at:#x} {size:#x} True "{name}"',
        *([f"sysbus Redirect {at - 0x10000000:#x} {at:#x} {size:#x}"] if window else []),
    ]
]  # fmt: skip
MODELS = [
    'machine PyDevFromFile @peripherals/nvmc.py 0x50039000 0x1000 True "nvmc"',
    "sysbus.nvmc ControlWrite 0 0x0",
    "sysbus.nvmc ControlWrite 1 0x100000",
    "sysbus.nvmc ControlWrite 2 0x1000",
    "sysbus Redirect 0x40039000 0x50039000 0x1000",
    'machine PyDevFromFile @peripherals/dppic.py 0x50017000 0x1000 True "dppic"',
    "sysbus.dppic ControlWrite 0 0x10",
    "sysbus Redirect 0x40017000 0x50017000 0x1000",
]
FILLED = ["flash.bin 0x0", "ram.bin 0x20000000"]
SPU = 'machine PyDevFromFile @peripherals/spu.py 0x50003000 0x1000 True "attribution"'


def test_a_machine_is_made_command_by_command(renode, firmware, tmp_path):
    with served(renode, tmp_path, (1, 17, 0)) as server:
        server.machine(firmware, tmp_path, 0)
        assert told(renode) == [
            *MADE,
            "machine LoadPlatformDescription @nrf9160dk_trustzone.repl",
            "sysbus.nvic FilterCcrDiv0Write false",
            *STUBS,
            "sysbus UnhandledAccessBehaviour ThrowException",
            *MODELS,
            *(f"sysbus LoadBinary @{tmp_path}/{filled}" for filled in FILLED),
            f"sysbus LoadBinary @{tmp_path}/segment0.bin 0x0",
        ]
        assert (tmp_path / "segment0.bin").read_bytes() == firmware.segments[0].data


def test_machine_before_1_17_has_no_trustzone(firmware, tmp_path):
    renode = FakeRenode(R1_16)
    with served(renode, tmp_path, (1, 16, 1)) as server:
        server.machine(firmware, tmp_path, 0)
        made = ["machine LoadPlatformDescription @nrf9160dk.repl", *MODELS]
        assert told(renode)[:-3] == [*MADE, *made]


def test_a_trustzone_machine_has_a_model_of_the_spu(renode, firmware, tmp_path):
    with served(renode, tmp_path, (1, 17, 0)) as server:
        server.machine(firmware, tmp_path, 0, both_worlds=True)
        assert told(renode)[5] == "machine LoadPlatformDescription @nrf9160dk_worlds.repl"
        at = told(renode).index(SPU)
        assert told(renode)[at + 1 : at + 11] == [
            f"sysbus.attribution ControlWrite {number} {fact:#x}"
            for number, fact in enumerate(
                (0, 0x8000, 32, 0x20000000, 0x2000, 32, 0x40000000, 0x10000000, 67, 72)
            )
        ]
        assert told(renode)[at + 11].startswith("sysbus SetHookBeforePeripheralWrite sysbus.nvic")


@pytest.mark.parametrize(
    ("chip", "board"),
    [("nrf5340", "nrf5340dk"), ("nrf9131", "nrf9131ek"), ("nrf9151", "nrf9151dk")],
)
def test_a_siblings_image_runs_on_its_own_platform(renode, firmware, tmp_path, chip, board):
    table = platforms.chip_table(chip)
    sibling = replace(firmware, chip_name=chip)
    with (
        served(renode, tmp_path, (1, 17, 0)) as server,
        RenodeSession(sibling, server, owns_server=False) as session,
    ):
        assert f'mach create "{board}"' in told(renode)
        assert f"machine LoadPlatformDescription @{board}_trustzone.repl" in told(renode)
        assert renode.agent.ram == (0x2000_0000, 0x2000_0000 + table.area("ram").size)
        assert session.memory.read(table.area("ram").end - 64, 64) == pattern(
            session.power_on, table.area("ram").end - 64, 64
        )
        messages = [note.message for note in session.findings]
        assert set(table.notes) < set(messages)


def test_a_machine_of_another_chip_is_not_reused(renode, firmware, tmp_path):
    other = replace(firmware, chip_name="nrf5340")
    with RenodeServer(connect=renode.connect) as server:
        for image in (firmware, other, other, firmware):
            server.machine(image, tmp_path, 0)
            server.release(reusable=True)
        assert server.machines == 3


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
    assert loaded[:2] == [f"sysbus LoadBinary @{place}/{filled}" for filled in FILLED]
    assert loaded[2:] == [
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
    """HardFault, MemManage, BusFault, UsageFault and SecureFault, from the image's own table."""
    table = (0x2000_1000, 0x41, 0x43, 0x61, 0x51, 0x61, 0, 0x71, *[0x41] * 10)
    server = RenodeServer(connect=renode.connect)
    with RenodeSession(image(tmp_path, *table), server, owns_server=True):
        assert sorted(renode.machine.cpu.hooks) == [0x50, 0x60, 0x70]


def test_an_image_whose_table_ends_before_its_fault_handlers_is_refused(renode, tmp_path):
    with pytest.raises(UsageError, match="has no vector table with fault handlers"):
        RenodeSession(image(tmp_path, 0x2000_1000, 0x11, 0x11, 0x11, 0x11, 0x11),
                      RenodeServer(connect=renode.connect), owns_server=True)  # fmt: skip


def test_known_bugs_are_notes_of_each_session(renode, firmware, tmp_path):
    with (
        served(renode, tmp_path, (1, 17, 0)) as server,
        RenodeSession(firmware, server, owns_server=False) as session,
    ):
        assert [note.message for note in session.findings] == ["a known bug"]


def test_images_of_both_worlds_are_told_what_is_wrong_between_them(renode, tmp_path):
    veneer = (0xE97FE97F, 0xB800F000)  # SG; B.W
    with served(renode, tmp_path, (1, 17, 0)) as server:
        pair = image(tmp_path, 0x2000_1000, *[0x41] * 15, *veneer)
        with RenodeSession(pair, server, owns_server=False) as session:
            notes = [note.message for note in session.findings]
    assert notes[0] == "a known bug"
    assert notes[1].startswith("Renode has no SPU")
    assert notes[2].startswith("Renode 1.17.0, between the worlds, where an image may pass wrongly")


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


def test_flash_is_erased_and_ram_holds_the_seeds_pattern(renode, firmware):
    for seed in (1, 7):
        server = RenodeServer(connect=renode.connect)
        with RenodeSession(firmware, server, owns_server=True, power_on=seed) as session:
            assert session.power_on == seed
            assert session.memory.read(0x80000, 64) == b"\xff" * 64
            assert session.memory.read(0x20001000, 64) == pattern(seed, 0x20001000, 64)
            assert session.memory.read(0, 4) == firmware.segments[0].data[:4]


def test_a_frame_where_no_memory_is_does_not_end_renode(renode, firmware, tmp_path):
    renode.script = [(1000, Fault(6, 0xFFFFFFF9, tuple(range(8)), on_psp=False, stack=0x10000000))]
    with (
        served(renode, tmp_path, (1, 17, 0)) as server,
        RenodeSession(firmware, server, owns_server=False) as session,
    ):
        session.run(Elapsed(0.001), session.deadline(1))
        assert [(one.kind, one.pc) for one in session.faults[:1]] == [("UsageFault", 0)]


SVC = 0x60


@pytest.mark.parametrize(
    ("release", "link", "left"),
    [(R1_17, 0xFFFFFFB5, 0xFFFFFFB1), (R1_17, 0xFFFFFFBD, 0xFFFFFFBD),
     (R1_17, 0xFFFFFFB1, 0xFFFFFFB1), (R1_16, 0xFFFFFFB1, 0xFFFFFFB1)],
)  # fmt: skip
def test_zephyrs_svc_handler_looks_for_a_handlers_frame_on_the_main_stack(
    release, tmp_path, link, left
):
    renode = FakeRenode(release)
    path = tmp_path / "svc.elf"
    data = struct.pack("<64I", 0x2000_1000, *[0x41] * 63)
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, data, load=0, executable=True)],
        [MadeSymbol("z_arm_svc", SVC | 1, 4, "func")],
    ))  # fmt: skip
    server = RenodeServer(connect=renode.connect)
    with RenodeSession(Image.from_elf(path), server, owns_server=True):
        renode.machine.cpu.values[14] = link
        for hook in renode.machine.cpu.hooks.get(SVC, ()):
            hook(renode.machine.cpu, SVC)
        assert renode.machine.cpu.values[14] == left
