"""A study, its units of work, and the worker's side of them.

A unit names its blobs (an image, a snapshot) by content hash, and a worker caches them. A worker
without a blob replies with its hash, and gets the unit again with the blob.

A unit names the code that may carry it out. A worker of other code only replies with its identity.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from harness.base.code_identity import CodeIdentity, code_identity
from harness.base.errors import EnvironmentMissing

#: Carries out a unit and returns its rows.
Perform = Callable[["WorkUnit"], Sequence[Any]]
#: Called once per worker, with a study's parameters and its blobs by name.
Open = Callable[[Any, Mapping[str, bytes]], AbstractContextManager[Perform]]


@dataclass(frozen=True)
class WorkUnit:
    """A slice of a study: ``count`` items from ``first`` on."""

    number: int
    first: int
    count: int


@dataclass(frozen=True)
class Study:
    """A study of ``items`` items, ``each`` of them per unit.

    ``open`` must be a function of a module (workers import it), ``parameters`` a JSON document.
    ``open(parameters, blobs)`` returns a context manager; its value returns the rows (JSON types)
    of a unit, which may depend on parameters, blobs and the unit alone.
    """

    open: Open
    parameters: Any
    blobs: Mapping[str, bytes] = field(repr=False)
    items: int
    each: int

    @property
    def units(self) -> tuple[WorkUnit, ...]:
        """The units, in order."""
        starts = range(0, self.items, self.each)
        return tuple(
            WorkUnit(number, first, min(self.each, self.items - first))
            for number, first in enumerate(starts)
        )

    @property
    def fingerprint(self) -> str:
        """A hash of everything on which a unit's rows depend: not of the number of units."""
        work = [f"{self.open.__module__}.{self.open.__qualname__}", self.parameters, self.each]
        hashes = {name: content_hash(data) for name, data in self.blobs.items()}
        return content_hash(json.dumps([work, hashes], sort_keys=True).encode())


@dataclass(frozen=True)
class Task:
    """A unit as sent to a worker: with the names and hashes of its blobs, not their bytes."""

    code: CodeIdentity
    open: Open
    parameters: str
    blobs: tuple[tuple[str, str], ...]
    unit: WorkUnit


@dataclass(frozen=True)
class Reply:
    """A worker's reply: packed rows, or the hashes of missing blobs.

    It has neither if ``code`` is not that of the task.
    """

    unit: WorkUnit
    worker: str
    code: CodeIdentity | None = None  # None: of an older tflm-hil
    rows: bytes = b""
    missing: tuple[str, ...] = ()


def content_hash(data: bytes) -> str:
    """The SHA-256 of ``data``, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def packed(rows: Sequence[Any]) -> bytes:
    """Pack rows for sending and storing; equal rows give equal bytes."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("ascii"), 1)


def unpacked(data: bytes) -> list[Any]:
    """The rows of :func:`packed`, as JSON types."""
    rows: list[Any] = json.loads(zlib.decompress(data))
    return rows


class _WorkerState(threading.local):
    """The state of one worker (a process, or a thread of one) between units."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.key: object = None
        self.opened: AbstractContextManager[Perform] | None = None
        self.perform: Perform | None = None

    def performer(self, task: Task) -> Perform:
        """The function for units of the task's study; close any other study first."""
        key = (task.open, task.parameters, task.blobs)
        if self.perform is None or key != self.key:
            self.close()
            self.blobs = {digest: self.blobs[digest] for _, digest in task.blobs}
            blobs = {name: self.blobs[digest] for name, digest in task.blobs}
            opened = task.open(json.loads(task.parameters), blobs)
            self.perform, self.opened, self.key = opened.__enter__(), opened, key
        return self.perform

    def close(self) -> None:
        """Close the open study, if there is one."""
        if self.opened is not None:
            self.opened.__exit__(None, None, None)
        self.opened = self.perform = self.key = None


@cache
def _state() -> _WorkerState:
    return _WorkerState()


def close_worker() -> None:
    """Close the study of this worker and forget its blobs."""
    _state().close()
    _state().blobs.clear()


def perform(task: Task, blobs: Mapping[str, bytes]) -> Reply:
    """Carry out one unit in a worker; ``blobs``, by hash, are kept for later units.

    Raises :class:`EnvironmentMissing`, with the worker's name, instead of an OSError: the
    dispatcher takes that for a lost worker.
    """
    state = _state()
    state.blobs.update(blobs)
    code = code_identity()
    worker = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    if code != task.code:
        return Reply(task.unit, worker, code)
    missing = tuple(digest for _, digest in task.blobs if digest not in state.blobs)
    if missing:
        return Reply(task.unit, worker, code, missing=missing)
    try:
        return Reply(task.unit, worker, code, packed(state.performer(task)(task.unit)))
    except (OSError, ImportError) as error:
        raise EnvironmentMissing(f"worker {worker}: {error}") from error
