"""One commit: its checkout, environment and build cache, and what the entries give there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from entries import ROOT, CannotCompare, Entry

_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_LONGEST = 600.0  # seconds of the wall clock that an entry may take
#: A result with another exit code is not kept: an error of the environment, or ended by a signal.
_KEPT = {0, 1, 2, 4, 5}


@dataclass(frozen=True)
class Result:
    """What an entry gave. A file that it did not write is missing in ``files``.

    ``places`` are the paths that differ between two sides: name -> path.
    """

    exit_code: int
    stdout: str
    stderr: str
    files: dict[str, str]
    places: dict[str, str]
    cpu_seconds: float = field(compare=False)


@dataclass(frozen=True)
class Side:
    """A commit: ``folder`` is for its cache and results, ``programs`` holds its ``tflm-hil``."""

    folder: Path
    checkout: Path
    programs: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a command sees: none of the caller's."""
        return {
            "PATH": os.pathsep.join([str(self.programs), *_PATH]),
            "HOME": str(self.folder),
            "TFLM_HIL_CACHE": str(self.folder / "cache"),
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "160",
            "PYTHONHASHSEED": "0",  # the order of a set's items is not what is compared
        }

    def results(
        self, entries: Sequence[Entry], jobs: int, *, again: bool = False
    ) -> Iterator[Result]:
        """What each entry gives, in the order of ``entries``.

        A result of the same entry that an earlier comparison has kept is taken, unless ``again``.
        """
        self._kept.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob("run-*"):  # by a comparison that was killed
            shutil.rmtree(left)
        with (
            tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as work,
            ThreadPoolExecutor(jobs) as pool,
        ):
            try:
                run = [pool.submit(self._result, entry, Path(work), again) for entry in entries]
                yield from (each.result() for each in run)
            finally:
                pool.shutdown(cancel_futures=True)

    @property
    def _kept(self) -> Path:
        return self.folder / "results"

    def _result(self, entry: Entry, work: Path, again: bool) -> Result:
        key = _key(entry)
        kept = self._kept / f"{key}.json"
        if kept.is_file() and not again:
            return Result(**json.loads(kept.read_text(encoding="utf-8")))
        result = self._run(entry, work / key[:16])
        if result.exit_code in _KEPT:
            written = work / f"{key}.json"
            written.write_text(json.dumps(asdict(result)), encoding="utf-8")
            written.replace(kept)
        return result

    def _run(self, entry: Entry, folder: Path) -> Result:
        here = folder / "here"
        here.mkdir(parents=True)
        for name, data in entry.files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(data)
        outputs = [folder / "stdout", folder / "stderr"]
        with outputs[0].open("wb") as stdout, outputs[1].open("wb") as stderr:
            process = subprocess.Popen(
                ["/bin/sh", "-c", entry.command], cwd=here, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
            guard = threading.Timer(_LONGEST, os.killpg, (process.pid, signal.SIGKILL))
            guard.start()
            _, status, usage = os.wait4(process.pid, 0)
            guard.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        files = {name: here / name for name in entry.keep if (here / name).is_file()}
        result = Result(
            process.returncode,
            *map(_text, outputs),
            {name: _text(path) for name, path in files.items()},
            {
                "here": str(here),
                "checkout": str(self.checkout),
                "cache": str(self.folder / "cache"),
                "folder": str(self.folder),
            },
            usage.ru_utime + usage.ru_stime,
        )
        shutil.rmtree(folder)
        return result


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="backslashreplace")


def _key(entry: Entry) -> str:
    """A digest of all that a result depends on besides the commit."""
    digest = hashlib.sha256(_surroundings())
    for text in (entry.name, entry.command, *entry.keep):
        digest.update(text.encode() + b"\0")
    for name, data in sorted(entry.files.items()):
        digest.update(f"{name} {len(data)}\0".encode() + data)
    return digest.hexdigest()


@cache
def _surroundings() -> bytes:
    """How entries are run, and by which Python and compiler."""
    command = ["arm-none-eabi-gcc", "--version"]
    compiler = subprocess.run(command, check=True, capture_output=True).stdout
    return Path(__file__).read_bytes() + sys.version.encode() + compiler


# --------------------------------------------------------------------------------- its environment


def prepare(sha: str, base: Path) -> Side:
    """The side of a commit below ``base``; made unless an earlier comparison has made it."""
    folder = base / sha
    side = Side(folder, folder / "checkout", folder / "venv" / "bin")
    complete = folder / "complete"
    if not complete.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _call("git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, side.checkout)
        _call("git", "-C", side.checkout, "checkout", "--quiet", "--detach", sha)
        venv.create(side.programs.parent, with_pip=True, symlinks=True)
        _call(side.programs / "pip", "install", "--quiet", "--editable", side.checkout)
        _call(side.programs / "tflm-hil", "doctor", "--install", **side.environment)
        complete.touch()
    return side


def _call(*command: str | Path, **environment: str) -> None:
    """Run a program; :class:`CannotCompare` with what it printed if it fails."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise CannotCompare(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
