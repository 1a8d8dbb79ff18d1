"""The measured cost of each operator: the image built without it, compared with reachability.

The figures differ by what else changes in a build without the operator: the call that registered
it, alignment, functions that the compiler inlines once they have a single caller. If they differ by
more than the bound, the symbols that changed outside the operator are listed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.regions import RAM
from harness.footprint.analysis import Footprint, analyse
from harness.footprint.compare import Change, compare
from harness.footprint.operators import BOUND_BYTES, BOUND_SHARE, agree

_log = logging.getLogger(__name__)

#: Builds a sample with exactly these operators and returns the ELF.
Build = Callable[[Sequence[str]], Path]

#: Most symbols outside of an operator that a JSON document lists.
_SHOWN = 8


@dataclass(frozen=True)
class Marginal:
    """One operator: its flash by reachability (``exclusive``) and by measurement (``measured``).

    ``alone`` is its cost in an image without any other, by reachability; ``elsewhere`` are changes
    of symbols that are not the operator's, largest first.
    """

    operator: str
    exclusive: int
    alone: int
    measured: int
    ram: int
    elsewhere: tuple[Change, ...]

    @property
    def difference(self) -> int:
        """Measured minus reachable bytes."""
        return self.measured - self.exclusive

    @property
    def agrees(self) -> bool:
        """True if the two figures agree within the bound."""
        return agree(self.exclusive, self.measured)

    @property
    def why(self) -> str:
        """The largest causes of the difference, in one line."""
        named = [f"{c.name} {-c.difference:+,} B" for c in self.elsewhere[:3]]
        return "; ".join(named) if named else "alignment"

    def to_json(self) -> dict[str, Any]:
        """One row of the ``leave_one_out`` list."""
        row = {**asdict(self), "difference": self.difference, "agrees": self.agrees}
        row["elsewhere"] = [change.to_json() for change in self.elsewhere[:_SHOWN]]
        return {**row, "why": self.why}


@dataclass(frozen=True)
class LeaveOneOut:
    """The operators of one sample; ``none`` is the image's flash without any of them.

    ``together`` is the flash of all of them by reachability, ``ram`` their measured RAM.
    """

    sample: str
    flash: int
    none: int
    together: int
    ram: int
    rows: tuple[Marginal, ...]

    @property
    def agrees(self) -> bool:
        """True if both figures of all operators together agree within the bound."""
        return agree(self.together, self.flash - self.none, len(self.rows))

    def to_json(self) -> dict[str, Any]:
        """The ``leave_one_out`` part of the document."""
        return {
            "sample": self.sample,
            "flash": self.flash,
            "without_any": self.none,
            "together_measured": self.flash - self.none,
            "together_reachable": self.together,
            "together_ram": self.ram,
            "bound_bytes": BOUND_BYTES,
            "bound_share": BOUND_SHARE,
            "together_agrees": self.agrees,
            "sum_of_exclusive": sum(row.exclusive for row in self.rows),
            "sum_of_alone": sum(row.alone for row in self.rows),
            "operators": [row.to_json() for row in self.rows],
        }


def leave_one_out(
    sample: str,
    operators: Sequence[str],
    build: Build,
    *,
    kept: Sequence[str] = (),
) -> LeaveOneOut:
    """Build ``sample`` with all of ``operators``, without any, and without each in turn.

    ``kept`` are operators of every build. Raises :class:`UsageError` for an empty list, and the
    errors of ``build``.
    """
    if not operators:
        raise UsageError(f"{sample} has no operators to leave out")
    always = [name for name in kept if name not in operators]
    _log.info("building %s with %d operators", sample, len(operators))
    whole = analyse(Image.from_elf(build([*always, *operators])))
    _log.info("building %s without any", sample)
    none = analyse(Image.from_elf(build(always)))
    rows = []
    for operator in operators:
        _log.info("building %s without %s", sample, operator)
        rest = [name for name in operators if name != operator]
        rows.append(_row(operator, whole, analyse(Image.from_elf(build([*always, *rest])))))
    together = whole.operators.together_of([*always, *operators])
    together -= none.operators.together_of(always)
    return LeaveOneOut(sample, _flash(whole), _flash(none), together, _ram(whole) - _ram(none),
                       tuple(rows))  # fmt: skip


def _row(operator: str, whole: Footprint, without: Footprint) -> Marginal:
    cost = next((c for c in whole.operators.operators if c.operator == operator), None)
    members = {member.name for member in cost.members} if cost else set()
    literals = sum(m.bytes for m in cost.members if m.name.startswith('"')) if cost else 0
    changes = compare(without.to_json(), whole.to_json())
    elsewhere = tuple(
        change
        for change in (_net(change, literals) for change in changes.symbols)
        if change.name not in members and change.difference
    )
    return Marginal(
        operator,
        cost.exclusive if cost else 0,
        cost.alone if cost else 0,
        _flash(whole) - _flash(without),
        _ram(whole) - _ram(without),
        elsewhere,
    )


def _net(change: Change, literals: int) -> Change:
    """A change of the string literals without the operator's own ``literals`` (bytes)."""
    if change.name != "(string literals)":
        return change
    return replace(change, after=change.after - literals)


def _flash(footprint: Footprint) -> int:
    return sum(r.used for r in footprint.regions if r.origin not in RAM)


def _ram(footprint: Footprint) -> int:
    return sum(r.used for r in footprint.regions if r.origin in RAM)
