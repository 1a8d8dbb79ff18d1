"""Pools that the sessions of one run share, so that each is started once."""

from __future__ import annotations

from collections.abc import Mapping

from harness.closing import Closing
from harness.targets.registry import target


class Shared(Closing):
    """One pool for each target that has one (one Renode serves all cases of a run)."""

    def __init__(self) -> None:
        self._pools: dict[str, Closing | None] = {}

    def options(self, name: str, options: Mapping[str, object]) -> dict[str, object]:
        """``options`` for :func:`harness.targets.open_target`, with the pool of target ``name``."""
        if name not in self._pools:
            self._pools[name] = target(name).make_pool()
        pool = self._pools[name]
        return dict(options) if pool is None else {**options, "pool": pool}

    def close(self) -> None:
        """End what was started; safe to call twice."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            if pool is not None:
                pool.close()
