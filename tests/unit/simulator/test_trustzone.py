"""TrustZone-M with two images: calls, interrupts, and isolation of both security states.

The images are tests/firmware/worlds; a test writes which scenario they are to play.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from two_worlds import SCENARIO, machine_for

from harness.elf import Image
from harness.simulator import Machine, snapshot
from harness.targets.simulator import SimulatorSession

FTYPE = 0x10  # of EXC_RETURN: no floating-point frame. What the compiler cleared makes it one.
LONG_ENOUGH = 64_000_000 // 20
SECURE_RAM, SECURE_FLASH = 0x2000_0100, 0x0000_0100
THREE_IN_S15, NINE_IN_S31 = 0x40A0_0000, 0x4110_0000
INVEP, INVIS, INVER, AUVIOL, INVTRAN, SFARVALID = 1, 2, 4, 8, 16, 64


@dataclass
class Played:
    """A scenario that ran, and the variables of both images after it."""

    machine: Machine

    def words(self, name: str, count: int = 1) -> list[int]:
        symbol = self.machine.firmware.symbol(name)
        assert symbol is not None, name
        return list(
            struct.unpack(f"<{count}I", self.machine.read_memory(symbol.address, 4 * count))
        )

    def word(self, name: str) -> int:
        return self.words(name)[0]

    @property
    def results(self) -> list[int]:
        return self.words("results", 16)

    @property
    def done(self) -> bool:
        return bool(self.word("done"))

    @property
    def secure_fault(self) -> tuple[int, int, int, int]:
        """SFSR, SFAR, EXC_RETURN and exception number as the secure handler found them."""
        sfsr, sfar, _, _, link, number = self.words("secure:fault", 6)
        return sfsr, sfar, link | FTYPE, number


Play = Callable[..., Played]


@pytest.fixture
def play(two_worlds: Image) -> Play:
    def one(name: str, operand: int = 0) -> Played:
        machine = machine_for(two_worlds, name, operand)
        machine.run(until_tick=LONG_ENOUGH)
        return Played(machine)

    return one


# calls


def test_a_gateway_computes_and_returns_without_leaving_secrets(play):
    played = play("CALLS")
    assert played.done
    assert played.results[0] == 10
    answer, *leaked = played.results[4:8]
    assert answer == 26
    # What the compiler leaves in r1 to r3 is the return address, which the caller knows.
    assert len(set(leaked)) == 1


def test_a_gateway_checks_the_whole_range_of_a_pointer(play):
    refused = 0xFFFF_FFFF
    assert play("POINTERS").results[:6] == [46, 10, refused, refused, refused, refused]


def test_secure_code_calls_back_and_is_reentered(play):
    played = play("CALLBACK")
    assert played.results[:2] == [43, 2]
    link, counted = played.results[4:6]
    assert link | 1 == 0xFEFF_FFFF  # FNC_RETURN: the secure return address is not told
    assert counted == 1


# exceptions across the worlds


def test_a_non_secure_interrupt_of_secure_code_sees_none_of_its_registers(play):
    played = play("PREEMPT_SECURE")
    assert played.done
    assert played.words("seen", 13) == [0] * 13
    # Secure frame on its main stack, thread mode, all registers stacked, taken to non-secure.
    assert played.word("exc_return") | FTYPE == 0xFFFF_FFF8


def test_preempted_secure_code_goes_on_with_its_registers(play):
    assert play("PREEMPT_SECURE").words("secure:kept", 8) == [n << 4 for n in range(4, 12)]


def test_a_secure_interrupt_of_non_secure_code_returns_to_it_unchanged(play):
    played = play("PREEMPT_NONSECURE")
    assert played.results[:5] == [0, 4, 5, 6, 12]
    assert played.word("secure:ticks") > 0
    assert played.word("secure:exc_return") | FTYPE == 0xFFFF_FFB9


def test_interrupts_of_both_security_states_nest_by_priority(play):
    played = play("NESTED")
    assert played.done
    assert played.words("order", 3) == [1, 2, 3]
    assert played.words("secure:order", 1) == [0x5EC]
    assert played.results[8] == 1  # the secure one came first


@pytest.mark.parametrize(("pris", "secure_first"), [(0, 0), (1, 1)])
def test_pris_puts_secure_interrupts_above_non_secure_ones(play, pris, secure_first):
    played = play("PRIORITIES", pris)
    assert played.done
    assert played.results[8] == secure_first
    assert played.words("secure:order", 1) == [0x5EC]


def test_each_security_state_has_its_own_systick(play):
    played = play("SYSTICKS")
    assert played.done
    assert abs(played.word("secure:ticks") - played.machine.now / 1000) < 2
    secure, non_secure = played.word("secure:ticks"), played.word("ticks")
    assert 0 < non_secure < secure


# floating point


def test_a_gateway_keeps_the_floating_point_registers_of_its_caller(play):
    assert play("FLOATS_OUT").results[:3] == [1, 0x4000_0000, 0x4080_0000]


@pytest.mark.parametrize("how", ["FLOATS_IN", "FLOATS_LAZY"])
def test_a_non_secure_callback_sees_no_floating_point_secrets(play, how):
    played = play(how)
    assert played.results[0] == 1
    assert played.results[2] != THREE_IN_S15
    assert played.results[3] != NINE_IN_S31


def test_secure_code_has_its_floating_point_registers_back_after_a_callback(play):
    assert play("FLOATS_IN").words("secure:answers", 2) == [0x40E0_0000, NINE_IN_S31]
    assert play("FLOATS_LAZY").words("secure:answers", 1) == [THREE_IN_S15]


def test_floating_point_registers_treated_as_secure_are_hidden_and_kept(play):
    played = play("FLOATS_PREEMPTED")
    assert played.done
    assert played.words("handled_floats", 2) == [0, 0]
    assert played.words("secure:answers", 2) == [0x4040_0000, 0x40E0_0000]


# what is banked, and what is secure alone


def test_stack_pointers_masks_and_tables_are_banked(play):
    played = play("BANKED")
    assert played.results[1:5] == [0, 0x8000, 0x2000_2800, 0]
    psp, basepri, psp_ns, basepri_ns, primask_ns, primask = played.words("secure:answers", 6)
    assert (psp, basepri, primask) == (0x2000_1000, 0x80, 0)
    assert (psp_ns, basepri_ns, primask_ns) == (0x2000_2800, 0x20, 1)


def test_secure_only_bits_read_as_zero_in_non_secure_code(play):
    played = play("SECURE_ONLY")
    assert played.done
    itns, sau, sfsr, secure_irq, pris = played.results[:5]
    assert (itns, sau, sfsr, pris) == (0, 0, 0, 0)
    assert secure_irq & 1 << 27 == 0
    assert played.words("secure:order", 1) == [0]


def test_tt_gives_the_security_of_an_address(play):
    s, nsrw, nsr, rw, r = 1 << 22, 1 << 21, 1 << 20, 1 << 19, 1 << 18
    answers = play("ATTRIBUTION").words("secure:answers", 5)
    mine, theirs = s | rw | r, nsrw | nsr | rw | r
    assert [answer & 0x1F << 18 for answer in answers] == [mine, mine, theirs, mine, theirs]


# what is refused


@pytest.mark.parametrize("how", ["READ", "WRITE"])
@pytest.mark.parametrize("place", [SECURE_RAM, SECURE_FLASH, 0x0000_7F00, 0x5000_8000])
def test_a_non_secure_access_to_secure_memory_is_a_secure_fault(play, how, place):
    played = play(how, place)
    assert not played.done
    assert played.secure_fault == (AUVIOL | SFARVALID, place, 0xFFFF_FFB9, 7)


@pytest.mark.parametrize("how", ["READ", "WRITE"])
def test_a_secure_peripheral_does_not_answer_in_the_non_secure_window(play, how):
    played = play(how, 0x4000_8000)
    assert not played.done
    assert played.secure_fault[3] == 5  # BusFault


@pytest.mark.parametrize("place", [SECURE_FLASH | 1, 0x7F05, 0x7FF1, SECURE_RAM | 1])
def test_secure_code_is_entered_through_gateways_alone(play, place):
    played = play("EXECUTE", place)
    assert not played.done
    assert played.secure_fault[0] == INVEP
    assert played.secure_fault[3] == 7


def test_a_frame_without_its_signature_is_not_returned_to(play):
    played = play("BAD_SIGNATURE")
    assert not played.done
    assert played.secure_fault[0] == INVIS


@pytest.mark.parametrize("link", [0xFFFF_FFF9, 0xFFFF_FFD8])
def test_an_exc_return_that_only_secure_code_may_use_is_refused(play, link):
    played = play("BAD_EXC_RETURN", link)
    assert not played.done
    assert played.secure_fault[0] == INVER


def test_a_branch_to_non_secure_code_without_bxns_is_a_secure_fault(play):
    played = play("UNMARKED_BRANCH")
    assert not played.done
    assert played.secure_fault[0] == INVTRAN


def test_bxns_to_a_secure_address_leaves_the_secure_state_and_fails_there(play):
    played = play("BXNS_TO_SECURE", SECURE_FLASH)
    assert not played.done
    assert played.secure_fault[0] == INVEP
    assert played.machine.faults[0].world == "non-secure"


def test_bxns_with_the_thumb_bit_stays_in_the_secure_state(play):
    played = play("BXNS_STAYING")
    assert played.done
    assert played.results[0] == 78


def test_a_function_return_without_a_call_is_refused(play):
    played = play("FORGED_RETURN", 0xFEFF_FFFF)
    assert not played.done
    assert any("INVPC" in fault.reason for fault in played.machine.faults)


# determinism


@pytest.mark.parametrize("name", ["NESTED", "SYSTICKS", "FLOATS_PREEMPTED", "CALLBACK"])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_slices_change_nothing(two_worlds, play, name, step):
    whole = play(name).machine
    sliced = machine_for(two_worlds, name)
    limit = min(whole.core.executed, 3000 if step == 1 else 10**9)
    while sliced.core.executed < limit:
        sliced.run(until_executed=min(limit, sliced.core.executed + step))
    if limit < whole.core.executed:
        whole = machine_for(two_worlds, name)
        whole.run(until_executed=limit)
    else:
        sliced.run(until_tick=LONG_ENOUGH)
    assert (sliced.core.executed, sliced.now) == (whole.core.executed, whole.now)
    assert sliced.read_memory(0x2000_0000, 0x8000) == whole.read_memory(0x2000_0000, 0x8000)
    assert sliced.registers == whole.registers


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_a_snapshot_within_a_secure_call_continues(two_worlds, play, quarter):
    whole = play("NESTED").machine
    at = whole.core.executed * quarter // 4
    machine = machine_for(two_worlds, "NESTED")
    machine.run(until_executed=at)
    kept = snapshot.take(machine)
    machine.run(until_tick=LONG_ENOUGH)
    snapshot.restore(machine, kept)
    assert machine.core.executed == at
    machine.run(until_tick=LONG_ENOUGH)
    assert machine.core.executed == whole.core.executed
    assert machine.read_memory(0x2000_0000, 0x8000) == whole.read_memory(0x2000_0000, 0x8000)


def test_a_snapshot_goes_on_in_another_machine_with_the_same_images(two_worlds, play, tmp_path):
    whole = play("NESTED").machine
    machine = machine_for(two_worlds, "NESTED")
    machine.run(until_executed=whole.core.executed // 2)
    snapshot.save(machine, snapshot.take(machine), tmp_path / "half")
    other = Machine(two_worlds)
    snapshot.restore(other, snapshot.load(other, tmp_path / "half"))
    other.run(until_tick=LONG_ENOUGH)
    assert other.core.executed == whole.core.executed
    assert other.read_memory(0x2000_0000, 0x8000) == whole.read_memory(0x2000_0000, 0x8000)


def test_a_reset_of_the_chip_begins_in_the_secure_state_again(two_worlds, play):
    first = play("CALLBACK").machine
    count = first.core.executed
    first.write_memory(SCENARIO - 0x1FF0, bytes(0x1FF0))  # the non-secure variables
    first.reset()
    first.run(until_tick=first.now + LONG_ENOUGH)
    assert Played(first).done
    assert first.core.executed == 2 * count


def test_coverage_names_functions_by_image(play):
    session = SimulatorSession(play("CALLS").machine)
    functions = session.coverage().functions
    assert any(name.startswith("secure: ") and "Add" in name for name in functions)
    assert "Reset" in functions and "secure: Reset" in functions


# what is said of a refused access


REFUSED, UNANSWERED = "SecureFault (AUVIOL, SFARVALID)", "BusFault (PRECISERR, BFARVALID)"
NO_ENTRY = "SecureFault (INVEP)"


def told(played: Played) -> str:
    """The first fault as a result tells it."""
    session = SimulatorSession(played.machine)
    return str(session.faults[0])


@pytest.mark.parametrize(
    ("scenario", "operand", "kind", "access"),
    [
        ("READ", SECURE_RAM, REFUSED, "read of secure RAM 0x20000100"),
        ("WRITE", SECURE_FLASH, REFUSED, "write to secure flash 0x00000100"),
        ("READ", 0x5000_8000, REFUSED, "read of secure UARTE0 0x50008000"),
        ("READ", 0x4000_8000, UNANSWERED, "read of secure UARTE0 0x40008000"),
        ("WRITE", 0x5000_3600, REFUSED, "write to secure SPU 0x50003600"),
        ("EXECUTE", 0x7F05, NO_ENTRY, "jump to secure flash 0x00007f04, where no gateway is"),
    ],
)
def test_a_fault_names_security_state_image_line_and_access(play, scenario, operand, kind, access):
    message = told(play(scenario, operand))
    assert message.startswith(f"{kind} in the non-secure image nonsecure, Main at nonsecure.c:")
    assert message.endswith(f": {access}")


def test_a_fault_of_secure_code_names_its_image(play):
    message = told(play("UNMARKED_BRANCH"))
    assert message.startswith("SecureFault (INVTRAN) in the secure image secure, ")
    assert "jump to non-secure flash 0x" in message and message.endswith("without BXNS or BLXNS")


def test_a_fault_report_has_security_state_and_image(play):
    machine = play("READ", SECURE_RAM).machine
    report = machine.fault_report(machine.faults[0])
    assert "in the non-secure image nonsecure: read of secure RAM 0x20000100" in report
