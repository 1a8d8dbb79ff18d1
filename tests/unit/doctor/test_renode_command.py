"""The command that installs Renode."""

from __future__ import annotations

import platform

import pytest
from renode_archive import GOOD, NAME, pinned

from harness import doctor
from harness.cli import main
from harness.targets.renode import archives
from harness.targets.renode.archives import Archive


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Pins the small archive for this machine."""
    archive = pinned(GOOD, system=platform.system(), machine=platform.machine())
    monkeypatch.setattr(archives, "ARCHIVES", (archive,))
    monkeypatch.setattr(doctor, "packages_to_install", lambda *_, **__: [])
    return archive


def test_the_command_installs_from_a_file_and_doctor_finds_it(cache, table, tmp_path, capsys):
    (tmp_path / NAME).write_bytes(GOOD)
    main(["doctor", "--install", "--with", "renode", "--archive", str(tmp_path / NAME)])
    said = capsys.readouterr()
    program = cache / "1.17.0" / "renode"
    assert f"Renode 1.17.0 is at {program}" in said.out
    assert f"ok  Renode >= 1.17.0 (the renode target): {program}" in said.out
    assert "\x1b" not in said.out + said.err


def test_a_dry_run_names_the_download_and_fetches_nothing(cache, table, capsys):
    main(["doctor", "--install", "--with", "renode", "--dry-run"])
    assert f"would install {table.url}" in capsys.readouterr().out
    assert not cache.exists()


def test_a_failed_installation_is_exit_code_3_and_one_line(cache, table, tmp_path, capsys):
    (tmp_path / NAME).write_bytes(b"other")
    arguments = ["doctor", "--install", "--with", "renode", "--archive", str(tmp_path / NAME)]
    assert main(arguments) == 3
    assert f"not the pinned {NAME}: 5 of" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--with", "renode"],
        ["--install", "--archive", "x"],
        ["--install", "--unconfirmed"],
    ],
)
def test_options_that_need_others_are_refused_with_a_hint(cache, arguments, capsys):
    assert main(["doctor", *arguments]) == 2
