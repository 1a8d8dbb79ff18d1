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


class Targets(Closing):
    """The door to the targets: opens sessions and runs on them.

    Each target that has a pool is started once, and shared by all sessions until :meth:`close`.
    """

    def __init__(self) -> None:
        self._pools: dict[str, Closing | None] = {}

    def open(self, name: str, image: Image, options: Mapping[str, object]) -> Session:
        """Open a session, as :func:`open_target` does."""
        return open_target(name, image, **self.with_pool(name, options))

    def run(
        self,
        name: str,
        image: Image,
        action: Callable[[Session], Result],
        options: Mapping[str, object],
    ) -> Result:
        """The result of ``action`` on a session that is opened for it and closed afterwards.

        A board that fails, in the middle of ``action`` too, is tried again from the start as its
        lab file allows, so ``action`` must begin anew at each call. A session that the caller keeps
        open (:meth:`open`) cannot be tried again.

        Raises the errors of :func:`open_target` and ``action``.
        """
        row, given = target(name), self.with_pool(name, options)
        module = import_module(row.module)
        if row.retried:
            result: Result = module.run(image, action, **given)
            return result
        with module.open(image, **given) as session:
            return action(session)

    def with_pool(self, name: str, options: Mapping[str, object]) -> dict[str, object]:
        """``options`` with the pool of target ``name``, if it has one."""
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
