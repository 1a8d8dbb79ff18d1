"""A Dask cluster of local processes, which tests kill and restart."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from free_ports import free_port

from harness.base.process import RunningProgram

ROOT = Path(__file__).resolve().parents[2]


class Cluster:
    """A scheduler, always on the same port, and workers of one thread each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = self._start_scheduler()
        self.workers = [self.start_worker() for _ in range(workers)]

    def _start_scheduler(self) -> RunningProgram:
        return self._start("scheduler", "--host", "127.0.0.1", "--port", str(self._port))

    def start_worker(self, code: Path = ROOT) -> RunningProgram:
        """Start one more worker with the package in ``code``; it waits for the scheduler."""
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny", code=code)

    def other_code(self) -> Path:
        """A folder with another version of the package."""
        folder = self.folder / "other"
        for part in ("harness", "platforms"):
            shutil.copytree(ROOT / part, folder / part)
        with (folder / "harness" / "base" / "text.py").open("a") as file:
            file.write("# another version\n")
        return folder

    def no_code(self) -> Path:
        """A folder with a package that cannot be imported."""
        package = self.folder / "broken" / "harness"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text('raise ImportError("harness: platforms are missing")')
        return package.parent

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers have found the scheduler."""
        import distributed  # an extra

        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)

    def _start(self, *arguments: str, code: Path = ROOT) -> RunningProgram:
        paths = [str(code), str(ROOT / "tests" / "support")]
        return RunningProgram(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            folder=self.folder,
            # What a killed worker leaves is the test's own.
            environment={"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(self.folder)},
        )  # fmt: skip

    def kill_worker(self) -> None:
        """Kill the first worker in the middle of its work."""
        self.workers.pop(0).close()

    def restart_scheduler(self) -> None:
        """Kill scheduler and workers, and start new ones."""
        self._kill()
        self.scheduler = self._start_scheduler()
        self.workers = [self.start_worker() for _ in self.workers]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kill()

    def _kill(self) -> None:
        for program in [*self.workers, self.scheduler]:
            program.close()
