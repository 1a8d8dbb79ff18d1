"""What the sessions of one run share, so that it is started once and ended with the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.targets.closing import Closing

if TYPE_CHECKING:
    from harness.targets.renode.pool import RenodePool


class Shared(Closing):
    """Renode, today: one process serves all cases of a run. A context manager."""

    def __init__(self) -> None:
        self._renodes: RenodePool | None = None

    def options(self, target: str, options: Mapping[str, object]) -> dict[str, object]:
        """``options`` for :func:`harness.targets.open`, with what ``target`` shares."""
        if target != "renode":
            return dict(options)
        from harness.targets.renode.pool import RenodePool  # noqa: PLC0415  only where it is used

        self._renodes = self._renodes or RenodePool()
        return {**options, "pool": self._renodes}

    def close(self) -> None:
        """End what was started; safe to call twice."""
        renodes, self._renodes = self._renodes, None
        if renodes is not None:
            renodes.close()
