"""The workers of a study: this process, a pool of processes, or a Dask cluster."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures import ProcessPoolExecutor as Pool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from threading import Thread
from typing import Any

from harness.base import signals
from harness.base.code_identity import CodeIdentity, code_identity
from harness.base.errors import EnvironmentMissing
from harness.base.text import count_of
from harness.studies.study import close_worker

_log = logging.getLogger(__name__)

SAME_CODE = "install the same tflm-hil, NumPy and Unicorn on all machines, and restart the workers"
#: Loggers of Dask that print a traceback for each lost connection.
_NOISY = ("distributed", "tornado.application", "asyncio")


@dataclass
class Workers:
    """An executor, and how to detect the loss of its workers."""

    executor: Executor
    count: int
    lost: tuple[type[BaseException], ...]  # exceptions of a unit whose worker is lost
    healthy: Callable[[], bool]  # whether units in flight can still return
    restart: Callable[[], Executor]  # return a new executor, if they cannot


class SerialExecutor(Executor):
    """Runs each call when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the call and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def check_code(worker: str, code: CodeIdentity | None) -> None:
    """Raise :class:`EnvironmentMissing` unless ``worker`` runs the code of this process."""
    if code is None:
        raise EnvironmentMissing(f"worker {worker} runs an older tflm-hil", hint=SAME_CODE)
    if code != code_identity():
        differences = code_identity().differences(code)
        raise EnvironmentMissing(f"worker {worker} runs other code: {differences}", hint=SAME_CODE)


@contextmanager
def open_workers(
    count: int = 0,
    scheduler: str = "",
    patience: float = 0.0,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Workers]:
    """Open ``count`` processes (0: one per core; 1: this one), or the workers of a Dask scheduler.

    ``now`` is the clock, in seconds, for how long a scheduler has had no worker. Raises
    :class:`EnvironmentMissing` if Dask is not installed, the scheduler does not answer or has no
    worker for ``patience`` seconds, or a worker runs other code.
    """
    count = count or os.cpu_count() or 1
    if scheduler:
        with _dask(scheduler, patience, now) as cluster:
            yield cluster
    elif count == 1:
        with SerialExecutor() as executor:
            try:
                yield Workers(executor, 1, (), lambda: True, SerialExecutor)
            finally:
                close_worker()
    else:
        with _processes(count) as pool:
            yield pool


@contextmanager
def _processes(count: int) -> Iterator[Workers]:
    def start() -> Pool:
        return Pool(count, get_context("spawn"), signals.worker, (os.getpid(),))

    def restart() -> Executor:
        _terminate(pool.executor)
        pool.executor = start()
        return pool.executor

    pool = Workers(start(), count, (BrokenExecutor, CancelledError), lambda: True, restart)
    try:
        yield pool
    except BaseException:
        _terminate(pool.executor)
        raise
    pool.executor.shutdown(wait=True, cancel_futures=True)


def _terminate(executor: Executor) -> None:
    """Terminate the processes."""
    assert isinstance(executor, Pool)
    for process in list((executor._processes or {}).values()):
        process.terminate()
    executor.shutdown(wait=True, cancel_futures=True)


class _Cluster:
    """The connection to a Dask scheduler."""

    def __init__(
        self, distributed: Any, address: str, patience: float, now: Callable[[], float]
    ) -> None:
        self._distributed, self._address, self._patience = distributed, address, patience
        self._now = now
        self._no_workers_since: float | None = None  # None: there are workers
        self._connect()

    def _connect(self) -> None:
        try:
            self._client = self._connected_client()
            self._client.wait_for_workers(1, timeout=self._patience)
        except Exception as error:  # Dask's reader of a foreign answer raises even MemoryError
            reason = str(error) or f"no answer within {self._patience:g} s"
            raise EnvironmentMissing(
                f"no Dask cluster answers at {self._address}: {reason}",
                hint="start `dask scheduler`, and `dask worker` for each machine",
            ) from error
        self._identity = self._client.scheduler_info()["id"]
        self._check_workers()

    def _connected_client(self) -> Any:
        """A client, or TimeoutError: Dask waits for ever for the handshake of a port that accepts
        a connection and says nothing."""
        client: Future[Any] = Future()

        def connect() -> None:
            try:
                client.set_result(
                    self._distributed.Client(
                        self._address, timeout=self._patience, set_as_default=False
                    )
                )
            except BaseException as error:
                client.set_exception(error)

        Thread(target=connect, daemon=True).start()
        return client.result(self._patience)

    def _check_workers(self) -> None:
        """Refuse workers of other code, and those that cannot import this package, by name."""
        problems = []
        for worker, code in self._client.run(code_identity, on_error="return").items():
            try:
                if isinstance(code, Exception):
                    raise EnvironmentMissing(f"worker {worker}: {code}")
                check_code(worker, code)
            except EnvironmentMissing as error:
                problems.append(error.message)
        if problems:
            self.close()
            raise EnvironmentMissing("\n".join(problems), hint=SAME_CODE)

    @property
    def threads(self) -> int:
        """Number of units that run at the same time."""
        return sum(self._client.nthreads().values())

    def executor(self) -> Executor:
        """An executor on the cluster."""
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def healthy(self) -> bool:
        """Whether the scheduler is still the same.

        Raises :class:`EnvironmentMissing` if it has had no worker for ``patience`` seconds.
        """
        if self._client.status != "running":
            return False
        try:
            information, workers = self._client.scheduler_info(), len(self._client.nthreads())
        except (OSError, TimeoutError):
            return False
        self._note_workers(workers)
        return bool(information["id"] == self._identity)

    def _note_workers(self, workers: int) -> None:
        if workers:
            if self._no_workers_since is not None:
                _log.warning("%s again", count_of(workers, "worker"))
            self._no_workers_since = None
            return
        now = self._now()
        if self._no_workers_since is None:
            self._no_workers_since = now
            _log.warning(
                "no worker is left at %s: waiting %g s for one", self._address, self._patience
            )
        if now - self._no_workers_since > self._patience:
            raise EnvironmentMissing(
                f"no worker is left at {self._address}, for {self._patience:g} s",
                hint="start `dask worker` again; with --store the study continues where it is",
            )

    def restart(self) -> Executor:
        """Reconnect and return a new executor."""
        _log.warning("the scheduler at %s is lost: connecting again", self._address)
        self.close()
        self._connect()
        return self.executor()

    def close(self) -> None:
        """Disconnect, without regard to errors of a scheduler that is gone."""
        with suppress(Exception):
            self._client.close(timeout=1)


@contextmanager
def _dask(address: str, patience: float, now: Callable[[], float]) -> Iterator[Workers]:
    try:
        import distributed  # noqa: PLC0415 - an extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415
    except ImportError as error:
        raise EnvironmentMissing(
            "--scheduler needs Dask", hint="pip install 'tflm-hil[dask]'"
        ) from error
    lost = (CancelledError, FutureCancelledError, distributed.KilledWorker, OSError, TimeoutError)
    with _silent(*_NOISY):
        cluster = _Cluster(distributed, address, patience, now)
        try:
            yield Workers(cluster.executor(), cluster.threads, lost, cluster.healthy,
                          cluster.restart)  # fmt: skip
        finally:
            cluster.close()


@contextmanager
def _silent(*names: str) -> Iterator[None]:
    """Set these loggers and their children, which may have their own level, to CRITICAL."""
    prefixes = tuple(f"{name}." for name in names)
    children = [name for name in logging.root.manager.loggerDict if name.startswith(prefixes)]
    loggers = [logging.getLogger(name) for name in (*names, *children)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
