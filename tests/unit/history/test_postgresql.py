"""The same history on a real PostgreSQL server."""

import pytest
import replay_nights as lab

pytest.importorskip("pg8000", reason="no driver: pip install tflm-hil[postgresql]")
import postgresql
import sqlalchemy as sql
from history_writers import CASES, whole, writer

from harness.base.errors import EnvironmentMissing, UsageError
from harness.history import schema
from harness.history.regression import regressions
from harness.history.store import History

if postgresql.programs() is None:
    pytest.skip("PostgreSQL is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def server():
    with postgresql.server(postgresql.programs()) as url:
        yield url


@pytest.fixture
def url(server):
    yield server
    engine = sql.create_engine(server)
    schema.metadata.drop_all(engine)
    engine.dispose()


@pytest.mark.slow
def test_two_processes_that_write_at_once_to_a_new_database_lose_nothing(url):
    writers = [writer(url, first, 2, 10) for first in range(2)]
    for one in writers:
        _, said = one.communicate(timeout=200)
        assert one.returncode == 0, said
    assert whole(url) == list(range(20))


@pytest.mark.slow
def test_a_database_that_another_process_makes_meanwhile_has_one_version(url, monkeypatch):
    real, asked = schema.version, []

    def overtaken(connection, where):
        asked.append(real(connection, where))
        if len(asked) == 2:  # it is about to be made
            monkeypatch.undo()
            History.open(url).close()
        return asked[-1]

    monkeypatch.setattr(schema, "version", overtaken)
    History.open(url).close()
    engine = sql.create_engine(url)
    with engine.connect() as connection:
        versions = connection.execute(sql.select(schema.about.c.version)).scalars().all()
    engine.dispose()
    assert (asked, versions) == ([0, 0], [schema.VERSION])


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_whole_runs_only(url):
    one = writer(url, 0, 1, 10_000)
    for _ in range(3):
        one.stdout.readline()
    one.kill()
    one.communicate()
    assert whole(url)[:3] == [0, 1, 2]


@pytest.mark.slow
def test_regressions_are_found(url, run):
    with History.open(url) as history:
        for night in range(3):
            history.record(run(lab.document(*lab.cases(CASES), night=night)))
        runs = history.runs()
        before = {key: [p.outcome for p in points] for key, points in history.cases(runs).items()}
        now = {key: seen[-1] for key, seen in before.items()}
        assert regressions(now, before) == ()


@pytest.mark.slow
def test_a_newer_version_is_refused(url):
    with History.open(url):
        pass
    engine = sql.create_engine(url)
    with engine.begin() as connection:
        connection.execute(schema.about.update().values(version=schema.VERSION + 1))
    engine.dispose()
    with pytest.raises(UsageError, match="version"):
        History.open(url)


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(EnvironmentMissing) as caught:
        History.open("postgresql+pg8000://lab:secret@127.0.0.1:1/postgres")
    assert "127.0.0.1:1" in str(caught.value) and "secret" not in str(caught.value)
