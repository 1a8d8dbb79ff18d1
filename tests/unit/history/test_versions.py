"""Histories of other versions, and files that are none."""

import sqlite3

import pytest
import replay_nights as lab

from harness.base.errors import EnvironmentMissing, UsageError
from harness.history import schema
from harness.history.check import check
from harness.history.store import History

#: The tables of version 1, as it made them.
VERSION_1 = """
CREATE TABLE tflm_hil (version INTEGER NOT NULL);
INSERT INTO tflm_hil VALUES (1);
CREATE TABLE runs (id INTEGER PRIMARY KEY, key VARCHAR(64) NOT NULL UNIQUE, started FLOAT NOT NULL,
  "commit" VARCHAR(64) NOT NULL, branch VARCHAR(255) NOT NULL, machine VARCHAR(255) NOT NULL,
  tool VARCHAR(64) NOT NULL);
CREATE TABLE images (id INTEGER PRIMARY KEY, sha256 VARCHAR(64) NOT NULL UNIQUE,
  compiler VARCHAR(255) NOT NULL);
CREATE TABLE parts (image INTEGER NOT NULL REFERENCES images (id), kind VARCHAR(16) NOT NULL,
  region VARCHAR(64) NOT NULL, name VARCHAR(1024) NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE cases (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs (id),
  image INTEGER REFERENCES images (id), name VARCHAR(255) NOT NULL, sample VARCHAR(255) NOT NULL,
  resolver VARCHAR(255) NOT NULL, builder VARCHAR(64) NOT NULL, target VARCHAR(64) NOT NULL,
  verdict VARCHAR(16) NOT NULL, reason VARCHAR(4096) NOT NULL);
CREATE TABLE measures ("case" INTEGER NOT NULL REFERENCES cases (id), name VARCHAR(64) NOT NULL,
  source VARCHAR(16) NOT NULL, value FLOAT NOT NULL);
INSERT INTO runs VALUES (1, 'k', 1767236400.0, 'c0ffee', 'main', 'lab', '0.1.0');
INSERT INTO cases VALUES (1, 1, NULL, 'old', 's', 'exact', 'standalone', 'simulator', 'pass', '');
INSERT INTO measures VALUES (1, 'flash', 'elf', 29048.0);
"""


def test_version_1_is_migrated_without_loss(file, run):
    database = sqlite3.connect(file)
    database.executescript(VERSION_1)
    database.close()
    with History.open(str(file)) as history:
        history.record(run(lab.document(night=1)))
        old, new = history.runs()
        assert (old.occasion.commit, old.occasion.command) == ("c0ffee", "")
        assert new.occasion.command == "tflm-hil run hil.toml"
        found = {key.case: points for key, points in history.cases([old, new]).items()}
        assert found["old"][0].outcome.figures == {("flash", "elf"): 29_048}
    with History.open(str(file)) as again:
        assert len(again.runs()) == 2


def test_version_2_is_migrated_with_its_selections(file, run):
    database = sqlite3.connect(file)
    database.executescript(VERSION_1)
    database.execute("ALTER TABLE runs ADD COLUMN command VARCHAR(4096) NOT NULL DEFAULT ''")
    database.execute("UPDATE runs SET command = 'tflm-hil run hil.toml --json 1.json'")
    database.execute("UPDATE tflm_hil SET version = 2")
    database.commit()
    database.close()
    with History.open(str(file)) as history:
        (old,) = history.runs()
        assert old.occasion.selection is None
        history.record(run(lab.document(night=1, command="tflm-hil run hil.toml --json 2.json")))
        found = check(history, "main", 10)
    assert [str(one.key) for one in found.regressions] == ["old on simulator"]


def test_passwords_of_version_5_leave_the_file(file, run):
    command = "tflm-hil run hil.toml --history postgresql://lab:s3cret@h/d"
    with History.open(str(file)) as history:
        history.record(run(lab.document(night=1, command="tflm-hil run hil.toml")))
        history.record(run(lab.document(night=2)))
    database = sqlite3.connect(file)
    database.execute("UPDATE runs SET command = ? WHERE id = 1", [command])
    database.execute("UPDATE cases SET reason = 'no a://b:s3cret@c' WHERE run = 2")
    database.execute("UPDATE tflm_hil SET version = 5")
    database.commit()
    database.close()
    assert b"s3cret" in file.read_bytes()
    with History.open(str(file)) as history:
        first, second = history.runs()
        reasons = {one[0].outcome.reason for one in history.cases([second]).values()}
    assert first.occasion.command == command.replace("s3cret", "***")
    assert second.occasion.command == "tflm-hil run hil.toml"
    assert reasons == {"no a://b:***@c"}
    assert b"s3cret" not in file.read_bytes()


def test_a_history_of_a_newer_version_is_refused_and_left_alone(file):
    with History.open(str(file)):
        pass
    database = sqlite3.connect(file)
    database.execute("UPDATE tflm_hil SET version = ?", [schema.VERSION + 1])
    database.commit()
    database.close()
    before = file.read_bytes()
    with pytest.raises(UsageError, match=f"version {schema.VERSION + 1}, .* knows"):
        History.open(str(file))
    assert file.read_bytes() == before


def test_a_file_that_is_not_a_database_is_named_and_left_alone(file):
    file.write_bytes(b"something of the user's own " * 400)
    before = file.read_bytes()
    with pytest.raises(UsageError, match=r"lab\.db is not a history, or damaged"):
        History.open(str(file))
    assert file.read_bytes() == before


def test_a_damaged_history_is_named_and_left_alone(file, run):
    with History.open(str(file)) as history:
        history.record(run(lab.document(*lab.cases(200))))
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(UsageError, match="damaged"), History.open(str(file)) as history:
        history.cases(history.runs())
    assert file.read_bytes() == data


def test_a_database_of_something_else_is_left_alone(file):
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE runs (mine TEXT)")
    database.commit()
    database.close()
    before = file.read_bytes()
    with pytest.raises(UsageError, match="something else"):
        History.open(str(file))
    assert file.read_bytes() == before


@pytest.mark.parametrize("url", ["nonsense://x/y", "://", "postgresql+nodriver://h/d"])
def test_a_url_that_names_no_database_is_refused(url):
    with pytest.raises((UsageError, EnvironmentMissing)):
        History.open(url)


def test_a_missing_folder_is_named_and_not_made(tmp_path):
    with pytest.raises(EnvironmentMissing, match="unable to open"):
        History.open(str(tmp_path / "no" / "lab.db"))
    assert not (tmp_path / "no").exists()
