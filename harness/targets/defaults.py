"""Defaults of a session: abilities that its target lacks raise Unsupported."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.errors import Unsupported
from harness.elf.coverage import Coverage
from harness.targets.base import Stop
from harness.targets.calls import Call
from harness.targets.pins import Pins
from harness.targets.registry import Ability, who_can


class SessionDefaults(Closing):
    """The abilities of :class:`~harness.targets.base.Session` that not every target has.

    A session overrides those of its target.
    """

    @property
    @abstractmethod
    def target(self) -> str:
        """The target's name."""

    def profile(self) -> None:
        """Count from here on. Raises :class:`Unsupported` if nothing is counted."""
        self._cannot(Ability.TRACE)

    def coverage(self) -> Coverage:
        """Coverage since then. Raises :class:`Unsupported` if nothing is counted."""
        self._cannot(Ability.TRACE)

    @property
    def registers(self) -> Mapping[str, int]:
        """r0 to r12, sp, lr, pc, xpsr. Raises :class:`Unsupported` if they cannot be read."""
        self._cannot(Ability.STEP)

    def watch_calls(self, addresses: Iterable[int]) -> None:
        """Note calls from here on. Raises :class:`Unsupported` if the target sees none."""
        self._cannot(Ability.STEP)

    @property
    def calls(self) -> Sequence[Call]:
        """Calls of watched functions."""
        return ()

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Run to ``address``. Raises :class:`Unsupported` if a run cannot stop there."""
        self._cannot(Ability.STEP)

    @property
    def pins(self) -> Pins:
        """Port 0 from outside. Raises :class:`Unsupported` if it cannot be reached."""
        self._cannot(Ability.PINS)

    def _cannot(self, ability: Ability) -> NoReturn:
        raise Unsupported(
            self.target, ability.value, hint=f"--target {' or '.join(who_can(ability))} can"
        )
