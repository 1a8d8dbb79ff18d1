"""Dispatch a study: send its units to workers, store the results, send lost units again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from harness.base.code_identity import code_identity
from harness.base.errors import EnvironmentMissing
from harness.studies.store import ResultStore
from harness.studies.study import Reply, Study, Task, WorkUnit, content_hash, perform, unpacked
from harness.studies.workers import SAME_CODE, Workers, check_code

#: Units in flight beyond one per worker, so that no worker waits for the dispatcher.
_QUEUED = 2
#: Losses of workers in a row, without a result in between, after which the study is given up.
_MOST_LOSSES = 5
#: Seconds between checks that units in flight can still return.
_POLL_SECONDS = 1.0

#: Called with the rows of each unit, in the order of the units; True ends the study after it.
Consume = Callable[[Sequence[Any]], bool]


@dataclass(frozen=True)
class Progress:
    """The progress of a study."""

    items: int  # finished items
    of: int  # all items
    stored: int  # items that were finished before the start
    lost: int  # losses of workers


def carry_out(
    study: Study,
    store: ResultStore,
    workers: Workers,
    *,
    consume: Consume = lambda rows: False,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> int:
    """Carry out the units that ``store`` does not have; return the number of units in the result.

    These are all units, or those up to the one for which ``consume`` returned True; the order in
    which units finish does not matter. Raises :class:`EnvironmentMissing` if workers are lost again
    and again, or one runs other code.
    """
    return _Dispatcher(study, store, workers, consume, progress).run()


class _Dispatcher:
    def __init__(
        self,
        study: Study,
        store: ResultStore,
        workers: Workers,
        consume: Consume,
        progress: Callable[[Progress], None],
    ) -> None:
        self._store, self._workers = store, workers
        self._consume, self._progress = consume, progress
        self._study, self._units = study, study.units
        self._by_hash = {content_hash(data): data for data in study.blobs.values()}
        self._names = tuple((name, content_hash(data)) for name, data in study.blobs.items())
        self._parameters = json.dumps(study.parameters)
        self._in_flight: dict[Future[Reply], WorkUnit] = {}
        self._next = 0  # number of the next unit to consume
        self._lost = self._losses = 0  # losses of workers: in all, and since the last result
        done = store.done()
        # A stored unit was shorter if it was the last one of a smaller study: it is done again.
        self._done = {unit.number for unit in self._units if done.get(unit.number) == unit.count}
        self._waiting = [unit for unit in reversed(self._units) if unit.number not in self._done]
        self._stored = self._items()

    def run(self) -> int:
        """Run to the end; see :func:`carry_out`."""
        if self._consume_done():
            return self._next
        try:
            while self._waiting or self._in_flight:
                self._send()
                done, _ = wait(self._in_flight, _POLL_SECONDS, FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: self._in_flight[future].number):
                    self._receive(future)
                if self._consume_done():
                    break
                if not done and not self._workers.healthy():
                    self._recover()
        finally:
            for future in self._in_flight:
                future.cancel()
        return self._next

    def _send(self) -> None:
        while self._waiting and len(self._in_flight) < self._workers.count + _QUEUED:
            self._submit(self._waiting.pop(), {})

    def _submit(self, unit: WorkUnit, blobs: Mapping[str, bytes]) -> None:
        task = Task(code_identity(), self._study.open, self._parameters, self._names, unit)
        try:
            future = self._workers.executor.submit(perform, task, blobs)
        except self._workers.lost as error:
            self._waiting.append(unit)
            self._recover(error)
            return
        self._in_flight[future] = unit

    def _receive(self, future: Future[Reply]) -> None:
        unit = self._in_flight.pop(future, None)
        if unit is None:  # lost together with others, and waiting again
            return
        try:
            reply = future.result()
        except self._workers.lost as error:
            self._waiting.append(unit)
            self._recover(error)
            return
        except ImportError as error:
            raise EnvironmentMissing(f"a worker: {error}", hint=SAME_CODE) from error
        check_code(reply.worker, reply.code)
        if reply.missing:
            self._submit(unit, {digest: self._by_hash[digest] for digest in reply.missing})
            return
        self._losses = 0
        self._store.put(unit.number, unit.count, reply.rows)
        self._done.add(unit.number)
        if unit.number == self._next < len(self._units):
            self._consume_next(unpacked(reply.rows))
        self._report()

    def _items(self) -> int:
        return min(len(self._done) * self._study.each, self._study.items)

    def _report(self) -> None:
        progress = Progress(self._items(), self._study.items, self._stored, self._lost)
        self._progress(progress)

    def _consume_next(self, rows: Sequence[Any]) -> None:
        self._next += 1
        if self._consume(rows):
            self._units = self._units[: self._next]

    def _consume_done(self) -> bool:
        """Consume finished units up to the first unfinished one; return whether none is left."""
        while self._next < len(self._units) and self._next in self._done:
            self._consume_next(self._store.rows(self._next))
        return self._next >= len(self._units)

    def _recover(self, error: BaseException | None = None) -> None:
        """The lost units in flight to the waiting ones, and restart the workers."""
        self._lost += 1
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise EnvironmentMissing(
                f"workers are lost again and again: {error or 'the scheduler is gone'}",
                hint="is there memory for so many workers? --workers 1 shows a worker's own error",
            ) from error
        self._waiting += sorted(self._in_flight.values(), key=lambda unit: -unit.number)
        for future in self._in_flight:
            future.cancel()
        self._in_flight.clear()
        self._workers.executor = self._workers.restart()
