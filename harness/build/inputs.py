"""The inputs of a build besides its command: files that were read, and searched paths without one.

A result is up to date as long as the content of each file is the same, and no file has appeared at
a path that was searched without success: a new header earlier on the include path would be used
instead, although no file has changed.
"""

# Paths are strings for speed: each start of the program checks the hundreds of paths of a record.
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

#: Two changes of a file within this time may have the same time stamp.
_TICK_NS = 1_000_000_000
_BLOCK = 1 << 20
#: Up to this number of names in a folder are tested one by one, without listing the folder.
_FEW = 8


def digest(*parts: bytes | str) -> str:
    """A hash of ``parts`` and their lengths."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:32]


@dataclass(frozen=True)
class Inputs:
    """The files that a command read, and the paths at which it searched a file and found none."""

    files: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *several: Inputs) -> Inputs:
        """The combined inputs of several commands."""
        return cls(
            frozenset().union(*(one.files for one in several)),
            frozenset().union(*(one.absent for one in several)),
        )


class Roots:
    """Names of folders for records, which makes records independent of the folders' location.

    Files in the folders ``own`` are not recorded: those of the build itself, and of results whose
    names are part of the command.
    """

    def __init__(self, named: Mapping[str, Path], own: Sequence[Path] = ()) -> None:
        folders = [*((str(path), name) for name, path in named.items()),
                   *((str(path), None) for path in own)]  # fmt: skip
        self._folders = sorted(folders, key=lambda one: -len(one[0]))
        self._named = {name: str(path) for name, path in named.items()}

    def name(self, path: str) -> str | None:
        """The name of ``path`` in a record; None in a folder of ``own``."""
        for folder, name in self._folders:
            if path.startswith(f"{folder}/"):
                return None if name is None else f"{name}:{path[len(folder) :]}"
        return path

    def path(self, name: str) -> str:
        """The path on this machine with the given :meth:`name`."""
        if name.startswith("/"):
            return name
        root, _, rest = name.partition(":")
        return f"{self._named[root]}{rest}" if root else "/"


class Contents:
    """Hashes of files, computed again only if the status of a file has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}  # path -> status, hash

    def of(self, path: str, status: str = "", known: str = "") -> tuple[str, str] | None:
        """Hash and status of a file; None if it does not exist.

        ``known`` is its hash if its status equals ``status``. The returned status is "" for a file
        that changed so recently that another change might not change its time stamp.
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
    """Reconstructs the compiler's search for headers.

    Each ``#include`` and ``__has_include`` in the files that were read is searched in the folders
    until a file is found, whether or not the preprocessor evaluated it. A file that none of them
    names (it is named by a macro, or was read by the assembler) is assumed to be searched in every
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
        """The inputs of a compilation of ``sources`` that read ``headers``.

        ``folders`` is the include path, in order.
        """
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
                absent.add(f"{candidate}.gch")  # a precompiled header would be used instead
                node = _node(candidate)
                if node is None:
                    absent.add(candidate)
                    continue
                named.add(node)
                files.add(candidate)  # with symbolic links, which GCC resolves in its list
                if not following:  # #include_next continues after the first match
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
        """Names in the include directives of a file, with flags for quotes and #include_next."""
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
    """The lines of ``text`` that contain one of ``words``."""
    for word in words:
        place = text.find(word)
        while place >= 0:
            end = text.find(b"\n", place)
            end = len(text) if end < 0 else end
            yield text[text.rfind(b"\n", 0, place) + 1 : end]
            place = text.find(word, end)


def _node(path: str) -> tuple[int, int] | None:
    """Device and inode of a file; None if it does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@dataclass(frozen=True)
class InputRecord:
    """The inputs of a result, stored beside it as JSON.

    ``files``: name -> hash and status. ``absent``: name of a folder -> names that do not exist in
    it; a name that ends in ``/`` exists, but is not a file.
    """

    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    absent: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, inputs: Inputs, roots: Roots, contents: Contents) -> InputRecord:
        """The record of ``inputs``. Raises FileNotFoundError if a file no longer exists."""
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
        """A JSON object with the two fields."""
        return json.dumps({"files": self.files, "absent": self.absent})

    @property
    def digest(self) -> str:
        """A hash of all names and contents."""
        files = (f"{name}\0{one[0]}" for name, one in self.files.items())
        absent = (f"{folder}\0{names}" for folder, names in self.absent.items())
        return digest("\n".join(files), "\n".join(absent))

    def current(self, roots: Roots, contents: Contents) -> InputRecord | None:
        """This record with the current status of each file; None if an input has changed."""
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
    """The first part of ``path`` that does not exist."""
    while not os.path.isdir(folder := os.path.dirname(path)) and folder != path:
        path = folder
    return path


def _appeared(folder: str, names: Sequence[str]) -> bool:
    """True if one of ``names`` exists in ``folder`` now, or one that ends in ``/`` is a file."""
    present: Container[str] = ()
    if len(names) > _FEW:
        try:
            present = set(os.listdir(folder))
        except OSError:
            return False
    for name in names:
        if name.endswith("/"):
            if os.path.isfile(f"{folder}/{name[:-1]}"):
                return True
        elif name in present or (len(names) <= _FEW and os.path.lexists(f"{folder}/{name}")):
            return True
    return False
