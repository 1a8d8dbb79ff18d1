"""WFI, WFE, SEV and YIELD, alone and in IT blocks (Armv8-M ARM, C2.4 and ITAdvance)."""

from __future__ import annotations

import pytest
from bare_chip import CODE, BareChip

from harness.simulator.machine import End
from harness.simulator.unicorn import Reg

NOP, YIELD, WFE, WFI, SEV = (0xBF00 + 0x10 * n for n in range(5))
WIDE = 0xF3AF  # .w: 0x8000 and the number of the hint
THUMB = 1 << 24
ICSR, AIRCR, SCR, SHPR3 = 0xE000_ED04, 0xE000_ED0C, 0xE000_ED10, 0xE000_ED20
ISER, ISPR, ITNS, IPR = 0xE000_E100, 0xE000_E200, 0xE000_E380, 0xE000_E400
SEVONPEND = 1 << 4
EGU0 = 0x5001_B000


@pytest.mark.parametrize(
    ("code", "sleeps"),
    [((NOP,), ""), ((YIELD,), ""), ((WFE,), "wfe"), ((WFI,), "wfi"), ((SEV,), ""),
     ((WIDE, 0x8000), ""), ((WIDE, 0x8001), ""), ((WIDE, 0x8002), "wfe"),
     ((WIDE, 0x8003), "wfi"), ((WIDE, 0x8004), "")],
)  # fmt: skip
def test_hints_of_both_lengths(chip: BareChip, code: tuple[int, ...], sleeps: str) -> None:
    chip.machine.nvic.event = False
    chip.play(*code, steps=1)
    assert chip.machine.sleeping == sleeps
    assert chip.machine.registers["pc"] == CODE + 2 * len(code)
    assert chip.machine.nvic.event is (code in ((SEV,), (WIDE, 0x8004)))


def test_the_last_halfword_of_memory_may_be_a_hint(chip: BareChip) -> None:
    end = 0x2004_0000
    chip.machine.write_memory(end - 2, WFI.to_bytes(2, "little"))
    chip.machine.write_register("pc", end - 2)
    chip.machine.run(until_executed=chip.machine.core.executed + 1)
    assert (chip.machine.sleeping, chip.machine.registers["pc"]) == ("wfi", end)


def test_wfe_consumes_a_pending_event_instead_of_sleeping(chip: BareChip) -> None:
    chip.machine.nvic.event = False
    chip.play(SEV, WFE, WFE, steps=2)
    assert chip.machine.sleeping == ""
    chip.machine.run(until_executed=chip.machine.core.executed + 1)
    assert chip.machine.sleeping == "wfe"


# IT blocks

N, Z, C, V = 1 << 31, 1 << 30, 1 << 29, 1 << 28
CONDITIONS = {
    0: lambda n, z, c, v: z, 1: lambda n, z, c, v: not z,
    2: lambda n, z, c, v: c, 3: lambda n, z, c, v: not c,
    4: lambda n, z, c, v: n, 5: lambda n, z, c, v: not n,
    6: lambda n, z, c, v: v, 7: lambda n, z, c, v: not v,
    8: lambda n, z, c, v: c and not z, 9: lambda n, z, c, v: not c or z,
    10: lambda n, z, c, v: n == v, 11: lambda n, z, c, v: n != v,
    12: lambda n, z, c, v: not z and n == v, 13: lambda n, z, c, v: z or n != v,
    14: lambda n, z, c, v: True,
}  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_hint_in_an_it_block_has_its_condition(chip: BareChip, condition: int) -> None:
    for flags in range(16):
        bits = [bool(flags >> n & 1) for n in (3, 2, 1, 0)]
        chip.machine.nvic.event = False
        chip.machine.core.write(Reg.XPSR_NZCVQG, flags << 28 | THUMB)
        chip.play(0xBF08 | condition << 4, SEV, steps=2)
        assert chip.machine.nvic.event is bool(CONDITIONS[condition](*bits)), bits
        assert chip.machine.registers["pc"] == CODE + 4


@pytest.mark.parametrize(
    ("mask", "then"),
    [
        (0b0001, "TTTT"), (0b1111, "TEEE"), (0b0101, "TTET"), (0b1011, "TETE"), (0b0110, "TTE"),
        (0b0010, "TTT"), (0b1100, "TE"), (0b1000, "T"),
    ],
)  # fmt: skip
def test_a_block_continues_behind_a_hint(chip: BareChip, mask: int, then: str) -> None:
    """``IT{x{y{z}}} eq`` over YIELDs and one addition; each place of the block is tried."""
    for place in range(len(then)):
        code = [YIELD] * 4
        code[place] = 0x3001  # adds r0, #1; in an IT block it sets no flags
        for equal in (False, True):
            chip.machine.core.write(Reg.XPSR_NZCVQG, Z * equal | THUMB)
            chip.play(0xBF00 | mask, *code, 0x3101, steps=6, r0=0, r1=0)  # adds r1, #1
            registers = chip.machine.registers
            assert (registers["r0"], registers["r1"]) == ((then[place] == "T") == equal, 1)


# what wakes


def interrupt_later(chip: BareChip, *, priority: int = 0) -> None:
    """EGU0's interrupt is enabled at a priority; TIMER0 triggers it after 100 ticks."""
    chip.write(IPR + 27, priority, size=1)
    chip.write(ISER, 1 << 27)
    chip.write(EGU0 + 0x304, 1)
    chip.write(EGU0 + 0x080, 1 << 31)  # SUBSCRIBE_TRIGGER[0]
    chip.write(0x5001_7504, 1)  # CHENSET
    timer = 0x5000_F000
    chip.write(timer + 0x510, 0)
    chip.write(timer + 0x540, 25)
    chip.write(timer + 0x1C0, 1 << 31)  # PUBLISH_COMPARE[0]
    chip.write(timer, 1)


def mask(chip: BareChip, register: int, value: int) -> None:
    chip.play(0xF380, register, steps=1, r0=value)


PRIMASK, BASEPRI, FAULTMASK = 0x8810, 0x8811, 0x8813


@pytest.mark.parametrize(
    ("hint", "register", "value", "priority", "wakes"),
    [
        (WFI, PRIMASK, 0, 0x20, True),
        (WFI, PRIMASK, 1, 0x20, True),  # as if it were clear
        (WFI, BASEPRI, 0x40, 0x20, True),
        (WFI, BASEPRI, 0x20, 0x20, False),
        (WFI, BASEPRI, 0x20, 0x40, False),
        (WFE, PRIMASK, 0, 0x20, True),
        (WFE, PRIMASK, 1, 0x20, False),
        (WFE, BASEPRI, 0x20, 0x20, False),
    ],
)
def test_wake_up_depends_on_the_masks(
    chip: BareChip, hint: int, register: int, value: int, priority: int, wakes: bool
) -> None:
    mask(chip, register, value)
    chip.machine.nvic.event = False
    interrupt_later(chip, priority=priority)
    chip.play(hint, steps=1)
    end = chip.machine.run(until_tick=chip.now + 10_000)
    assert (chip.machine.sleeping == "") is wakes
    assert end in ((End.DEADLINE,) if wakes else (End.IDLE, End.DEADLINE))
    taken = wakes and value != 1
    assert (chip.running == 16 + 27) is taken


@pytest.mark.parametrize(
    ("basepri", "priority", "wakes"), [(0x40, 0x20, True), (0x40, 0x40, False), (0x40, 0x60, False)]
)
def test_wake_up_of_non_secure_code_uses_its_own_mask(
    chip: BareChip, basepri: int, priority: int, wakes: bool
) -> None:
    """With AIRCR.PRIS both lie in the lower half of the priorities."""
    chip.divide()
    chip.write(AIRCR, 0x05FA_4000)
    chip.write(ITNS, 1 << 27)
    interrupt_later(chip)
    chip.enter_nonsecure()
    chip.write(IPR + 27, priority, size=1)
    mask(chip, BASEPRI, basepri)
    chip.play(WFI, steps=1)
    chip.machine.run(until_tick=chip.now + 10_000)
    assert (chip.machine.sleeping == "") is wakes


def test_sleep_lasts_until_the_interrupt(chip: BareChip) -> None:
    interrupt_later(chip)
    start = chip.now
    chip.play(WFI, steps=1)
    executed = chip.machine.core.executed
    chip.machine.run(until_executed=executed + 1)
    assert chip.now == start + 100 + 1
    assert chip.running == 16 + 27


def test_in_a_handler_only_more_urgent_exceptions_wake(chip: BareChip) -> None:
    chip.write(SHPR3, 0x0040_0000)
    chip.write(ICSR, 1 << 28)
    chip.wait(1)
    assert chip.running == 14
    interrupt_later(chip, priority=0x60)
    chip.play(WFI, steps=1)
    chip.wait(10_000)
    assert chip.machine.sleeping == "wfi"
    chip.write(IPR + 27, 0x20, size=1)
    chip.wait(10)
    assert chip.machine.sleeping == ""


@pytest.mark.parametrize(("sevonpend", "wakes"), [(0, False), (SEVONPEND, True)])
def test_with_sevonpend_wfe_wakes_when_an_exception_becomes_pending(
    chip: BareChip, sevonpend: int, wakes: bool
) -> None:
    chip.write(SCR, sevonpend)
    interrupt_later(chip)
    chip.write(0xE000_E180, 1 << 27)  # ICER: it is never taken
    chip.machine.nvic.event = False
    chip.play(WFE, steps=1)
    chip.wait(10_000)
    assert (chip.machine.sleeping == "") is wakes
    assert chip.running == 0


def test_endless_sleep_ends_the_run(chip: BareChip) -> None:
    chip.play(WFI, steps=1)
    before = chip.now
    assert chip.machine.run(until_tick=before + 1000) is End.IDLE
    assert chip.now == before


def test_sleep_over_a_deadline_lasts_until_it(chip: BareChip) -> None:
    interrupt_later(chip)
    chip.play(WFI, steps=1)
    before = chip.now
    assert chip.machine.run(until_tick=before + 50) is End.DEADLINE
    assert (chip.now, chip.machine.sleeping) == (before + 50, "wfi")
