"""A session of Renode: what it asks the agent, and what it makes of the answers."""

from __future__ import annotations

import fake_renode
import pytest
from device import line
from fake_renode import DIES, HANGS, MAIN, FakeRenode, ran

from harness.base.core_state import MSP, PSP, MpuRegion
from harness.base.errors import TargetLost, Unsupported, UsageError
from harness.base.findings import Kind
from harness.case import crosscheck
from harness.elf.coverage import Block
from harness.targets import ConsoleMatch, Elapsed, Executed, Stop, SymbolReached
from harness.targets.base import ConsoleChunk
from harness.targets.calls import Call
from harness.targets.renode.find import RenodeProgram
from harness.targets.renode.server import GDB_PORT, RenodeServer
from harness.targets.renode.session import RenodeSession

MS = 1_000_000
#: Lines of the real agent. RAM is cut off behind its first words.
HELLO = ["console 1500 68656C6C6F0A", "console 2500000 656E640A"]
REGISTERS = (
    "382,20000000,50008000,1,d6a8e6a3,dbc83b6d,781061a0,50639019,f3f14dfb,1e09aaac,820ef1fc,"
    "71467366,4a66bd39,20000240,2ad,40,29000000"
)
STATE = f"state {REGISTERS},2,1,2000fff0,1 - 0 0 0:20000064:2000007f 620A0000"
FAULT = (
    f"fault 2500 c4 6 1 0 0 0 0 0 10000 0 0 0 0 0 0 0 {REGISTERS.replace(',', ' ')} 2 1 2000fff0 1"
)
CALLS = [
    "call 2250 22e 3 2a3 2000fff0 0 64", "call 2375 22e 2 23b 2000ffe8 1b 70",
    "return 2500 23a 2000ffe8 80 1", "return 2500 2a2 2000fff0 90 3",
]  # fmt: skip
WARNING = "2500 [WARNING] vmc: [cpu: 0x40] Unhandled read from offset 0x0."


def in_hex(text: str) -> str:
    return text.encode().hex().upper()


# -- a run ----------------------------------------------------------------------------------------


def test_output_has_its_virtual_time_and_is_read_once(firmware):
    fake = FakeRenode(run=ran(*HELLO, time=2500000, executed=160000, stop="match"))
    with fake.session(firmware) as session:
        assert session.run(ConsoleMatch(b"end"), session.deadline(1)) is Stop.CONDITION
        assert session.console == (
            ConsoleChunk(1.5e-6, b"hello\n"),
            ConsoleChunk(2.5e-3, b"end\n"),
        )
        assert (session.read(), session.read()) == (b"hello\nend\n", b"")


def test_output_of_one_instant_is_one_chunk(firmware):
    lines = ("console 1000 6F6E", "console 1000 650A", "console 2000 74")
    with FakeRenode(run=ran(*lines, time=MS, stop="idle")).session(firmware) as session:
        session.run(None, session.deadline(1))
        assert [chunk.data for chunk in session.console] == [b"one\n", b"t"]


def test_counters_are_those_of_the_agent(firmware):
    run = ran(time=2 * MS, executed=1095, resets=3, handler=640, stop="idle")
    with FakeRenode(run=run).session(firmware) as session:
        session.run(None, session.deadline(1))
        counters = session.counters
        assert (counters.source, counters.instructions, counters.resets) == ("renode", 1095, 3)
        assert (counters.virtual_seconds, counters.cycles) == (0.002, None)
        assert session.handler_seconds == 640 / 64e6


@pytest.mark.parametrize(
    ("word", "stop"),
    [("match", Stop.CONDITION), ("symbol", Stop.CONDITION), ("count", Stop.CONDITION),
     ("idle", Stop.IDLE), ("resets", Stop.RESET_LOOP), ("lockup", Stop.LOCKUP),
     ("abort", Stop.LOCKUP)],
)  # fmt: skip
def test_why_a_run_stopped(firmware, word, stop):
    with FakeRenode(run=ran(time=MS, stop=word)).session(firmware) as session:
        assert session.run(None, session.deadline(1)) is stop


@pytest.mark.parametrize(
    ("until", "calls"),
    [
        (None, ["until()", "run(1000000000, 250, 0)"]),
        (Elapsed(0.5), ["until()", "run(500000000, 250, 0)"]),
        (Executed(1000), ["until()", "run(1000000000, 250, 1000)"]),
        (SymbolReached("main"), ["until('', 64)", "run(1000000000, 250, 0)"]),
        (ConsoleMatch(b"e.d"), ["until('652e64')", "run(1000000000, 250, 0)"]),
    ],
)
def test_a_condition_is_set_in_the_call_that_runs(fake, firmware, until, calls):
    with fake.session(firmware) as session:
        fake.calls.clear()
        session.run(until, session.deadline(1))
        assert fake.calls == calls


def test_a_run_to_an_address_is_one_to_a_symbol(fake, firmware):
    with fake.session(firmware) as session:
        session.run_to_address(0x1234, session.deadline(1))
        assert "until('', 4660)" in fake.calls


def test_a_run_goes_on_while_the_agent_has_only_used_its_wall_time(firmware):
    answers = iter([ran(time=MS, stop="wall"), ran(time=3 * MS, stop="wall")])
    fake = FakeRenode(run=lambda *_: next(answers, ran(time=10 * MS)))
    with fake.session(firmware) as session:
        assert session.run(None, session.deadline(0.01)) is Stop.DEADLINE
        assert [call.split(",")[0] for call in fake.called("run")] == [
            "run(10000000", "run(9000000", "run(7000000",
        ]  # fmt: skip
        assert len(fake.called("until")) == 1


@pytest.mark.parametrize(
    ("until", "stop"),
    [(None, Stop.DEADLINE), (Elapsed(0.02), Stop.CONDITION), (Elapsed(0.5), Stop.DEADLINE),
     (Executed(10**9), Stop.DEADLINE)],
)  # fmt: skip
def test_a_deadline_is_virtual_and_comes_before_a_condition(fake, firmware, until, stop):
    with fake.session(firmware) as session:
        assert session.run(until, session.deadline(0.02)) is stop
        assert session.counters.virtual_seconds == 0.02


def test_an_unknown_symbol_is_a_usage_error_before_anything_runs(fake, firmware):
    with fake.session(firmware) as session, pytest.raises(UsageError, match="nowhere"):
        session.run(SymbolReached("nowhere"), session.deadline(1))
    assert not fake.called("run")


# -- the guard, and a lost Renode -----------------------------------------------------------------


@pytest.fixture
def short_margin(monkeypatch):
    monkeypatch.setattr("harness.targets.renode.session._MARGIN", 0.01)


def test_a_renode_that_hangs_ends_at_the_guard_and_its_output_is_kept(firmware, short_margin):
    with FakeRenode(run=[*HELLO, STATE, FAULT, HANGS]).session(firmware) as session:
        assert session.run(None, session.deadline(1, guard=0.05)) is Stop.GUARD
        assert session.read() == b"hello\nend\n"
        assert [fault.kind for fault in session.faults] == ["UsageFault"]


def test_a_run_that_comes_back_behind_its_guard_ends_there(fake, firmware):
    with fake.session(firmware) as session:
        assert session.run(None, session.deadline(1000, guard=1e-6)) is Stop.GUARD


def test_a_death_in_the_middle_is_one_error_and_the_output_is_kept(firmware):
    with FakeRenode(run=[*HELLO, DIES]).session(firmware) as session:
        with pytest.raises(TargetLost, match="lost the connection to Renode: it has ended"):
            session.run(None, session.deadline(1))
        assert session.read() == b"hello\nend\n"


def test_a_lost_renode_has_no_memory_no_place_and_no_stacks_and_keeps_its_findings(firmware):
    fake = FakeRenode(run=[DIES], send_warnings=[in_hex(WARNING)])
    with fake.session(firmware) as session:
        found = session.findings
        with pytest.raises(TargetLost):
            session.run(None, session.deadline(1))
        with pytest.raises(TargetLost, match="lost the connection") as gone:
            session.memory.read(0, 4)
        assert gone.value.hint == "open a new session"
        with pytest.raises(Unsupported, match="cannot show its stacks"):
            _ = session.core_state
        assert (session.where(), session.findings) == ("", found)


# -- faults, calls, states ------------------------------------------------------------------------


def test_a_fault_has_its_place_time_count_and_the_state_before_it(firmware):
    with FakeRenode(run=ran(STATE, FAULT, FAULT, time=MS)).session(firmware) as session:
        session.run(None, session.deadline(0.001))
        first, second = session.faults
    assert (first.kind, first.reason, first.pc, first.where) == (
        "UsageFault", "UNDEFINSTR", 0x40, "main",
    )  # fmt: skip
    assert (first.executed, first.time, second.time) == (0xC4, 2.5e-6, 2.501e-6)
    assert first.state is not None
    assert second.state is None


def test_calls_have_their_returns_and_times_in_their_order(fake, firmware):
    with FakeRenode(run=ran(*CALLS, time=MS)).session(firmware) as session:
        session.run(None, session.deadline(0.001))
        assert session.calls == (
            Call(0x22E, 3, 0x2A3, 0x2000FFF0, 0, 0x64, 2.25e-6, 0x90, 3, 2.501e-6),
            Call(0x22E, 2, 0x23B, 0x2000FFE8, 27, 0x70, 2.375e-6, 0x80, 1, 2.5e-6),
        )


def test_a_call_that_a_reset_cuts_off_is_forgotten(firmware):
    with FakeRenode(run=ran(CALLS[0], "restart", time=MS)).session(firmware) as session:
        session.run(None, session.deadline(0.001))
        assert session.calls == ()


def test_functions_are_watched_at_their_first_instruction(fake, firmware):
    with fake.session(firmware) as session:
        session.watch_calls([0x41, 0x100])
        assert fake.calls[-1] == "calls.watch([64, 256])"


def test_core_state_is_decoded_from_a_line_of_the_agent(firmware):
    with FakeRenode(send_state=[STATE]).session(firmware) as session:
        state = session.core_state
    assert state.registers[13:] == (0x20000240, 0x2AD, 0x40, 0x29000000)
    assert state.stacks == {(False, PSP): 0x20000240, (False, MSP): 0x2000FFF0}
    assert (state.threads, state.nonsecure, state.divided) == ({False: PSP}, False, False)
    assert state.mpu == (MpuRegion(0, 0x20000060, 0x2000007F, True, True, False),)
    assert (state.vectors, state.read(0x20000000, 4)) == (0, b"b\n\0\0")


def test_registers_are_named(firmware):
    line = " ".join(f"{0x100 + number:x}" for number in range(17))
    with FakeRenode(send_registers=[line]).session(firmware) as session:
        names = [*(f"r{number}" for number in range(13)), "sp", "lr", "pc", "xpsr"]
        assert session.registers == {name: 0x100 + at for at, name in enumerate(names)}


def test_the_place_is_that_of_the_next_instruction(firmware):
    line = " ".join(["0"] * 15 + ["40", "0"])
    with FakeRenode(send_registers=[line]).session(firmware) as session:
        assert session.where() == "main"


def test_blocks_are_those_that_the_agent_counted(firmware):
    with FakeRenode(counts=["40 1 1", "42 3 20"]).session(firmware) as session:
        session.profile()
        assert session.blocks() == [Block(0x40, 1, 1), Block(0x42, 3, 20)]


# -- findings -------------------------------------------------------------------------------------


def messages(session: RenodeSession) -> list[str]:
    return [finding.message for finding in session.findings]


def test_warnings_are_findings_of_the_firmware(firmware):
    with FakeRenode(send_warnings=[in_hex(WARNING)]).session(firmware) as session:
        (found,) = session.findings
    assert (found.kind, found.time) == (Kind.UNMODELLED_ACCESS, 2.5e-6)
    assert found.message == "unmodelled access: read at VMC+0x0 from main"


def test_what_a_model_has_seen_is_a_finding_with_its_time_and_place(firmware):
    words = ("128", "41", "dma_refused", in_hex("UARTE0"), in_hex("EasyDMA of UARTE0 cannot"))
    with FakeRenode(send_findings=[" ".join(words)]).session(firmware) as session:
        (found,) = session.findings
    assert (found.kind, found.subject, found.time) == (Kind.DMA_REFUSED, "UARTE0", 2e-6)
    assert found.message == "EasyDMA of UARTE0 cannot (by main)"


def test_known_bugs_are_notes_of_each_session(fake, firmware, tmp_path):
    server = RenodeServer(connect=fake.connect)
    server.program = RenodeProgram(tmp_path, (1, 17, 0), ("a bug",))
    with RenodeSession(firmware, server, owns_server=True) as session:
        assert messages(session) == ["a bug"]


@pytest.mark.parametrize(
    "answers",
    [
        {"send_attribution": ["10", "10", "1"]},
        {"run": ran(STATE.replace(" - ", " 10,10,1 ", 1), FAULT, time=MS)},
    ],
    ids=["the SPU has given something away", "at a fault something was given away"],
)
def test_a_divided_machine_is_told_what_is_wrong_between_the_worlds(firmware, tmp_path, answers):
    server = RenodeServer(connect=FakeRenode(**answers).connect)
    server.program = RenodeProgram(tmp_path, (1, 17, 0))
    with RenodeSession(firmware, server, owns_server=True) as session:
        session.run(None, session.deadline(0.001))
        (told,) = messages(session)
    assert told.startswith("Renode 1.17.0, between the worlds")


def test_findings_stay_after_the_end(firmware):
    with FakeRenode(send_warnings=[in_hex(WARNING)]).session(firmware) as session:
        found = session.findings
    assert session.findings == found


# -- stores to flash that holds data --------------------------------------------------------------


class StoresUnseen:
    """Stores to a page of flash in each run, unseen until its stores are watched."""

    def __init__(self) -> None:
        self.watched: list[int] = []
        self.renode = FakeRenode(guard=self._guard, run=self._run, Agent=self._restart)
        self.now = 0

    def _restart(self, *_: object) -> list[str]:
        self.now = 0
        return []

    def _guard(self, pages: list[int]) -> list[str]:
        self.watched = pages
        return []

    def _run(self, budget: int, *_: int) -> list[str]:
        self.now += budget
        kind = "seen" if self.watched else "unseen"
        lines = [] if self.watched else ["unseen 4096"]
        return ran(f"console {self.now} {kind.encode().hex()}", *lines, time=self.now)


def test_a_run_is_repeated_with_the_same_inputs_until_all_stores_are_seen(firmware):
    image = StoresUnseen()
    with image.renode.session(firmware) as session:
        session.run(Elapsed(0.001), session.deadline(1))
        session.write(b"x")
        session.run(Elapsed(0.002), session.deadline(1))
        assert image.watched == [4096]
        assert session.read() == b"seenseen"
        assert session.counters.virtual_seconds == pytest.approx(0.003)
    assert image.renode.called("guard") == ["guard([4096])"]
    assert image.renode.called("write") == ["write('78')"]


def test_inputs_of_a_repeated_run_come_at_their_time(firmware):
    image = StoresUnseen()
    with image.renode.session(firmware) as session:
        image.watched = [0]  # the first run stores nothing
        session.run(Elapsed(0.001), session.deadline(1))
        session.write(b"x")
        image.watched = []
        session.run(Elapsed(0.002), session.deadline(1))
    again = image.renode.calls[image.renode.calls.index("guard([4096])") + 1 :]
    assert [one for one in again if not one.startswith("until")] == [
        "run(1000000, 250, 0)", "write('78')", "run(2000000, 250, 0)"
    ]  # fmt: skip


# -- what the harness does to the machine ---------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "calls"),
    [
        (lambda session: session.write(b"\0\xff\r"), ["write('00ff0d')"]),
        (lambda session: session.pins.drive(6, True), ["drive(6, True)"]),
        (lambda session: session.pins.drive(6, None), ["drive(6, None)"]),
        (lambda session: session.reset(), ["reset()", "answer('reset')"]),
        (lambda session: session.profile(), ["profile()"]),
    ],
    ids=["write", "drive", "release a pin", "reset", "profile"],
)
def test_what_is_done_is_a_call_of_the_agent(fake, firmware, act, calls):
    with fake.session(firmware) as session:
        fake.calls.clear()
        act(session)
        assert fake.calls == calls


@pytest.mark.parametrize(("line", "level"), [("pin 1", True), ("pin 0", False)])
def test_a_pin_is_read(firmware, line, level):
    with FakeRenode(pin=[line]).session(firmware) as session:
        assert session.pins.read(2) is level


def test_a_reset_by_the_pin_is_counted(firmware):
    with FakeRenode(answer=ran(time=MS, executed=9, resets=1)).session(firmware) as session:
        session.reset()
        assert (session.counters.resets, session.counters.instructions) == (1, 9)


@pytest.mark.parametrize(
    ("function", "calls"), [("main", []), ("z_arm_svc", [f"hook_svc({MAIN})"])]
)
def test_zephyrs_svc_handler_is_hooked_if_there_is_one(fake, tmp_path, function, calls):
    with fake.session(fake_renode.image(tmp_path, function=function)):
        assert fake.called("hook_svc") == calls


def test_gdb_gets_the_machine_and_the_console_is_heard(firmware):
    fake = FakeRenode(send_debug_console=["68656C"])
    with fake.session(firmware) as session:
        session.serve_gdb(GDB_PORT)
        assert fake.calls[-1] == "debugged()"
        assert fake.commands[-1] == f"machine StartGdbServer {GDB_PORT}"
        assert session.debug_console() == b"hel"


# -- its beginning and its end --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoils", "machines"),
    [
        (lambda session: None, 1),
        (lambda session: session.profile(), 2),
        (lambda session: session.serve_gdb(GDB_PORT), 2),
        (lambda session: session.reset(), 2),
        (lambda session: session._take(FAULT), 2),
        (lambda session: session.run(None, session.deadline(9, guard=1e-6)), 2),
    ],
    ids=["nothing", "a profile", "gdb", "a reset", "a fault", "the guard"],
)
def test_a_machine_is_made_anew_after_a_session_that_a_reset_does_not_undo(
    firmware, spoils, machines
):
    fake = FakeRenode(answer=ran(time=0, resets=1))
    with RenodeServer(connect=fake.connect) as server:
        for _ in range(2):
            with RenodeSession(firmware, server, owns_server=False) as session:
                spoils(session)
        assert server.machines == machines


@pytest.mark.parametrize("owns", [True, False])
def test_a_session_ends_only_the_renode_that_it_owns(fake, firmware, owns):
    server = RenodeServer(connect=fake.connect)
    session = RenodeSession(firmware, server, owns_server=owns)
    link = server.client
    session.close()
    session.close()
    assert (server.client is link) == (not owns)
    server.close()


def test_an_image_that_cannot_start_ends_the_renode_of_its_session(fake, tmp_path):
    nothing = fake_renode.image(tmp_path, table=(0, 0))
    server = RenodeServer(connect=fake.connect)
    with pytest.raises(UsageError, match="vector table"):
        RenodeSession(nothing, server, owns_server=True)
    assert not server.busy
    assert not fake.commands


# -- two sessions ---------------------------------------------------------------------------------


def run_of(firmware, *lines: bytes) -> crosscheck.TargetRun:
    printed = [f"console {1000 * at} {line.hex()}" for at, line in enumerate(lines, 1)]
    with FakeRenode(run=ran(*printed, time=MS, stop="idle")).session(firmware) as session:
        return crosscheck.run(session, firmware, None, 1)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ((b"a\n", line(1, "inference", ticks=5)), (b"a\n", line(1, "inference", ticks=7)), ""),
        ((b"a\n", b"b\n"), (b"a\n", b"c\n"), "console line 2: "),
    ],
)
def test_two_runs_are_compared_line_by_line(firmware, first, second, difference):
    result = crosscheck.compare(run_of(firmware, *first), run_of(firmware, *second))
    assert result.equal == (not difference)
    assert result.difference.startswith(difference)
