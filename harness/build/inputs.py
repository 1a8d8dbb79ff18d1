"""The inputs of a build beside its command: files that it read, paths that it looked for in vain.

A result is still that of its command while each file has the content that was read, and while
nothing has appeared at a path where the search for one of them went by: a header earlier on the
include path is another header, though no file has changed.
"""

# Paths are strings here: a record has hundreds of them, which every start checks.
# ruff: noqa: PTH112, PTH113, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: A change of a file within this time of another may leave its time stamps as they are.
_TICK_NS = 1_000_000_000
_BLOCK = 1 << 20
#: Names for which a folder is not listed.
_FEW = 8


def digest(*parts: bytes | str) -> str:
    """A hash of ``parts``; the borders between them count."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:32]


@dataclass(frozen=True)
class Inputs:
    """The files that a command read, and the paths at which it found none."""

    files: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *several: Inputs) -> Inputs:
        """The inputs of several commands."""
        return cls(
            frozenset().union(*(one.files for one in several)),
            frozenset().union(*(one.absent for one in several)),
        )


class Roots:
    """Folders with names, which stand for them in a record: it holds wherever they lie.

    Files below a folder without a name are not inputs: those of the build itself, and of results
    whose names are part of the command.
    """

    def __init__(self, named: Mapping[str, Path], own: Sequence[Path] = ()) -> None:
        folders = [*((str(path), name) for name, path in named.items()),
                   *((str(path), None) for path in own)]  # fmt: skip
        self._folders = sorted(folders, key=lambda one: -len(one[0]))
        self._named = {name: str(path) for name, path in named.items()}

    def name(self, path: str) -> str | None:
        """The path for a record; None for one below a folder without a name."""
        for folder, name in self._folders:
            if path.startswith(f"{folder}/"):
                return None if name is None else f"{name}:{path[len(folder) :]}"
        return path

    def path(self, name: str) -> str:
        """The path that :meth:`name` gave ``name`` to, on this machine."""
        if name.startswith("/"):
            return name
        root, _, rest = name.partition(":")
        return f"{self._named[root]}{rest}" if root else "/"


class Contents:
    """Hashes of files, each computed once as long as the file's status stays the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}  # path -> status, hash

    def of(self, path: str, status: str = "", known: str = "") -> tuple[str, str] | None:
        """Hash and status of a file; None if there is no such file.

        ``known`` is its hash if its status is still ``status``. The status is "" for a file that
        changed just now, and could change again without another time stamp.
        """
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        now = f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
        if now == status:
            self._known[path] = (status, known)
            return known, status
        before = self._known.get(path)
        if before is not None and before[0] == now:
            return before[1], now
        settled = time.time_ns() - max(found.st_ctime_ns, found.st_mtime_ns) > _TICK_NS
        try:
            computed = _hash(path)
        except OSError:
            return None
        if not settled:
            return computed, ""
        self._known[path] = (now, computed)
        return computed, now


def _hash(path: str) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            sha.update(block)
    return sha.hexdigest()[:32]


class Includes:
    """The search for headers: the paths that the compiler tried before those that it read.

    It is worked out from the files that were read: each ``#include`` and ``__has_include`` in them
    goes through the folders until there is a file, whether the preprocessor came by or not. A file
    that none of them names (a macro does, or the assembler read it) counts as looked for in every
    folder.
    """

    _WORDS = (b"include", b"import")
    _STATEMENT = re.compile(
        rb"""(?:^[ \t]*(?:\#|%:)[ \t]*(?:include|include(_next)|import)[ \t]*
             | __has_include(_next)?[ \t]*\([ \t]*) (?:"([^"]+)"|<([^>]+)>)""",
        re.VERBOSE,
    )

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._statements: dict[str, list[tuple[str, bool, bool]]] = {}  # by the text's hash

    def inputs(
        self, sources: Iterable[str], headers: Iterable[str], folders: Sequence[str]
    ) -> Inputs:
        """The inputs of a compiler that was given ``sources``, read ``headers`` for them, and
        searches ``folders`` in this order."""
        read = {*sources, *headers}
        named = {_node(path) for path in sources}
        files, absent = set(sources), {f"{path}.gch" for path in sources}
        for beside, name, following in {
            (os.path.dirname(path) if quoted else "", name, following)
            for path in read
            for name, quoted, following in self._of(path)
        }:
            for folder in [beside, *folders] if beside else folders:
                candidate = os.path.join(folder, name)
                absent.add(f"{candidate}.gch")  # a precompiled header comes first
                node = _node(candidate)
                if node is None:
                    absent.add(candidate)
                    continue
                named.add(node)
                files.add(candidate)  # as it was searched: GCC names system headers without links
                if not following:  # #include_next goes on behind a file that was found
                    break
        everywhere = {*folders, *map(os.path.dirname, read)}
        for path in read:
            if _node(path) not in named:
                files.add(path)
                names = {path[len(one) + 1 :] for one in everywhere if path.startswith(f"{one}/")}
                absent |= {f"{folder}/{name}" for folder in everywhere for name in names}
        present = {path for path in absent if _node(path) is not None}
        return Inputs(frozenset(files | present), frozenset(absent - present))

    def _of(self, path: str) -> list[tuple[str, bool, bool]]:
        """The names that a file includes or tests for: name, quoted, and the next of this name."""
        known = self._contents.of(path)
        if known is None:
            return []
        if known[0] not in self._statements:
            with open(path, "rb") as file:
                text = file.read()
            self._statements[known[0]] = [
                (os.fsdecode(one[3] or one[4]), one[3] is not None, bool(one[1] or one[2]))
                for line in _lines_with(self._WORDS, text)
                for one in self._STATEMENT.finditer(line)
            ]
        return self._statements[known[0]]


def _lines_with(words: Sequence[bytes], text: bytes) -> Iterator[bytes]:
    """The lines of ``text`` that contain one of ``words``; far fewer than all in most headers."""
    for word in words:
        place = text.find(word)
        while place >= 0:
            end = text.find(b"\n", place)
            end = len(text) if end < 0 else end
            yield text[text.rfind(b"\n", 0, place) + 1 : end]
            place = text.find(word, end)


def _node(path: str) -> tuple[int, int] | None:
    """The identity of a file under any name; None if there is no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@dataclass(frozen=True)
class InputRecord:
    """Inputs as they were when a result was made, kept beside it as JSON.

    ``files``: name -> hash and status. ``absent``: name of a folder -> names that are not in it; a
    name that ends in ``/`` is there and is not a file.
    """

    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    absent: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: Inputs, roots: Roots, contents: Contents) -> InputRecord:
        """The record of ``inputs``. Raises FileNotFoundError for a file that has gone."""
        files = {}
        for path in inputs.files:
            name = roots.name(path)
            if name is not None:
                found = contents.of(path)
                if found is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                files[name] = found
        absent: defaultdict[str, set[str]] = defaultdict(set)
        for path in {_first_missing(path) for path in inputs.absent}:
            name = roots.name(path)
            if name is not None and not os.path.isfile(path):
                folder, _, last = name.rpartition("/")
                absent[folder].add(f"{last}/" if os.path.lexists(path) else last)
        return cls(
            dict(sorted(files.items())),
            {folder: sorted(names) for folder, names in sorted(absent.items())},
        )

    def to_json(self) -> str:
        """JSON of an object with the two fields."""
        return json.dumps({"files": self.files, "absent": self.absent})

    @property
    def digest(self) -> str:
        """A hash of all names and contents."""
        files = (f"{name}\0{one[0]}" for name, one in self.files.items())
        absent = (f"{folder}\0{names}" for folder, names in self.absent.items())
        return digest("\n".join(files), "\n".join(absent))

    def current(self, roots: Roots, contents: Contents) -> InputRecord | None:
        """This record with each file's status of today; None if it does not hold any more."""
        files = {}
        for name, (known, status) in self.files.items():
            found = contents.of(roots.path(name), status, known)
            if found is None or found[0] != known:
                return None
            files[name] = found
        if any(_appeared(roots.path(folder), names) for folder, names in self.absent.items()):
            return None
        return InputRecord(files, self.absent)


def _first_missing(path: str) -> str:
    """``path``, or the first folder on the way to it that is not there."""
    while not os.path.isdir(folder := os.path.dirname(path)) and folder != path:
        path = folder
    return path


def _appeared(folder: str, names: Sequence[str]) -> bool:
    """True if one of ``names`` is in ``folder`` now, or is a file if it was none before."""
    there: Container[str] = ()
    if len(names) > _FEW:
        try:
            there = set(os.listdir(folder))
        except OSError:
            return False
    for name in names:
        if name.endswith("/"):
            if os.path.isfile(f"{folder}/{name[:-1]}"):
                return True
        elif name in there or (len(names) <= _FEW and os.path.lexists(f"{folder}/{name}")):
            return True
    return False
