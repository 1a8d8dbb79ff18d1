"""The same history on a real PostgreSQL server."""

from dataclasses import replace

import postgresql
import pytest
import replay_nights as lab
import sqlalchemy as sql
from history_writers import CASES, whole, writer
from slow_link import slow_link

from harness.base.errors import CannotWrite, EnvironmentMissing, UsageError
from harness.history import schema
from harness.history.regression import regressions
from harness.history.run import ImageParts
from harness.history.store import History

pytestmark = pytest.mark.needs("postgresql")


@pytest.fixture(scope="module")
def server():
    with postgresql.server(postgresql.programs()) as made:
        yield made


@pytest.fixture
def url(server):
    yield server.url
    engine = sql.create_engine(server.url)
    schema.metadata.drop_all(engine)
    engine.dispose()


@pytest.mark.slow
def test_two_processes_that_write_at_once_to_a_new_database_lose_nothing(url):
    writers = [writer(url, first, 2, 10) for first in range(2)]
    for one in writers:
        _, said = one.communicate(timeout=200)
        assert one.returncode == 0, said
    assert whole(url) == list(range(20))


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


def test_a_writer_that_is_killed_leaves_whole_runs_only(url):
    one = writer(url, 0, 1, 10_000)
    for _ in range(3):
        one.stdout.readline()
    one.kill()
    one.communicate()
    assert whole(url)[:3] == [0, 1, 2]


def test_regressions_are_found(url, run):
    with History.open(url) as history:
        for night in range(3):
            history.record(run(lab.document(*lab.cases(CASES), night=night)))
        runs = history.runs()
        before = {key: [p.outcome for p in points] for key, points in history.cases(runs).items()}
        now = {key: seen[-1] for key, seen in before.items()}
        assert regressions(now, before) == ()


def test_a_newer_version_is_refused(url):
    with History.open(url):
        pass
    engine = sql.create_engine(url)
    with engine.begin() as connection:
        connection.execute(schema.about.update().values(version=schema.VERSION + 1))
    engine.dispose()
    with pytest.raises(UsageError, match="version"):
        History.open(url)


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(EnvironmentMissing) as caught:
        History.open("postgresql+pg8000://lab:secret@127.0.0.1:1/postgres")
    assert "127.0.0.1:1" in str(caught.value) and "secret" not in str(caught.value)


@pytest.fixture
def statements():
    """The statements that any engine sends."""
    sent: list[str] = []

    def one(cursor, statement, *_):
        sent.append(statement)

    def many(cursor, statement, rows, _):
        sent.extend([statement] * len(rows))  # pg8000 sends one for each row

    events = {"do_execute": one, "do_execute_no_params": one, "do_executemany": many}
    for name, note in events.items():
        sql.event.listen(sql.Engine, name, note)
    yield sent
    for name, note in events.items():
        sql.event.remove(sql.Engine, name, note)


def test_a_night_of_130_cases_takes_at_most_ten_statements(url, run, statements):
    rows = [row | {"elf_sha256": f"{number:064x}"} for number, row in enumerate(lab.cases(130))]
    images = tuple(
        ImageParts(row["elf_sha256"], "GCC", (("symbol", "FLASH", "main", 8),) * 300)
        for row in rows
    )
    with History.open(url) as history:
        statements.clear()
        history.record(replace(run(lab.document(*rows)), images=images))
        assert len(statements) <= 10, [one[:40] for one in statements]
        ((_, (point,)), *_) = history.cases(history.runs()).items()
        assert history.parts(point.image, "symbol") == {("FLASH", "main"): 8}


def test_a_writer_that_waits_too_long_for_another_says_so(url, run, monkeypatch):
    monkeypatch.setattr("harness.history.store._PATIENCE", 1)
    with History.open(url) as history:
        engine = sql.create_engine(url)
        with engine.begin() as other:
            schema.hold(other)
            with pytest.raises(CannotWrite, match="another writer holds it for more than 1 s"):
                history.record(run(lab.document()))
        engine.dispose()
        assert history.record(run(lab.document()))


def test_a_connection_that_was_lost_between_two_nights_is_made_again(url, run, caplog):
    with History.open(url) as history:
        history.record(run(lab.document(night=0)))
        engine = sql.create_engine(url)
        with engine.connect() as other:
            other.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        engine.dispose()
        assert history.record(run(lab.document(night=1)))
        assert len(history.runs()) == 2
    assert not caplog.text


def test_a_servers_error_is_one_line(url):
    missing = url.rpartition("/")[0] + "/nowhere"
    with pytest.raises(EnvironmentMissing) as caught:
        History.open(missing)
    assert 'database "nowhere" does not exist' in caught.value.message
    assert "\n" not in caught.value.message and "{" not in caught.value.message


def test_over_a_link_of_20_ms_a_night_takes_the_time_of_its_few_statements(url, run):
    parsed = sql.make_url(url)
    with (
        slow_link(parsed.port, 0.01) as port,
        History.open(parsed.set(port=port).render_as_string(hide_password=False)) as far,
    ):
        assert far.record(run(lab.document(*lab.cases(130))))
        assert len(far.runs()) == 1


@pytest.mark.slow
def test_eight_writers_of_twenty_nights_over_20_ms_lose_nothing(url):
    """A lab each, its nights at the same time as those of the others."""
    parsed = sql.make_url(url)
    with slow_link(parsed.port, 0.01) as port:
        far = parsed.set(port=port).render_as_string(hide_password=False)
        writers = [writer(far, first, 8, 20) for first in range(8)]
        for one in writers:
            _, said = one.communicate(timeout=500)
            assert one.returncode == 0, said
    assert sorted(whole(url)) == list(range(160))


@pytest.mark.slow
def test_a_server_that_is_killed_at_any_statement_holds_whole_runs(server, url, run, statements):
    """After a kill the night is there as a whole, or not at all; the error is one line."""
    rows = [row | {"elf_sha256": f"{number:064x}"} for number, row in enumerate(lab.cases(CASES))]
    images = tuple(
        ImageParts(row["elf_sha256"], "GCC", (("symbol", "FLASH", "main", 8),)) for row in rows
    )

    def record(night: int) -> bool:
        with History.open(url) as history:
            statements.clear()
            made = run(lab.document(*rows, night=night))
            return history.record(replace(made, images=images if night % 2 else ()))

    record(0)
    record(1)
    count, night, outcomes = len(statements), 2, set()
    for at in range(1, count + 2):
        before = whole(url)
        killer = KillAt(server, at)
        sql.event.listen(sql.Engine, "before_cursor_execute", killer)
        try:
            record(night)
            outcomes.add("kept")
        except (EnvironmentMissing, CannotWrite) as error:
            assert "\n" not in error.message
            outcomes.add("refused")
        finally:
            sql.event.remove(sql.Engine, "before_cursor_execute", killer)
        if killer.killed:
            server.start()
        assert whole(url) in (before, [*before, night])
        night += 1
    assert "refused" in outcomes


class KillAt:
    """Kills the server before the statement with a number, counted from the next one."""

    def __init__(self, server, number):
        self.server, self.left, self.killed = server, number, False

    def __call__(self, *_):
        self.left -= 1
        if self.left == 0:
            self.server.kill()
            self.killed = True
