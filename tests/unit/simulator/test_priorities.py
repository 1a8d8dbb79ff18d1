"""Priorities of exceptions, and the masks of both security states.

Against the rules of the architecture: Armv8-M ARM, ExceptionPriority and ExecutionPriority.
"""

from __future__ import annotations

from dataclasses import dataclass

from bare_chip import BareChip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base import native
from harness.base.exceptions import FIRST_IRQ, SYSTICK
from harness.simulator.nvic import NONSECURE, NvicRegisters
from harness.simulator.unicorn import Reg

AIRCR, KEY = 0xE000_ED0C, 0x05FA_0000
MASKS = [int(register) for register in (Reg.PRIMASK, Reg.FAULTMASK, Reg.BASEPRI)]
quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@given(
    value=st.integers(0, 7).map(lambda n: n << 5),
    group=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    squashed=st.booleans(),
    nonsecure=st.booleans(),
)
def test_a_group_priority_follows_the_architecture(
    value: int, group: tuple[int, int], squashed: bool, nonsecure: bool
) -> None:
    nvic = native.load().Nvic(65, 3)
    for state in (False, True):
        nvic.set_group(group[state], state)
    nvic.squashed = squashed
    NvicRegisters(nvic, nonsecure=False).write(0x380, nonsecure << 5)
    nvic.set_priority(FIRST_IRQ + 5, value)
    expected = value - value % (2 << group[nonsecure])
    if nonsecure and squashed:
        expected = expected // 2 + 0x80
    assert nvic.group_priority(FIRST_IRQ + 5) == expected


@dataclass(frozen=True)
class Masks:
    """PRIMASK, FAULTMASK and BASEPRI of one security state."""

    primask: bool
    faultmask: bool
    basepri: int

    def boost(self, *, nonsecure: bool, pris: bool, bfhfnmins: bool) -> int:
        """The priority that they boost to, 256 for none (Armv8-M ARM, ExecutionPriority)."""
        squashed = nonsecure and pris
        found = [256]
        if self.basepri:
            found.append(self.basepri // 2 + 0x80 if squashed else self.basepri)
        if self.primask:
            found.append(0x80 if squashed else 0)
        if self.faultmask and nonsecure:
            found.append(-1 if bfhfnmins else 0x80 if pris else 0)
        elif self.faultmask:
            found.append(-3 if bfhfnmins else -1)
        return min(found)


masks = st.builds(Masks, st.booleans(), st.booleans(), st.integers(0, 7).map(lambda n: n << 5))


@quick
@given(
    both=st.tuples(masks, masks),
    pris=st.booleans(),
    bfhfnmins=st.booleans(),
    nonsecure=st.booleans(),
)
def test_the_masks_of_both_states_apply_in_either_state(
    chip: BareChip, both: tuple[Masks, Masks], pris: bool, bfhfnmins: bool, nonsecure: bool
) -> None:
    chip.divide()
    chip.write(AIRCR, KEY | pris << 14 | bfhfnmins << 13)
    core = chip.machine.core
    for one in both:
        core.write_many(MASKS, (one.primask, one.faultmask, one.basepri))
        core.change_state()
    expected = min(
        one.boost(nonsecure=bool(state), pris=pris, bfhfnmins=bfhfnmins)
        for state, one in enumerate(both)
    )
    if nonsecure:
        core.change_state()
    assert core.priority() == expected
    if nonsecure:
        core.change_state()


def test_of_equal_priorities_the_secure_exception_is_first() -> None:
    nvic = native.load().Nvic(65, 3)
    nvic.pend(SYSTICK | NONSECURE)
    nvic.pend(SYSTICK)
    assert nvic.best() == SYSTICK
    nvic.set_priority(SYSTICK, 0x20)
    assert nvic.best() == SYSTICK | NONSECURE
