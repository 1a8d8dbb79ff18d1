"""Which interrupt a core at rest masks, from what the agent reads of the core and its NVIC."""

from __future__ import annotations

from dataclasses import dataclass

from harness.base.exceptions import peripheral_of
from harness.base.masked import Masks, not_enabled
from harness.base.platforms import ChipTable

#: Models whose interrupts may come from outside.
_LISTENING = ("uarte", "gpiote")


@dataclass(frozen=True)
class Waiting:
    """An exception that is pending, to come, or enabled."""

    number: int
    priority: int
    pending: bool
    coming: bool
    enabled: bool


@dataclass(frozen=True)
class Rest:
    """A core at rest: its masks, and the exceptions that wait or may come.

    ``time`` is in seconds of virtual time.
    """

    pc: int
    masks: Masks
    waiting: tuple[Waiting, ...]
    time: float

    @classmethod
    def from_text(cls, text: str, time: float) -> Rest:
        """Decode a ``rest`` line of the agent (agent/rest.py, Rest.told)."""
        pc, faultmask, primask, basepri, running, waits, *exceptions = text.split(" ")
        masks = Masks(
            faultmask == "1", primask == "1", int(basepri, 16), int(running, 16), waits.strip("-")
        )
        return cls(int(pc, 16) & ~1, masks, tuple(map(_waiting, exceptions)), time)

    def ignored(self, chip: ChipTable) -> str:
        """Why an interrupt that is or will be pending does not end the rest; "" without one."""
        return self._masked(chip) or self._disabled(chip)

    def cause(self, chip: ChipTable) -> str:
        """The same, if nothing from outside may end the rest."""
        return self._masked(chip) or ("" if self._listens(chip) else self._disabled(chip))

    def _masked(self, chip: ChipTable) -> str:
        """What masks the interrupt that is pending first, or one that is to come; ""."""
        pending = [one for one in self.waiting if one.pending and one.enabled]
        if pending:
            first = min(pending, key=lambda one: (one.priority, one.number))
            return self.masks.of_pending(first.number, chip, priority=first.priority)
        coming = (one for one in self.waiting if one.coming and one.enabled)
        found = (self.masks.of_coming(one.number, chip, priority=one.priority) for one in coming)
        return next(filter(None, found), "")

    def _disabled(self, chip: ChipTable) -> str:
        """An interrupt that is pending, or to come, and not enabled; "" without one.

        Not of a UARTE: firmware that polls it may set INTEN for WFE alone.
        """
        for one in self.waiting:
            if not one.enabled and _model(one, chip) != "uarte":
                return not_enabled(one.number, chip, pending=one.pending)
        return ""

    def _listens(self, chip: ChipTable) -> bool:
        """Whether an interrupt is enabled that input or a pin may cause."""
        return any(one.enabled and _model(one, chip) in _LISTENING for one in self.waiting)


def _waiting(text: str) -> Waiting:
    number, priority, *states = (int(word, 16) for word in text.split(":"))
    return Waiting(number, priority, *map(bool, states))


def _model(one: Waiting, chip: ChipTable) -> str:
    """The model of the peripheral whose interrupt it is."""
    name = peripheral_of(one.number, chip)
    return next((block.model for block in chip.blocks if block.name == name), "")
