"""Which interrupt a core at rest masks, from the line of the agent."""

import pytest

from harness.base.platforms import chip_table
from harness.targets.renode.resting import Rest

CHIP = chip_table("nrf9160")
TIMER0, EGU0, UARTE0, GPIOTE0 = 16 + 15, 16 + 27, 16 + 8, 16 + 13
PENDING, COMING, ENABLED = (1, 0, 1), (0, 1, 1), (0, 0, 1)
#: FAULTMASK, PRIMASK, BASEPRI, IPSR, instruction; the exceptions; what is said.
TOLD = {
    "nothing waits": ("0 0 0 0 WFI", [], ""),
    "enabled, and not pending": ("0 1 40 0 WFI", [(EGU0, 64, ENABLED)], ""),
    "FAULTMASK": (
        "1 1 0 0 WFI", [(EGU0, 0, PENDING)],
        "EGU0 (IRQ27) is pending, and FAULTMASK is set, which no interrupt preempts",
    ),
    "PRIMASK in a loop": (
        "0 1 0 0 -", [(EGU0, 0, PENDING)],
        "EGU0 (IRQ27) is pending, and PRIMASK is set: it ends each WFI, and its handler never runs",
    ),
    "PRIMASK in WFE": (
        "0 1 0 0 WFE", [(EGU0, 0, PENDING)],
        "EGU0 (IRQ27) is pending, and PRIMASK is set: it ends no WFE without SCR.SEVONPEND",
    ),
    "BASEPRI": (
        "0 0 40 0 WFI", [(EGU0, 64, PENDING)],
        "EGU0 (IRQ27) is pending, and BASEPRI 0x40 masks its priority",
    ),
    "BASEPRI of one to come": (
        "0 0 40 0 WFI", [(TIMER0, 32, COMING), (EGU0, 64, COMING)],
        "EGU0 (IRQ27) will be pending, and BASEPRI 0x40 masks its priority",
    ),
    "the more urgent one of two": (
        "0 0 20 0 WFI", [(TIMER0, 96, PENDING), (EGU0, 64, PENDING)],
        "EGU0 (IRQ27) is pending, and BASEPRI 0x20 masks its priority",
    ),
    "a handler": (
        f"0 0 0 {TIMER0:x} WFI", [(15, 64, PENDING)],
        "SysTick is pending, and its priority is not above that of TIMER0 (IRQ15), whose handler "
        "runs",
    ),
    "not enabled": (
        "0 0 0 0 WFI", [(EGU0, 0, (1, 0, 0))],
        "EGU0 (IRQ27) is pending, and not enabled in the NVIC",
    ),
    "to come, and not enabled": (
        "0 0 0 0 WFI", [(TIMER0, 0, (0, 1, 0))],
        "TIMER0 (IRQ15) will be pending, and is not enabled in the NVIC",
    ),
    "a UARTE that is polled": ("0 0 0 0 WFI", [(UARTE0, 0, (1, 0, 0))], ""),
}  # fmt: skip


def rest(masks, *waiting):
    words = (f"{one:x}:{priority:x}:{':'.join(map(str, it))}" for one, priority, it in waiting)
    return Rest.from_text(" ".join(("1a2", masks, *words)), time=1.0)


@pytest.mark.parametrize(("masks", "waiting", "told"), TOLD.values(), ids=TOLD)
def test_the_sentence_names_what_masks_the_interrupt(masks, waiting, told):
    assert rest(masks, *waiting).ignored(CHIP) == told
    assert rest(masks, *waiting).cause(CHIP) == told


def test_one_that_is_not_enabled_is_no_cause_while_a_pin_may_end_the_rest():
    found = rest("0 0 0 0 WFI", (GPIOTE0, 0, ENABLED), (EGU0, 0, (1, 0, 0)))
    assert found.ignored(CHIP) == "EGU0 (IRQ27) is pending, and not enabled in the NVIC"
    assert found.cause(CHIP) == ""
