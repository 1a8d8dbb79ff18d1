from __future__ import annotations

import pytest
from device import line
from fake_renode import Warns

from harness.base.errors import TargetLost, UsageError
from harness.base.findings import Kind
from harness.case import crosscheck
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached, open_target
from harness.targets.renode import RenodeServer
from harness.targets.renode.faults import decode
from harness.targets.renode.link import MonitorError
from harness.targets.renode.session import findings_in


@pytest.fixture
def server(fake):
    with RenodeServer(connect=fake.connect) as one:
        yield one


def test_a_match_stops_at_its_virtual_time_and_the_rest_stays_unprinted(fake, server, firmware):
    fake.script = [(1000, b"boot\r\n"), (2_000_000, b"done\n"), (3_000_000, b"late\n")]
    with open_target("renode", firmware, server=server) as session:
        assert session.run(ConsoleMatch(rb"do.e"), session.deadline(1)) is Stop.CONDITION
        assert session.read() == b"boot\r\ndone\n"
        assert session.read() == b""
        assert [chunk.time for chunk in session.console] == [1e-6, 2e-3]
        assert session.counters.virtual_seconds == 2e-3
        assert session.counters.instructions == 128_000
        assert session.counters.source == "renode"


def test_the_deadline_is_virtual(server, firmware):
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(300)) is Stop.DEADLINE
        assert session.counters.virtual_seconds == 300
        assert session.counters.wall_seconds < 60


def test_elapsed_and_executed_stop_at_their_limit(server, firmware):
    with open_target("renode", firmware, server=server) as session:
        assert session.run(Elapsed(0.5), session.deadline(1)) is Stop.CONDITION
        assert session.run(Executed(64_000), session.deadline(1)) is Stop.CONDITION
        assert session.counters.virtual_seconds == pytest.approx(0.501)


def test_the_image_is_in_memory_and_memory_can_be_written(fake, server, firmware):
    with open_target("renode", firmware, server=server, power_on="zero") as session:
        assert session.memory.read(0, 66) == firmware.segments[0].data
        session.memory.write(0x20000010, b"abc")
        assert session.memory.read(0x20000010, 4) == b"abc\0"
        assert list(fake.machine.cpu.hooks) == [0x40]


def test_input_reaches_the_console(fake, server, firmware):
    with open_target("renode", firmware, server=server) as session:
        session.write(b"\0\xff\r")
        assert fake.machine.uart.received == b"\0\xff\r"


def test_an_unknown_symbol_is_a_usage_error(server, firmware):
    session = open_target("renode", firmware, server=server)
    with session, pytest.raises(UsageError, match="nowhere"):
        session.run(SymbolReached("nowhere"), session.deadline(1))


def test_one_process_serves_many_cases_and_each_gets_a_clean_machine(fake, server, firmware):
    for _ in range(5):
        with open_target("renode", firmware, server=server, power_on="zero") as session:
            assert session.memory.read(0x20000000, 1) == b"\0"
            session.memory.write(0x20000000, b"x")
    assert (server.starts, server.machines) == (1, 1)
    assert fake.clears == 1


def test_a_hang_ends_at_the_guard_and_the_next_case_runs(fake, server, firmware, monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._MARGIN", 0.1)
    fake.hangs = True
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(1, guard=0.2)) is Stop.GUARD
        with pytest.raises(TargetLost):
            session.memory.read(0, 4)
    fake.released.set()
    fake.hangs = False
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(1)) is Stop.DEADLINE
    assert server.starts == 2


def test_a_death_in_the_middle_is_one_error_and_the_next_case_runs(fake, server, firmware):
    fake.dies = True
    session = open_target("renode", firmware, server=server)
    with session, pytest.raises(TargetLost, match="lost the connection"):
        session.run(None, session.deadline(1))
    fake.dies = False
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(1)) is Stop.DEADLINE


def test_refused_command_has_renodes_message(server):
    with pytest.raises(MonitorError, match="No such command or device"):
        server.client.command("boom")


def test_two_sessions_agree_and_the_first_difference_is_named(fake, server, firmware):
    def seen(*lines: bytes) -> crosscheck.TargetRun:
        fake.script = [(1000 * (n + 1), line) for n, line in enumerate(lines)]
        with open_target("renode", firmware, server=server) as session:
            return crosscheck.run(session, firmware, None, 1)

    one = seen(b"a\n", line(1, "inference", ticks=5))
    two = seen(b"a\n", line(1, "inference", ticks=7))
    three = seen(b"a\n", b"c\n")
    assert crosscheck.compare(one, two).equal
    assert "1 inferences: 0 equal, furthest apart 5 and 7" in str(crosscheck.compare(one, two))
    assert "console line 2: " in crosscheck.compare(one, three).difference
    assert not crosscheck.compare(seen(), seen()).equal


def test_renodes_log_becomes_findings_once_each(firmware):
    text = (
        "[WARNING] sysbus: [cpu: 0x40] (tag: 'NVMC') WriteDoubleWord to non existing peripheral at "
        "0x50039540, value 0x1.\n"
        "[WARNING] sysbus: ReadDoubleWord from non existing peripheral at 0x50001000.\n"
        "[WARNING] uarte0: Unhandled write to offset 0x1A0, value 0x8000000F.\n"
    )
    found = findings_in(text + text, firmware)
    assert [one.subject for one in found] == ["NVMC", "0x50001000", "UARTE0+0x1a0"]
    assert {one.kind for one in found} == {Kind.UNMODELLED_ACCESS}
    assert [one.message for one in found] == [
        f"unmodelled access: write at 0x50039540 from {firmware.locate(0x40)}",
        "unmodelled access: read at 0x50001000",
        "unmodelled access: write at UARTE0+0x1a0",
    ]


def test_warnings_of_renode_become_findings_of_the_session(fake, server, firmware):
    fake.script = [(1000, Warns(2, "[cpu: 0x40] Unhandled write to offset 0x304.", "rtc1"))]
    with open_target("renode", firmware, server=server) as session:
        session.run(Elapsed(0.001), session.deadline(1))
        (found,) = session.findings
    assert found.message == "unmodelled access: write at RTC1+0x304 from 0x00000040"
    assert session.findings == (found,)


def test_a_fault_is_decoded_with_its_address(firmware):
    status = [0x82, 0, 0x20000000, 0, 0, 0, 0, 0]  # CFSR ... MMFAR_NS
    words = [4, 0xFFFFFFFD, *status, 1, 2, 3, 4, 5, 0x43, 0x40, 0x01000000]
    fault = decode(words, firmware)
    assert (fault.kind, fault.reason) == ("MemManage", "DACCVIOL, MMARVALID")
    assert (fault.pc, fault.lr, fault.address) == (0x40, 0x43, 0x20000000)


def test_pins_are_driven_read_and_let_go_to_their_pull(fake, server, firmware):
    with open_target("renode", firmware, server=server) as session:
        fake.machine.parts["sysbus.p0"].Pins[6].PullMode = "PullUp"  # as firmware sets it
        session.pins.drive(6, True)
        assert session.pins.read(6)
        session.pins.drive(6, False)
        assert not session.pins.read(6)
        session.pins.drive(6, None)
        assert session.pins.read(6)
        assert session.pins.read(2)  # an output


def test_a_lost_renode_has_no_location_and_keeps_its_warnings(fake, server, firmware):
    fake.script = [(1000, Warns(2, "[cpu: 0x40] Unhandled write to offset 0x304.", "rtc1"))]
    session = open_target("renode", firmware, server=server)
    session.run(Elapsed(0.001), session.deadline(1))
    assert session.where() == str(firmware.locate(session.registers["pc"]))
    found = session.findings
    fake.dies = True
    with pytest.raises(TargetLost, match="lost the connection"):
        session.run(None, session.deadline(1))
    assert (session.where(), session.findings) == ("", found)
    with pytest.raises(TargetLost, match="lost the connection") as gone:
        session.memory.read(0, 4)
    assert gone.value.hint == "open a new session"
    session.close()
    session.close()


def test_the_run_of_a_renode_that_comes_back_too_late_ends_at_its_guard(fake, server, firmware):
    with open_target("renode", firmware, server=server) as session:
        late = session.deadline(1000, guard=1e-6)
        assert session.run(None, late) is Stop.GUARD
    with open_target("renode", firmware, server=server) as session:
        assert session.run(None, session.deadline(0.01)) is Stop.DEADLINE
    assert server.machines == 2  # the first may be in the middle of anything
