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
_READY = "ready"  # this file is written when the environment is complete


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


class Side:
    """A commit in a folder of its own."""

    def __init__(self, sha: str, base: Path) -> None:
        self.sha = sha
        self.folder = base / sha
        self.checkout = self.folder / "checkout"
        self._venv = self.folder / "venv"
        self._cache = self.folder / "cache"
        self._kept = self.folder / "results"

    def prepare(self) -> None:
        """Make checkout and environment, unless an earlier comparison has."""
        if (self.folder / _READY).is_file():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._call("git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, self.checkout)
        self._call("git", "-C", self.checkout, "checkout", "--quiet", "--detach", self.sha)
        venv.create(self._venv, with_pip=True, symlinks=True)
        self._call(self._venv / "bin" / "pip", "install", "--quiet", "--editable", self.checkout)
        install = [self._venv / "bin" / "tflm-hil", "doctor", "--install"]
        self._call(*install, env={**os.environ, **self._environment()})
        (self.folder / _READY).touch()

    def _call(self, *command: str | Path, env: dict[str, str] | None = None) -> None:
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            words = " ".join(map(str, command))
            raise CannotCompare(f"{self.sha[:8]}: {words} failed:\n{done.stdout.decode()}")

    def _environment(self) -> dict[str, str]:
        """The variables that a command sees: none of the caller's."""
        return {
            "PATH": os.pathsep.join([str(self._venv / "bin"), *_PATH]),
            "HOME": str(self.folder),
            "TFLM_HIL_CACHE": str(self._cache),
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "160",
            "PYTHONHASHSEED": "0",  # the order of a set's items is not what is compared
        }

    def results(
        self, entries: Sequence[Entry], jobs: int, *, again: bool = False
    ) -> Iterator[tuple[Entry, Result]]:
        """What each entry gives, in the order of ``entries``.

        A result of the same entry that an earlier comparison kept is taken, unless ``again``.
        """
        self._kept.mkdir(exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as work,
            ThreadPoolExecutor(jobs) as pool,
        ):
            try:
                run = [pool.submit(self._result, entry, Path(work), again) for entry in entries]
                for entry, result in zip(entries, run, strict=True):
                    yield entry, result.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, entry: Entry, work: Path, again: bool) -> Result:
        kept = self._kept / f"{_key(entry)}.json"
        if kept.is_file() and not again:
            return Result(**json.loads(kept.read_text(encoding="utf-8")))
        result = self._run(entry, work / f"{_key(entry)[:16]}")
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(result)), encoding="utf-8")
        part.replace(kept)
        return result

    def _run(self, entry: Entry, folder: Path) -> Result:
        here = folder / "here"
        for name, data in entry.files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(data)
        here.mkdir(parents=True, exist_ok=True)
        outputs = [folder / "stdout", folder / "stderr"]
        with outputs[0].open("wb") as stdout, outputs[1].open("wb") as stderr:
            process = subprocess.Popen(
                ["/bin/sh", "-c", entry.command], cwd=here, env=self._environment(),
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
            guard = threading.Timer(_LONGEST, os.killpg, (process.pid, signal.SIGKILL))
            guard.start()
            _, status, usage = os.wait4(process.pid, 0)
            guard.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
        written = {name: here / name for name in entry.keep if (here / name).is_file()}
        result = Result(
            process.returncode,
            *(path.read_text(encoding="utf-8", errors="backslashreplace") for path in outputs),
            {name: path.read_text(encoding="utf-8") for name, path in written.items()},
            {"folder": str(here), "checkout": str(self.checkout), "cache": str(self._cache)},
            usage.ru_utime + usage.ru_stime,
        )
        shutil.rmtree(folder)
        return result


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
