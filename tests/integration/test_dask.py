"""Studies on a Dask cluster of processes, of which some die."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count, permutations
from pathlib import Path
from threading import Thread

import example_studies
import pytest
from dask_cluster import Cluster

from harness.base import paths
from harness.base.errors import EnvironmentMissing
from harness.build.builders import build_one
from harness.elf import Image
from harness.model import Model
from harness.studies import ResultStore, Study, carry_out, open_workers
from harness.studies.campaign import Options, campaign, study_of
from harness.studies.dispatch import Progress
from harness.studies.study import packed

pytestmark = pytest.mark.needs("distributed")
_PATIENCE = 120  # seconds: a busy machine starts slowly


@pytest.fixture
def cluster(tmp_path):
    with Cluster(tmp_path) as running:
        yield running


@pytest.fixture
def study() -> Study:
    """Forty units of a tenth of a second."""
    return Study(example_studies.squares, {"seconds": 0.1}, {"data": b"image"}, 120, 3)


EXPECTED = packed([[n, n * n, "image"] for n in range(120)])


def carried_out(
    study: Study,
    address: str,
    at: int,
    deed: Callable[[], None],
    now: Callable[[], float] = time.monotonic,
) -> tuple[bytes, int]:
    """The rows of a study on a cluster to which something is done when ``at`` items are there,
    and how often workers were lost."""
    told: list[Progress] = []

    def progress(now: Progress) -> None:
        if now.items >= at > max((one.items for one in told), default=0):
            deed()
        told.append(now)

    with (
        ResultStore(None, study) as store,
        open_workers(scheduler=address, patience=_PATIENCE, now=now) as workers,
    ):
        units = carry_out(study, store, workers, progress=progress)
        return packed(list(store.all_rows(units))), told[-1].lost


@pytest.mark.slow
def test_nothing_is_lost_when_a_worker_is_killed_in_the_middle(cluster, study):
    rows, _ = carried_out(study, cluster.address, 30, cluster.kill_worker)
    assert rows == EXPECTED


@pytest.mark.slow
def test_nothing_is_lost_when_the_scheduler_is_started_again(cluster, study):
    rows, lost = carried_out(study, cluster.address, 30, cluster.restart_scheduler)
    assert rows == EXPECTED
    assert lost


@pytest.mark.slow
def test_a_campaign_on_a_cluster_gives_the_same_bytes_as_one_process(cluster):
    model = Model.from_file(paths.models() / "hello_world_int8.tflite")
    firmware = Image.from_elf(build_one("hello_world", "exact"))
    study = study_of(firmware, model, Options(), 1400)

    def rows(**where) -> bytes:
        with ResultStore(None, study) as store, open_workers(**where) as workers:
            _, units = campaign(study, store, workers)
            return packed(list(store.all_rows(units)))

    assert rows(scheduler=cluster.address, patience=_PATIENCE) == rows(count=1)


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """The port of a server that accepts every connection, sends ``answer`` and reads nothing."""

    def serve(listener: socket.socket) -> None:
        with suppress(OSError), ExitStack() as connections:
            while True:
                connection, _ = listener.accept()
                connections.enter_context(connection).sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def test_a_scheduler_that_does_not_answer_is_named():
    nowhere = open_workers(scheduler="tcp://127.0.0.1:9", patience=1)
    with pytest.raises(EnvironmentMissing, match="no Dask cluster answers at tcp://"), nowhere:
        pass


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["none", "HTTP"])
def test_a_port_that_is_no_scheduler_ends_the_patience(answer):
    with answering(answer) as port:
        other = open_workers(scheduler=f"tcp://127.0.0.1:{port}", patience=1)
        message = rf"no Dask cluster answers at tcp://127.0.0.1:{port}: \S+"
        with pytest.raises(EnvironmentMissing, match=message), other:
            pass


@pytest.fixture
def extra(cluster):
    """Starts a worker with other code; it ends with the test."""
    started = []
    yield lambda code: started.append(cluster.start_worker(code))
    for process in started:
        process.close()


def refusal(cluster: Cluster) -> str:
    """What is said when workers are opened."""
    cluster.wait_for(3)
    with (
        pytest.raises(EnvironmentMissing) as caught,
        open_workers(scheduler=cluster.address, patience=_PATIENCE),
    ):
        pass
    return caught.value.message


@pytest.mark.slow
def test_a_worker_of_other_code_is_refused_by_name_before_any_work(cluster, extra):
    extra(cluster.other_code())
    assert re.fullmatch(
        r"worker tcp://\S+ runs other code: sources \w+ here, \w+ there", refusal(cluster)
    )


@pytest.mark.slow
def test_a_worker_of_other_code_that_comes_later_is_refused_by_name(cluster, extra, study):
    other = cluster.other_code()

    def start_other() -> None:
        extra(other)
        cluster.wait_for(3)

    with pytest.raises(EnvironmentMissing, match=r"runs other code: sources \w+ here, \w+ there"):
        carried_out(study, cluster.address, 6, start_other)


@pytest.mark.slow
def test_a_worker_that_cannot_import_the_package_says_why(cluster, extra):
    extra(cluster.no_code())
    assert "harness: platforms are missing" in refusal(cluster)


@pytest.mark.slow
def test_an_error_of_the_operating_system_in_a_worker_is_an_error_not_a_lost_worker(cluster):
    one = Study(example_studies.missing_file, {}, {}, 4, 1)
    with pytest.raises(EnvironmentMissing, match=r"worker .*No such file.*nowhere\.toml"):
        carried_out(one, cluster.address, 1, lambda: None)


@pytest.mark.slow
def test_without_any_worker_a_study_waits_a_bounded_time_and_says_so(cluster, study, caplog):
    def kill_all() -> None:
        while cluster.workers:
            cluster.kill_worker()

    passing = count(0.0, 2 * _PATIENCE).__next__  # the patience is over at the next look
    with pytest.raises(EnvironmentMissing, match=r"no worker is left at tcp://\S+, for 120 s"):
        carried_out(study, cluster.address, 30, kill_all, passing)
    assert [record.message for record in caplog.records if record.name.startswith("harness")] == [
        f"no worker is left at {cluster.address}: waiting 120 s for one"
    ]


@pytest.mark.slow
def test_a_worker_that_returns_goes_on_with_the_study(cluster, study):
    def replace_all() -> None:
        while cluster.workers:
            cluster.kill_worker()
        cluster.workers.append(cluster.start_worker())

    assert carried_out(study, cluster.address, 30, replace_all)[0] == EXPECTED


#: Carries a study out with a store on disk; prints how many items are there.
CLIENT = """
import sys
from pathlib import Path
import example_studies
from harness.studies import ResultStore, Study, carry_out, open_workers
study = Study(example_studies.squares, {"seconds": 0.1}, {"data": b"image"}, 120, 3)
file, address = sys.argv[1:]
show = lambda now: print(now.items, flush=True)
with ResultStore(Path(file), study) as store:
    with open_workers(scheduler=address, patience=120) as workers:
        carry_out(study, store, workers, progress=show)
"""


class Client:
    """A client in a process of its own, which can be killed and started again."""

    def __init__(self, cluster: Cluster, file: Path) -> None:
        self._command = [sys.executable, "-c", CLIENT, str(file), cluster.address]
        self._log = file.with_suffix(".log")
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True,
                env={
                    **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "TMPDIR": str(self._log.parent),
                },
            )  # fmt: skip

    def wait_until(self, items: int) -> None:
        """Wait until so many items are there, or the study has ended."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if int(line) >= items:
                return

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.start()

    def end(self) -> str:
        """Wait for the end; gives what all clients said on standard error."""
        self.process.communicate(timeout=200)
        assert self.process.returncode == 0, self._log.read_text()
        return self._log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", list(permutations(["worker", "scheduler", "client"])), ids="-".join
)
def test_kills_in_any_order_change_no_byte_of_the_results(cluster, study, tmp_path, order):
    def worker() -> None:
        cluster.kill_worker()
        cluster.workers.append(cluster.start_worker())

    client = Client(cluster, tmp_path / "study.db")
    kill = {"worker": worker, "scheduler": cluster.restart_scheduler, "client": client.kill}
    for number, role in enumerate(order):
        client.wait_until(15 + 25 * number)
        kill[role]()
    said = client.end()
    assert "Traceback" not in said, said
    with ResultStore(tmp_path / "study.db", study) as store:
        rows = list(store.all_rows(40))
    assert packed(rows) == EXPECTED
