"""Opening a session on a target, and running on one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeVar

from harness.base.closing import Closing
from harness.elf import Image
from harness.targets.registry import target
from harness.targets.session import Session

Result = TypeVar("Result")


def open_target(name: str, image: Image, **options: object) -> Session:
    """Open a session on the target called ``name``.

    Raises :class:`UsageError` for an unknown name, :class:`EnvironmentMissing` if
    this machine has no such target.
    """
    module = import_module(target(name).module)
    session: Session = module.open(image, **options)
    return session


def run_on_target(
    name: str, image: Image, action: Callable[[Session], Result], **options: object
) -> Result:
    """The result of ``action`` on a session that is opened for it and closed afterwards.

    A board that fails, in the middle of ``action`` too, is tried again from the start as its lab
    file allows, so ``action`` must begin anew at each call. A session that the caller keeps open
    (:func:`open_target`) cannot be tried again.

    Raises the errors of :func:`open_target` and ``action``.
    """
    row = target(name)
    module = import_module(row.module)
    if row.retried:
        result: Result = module.run(image, action, **options)
        return result
    with module.open(image, **options) as session:
        return action(session)


class TargetPools(Closing):
    """The pools of one run: one for each target that has one, so that each is started once."""

    def __init__(self) -> None:
        self._pools: dict[str, Closing | None] = {}

    def options(self, name: str, options: Mapping[str, object]) -> dict[str, object]:
        """``options`` for :func:`open_target`, with the pool of target ``name``."""
        if name not in self._pools:
            self._pools[name] = target(name).make_pool()
        pool = self._pools[name]
        return dict(options) if pool is None else {**options, "pool": pool}

    def close(self) -> None:
        """Close every pool; safe to call twice."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            if pool is not None:
                pool.close()
