"""Where units run: in this process, in a pool of processes, on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures import ProcessPoolExecutor as Pool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from harness.base import signals
from harness.base.errors import EnvironmentMissing
from harness.studies.study import close_worker

#: Seconds to find a scheduler, at the beginning of a study and after it was lost.
_PATIENCE = 30


@dataclass
class Workers:
    """An executor of ``count`` workers, and the signs of their loss.

    ``lost`` are the exceptions of a unit whose worker is gone. ``healthy()`` is True if units in
    flight can still come back; ``restart()`` gives a new executor if they cannot.
    """

    executor: Executor
    count: int
    lost: tuple[type[BaseException], ...]
    healthy: Callable[[], bool]
    restart: Callable[[], Executor]


class SerialExecutor(Executor):
    """Runs each call when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the call; gives its future, which is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_workers(count: int = 0, scheduler: str = "") -> Iterator[Workers]:
    """Workers: ``count`` processes (0: one per core; 1: this one), or those of a Dask scheduler.

    Raises :class:`EnvironmentMissing` if the scheduler does not answer, or Dask is not here.
    """
    count = count or os.cpu_count() or 1
    if scheduler:
        with _dask(scheduler) as cluster:
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
    """End the processes at once."""
    assert isinstance(executor, Pool)
    for process in list((executor._processes or {}).values()):
        process.terminate()
    executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(address: str) -> Iterator[Workers]:
    try:
        import distributed  # noqa: PLC0415 - an extra
        from distributed.client import FutureCancelledError  # noqa: PLC0415
    except ImportError as error:
        raise EnvironmentMissing(
            "--scheduler needs Dask", hint="pip install 'tflm-hil[dask]'"
        ) from error

    factory: Any = distributed.Client

    def connect() -> Any:
        try:
            client: Any = factory(address, timeout=_PATIENCE, set_as_default=False)
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise EnvironmentMissing(
                f"no Dask cluster answers at {address}: {error}",
                hint="start `dask scheduler`, and `dask worker` for each machine",
            ) from error
        return client

    client: Any = connect()
    identity = client.scheduler_info()["id"]

    def healthy() -> bool:
        return bool(client.status == "running" and client.scheduler_info()["id"] == identity)

    def restart() -> Executor:
        nonlocal client, identity
        with suppress(Exception):  # it is gone: its errors do not matter
            client.close(timeout=1)
        client = connect()
        identity = client.scheduler_info()["id"]
        executor: Executor = client.get_executor(pure=False)
        return executor

    threads = sum(client.nthreads().values())
    lost = (CancelledError, FutureCancelledError, distributed.KilledWorker, OSError, TimeoutError)
    try:
        yield Workers(client.get_executor(pure=False), threads, lost, healthy, restart)
    finally:
        with suppress(OSError, TimeoutError):
            client.close(timeout=5)
