"""The command that installs Renode."""

from __future__ import annotations

import platform
from importlib import import_module

import pytest
from renode_archive import GOOD, NAME, pinned

from harness import doctor
from harness.cli import main
from harness.targets.renode.releases import Archive


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Pins the small archive for this machine."""
    archive = pinned(GOOD, system=platform.system(), machine=platform.machine())
    monkeypatch.setattr(import_module("harness.cli.doctor"), "ARCHIVES", (archive,))
    monkeypatch.setattr(doctor, "packages_to_install", lambda *_, **__: [])
    return archive


def test_the_command_installs_from_a_file_and_doctor_finds_it(cache, table, tmp_path, capsys):
    (tmp_path / NAME).write_bytes(GOOD)
    main(["doctor", "--install", "--with", "renode", "--archive", str(tmp_path / NAME)])
    said = capsys.readouterr()
    assert f"Renode 1.17.0 is at {cache / '1.17.0' / 'renode'}" in said.out
    assert "100 %" in said.out
    assert "\x1b" not in said.out + said.err


def test_a_dry_run_names_the_download_and_fetches_nothing(cache, table, capsys):
    main(["doctor", "--install", "--with", "renode", "--dry-run"])
    assert f"would install {table.url}" in capsys.readouterr().out
    assert not cache.exists()


def test_a_failed_installation_is_exit_code_3_and_one_line(cache, table, tmp_path, capsys):
    (tmp_path / NAME).write_bytes(b"other")
    arguments = ["doctor", "--install", "--with", "renode", "--archive", str(tmp_path / NAME)]
    assert main(arguments) == 3
    assert f"not the pinned {NAME}: it ends after 5 of" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--with", "renode"],
        ["--install", "--archive", "x"],
        ["--install", "--renode-version", "1.16.1"],
        ["--install", "--with", "renode", "--renode-version", "new"],
    ],
)
def test_options_that_need_others_are_refused_with_a_hint(cache, arguments, capsys):
    assert main(["doctor", *arguments]) == 2
