"""A unit of work, and what a worker does with it.

A unit names its parcels (an image, a snapshot) by content hash. A worker keeps the parcels that it
was sent. One that lacks a parcel says so, and is sent the unit again together with the parcel.
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

#: Carries out a unit; gives its rows.
Perform = Callable[["Unit"], Sequence[Any]]
#: Called once per worker, with a study's parameters and its parcels by name.
Open = Callable[[Any, Mapping[str, bytes]], AbstractContextManager[Perform]]


@dataclass(frozen=True)
class Unit:
    """A slice of a study: ``count`` items from ``first`` on."""

    number: int
    first: int
    count: int


@dataclass(frozen=True)
class Study:
    """What is to be done: ``items`` things, ``each`` of them per unit.

    ``open`` must be a function of a module (workers import it), ``parameters`` a JSON document.
    ``open(parameters, parcels)`` gives a context manager whose value makes the rows (of JSON
    types) of a unit. Rows may depend on nothing but parameters, parcels and the unit.
    """

    open: Open
    parameters: Any
    parcels: Mapping[str, bytes] = field(repr=False)
    items: int
    each: int

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units, in order."""
        starts = range(0, self.items, self.each)
        return tuple(
            Unit(number, first, min(self.each, self.items - first))
            for number, first in enumerate(starts)
        )

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the rows of a unit depend on; not of the number of units."""
        work = [f"{self.open.__module__}.{self.open.__qualname__}", self.parameters, self.each]
        hashes = {name: content_hash(data) for name, data in self.parcels.items()}
        return content_hash(json.dumps([work, hashes], sort_keys=True).encode())


@dataclass(frozen=True)
class Task:
    """A unit as it is sent: parcels by name and hash, not their bytes."""

    open: Open
    parameters: str
    parcels: tuple[tuple[str, str], ...]
    unit: Unit


@dataclass(frozen=True)
class Reply:
    """A worker's answer: packed rows, or the hashes of the parcels that it lacks."""

    unit: Unit
    worker: str
    rows: bytes = b""
    lacking: tuple[str, ...] = ()


def content_hash(data: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def packed(rows: Sequence[Any]) -> bytes:
    """Rows as they are sent and stored; equal rows give equal bytes."""
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("ascii"), 1)


def unpacked(data: bytes) -> list[Any]:
    """What :func:`packed` made, as JSON types."""
    rows: list[Any] = json.loads(zlib.decompress(data))
    return rows


class _Shelf(threading.local):
    """What one worker (a process, or a thread of one) keeps between units."""

    def __init__(self) -> None:
        self.parcels: dict[str, bytes] = {}
        self.key: object = None
        self.opened: AbstractContextManager[Perform] | None = None
        self.perform: Perform | None = None

    def performer(self, task: Task) -> Perform:
        """The function for the units of this task's study; another study is closed first."""
        key = (task.open, task.parameters, task.parcels)
        if self.perform is None or key != self.key:
            self.close()
            self.parcels = {digest: self.parcels[digest] for _, digest in task.parcels}
            parcels = {name: self.parcels[digest] for name, digest in task.parcels}
            opened = task.open(json.loads(task.parameters), parcels)
            self.perform, self.opened, self.key = opened.__enter__(), opened, key
        return self.perform

    def close(self) -> None:
        """Close the study that is open."""
        if self.opened is not None:
            self.opened.__exit__(None, None, None)
        self.opened = self.perform = self.key = None


@cache
def _shelf() -> _Shelf:
    return _Shelf()


def close_worker() -> None:
    """Close and forget what this worker holds."""
    _shelf().close()
    _shelf().parcels.clear()


def perform(task: Task, parcels: Mapping[str, bytes]) -> Reply:
    """Carry out one unit in a worker; ``parcels``, by hash, are kept for later units."""
    shelf = _shelf()
    shelf.parcels.update(parcels)
    worker = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
    lacking = tuple(digest for _, digest in task.parcels if digest not in shelf.parcels)
    if lacking:
        return Reply(task.unit, worker, lacking=lacking)
    return Reply(task.unit, worker, packed(shelf.performer(task)(task.unit)))
