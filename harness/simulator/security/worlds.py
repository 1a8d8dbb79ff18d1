"""The security state that runs, and the parts of the processor that exist once per state.

Unicorn's core is always in secure state. The counting core exchanges the registers that both states
have (stack pointers and their limits, CONTROL, the masks); MPU, SCB and SysTick are two instances
of one class each; the page rights follow :class:`Attribution`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.simulator.counting import NO_PRIORITY
from harness.simulator.engine import Engine
from harness.simulator.library import Reg
from harness.simulator.mpu import Mpu
from harness.simulator.nvic import SQUASHED, NvicRegisters
from harness.simulator.scb import Scb, Shared
from harness.simulator.security.attribution import Attribution
from harness.simulator.systick import SysTick

if TYPE_CHECKING:
    from harness.simulator._native import Nvic

#: Names of the security states, by Worlds.nonsecure.
NAMES = ("secure", "non-secure")
SFPA = 8  # CONTROL


@dataclass(frozen=True)
class World:
    """The processor's own blocks of one security state."""

    scb: Scb
    mpu: Mpu
    systick: SysTick
    nvic: NvicRegisters


class Worlds:
    """The two security states, and which of them runs; index 0 is the secure one."""

    def __init__(
        self, engine: Engine, nvic: Nvic, worlds: tuple[World, World], attribution: Attribution
    ) -> None:
        self._core, self._nvic = engine.core, nvic
        self._worlds = worlds
        self.attribution = attribution
        self.shared: Shared = worlds[0].scb.shared
        self._fp_allowed = [False, False]
        self._core.fp_disabled = True
        self.nonsecure = False
        #: True once anything belongs to the non-secure state.
        self.divided = False
        #: The blocks of the state that runs.
        self.now = worlds[0]

    def reset(self) -> None:
        """The core comes out of reset in the secure state."""
        self.nonsecure = self._core.nonsecure = False
        self.now = self._worlds[0]
        self.attribution.reset()
        self.update_fp_access()
        self.update()
        self._core.synchronize()

    def of(self, exception: int) -> World:
        """The blocks of the state that an exception is taken to."""
        return self._worlds[self._nvic.is_nonsecure(exception)]

    def __getitem__(self, nonsecure: bool) -> World:
        return self._worlds[nonsecure]

    @property
    def plain_frames(self) -> bool:
        """False if frames of the running state hold all 32 FP registers (FPCCR.TS)."""
        return self._core.plain_frames

    # the state

    def change(self) -> None:
        """Go on in the other state; the secure one is entered without an FP context.

        While non-secure code runs, Unicorn's SFPA stays set, so that its FP context is kept.
        """
        core = self._core
        core.change_world()
        self.nonsecure = core.nonsecure
        self.now = self._worlds[self.nonsecure]
        core.fp_disabled = not self._fp_allowed[self.nonsecure]
        if self.nonsecure and not self.attribution.restricted:
            self.attribution.update(self.shared.sau_ctrl, nonsecure=True)
        self.attribution.enforce(nonsecure=self.nonsecure)
        self.update()
        core.synchronize()
        control = core.read(Reg.CONTROL)
        core.write(Reg.CONTROL, control & ~SFPA | SFPA * self.nonsecure)

    def update(self) -> None:
        """Find the priorities that the masks of both states boost to (Armv8-M ARM,
        ExecutionPriority).
        """
        core, nvic = self._core, self._nvic
        self.divided = self.attribution.divided
        self._core.plain_frames = self.nonsecure or not self._worlds[0].scb.clears_fp
        core.primask_priority, core.faultmask_priority = self._boosts(self.nonsecure)
        primask, faultmask, basepri, _ = core.other()
        other = not self.nonsecure
        boosts = self._boosts(other)
        now = boosts[0] if primask else NO_PRIORITY
        now = min(now, boosts[1] if faultmask else NO_PRIORITY)
        base = basepri & nvic.group_mask(other)
        if base:
            now = min(now, (base >> 1) + SQUASHED if other and nvic.squashed else base)
        core.other_priority = now

    def _boosts(self, nonsecure: bool) -> tuple[int, int]:
        """The priorities that PRIMASK and FAULTMASK of a state boost to."""
        nvic = self._nvic
        if not nonsecure:
            return 0, -3 if nvic.faults_nonsecure else -1
        low = SQUASHED if nvic.squashed else 0
        return low, -1 if nvic.faults_nonsecure else low

    def update_fp_access(self) -> None:
        """CPACR, NSACR or FPCCR changed: whether floating-point instructions may run."""
        self._core.plain_frames = self.nonsecure or not self._worlds[0].scb.clears_fp
        allowed = [world.scb.fp_allowed for world in self._worlds]
        if allowed != self._fp_allowed:
            self._fp_allowed = allowed
            self._core.fp_disabled = not allowed[self.nonsecure]
            self._core.invalidate()

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {"nonsecure": self.nonsecure, "divided": self.attribution.divided}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave; all blocks and the SPU are back already."""
        attribution, sau_ctrl = self.attribution, self.shared.sau_ctrl
        changed = state != self.state() or attribution.sau_ctrl != sau_ctrl
        self.nonsecure = self._core.nonsecure = state["nonsecure"]
        self.now = self._worlds[self.nonsecure]
        self.update_fp_access()
        self._core.fp_disabled = not self._fp_allowed[self.nonsecure]
        if changed:
            attribution.divided = state["divided"]
            attribution.update(sau_ctrl, nonsecure=self.nonsecure)
        self.update()
        self._core.synchronize()
