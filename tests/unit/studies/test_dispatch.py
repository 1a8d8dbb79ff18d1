"""A study's result depends on the study alone."""

from __future__ import annotations

import pickle
import sqlite3
from dataclasses import replace

import example_studies
import pytest

from harness.base.code_identity import CodeIdentity, code_identity
from harness.base.errors import EnvironmentMissing, Unsupported, UsageError
from harness.studies import ResultStore, Study, carry_out, open_workers
from harness.studies.study import Task, close_worker, content_hash, packed, perform
from harness.studies.workers import check_code


def study(items: int = 40, seconds: float = 0.0, data: bytes = b"image") -> Study:
    return Study(example_studies.squares, {"seconds": seconds}, {"data": data}, items, 3)


def result_of(one: Study, workers: int = 1, path=None, **options) -> bytes:
    with ResultStore(path, one) as store, open_workers(workers) as hands:
        units = carry_out(one, store, hands, **options)
        return packed(list(store.all_rows(units)))


@pytest.fixture(scope="module")
def expected() -> bytes:
    return packed([[n, n * n, "image"] for n in range(40)])


def test_one_worker_does_all_items_in_order(expected):
    assert result_of(study()) == expected


def test_two_workers_give_the_same_bytes_as_one(expected):
    assert result_of(study(), 2) == expected


def test_a_unit_whose_worker_died_is_done_again(tmp_path):
    one = Study(example_studies.killed_once, {"mark": str(tmp_path / "mark")}, {}, 40, 3)
    assert result_of(one, 2) == packed([[n, n * n] for n in range(40)])
    assert (tmp_path / "mark").exists()


def test_a_study_that_was_stopped_goes_on_where_it_was(tmp_path, expected):
    path = tmp_path / "study.sqlite"

    def stop(progress):
        if progress.items >= 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result_of(study(), path=path, progress=stop)
    done_again: list[int] = []
    with ResultStore(path, study()) as store, open_workers(1) as hands:
        assert len(store.done()) == 4
        units = carry_out(
            study(), store, hands, progress=lambda progress: done_again.append(progress.items)
        )
        assert packed(list(store.all_rows(units))) == expected
    assert len(done_again) == 14 - 4


def test_longer_study_reuses_the_units_of_a_shorter_one(tmp_path, expected):
    path = tmp_path / "study.sqlite"
    result_of(study(10), path=path)
    assert result_of(study(40), path=path) == expected


def test_a_store_of_another_study_is_refused(tmp_path):
    path = tmp_path / "study.sqlite"
    result_of(study(), path=path)
    with pytest.raises(UsageError, match="another study"):
        ResultStore(path, study(data=b"another image"))


def test_a_store_with_results_of_other_code_is_refused_with_the_difference(tmp_path, monkeypatch):
    path = tmp_path / "study.sqlite"
    result_of(study(), path=path)
    other = replace(code_identity(), numpy="1.0.0")
    monkeypatch.setattr("harness.studies.store.code_identity", lambda: other)
    with pytest.raises(UsageError, match=r"other code: numpy 1\.0\.0 here, \d+\.\S+ there"):
        ResultStore(path, study())


def test_a_store_of_an_older_version_without_identity_is_refused(tmp_path):
    path = tmp_path / "study.sqlite"
    result_of(study(), path=path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE code")
    with pytest.raises(UsageError, match="an older tflm-hil made them"):
        ResultStore(path, study())


def test_a_worker_does_nothing_for_other_code_and_says_what_it_is():
    one = study()
    other = replace(code_identity(), sources="0" * 16)
    task = Task(other, one.open, "{}", (("data", "unknown"),), one.units[0])
    reply = perform(task, {})
    assert (reply.code, reply.rows, reply.missing) == (code_identity(), b"", ())


def test_the_reply_of_a_worker_of_an_older_version_is_refused():
    with pytest.raises(EnvironmentMissing, match="worker lab2:17 runs an older tflm-hil"):
        check_code("lab2:17", None)


def test_every_part_of_an_identity_that_differs_is_named():
    here, there = CodeIdentity("0.2", "ab", "2.1", "2.1.4"), CodeIdentity("0.1", "cd", "2.1", "2.1")
    assert here.differences(there) == (
        "tflm-hil 0.2 here, 0.1 there; sources ab here, cd there; unicorn 2.1.4 here, 2.1 there"
    )


def test_an_error_of_any_class_comes_back_from_a_worker_process():
    error = Unsupported("renode", "read pins", hint="--target simulator")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.capability, type(again)) == (str(error), "read pins", Unsupported)


def test_file_that_is_not_a_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are not results of any study, but a page of text\n" * 20)
    with pytest.raises(UsageError, match="not the store"):
        ResultStore(path, study())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_ends_at_the_same_unit_wherever_it_runs(workers):
    seen: list[int] = []

    def enough(rows):
        seen.extend(row[0] for row in rows)
        return len(seen) >= 10

    rows = result_of(study(), workers, consume=enough)
    assert seen == list(range(12))
    assert rows == packed([[n, n * n, "image"] for n in range(12)])


def test_an_error_of_the_work_itself_is_raised():
    with pytest.raises(ZeroDivisionError):
        result_of(Study(example_studies.wrong, {}, {}, 4, 1))


def test_units_before_an_error_are_kept(tmp_path):
    one = Study(example_studies.wrong, {"first": 4}, {}, 8, 1)
    with pytest.raises(ZeroDivisionError):
        result_of(one, path=tmp_path / "study.sqlite")
    with ResultStore(tmp_path / "study.sqlite", one) as store:
        assert sorted(store.done()) == [0, 1, 2, 3]


def test_worker_gets_a_blob_once_and_reports_missing_ones():
    data = b"sent once"
    one = study(data=data)
    task = Task(code_identity(), one.open, "{}", (("data", content_hash(data)),), one.units[0])
    assert perform(task, {}).missing == (content_hash(data),)
    assert perform(task, {content_hash(data): data}).rows
    assert perform(task, {}).rows


@pytest.mark.slow
@pytest.mark.needs("distributed")
def test_a_dask_cluster_gives_the_same_bytes(expected, tmp_path):
    import dask
    import distributed

    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        one = study()
        with (
            ResultStore(None, one) as store,
            open_workers(scheduler=cluster.scheduler_address, patience=30) as hands,
        ):
            units = carry_out(one, store, hands)
            assert packed(list(store.all_rows(units))) == expected


def test_worker_forgets_the_blobs_of_another_study():
    def task(data: bytes) -> Task:
        one = study(data=data)
        blobs = (("data", content_hash(data)),)
        return Task(code_identity(), one.open, '{"seconds": 0}', blobs, one.units[0])

    first, second = b"first image", b"second image"
    try:
        assert not perform(task(first), {content_hash(first): first}).missing
        assert not perform(task(second), {content_hash(second): second}).missing
        assert perform(task(first), {}).missing == (content_hash(first),)
    finally:
        close_worker()
