"""Which Renode is used: named, RENODE, PATH, installed, in the usual places."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import EnvironmentMissing
from harness.targets.renode import find
from harness.targets.renode.differences import warnings


def program(path: Path, says: str = "Renode v1.17.0.1", *, code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_places_are_looked_at_in_their_order_and_only_a_program_is_one(
    cache, tmp_path, monkeypatch
):
    """A Renode of the machine's, which may be older, does not hide the one that doctor installs."""
    usual, later = tmp_path / "usual" / "renode", tmp_path / "later" / "renode"
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(find, "USUAL_PLACES", (str(usual), str(later)))
    program(usual).chmod(0o644)
    order = [later, usual, tmp_path / "bin" / "renode", cache / "1.17.0" / "renode"]
    for place in order:
        program(place)
        assert find.locate() == place
    variable = program(tmp_path / "variable" / "renode")
    monkeypatch.setenv("RENODE", str(variable))
    assert find.locate() == variable
    assert find.locate(later) == later


def test_a_place_in_the_users_home_is_found(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(find, "USUAL_PLACES", ("~/renode/renode",))
    mine = program(tmp_path / "renode" / "renode")
    assert find.locate() == mine
    assert find.locate("~/renode/renode") == mine


def test_another_version_in_the_cache_is_not_used(cache, monkeypatch):
    monkeypatch.setenv("PATH", "")
    for name in ("1.16.1", ".new-1.17.0"):
        program(cache / name / "renode")
    with pytest.raises(EnvironmentMissing, match="Renode is not installed"):
        find.locate()


@pytest.mark.parametrize("source", ["--renode", "RENODE"])
def test_named_path_must_be_a_program(cache, tmp_path, monkeypatch, source):
    nowhere = tmp_path / "nowhere"
    if source == "RENODE":
        monkeypatch.setenv("RENODE", str(nowhere))
    with pytest.raises(EnvironmentMissing, match=f"{source} .*{nowhere}"):
        find.locate(nowhere if source == "--renode" else None)


@pytest.mark.parametrize(
    "says", ["Renode v1.17.0.1", "Renode 1.17.0", "Renode, version 9\nRenode v1.17.0"]
)
def test_version_is_read_whatever_the_exit_code(tmp_path, says):
    found = find.examine(program(tmp_path / "renode", says, code=1))
    assert (found.path, found.version) == (tmp_path / "renode", (1, 17, 0))
    assert found.warnings == warnings((1, 17, 0))


def test_program_that_does_not_run_is_reported(tmp_path):
    path = tmp_path / "renode"
    path.write_bytes(b"\x7fELF garbage")
    path.chmod(0o755)
    with pytest.raises(EnvironmentMissing, match=f"{path} cannot be started: Exec format error"):
        find.examine(path)
