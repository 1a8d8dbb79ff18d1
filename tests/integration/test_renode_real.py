"""The target on a real Renode; skipped with the reason where none is installed."""

from __future__ import annotations

import needs
import pytest

from harness.build import table
from harness.build.standalone import build_standalone
from harness.case import crosscheck
from harness.elf import Image
from harness.targets import ConsoleMatch, Executed, Stop, SymbolReached, open_target

END = ConsoleMatch(rb"~HIL \d+ (?:end|ready) [^\r\n]*\*[0-9a-f]{8}[\r\n]")
INVOKE = "_ZN6tflite16MicroInterpreter6InvokeEv"
TICKS, STEPS = 16, 20_000
PAIRS = [(sample.name, configuration.name) for sample, configuration in table.load().pairs()]


def image(sample: str, configuration: str) -> Image:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_standalone(sample, configuration).elf)


@pytest.mark.parametrize(("sample", "configuration"), PAIRS)
def test_renode_and_simulator_agree(server, sample, configuration):
    firmware = image(sample, configuration)
    seen = []
    for target, options in (("renode", {"server": server}), ("simulator", {})):
        with open_target(target, firmware, **options) as session:
            seen.append(crosscheck.run(session, firmware, END, 60, guard=120))
    result = crosscheck.compare(*seen)
    assert result.equal, str(result)
    # Renode's CYCCNT is read from virtual time in nanoseconds and lies a few counts off; the
    # instructions themselves are equal, as the next test counts.
    for renode, simulator in zip(seen[0].ticks, seen[1].ticks, strict=True):
        assert abs(renode - simulator) <= max(TICKS, simulator // 200), str(result)


@pytest.mark.parametrize(
    ("sample", "configuration"),
    [("hello_world", "exact"), ("hello_world_float", "exact"), ("atan", "custom")],
)
def test_an_inference_takes_as_many_instructions_as_on_the_simulator(server, sample, configuration):
    firmware = image(sample, configuration)
    with open_target("renode", firmware, server=server) as session:
        assert session.run(SymbolReached(INVOKE), session.deadline(10)) is Stop.CONDITION
        back, before = session.registers["lr"] & ~1, session.counters.instructions
        assert session.run_to_address(back, session.deadline(10)) is Stop.CONDITION
        obtained = session.counters.instructions - before
    with open_target("simulator", firmware) as session:
        assert session.run(SymbolReached(INVOKE), session.deadline(10)) is Stop.CONDITION
        before = session.counters.instructions
        for _ in range(STEPS):
            session.run(Executed(1), session.deadline(10))
            if session.machine.registers["pc"] & ~1 == back:
                break
        expected = session.counters.instructions - before
    assert obtained == expected
    assert 100 < expected < STEPS


def test_a_stop_is_the_same_on_every_run_and_exact_at_a_symbol(server):
    firmware = image("hello_world", "exact")
    stops = []
    for _ in range(2):
        with open_target("renode", firmware, server=server) as session:
            assert session.run(SymbolReached("main"), session.deadline(5)) is Stop.CONDITION
            symbol = firmware.symbol("main")
            assert symbol is not None
            assert session.registers["pc"] == symbol.address & ~1
            before = session.counters.instructions
            assert session.run(Executed(1001), session.deadline(5)) is Stop.CONDITION
            assert session.counters.instructions == before + 1001
            session.run(END, session.deadline(10))
            stops.append((session.counters.instructions, session.counters.virtual_seconds))
    assert stops[0] == stops[1]


def test_block_counts_add_up_to_the_instructions_executed(server):
    with open_target("renode", image("hello_world", "exact"), server=server) as session:
        session.profile()
        session.run(END, session.deadline(10))
        total = sum(block.instructions * block.executions for block in session.blocks())
        assert total == session.counters.instructions
