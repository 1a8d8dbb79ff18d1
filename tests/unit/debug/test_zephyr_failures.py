"""Reports on failing Zephyr applications (tests/firmware/zephyr)."""

from __future__ import annotations

from pathlib import Path

import needs
import pytest

from harness.case import Case, run_case

#: An image called failures-SCENARIO.elf, of Zephyr 3.7.1 with CONFIG_HW_STACK_PROTECTION=y.

TOLD = {
    "NULL_CALL": (
        "UsageFault (INVSTATE): a null function pointer is called", "; at read_sensor",
        "(the caller; pc is 0x00000000), called from work",
    ),
    "PANIC": (
        "the image ended in z_fatal_error, called from z_arm_svc",
        "in the handler of SVCall, which interrupted give_up at main.c:", "called from work",
    ),
    "ASSERTION": (
        "ASSERTION FAIL [level < limit] @", "level 100 is above 50", "called from check_level",
    ),
    "OVERFLOW": (
        "UsageFault (STKOF) at sum at main.c:", "; stack overflow of worker_stack (1,024 bytes",
    ),
    "DEADLOCK": (
        "thread worker waits in k_mutex_lock at mutex.c:", " for right, which thread main holds",
        "thread main waits in k_mutex_lock at mutex.c:", " for left, which thread worker holds",
    ),
    "SPIN": ("pc is in wait_ready", "called from work at main.c:"),
    "ISR_FAULT": (
        "BusFault (PRECISERR, BFARVALID)", " at divide at main.c:",
        "called from handler at main.c:",
        "in the handler of RTC0 (IRQ20), which interrupted k_busy_wait at ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("scenario", TOLD)
def test_a_failure_has_place_callers_and_thread(scenario: str, tmp_path: Path) -> None:
    elf = Path(needs.require("zephyr images"), f"failures-{scenario}.elf")
    result = run_case(Case(scenario, elf=elf, timeout=1.0), tmp_path)
    told = "\n".join([result.reason, *map(str, result.findings)])
    for words in (*TOLD[scenario], "thread worker"):
        assert words in told
