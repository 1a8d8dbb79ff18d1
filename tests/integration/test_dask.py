"""Studies on a Dask cluster of processes, of which some die."""

from __future__ import annotations

from collections.abc import Callable

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

pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.studies.workers._PATIENCE", 120)  # a busy machine starts slowly
    with Cluster(tmp_path) as running:
        yield running


@pytest.fixture
def study() -> Study:
    """Forty units of a tenth of a second."""
    return Study(example_studies.squares, {"seconds": 0.1}, {"data": b"image"}, 120, 3)


EXPECTED = packed([[n, n * n, "image"] for n in range(120)])


def carried_out(study: Study, address: str, at: int, deed: Callable[[], None]) -> tuple[bytes, int]:
    """The rows of a study on a cluster to which something is done when ``at`` items are there,
    and how often workers were lost."""
    told: list[Progress] = []

    def progress(now: Progress) -> None:
        if now.items >= at > max((one.items for one in told), default=0):
            deed()
        told.append(now)

    with ResultStore(None, study) as store, open_workers(scheduler=address) as workers:
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

    assert rows(scheduler=cluster.address) == rows(count=1)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("harness.studies.workers._PATIENCE", 1)
    nowhere = open_workers(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(EnvironmentMissing, match="no Dask cluster answers at tcp://"), nowhere:
        pass
