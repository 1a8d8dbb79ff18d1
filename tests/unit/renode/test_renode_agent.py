"""The agent inside Renode, on fakes of 1.16.1 and 1.17.0."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from fake_renode import (
    R1_16,
    R1_17,
    SP,
    Aborts,
    FakeRenode,
    Fault,
    Level,
    Locks,
    Release,
    Resets,
    Warns,
    opened,
)

from harness.base.errors import EnvironmentMissing, TargetLost
from harness.base.power_on import pattern
from harness.elf import Image
from harness.elf.combined import compose
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop
from harness.targets.renode import RenodeServer
from harness.targets.renode.find import RenodeProgram
from harness.targets.renode.link import MonitorError
from harness.targets.renode.server import AGENT
from harness.targets.renode.session import RenodeSession, fault_handlers

FRAME = (1, 2, 3, 4, 12, 0x43, 0x44, 0x61000000)
UNDEFINED = (0x10000, 0, 0, 0)
MS = 1_000_000


@pytest.fixture(params=[R1_16, R1_17], ids=["1.16.1", "1.17.0"])
def release(request: pytest.FixtureRequest) -> Release:
    return request.param


def run(session: RenodeSession, seconds: float = 0.1, guard: float = 20) -> Stop:
    return session.run(None, session.deadline(seconds, guard=guard))


@pytest.mark.parametrize(
    ("link", "on_psp"),
    [
        (0xFFFFFFFD, True),  # from a thread on PSP
        (0xFFFFFFF9, False),  # from a thread on MSP
        (0xFFFFFFF1, False),  # from a handler
        (0xFFFFFFB0, False),  # from a handler, as 1.16.1 and no TrustZone have it
        (0xFFFFFFF5, False),  # from a handler above a thread on PSP, as 1.17 has it
        (0xFFFFFFB4, False),  # the same without TrustZone
        (0xFFFFFFED, True),  # from a thread on PSP with floating-point state
    ],
)
def test_the_frame_of_a_fault_is_read_from_its_stack(renode, firmware, link, on_psp):
    renode.script = [(MS, Fault(6, link, FRAME, on_psp, UNDEFINED))]
    with opened(renode, firmware) as session:
        assert run(session) is Stop.DEADLINE
        (fault,) = session.faults
    assert (fault.kind, fault.reason) == ("UsageFault", "UNDEFINSTR")
    assert (fault.pc, fault.lr) == (0x44, 0x43)


@pytest.mark.parametrize(
    ("number", "cfsr", "reason", "address"),
    [(4, 0x82, "DACCVIOL, MMARVALID", 0x2000_0040), (5, 0x8200, "PRECISERR, BFARVALID", 0x3000)],
)
def test_fault_has_the_accessed_address(renode, firmware, number, cfsr, reason, address):
    status = (cfsr, 0, 0x2000_0040, 0x3000)
    renode.script = [(MS, Fault(number, 0xFFFFFFF9, FRAME, False, status))]
    with opened(renode, firmware) as session:
        run(session)
        (fault,) = session.faults
    assert (fault.reason, fault.address) == (reason, address)


def test_a_core_that_locks_up_ends_the_run_at_once(renode, firmware):
    renode.script = [(MS, b"last words\n"), (2 * MS, Locks())]
    with opened(renode, firmware) as session:
        assert run(session, 100) is Stop.LOCKUP
        assert session.counters.virtual_seconds < 0.05
        assert session.read() == b"last words\n"
        assert [fault.kind for fault in session.faults] == ["Lockup"]


@pytest.mark.parametrize("sp", [0x1FFFFFF8, 0x20040008, 0])
def test_a_stack_that_leaves_ram_ends_the_run(renode, firmware, sp):
    renode.script = [(MS, lambda now: renode.machine.cpu.values.update({SP: sp}))]
    with opened(renode, firmware) as session:
        assert run(session, 100) is Stop.LOCKUP
        (fault,) = session.faults
    assert fault.reason == f"STKERR, the stack pointer 0x{sp:08x} is outside RAM"


@pytest.mark.parametrize("sp", [0x20000000, 0x20040000])
def test_stack_at_the_edge_of_ram_is_not_a_fault(renode, firmware, sp):
    renode.script = [(MS, lambda now: renode.machine.cpu.values.update({SP: sp}))]
    with opened(renode, firmware) as session:
        assert run(session, 0.1) is Stop.DEADLINE


@pytest.mark.parametrize(
    ("version", "non_secure", "board"),
    [
        ((1, 16, 1), False, "nrf9160dk.repl"),
        ((1, 17, 0), False, "nrf9160dk_trustzone.repl"),
        ((1, 17, 0), True, "nrf9160dk.repl"),
    ],
)
def test_platform_depends_on_version_and_image(firmware, tmp_path, version, non_secure, board):
    renode = FakeRenode()
    with RenodeServer(connect=renode.connect) as server:
        server.program = RenodeProgram(tmp_path, version)
        server.machine(firmware, tmp_path, 0, non_secure=non_secure)
    loads = [line for line in renode.commands if "LoadPlatformDescription" in line]
    assert [line.rpartition("/")[2] for line in loads] == [board]
    assert not any("spu.py" in line for line in renode.commands)
    traps = "sysbus.nvic FilterCcrDiv0Write false" in renode.commands
    assert traps == (version >= (1, 17, 0))  # 1.16.1 knows no such property


def test_trustzone_images_get_a_machine_whose_sau_follows_the_spu(firmware, tmp_path):
    renode = FakeRenode()
    with RenodeServer(connect=renode.connect) as server:
        server.program = RenodeProgram(tmp_path, (1, 17, 0))
        server.machine(firmware, tmp_path, 0, both_worlds=True)
    (load,) = (line for line in renode.commands if "LoadPlatformDescription" in line)
    assert load.endswith("/nrf9160dk_worlds.repl")
    assert any("/spu.py 0x50003000" in line for line in renode.commands)
    (hook,) = (line for line in renode.commands if "SetHookBeforePeripheralWrite" in line)
    script = hook.partition('"')[2].rstrip('"')
    told = [_hooked(script, 0xDD0, value) for value in (0, 1, 2, 3)]
    assert told == [0, 1, 1, 3]
    assert _hooked(script, 0xDD4, 2) == 2


def _hooked(script: str, offset: int, value: int) -> int:
    scope = {"offset": offset, "value": value}
    exec(script, scope)
    return scope["value"]


def test_trustzone_images_are_refused_before_1_17(firmware, tmp_path):
    renode = FakeRenode(R1_16)
    with RenodeServer(connect=renode.connect) as server:
        server.program = RenodeProgram(tmp_path, (1, 16, 1))
        with pytest.raises(
            EnvironmentMissing, match=r"Renode 1\.16\.1 has no TrustZone-M"
        ) as refused:
            server.machine(firmware, tmp_path, 0, both_worlds=True)
        assert "1.17.0" in refused.value.hint
        server.machine(firmware, tmp_path, 0)  # it is as good as before


def test_a_trustzone_machine_is_not_reused_for_a_single_image(firmware, tmp_path):
    renode = FakeRenode()
    with RenodeServer(connect=renode.connect) as server:
        server.program = RenodeProgram(tmp_path, (1, 17, 0))
        for both_worlds in (True, False, False):
            server.machine(firmware, tmp_path, 0, both_worlds=both_worlds)
            server.release(reusable=True)
        assert server.machines == 2


def test_a_fault_of_the_other_security_state_has_no_location(renode, firmware):
    renode.script = [(MS, Fault(7, 0xFFFFFFB9, FRAME, False, (0, 0, 0, 0)))]
    with opened(renode, firmware) as session:
        run(session)
        (fault,) = session.faults
    assert (fault.kind, fault.pc) == ("SecureFault", 0)
    assert "non-secure image" in fault.where


def test_lockup_during_reset_is_reported(renode, firmware):
    renode.script = [(0, Locks())]
    with opened(renode, firmware) as session:
        assert run(session, 100) is Stop.LOCKUP


def test_a_core_that_computes_in_silence_is_not_locked_up(renode, firmware):
    with opened(renode, firmware) as session:
        assert run(session, 0.5) is Stop.DEADLINE
        assert session.counters.virtual_seconds == 0.5
        assert session.counters.instructions == 32_000_000
        assert not session.faults


def test_branch_outside_memory_is_a_fault_with_its_caller(renode, firmware):
    renode.script = [(MS, b"before\n"), (2 * MS, b"a prompt"), (2 * MS, Aborts(0x30000000, 0x41))]
    with opened(renode, firmware) as session:
        assert run(session, guard=5) is Stop.LOCKUP
        (fault,) = session.faults
        assert session.read() == b"before\na prompt"
    assert (fault.kind, fault.pc, fault.lr) == ("BusFault", 0x30000000, 0x41)
    assert fault.reason == "IBUSERR, branch to 0x30000000"


def test_a_fault_that_comes_again_and_again_is_a_lockup(renode, firmware):
    fault = Fault(3, 0xFFFFFFF9, FRAME, on_psp=False)
    renode.script = [(MS * at, fault) for at in range(1, 40)]
    with opened(renode, firmware) as session:
        assert run(session) is Stop.LOCKUP
        assert len(session.faults) == 16


def test_interrupt_that_shares_the_fault_handler_is_not_a_fault(renode, firmware):
    renode.script = [(MS, Fault(16, 0xFFFFFFF9, FRAME, on_psp=False))]
    with opened(renode, firmware) as session:
        assert run(session) is Stop.DEADLINE
        assert not session.faults


def test_an_image_that_resets_itself_without_end_is_stopped(renode, firmware):
    renode.script = [(MS, b"boot\n"), (2 * MS, Resets())]
    with opened(renode, firmware) as session:
        assert run(session, 10) is Stop.RESET_LOOP
        assert session.counters.resets == 16
        assert session.counters.instructions > 0  # what ran in a slice before its reset is lost


def test_resets_by_the_pin_are_not_a_loop(renode, firmware):
    renode.script = [(MS, b"boot\n")]
    with opened(renode, firmware) as session:
        for _ in range(20):
            session.reset()
        assert run(session, 0.01) is Stop.DEADLINE
        assert session.counters.resets == 20


def test_a_pin_reset_starts_the_image_again(renode, firmware):
    renode.script = [(MS, b"boot\n")]
    with opened(renode, firmware) as session:
        run(session, 0.01)
        session.reset()
        run(session, 0.01)
        assert session.read() == b"boot\nboot\n"
        assert session.counters.instructions == 1_280_000
        assert session.counters.resets == 1


@pytest.mark.parametrize("level", range(4))
def test_log_entries_of_every_level_harm_nothing_and_warnings_are_kept(renode, firmware, level):
    message = "[cpu: 0x40] ReadDoubleWord from non existing peripheral at 0x50001000."
    renode.script = [(MS, Warns(level, message)), (2 * MS, Warns(level, "no source, 100 %", None))]
    with opened(renode, firmware) as session:
        assert run(session) is Stop.DEADLINE
        found = [one.subject for one in session.findings]
    assert found == (["0x50001000"] if level >= 2 else [])


def test_warnings_between_runs_are_ignored(renode, firmware):
    with opened(renode, firmware) as session:
        run(session, 0.01)
        words = "ReadDoubleWord from non existing peripheral at 0x50001000."
        renode.log(Level(2), words, "sysbus")
        assert session.findings == ()


def test_a_log_that_floods_is_bounded(renode, firmware):
    text = "WriteByte to non existing peripheral at 0x%x, value 0x1."
    renode.script = [(MS, Warns(2, text % (0x60000000 + at))) for at in range(3000)]
    with opened(renode, firmware) as session:
        run(session)
        assert len(session.findings) == 1000


def test_callbacks_take_arguments_that_a_later_release_adds(renode, firmware):
    renode.script = [(MS, b"x\n")]
    with opened(renode, firmware) as session:
        run(session, 0.01)
        agent = renode.agent
        agent.on_char(10, "later")
        agent.on_reset(renode.machine, "later")
        agent.on_fault(renode.machine.cpu, 0x40, "later")
        agent.on_symbol(renode.machine.cpu, 0x40, "later")
        agent.on_block(0x40, 3, "later")
        agent.log.Log(renode, "later", "and later still")


def test_slices_do_not_halt_the_core_and_a_match_halts_it_once(renode, firmware):
    renode.script = [(at * MS, b"line\n") for at in range(1, 200)] + [(200 * MS, b"end\n")]
    with opened(renode, firmware) as session:
        assert run(session, 0.1) is Stop.DEADLINE
        assert renode.machine.cpu.halts == 0
        deadline = session.deadline(1)
        assert session.run(ConsoleMatch(b"end"), deadline) is Stop.CONDITION
        assert renode.machine.cpu.halts == 1
        run(session, 0.01)
        assert renode.machine.cpu.halts == 2


def test_a_match_may_begin_in_an_earlier_line_of_the_same_run(renode, firmware):
    renode.script = [(MS, b"one\n"), (5 * MS, b"two\n"), (9 * MS, b"three")]
    with opened(renode, firmware) as session:
        deadline = session.deadline(1)
        assert session.run(ConsoleMatch(rb"one\ntwo\nthr"), deadline) is Stop.CONDITION
        assert session.run(ConsoleMatch(rb"two"), session.deadline(0.1)) is Stop.DEADLINE


def test_a_console_without_an_end_is_passed_on_and_not_kept(renode, firmware):
    line = b"x" * 99 + b"\n"
    renode.script = [(MS * (1 + at // 20), line) for at in range(3000)]
    with opened(renode, firmware) as session:
        assert session.run(ConsoleMatch(b"xxxyz"), session.deadline(1)) is Stop.DEADLINE
        assert session.read() == line * 3000
        assert len(renode.agent.printed) < 70_000


def test_output_before_a_hang_is_kept(renode, firmware, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._MARGIN", 0.1)
    renode.script = [(MS, b"seen\n"), (MS, lambda now: renode.hang())]
    with opened(renode, firmware) as session:
        assert run(session, guard=0.3) is Stop.GUARD
        assert session.read() == b"seen\n"
        assert session.where() == ""
        assert session.findings == ()
        with pytest.raises(TargetLost):
            session.memory.read(0, 4)


def test_100_cases_in_a_row_share_a_process_and_a_machine(renode, firmware):
    renode.script = [(MS, b"hello\n"), (2 * MS, b"end\n")]
    with RenodeServer(connect=renode.connect) as server:
        for _ in range(100):
            with RenodeSession(firmware, server, owns_server=False) as session:
                assert session.memory.read(0x20000100, 4) == pattern(1, 0x20000100, 4)
                deadline = session.deadline(1)
                assert session.run(ConsoleMatch(b"end"), deadline) is Stop.CONDITION
                assert session.read() == b"hello\nend\n"
                assert session.counters.instructions == 128_000
                session.memory.write(0x20000100, b"used")
        assert (server.starts, server.machines) == (1, 1)


def test_a_renode_that_has_made_many_machines_is_started_anew(renode, firmware):
    """Each machine leaves a copy of the translation library behind."""
    renode.script = [(MS, Fault(6, 0xFFFFFFF9, FRAME, on_psp=False))]
    with RenodeServer(connect=renode.connect) as server:
        for _ in range(101):
            with RenodeSession(firmware, server, owns_server=False) as session:
                run(session, 0.01)
        assert (server.starts, server.machines) == (3, 101)


def test_message_of_a_refusal_is_passed_on(renode, firmware):
    with opened(renode, firmware) as session, pytest.raises(MonitorError, match="no_such"):
        session.agent.call("no_such()")


def test_an_answer_that_was_broken_off_is_not_taken_for_the_next_one(renode, firmware):
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with opened(renode, firmware) as session:
        with pytest.raises(KeyboardInterrupt):
            session.agent.call("read_words(0, 4)", take=interrupt)
        with pytest.raises(TargetLost, match="broken off"):
            session.memory.read(0, 4)


def test_the_agent_reads_as_python_2_7_too():
    """IronPython 2.7 knows no f-strings, annotations, nonlocal, keyword-only or walrus."""
    later = (ast.JoinedStr, ast.AnnAssign, ast.Nonlocal, ast.NamedExpr, ast.AsyncFunctionDef)
    for path in AGENT:
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, later), f"{path.name}:{node.lineno}"
            if isinstance(node, ast.arguments):
                assert not node.kwonlyargs
                assert not [one for one in node.args if one.annotation]


def test_an_elapsed_time_and_a_count_are_exact(renode, firmware):
    with opened(renode, firmware) as session:
        assert session.run(Elapsed(0.0005), session.deadline(1)) is Stop.CONDITION
        assert session.counters.virtual_seconds == 0.0005
        assert session.run(Executed(1000), session.deadline(1)) is Stop.CONDITION
        assert session.counters.instructions == 33_000


# -- two images -------------------------------------------------------------------------------


def image_at(folder: Path, at: int, stack: int = 0x20001000) -> Image:
    """An image whose exceptions all lead 0x40 behind its table."""
    table = struct.pack("<16I", stack, *[at + 0x40 | 1] * 15) + bytes.fromhex("fee7")
    path = folder / f"at{at:x}.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", at, table, load=at, executable=True)],
        [MadeSymbol("handler", at + 0x40 | 1, 2, "func")],
    ))  # fmt: skip
    return Image.from_elf(path)


@pytest.fixture
def two_images(tmp_path):
    """A secure image at 0 and a non-secure one at 0x8000."""
    return compose([image_at(tmp_path, 0), image_at(tmp_path, 0x8000)])


def test_faults_are_seen_in_the_handlers_of_both_tables(renode, two_images):
    assert fault_handlers(two_images) == [0x40, 0x8040]
    renode.script = [
        (MS, Fault(4, 0xFFFFFFB8, FRAME, False, (0x82, 0, 0x2000_0040, 0), handler=0x8040)),
        (2 * MS, Fault(6, 0xFFFFFFF9, FRAME, False, UNDEFINED)),
    ]
    with opened(renode, two_images) as session:
        run(session, 0.01)
        first, second = session.faults
    assert (first.kind, first.reason, first.pc) == ("MemManage", "DACCVIOL, MMARVALID", 0x44)
    assert (second.kind, second.reason) == ("UsageFault", "UNDEFINSTR")


def test_non_secure_handler_does_not_read_a_frame_of_the_secure_stack(renode, two_images):
    renode.script = [
        (MS, Fault(4, 0xFFFFFFF8, FRAME, False, (0x82, 0, 0x2000_0040, 0), handler=0x8040))
    ]
    with opened(renode, two_images) as session:
        run(session, 0.01)
        (fault,) = session.faults
    assert (fault.pc, fault.where) == (0, "a place in the secure image that Renode does not show")


def test_image_beside_that_nothing_boots_has_no_handlers(tmp_path):
    data = image_at(tmp_path, 0x8000, stack=0)
    assert fault_handlers(compose([image_at(tmp_path, 0), data])) == [0x40]
