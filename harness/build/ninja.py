"""A build folder: a manifest for ninja in parts, and outputs that are checked before they are used.

``build.ninja`` has the rules and a line for each part. A part is the file ``part.ninja`` in a
folder below, with the variables and the edges of what is built there; it includes the parts in its
own subfolders. So a request adds parts and never changes those of others, and all requests that
were ever made are one graph. Files are written only if their content changes.

Each command writes to another name and renames the result, unless nothing has changed (``restat``),
and records its SHA-256 beside it. Before ninja runs, outputs that are not as recorded are removed.
One process at a time works in a folder.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from harness.base import files, paths, process
from harness.base.errors import (
    BuildFailed,
    CannotWrite,
    EnvironmentMissing,
    ProgramTimedOut,
)
from harness.build.first_error import first_error

_log = logging.getLogger(__name__)

_MANIFEST, _PART, _LOCK = "build.ninja", "part.ninja", "lock"
_COMMANDS = "compile_commands.json"
#: What ninja remembers about earlier runs; without them it builds everything again.
_MEMORY = (".ninja_log", ".ninja_deps")
_TEMPORARY = "tmp"
#: Folders of older versions beside that of all build folders.
_OLDER = ("failed", "zephyr")
_DIGEST, _DIGITS = ".sha256", 64
_BUILD_SECONDS = 7200.0
_QUERY_SECONDS = 60.0
#: Seconds between two lines of progress that name no image.
_PROGRESS_SECONDS = 2.0
#: Lines of the failed command's output in a message.
_SHOWN_LINES = 20
#: An image in a line of progress.
_IMAGE = re.compile(r"\.elf$|\] west build ")
_STATUS = re.compile(r"^\[\d+/\d+\] ")
#: The first line behind the output of a failed command.
_AFTER = re.compile(rf"{_STATUS.pattern}|ninja: build stopped")
_BAD_MANIFEST = re.compile(r"^ninja: error: (.+)/part\.ninja:\d+: .*", re.MULTILINE)
_BAD_MEMORY = re.compile(r"^ninja: error: (?:loading|opening) (?:build|deps) log", re.MULTILINE)
#: Texts of a disk that takes nothing more, in the output of any tool.
_NO_ROOM = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS))

#: Completes a command that wrote ``$out.new``.
KEEP = (
    "{ if cmp -s $out.new $out; then rm -f $out.new; else mv -f $out.new $out; fi; }"
    f" && sha256sum $out > $out{_DIGEST}"
)
#: Completes a command that wrote the files ``$made`` to ``$dir/new``; the first one is ``$out``.
KEEP_ALL = (
    "for one in $made; do new=$dir/new/$${one##*/}; if ! cmp -s $$new $$one; then"
    f" mv -f $$new $$one || exit 1; fi; done && rm -rf $dir/new && sha256sum $made > $out{_DIGEST}"
)


@dataclass(frozen=True)
class Edge:
    """A command of ``rule`` that makes ``outputs`` of ``inputs``.

    Paths are relative to the build folder, or absolute. A change of one of ``needs`` runs the
    command again, too. The digests of all outputs are recorded beside the first one.
    """

    rule: str
    outputs: Sequence[str]
    inputs: Sequence[str | Path]
    needs: Sequence[str | Path] = ()
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def text(self) -> str:
        """The statement of the manifest. Only the first output is ``$out``."""
        first, *others = (escaped(name) for name in self.outputs)
        made = " | ".join([first, " ".join(others)]) if others else first
        inputs = "".join(f" {escaped(name)}" for name in self.inputs)
        needs = "".join(f" {escaped(name)}" for name in self.needs)
        lines = [f"build {made}: {self.rule}{inputs}{f' |{needs}' if needs else ''}"]
        lines += [f"  {name} = {value}" for name, value in self.variables.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class ManifestPart:
    """The edges of the outputs in ``folder``, and the variables of their commands."""

    folder: str
    edges: Sequence[Edge]
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def text(self) -> str:
        """The part of the manifest, without those that it includes."""
        lines = [f"{name} = {value}" for name, value in self.variables.items()]
        return "\n".join([*lines, *(edge.text for edge in self.edges), ""])


def escaped(path: str | Path) -> str:
    """A path in a manifest."""
    text = str(path)
    if "\n" in text:
        raise EnvironmentMissing(
            f"ninja cannot build in a folder with a line feed in its name: {text!r}"
        )
    return re.sub(r"([$ :])", r"$\1", text)


def python(module: str) -> str:
    """The start of a command that runs a module of this package, whatever the folder."""
    package = shlex.quote(str(paths.PACKAGE.parent))
    line = f"PYTHONPATH={package}${{PYTHONPATH:+:$PYTHONPATH}} {shlex.quote(sys.executable)}"
    return literal(f"{line} -m {module}")


def folders() -> Path:
    """The folder of all build folders."""
    return paths.cache() / "build"


@dataclass(frozen=True)
class Contents:
    """What a build folder, or another folder beside it, holds; ``title`` is "" for another."""

    path: Path
    title: str
    images: int
    size: int


def contents() -> list[Contents]:
    """All build folders of the cache; what older versions left has no title."""
    found = sorted(folders().iterdir()) if files.is_folder(folders()) else []
    found += [paths.cache() / name for name in _OLDER]
    return [_contents(path) for path in found if files.is_folder(path)]


def _contents(path: Path) -> Contents:
    head = b""
    with suppress(OSError):
        head = (path / _MANIFEST).read_bytes().partition(b"\n")[0]
    title = head.removeprefix(b"# ").decode("utf-8", "replace")
    images = {one.parent for name in ("*.elf", "image") for one in path.glob(f"*/*/{name}")}
    every = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    size = sum(one.stat().st_size for one in every if files.is_file(one))
    return Contents(path, title, len(images), size)


def clear() -> int:
    """Removes all build folders, once nobody builds in them; returns the bytes that were freed.

    Raises :class:`EnvironmentMissing` for a folder that this user may not remove.
    """
    freed = 0
    for one in contents():
        with NinjaFolder(one.path, "").locked(), _writing(one.path):
            shutil.rmtree(one.path)
        freed += one.size
    return freed


def first_line(sources: Path, tools: Path) -> str:
    """The comment at the head of a manifest, which names what is built there."""
    return f"# {sources} with {tools}"


def record(output: Path, made: Sequence[Path]) -> None:
    """Records the digests of the files that a command has ``made``, beside its first output."""
    files.write(Path(f"{output}{_DIGEST}"), _digests(Path(), map(str, made)))


def literal(text: str) -> str:
    """A value in a manifest that is not to be expanded."""
    return text.replace("$", "$$")


class NinjaFolder:
    """The folder at ``path``, whose manifest begins with ``rules``."""

    def __init__(self, path: Path, rules: str) -> None:
        self.path = path
        self._rules = rules

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the folder if need be, and waits until no other process builds in it.

        The kernel releases the lock when the process ends. Raises :class:`EnvironmentMissing` for a
        folder that this user cannot write to, or whose file system has no locks.
        """
        with _writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            with _writing(self.path):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    _log.info("another process builds in %s: waiting for it", self.path)
                    fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def build(
        self,
        parts: Sequence[ManifestPart],
        targets: Sequence[str],
        *,
        sources: Mapping[str, str],
        jobs: int = 0,
        failed: Callable[[str, Path], BuildFailed],
    ) -> None:
        """Builds ``targets``, ``jobs`` commands at a time (0: one per core); the folder is locked.

        ``parts`` are those that the targets need, ``sources`` the texts of generated files by their
        paths in the folder. ``failed`` makes the error of ninja's output and the file that has it.
        Raises this error, :class:`CannotWrite` for a full disk, :class:`EnvironmentMissing` for a
        folder that cannot be used.
        """
        with _writing(self.path):
            for name, text in sources.items():
                write_changed(self.path / name, text)
            changed = self._write_manifest(parts)
            for edge in (edge for part in parts for edge in part.edges):
                _remove_unless_as_built(self.path, edge)
        if changed:
            self._write_commands()
        self._run(targets, jobs, parts, failed)

    def _write_manifest(self, parts: Sequence[ManifestPart]) -> bool:
        """Writes the parts and what includes them; True if the manifest has changed."""
        outer = {part.folder: part for part in parts if "/" not in part.folder}
        inner = [part for part in parts if "/" in part.folder]
        changed = [write_changed(self.path / part.folder / _PART, part.text) for part in inner]
        for part in outer.values():
            found = sorted((self.path / part.folder).glob(f"*/{_PART}"))
            lines = [f"include {escaped(path.relative_to(self.path))}\n" for path in found]
            text = part.text + "".join(lines)
            changed.append(write_changed(self.path / part.folder / _PART, text))
        changed.append(self._write_top())
        return any(changed)

    def _write_top(self) -> bool:
        found = sorted(self.path.glob(f"*/{_PART}"))
        lines = [f"subninja {escaped(path.relative_to(self.path))}\n" for path in found]
        return write_changed(self.path / _MANIFEST, self._rules + "".join(lines))

    def _write_commands(self) -> None:
        """Writes the commands of all compilations for editors and analysers."""
        command = [program(), "-t", "compdb", "cxx"]
        done = process.run(
            command, seconds=_QUERY_SECONDS, folder=self.path, check=False, split=True
        )
        if done.code == 0 and not done.cut:
            files.write(self.path / _COMMANDS, done.output)

    def _run(
        self,
        targets: Sequence[str],
        jobs: int,
        parts: Sequence[ManifestPart],
        failed: Callable[[str, Path], BuildFailed],
    ) -> None:
        temporary = self.path / _TEMPORARY
        shutil.rmtree(temporary, ignore_errors=True)
        with _writing(self.path):
            temporary.mkdir()
        command = [program(), f"-j{jobs or os.cpu_count() or 1}", *targets]
        environment = {"LC_ALL": "C", "TMPDIR": str(temporary), "NINJA_STATUS": "[%f/%t] "}
        while True:
            try:
                done = process.run(
                    command, seconds=_BUILD_SECONDS, folder=self.path, environment=environment,
                    check=False, progress=_BuildProgress(),
                )  # fmt: skip
            except ProgramTimedOut as error:
                raise BuildFailed(
                    error.reason, hint="build again: what is finished is not built twice"
                ) from error
            if done.code == 0:
                return
            if not self._mended(done.output, parts):
                raise self._failure(done.output, failed)

    def _mended(self, output: str, parts: Sequence[ManifestPart]) -> bool:
        """Removes what ninja cannot read, if that is not what this request has written."""
        own = {part.folder for part in parts}
        bad = _BAD_MANIFEST.search(output)
        if bad is not None and bad[1] not in own:
            _log.warning("%s is not as it was written: earlier requests are forgotten", bad[0])
            for part in (*self.path.glob(f"*/{_PART}"), *self.path.glob(f"*/*/{_PART}")):
                if part.parent.relative_to(self.path).as_posix() not in own:
                    part.unlink(missing_ok=True)
            self._write_manifest(parts)
            return True
        if _BAD_MEMORY.search(output):
            _log.warning("ninja's log in %s cannot be read: everything is built again", self.path)
            for name in _MEMORY:
                (self.path / name).unlink(missing_ok=True)
            return True
        return False

    def _failure(
        self, output: str, failed: Callable[[str, Path], BuildFailed]
    ) -> BuildFailed | CannotWrite:
        full = next((text for text in _NO_ROOM if text in output), None)
        if full is not None:
            return _cannot_write(self.path, full)
        log = self.path / "failed.log"
        with suppress(CannotWrite):
            files.write(log, output)
        return failed(output, log)


def error_text(output: str) -> str:
    """The first error in the output of ninja on one line, then what the failed command printed."""
    failed = output[output.find("FAILED: ") :] if "FAILED: " in output else output
    lines = list(takewhile(lambda line: not _AFTER.match(line), failed.splitlines()))
    return with_context(first_error("\n".join(lines)), lines[2:])  # without output and command


def with_context(error: str, printed: Sequence[str]) -> str:
    """A message of one line, and the first lines of what was printed about it."""
    return "\n".join([error, *(f"    {line}" for line in printed[:_SHOWN_LINES])])


class _BuildProgress:
    """Logs the images that were built, and at times another output."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, line: str) -> None:
        if not _STATUS.match(line):
            return
        now = time.monotonic()
        if _IMAGE.search(line) or now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            _log.info("%s", line)


def program() -> str:
    """The path of ninja, as the package of this name installs it."""
    import ninja  # noqa: PLC0415 - only a build needs it

    found = shutil.which("ninja", path=os.pathsep.join([ninja.BIN_DIR, os.environ.get("PATH", "")]))
    if found is None:
        raise EnvironmentMissing("the package ninja has no program", hint="pip install ninja")
    return found


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turns errors of the operating system in this block into one line about the build folder."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _cannot_write(folder, str(error.strerror)) from error
        raise EnvironmentMissing(
            f"cannot use the build folder {folder}: {error.strerror}{_owner(folder)}",
            hint="set TFLM_HIL_CACHE to a folder that you can write to",
        ) from error


def _owner(folder: Path) -> str:
    """Who else owns the nearest part of a path that exists."""
    place = next((one for one in (folder, *folder.parents) if files.exists(one)), Path("/"))
    with suppress(OSError, KeyError):
        if place.stat().st_uid != os.geteuid():
            return f" ({place} belongs to {place.owner()})"
    return ""


def _cannot_write(folder: Path, reason: str) -> CannotWrite:
    return CannotWrite(
        f"cannot write to the build folder {folder}: {reason}",
        hint="free some space, or set TFLM_HIL_CACHE to another folder; `tflm-hil doctor --clear`"
        " removes what was built",
    )


def write_changed(path: Path, content: str | bytes) -> bool:
    """Writes ``content`` unless the file has it, which keeps its time stamp; True if written."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    with suppress(OSError):
        if path.read_bytes() == data:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, data)
    return True


def _remove_unless_as_built(folder: Path, edge: Edge) -> None:
    """Removes the outputs of an edge if a file is not as the command recorded it."""
    known = folder / f"{edge.outputs[0]}{_DIGEST}"
    if not any(files.exists(folder / name) for name in edge.outputs):
        return
    with suppress(OSError):
        text = known.read_text(encoding="utf-8", errors="surrogateescape")
        names = [line[_DIGITS + 2 :] for line in text.splitlines()]
        if set(names) >= set(edge.outputs) and text == _digests(folder, names):
            return
    _log.warning("%s is not as it was built: it is built again", folder / edge.outputs[0])
    for path in (*(folder / name for name in edge.outputs), known):
        path.unlink(missing_ok=True)


def _digests(folder: Path, names: Iterable[str]) -> str:
    """The digests of files, as sha256sum prints them."""
    lines = (
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in names
    )
    return "".join(f"{line}\n" for line in lines)
