"""Calls of watched functions, and branches to themselves, as the agent inside Renode sees them."""

from __future__ import annotations

import pytest
from fake_renode import LR, PC, R1_16, R1_17, SP, XPSR, FakeRenode, Release, opened

from harness.targets import Stop
from harness.targets.renode.session import RenodeSession

MS = 1_000_000


@pytest.fixture(params=[R1_16, R1_17], ids=["1.16.1", "1.17.0"])
def release(request: pytest.FixtureRequest) -> Release:
    return request.param


def run(session: RenodeSession, seconds: float) -> Stop:
    return session.run(None, session.deadline(seconds, guard=20))


def call(renode: FakeRenode, address: int, **registers: int):
    """An event: the core reaches ``address`` with these registers."""
    numbers = {"r0": 0, "sp": SP, "lr": LR, "xpsr": XPSR}

    def reached(now: int) -> None:
        core = renode.machine.cpu
        core.values.update({numbers[name]: value for name, value in registers.items()})
        core.values[PC] = address
        renode.machine.put(CYCCNT, now.to_bytes(4, "little"))
        for hook in list(core.hooks.get(address, ())):
            hook(core, address)

    return reached


CYCCNT = 0xE0001004
THERE = {"lr": 0x43, "sp": 0x20000F00}


def test_calls_of_watched_functions_and_their_returns_are_noted(renode, firmware):
    renode.script = [
        (MS, call(renode, 0x100, r0=7, **THERE)),
        (2 * MS, call(renode, 0x42, sp=0x20000E00)),
        (3 * MS, call(renode, 0x42, sp=0x20000F00)),
        (4 * MS, call(renode, 0x100, r0=8, xpsr=3, **THERE)),
    ]
    with opened(renode, firmware) as session:
        session.watch_calls([0x101])
        run(session, 0.01)
        first, second = session.calls
    assert (first.address, first.argument, first.caller, first.sp) == (0x100, 7, *THERE.values())
    assert (first.taken, second.taken) == (2 * MS, None)
    assert (first.exception, second.exception) == (0, 3)


def test_a_function_that_loops_to_its_beginning_is_noted_once(renode, firmware):
    renode.script = [(n * MS, call(renode, 0x100, **THERE)) for n in range(1, 6)]
    with opened(renode, firmware) as session:
        session.watch_calls([0x100])
        run(session, 0.01)
        assert len(session.calls) == 1
        assert 0x100 not in renode.machine.cpu.hooks


def test_a_call_that_a_reset_cuts_off_is_not_running(renode, firmware):
    again = call(renode, 0x100, **THERE)
    boots: list[int] = []

    def once(event):
        return lambda now: event(now) if not boots else None

    def reset(now: int) -> None:
        boots.append(now)
        renode.machine.Reset()

    renode.script = [(MS, once(again)), (2 * MS, once(reset))]
    with opened(renode, firmware) as session:
        session.watch_calls([0x100])
        run(session, 0.01)
        assert session.calls == ()


@pytest.mark.parametrize("code", ["fee7", "fff7febf"])
@pytest.mark.parametrize("timers", [False, True])
def test_a_branch_to_itself_is_standing_still_unless_a_timer_runs(renode, firmware, code, timers):
    renode.script = [(MS, call(renode, 0x40))]
    renode.left = {0x40: bytes.fromhex(code)}
    renode.machine.cpu.__class__.PC = property(lambda core: core.GetRegister(PC))
    with opened(renode, firmware) as session:
        renode.machine.sleeps = not timers
        before = renode.machine.compute

        def spins(moment: int) -> None:
            renode.machine.sleeps, idle = False, renode.machine.sleeps
            before(moment)
            renode.machine.sleeps = idle
            renode.machine.cpu.values[PC] = 0x40

        renode.machine.compute = spins
        assert run(session, 0.05) is (Stop.DEADLINE if timers else Stop.IDLE)
