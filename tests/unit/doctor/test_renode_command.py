"""Which archive of Renode a machine gets, where it is found, and the command that installs it."""

from __future__ import annotations

import platform
from importlib import import_module
from pathlib import Path

import pytest
from renode_archive import GOOD, NAME, pinned

from harness import doctor
from harness.cli import main
from harness.errors import EnvironmentMissing, UsageError
from harness.targets.renode import find
from harness.targets.renode.install import archive_for, check_libc
from harness.targets.renode.releases import ARCHIVES, MINIMUM, PINNED, Archive


def test_each_machine_gets_its_own_archive():
    linux = archive_for(system="Linux", machine="x86_64")
    assert linux.version == PINNED
    assert linux.name == NAME
    old = archive_for(MINIMUM, system="Linux", machine="aarch64")
    assert old.name == "renode-1.16.1.linux-arm64-portable-dotnet.tar.gz"


@pytest.mark.parametrize(
    ("system", "machine", "words", "hint"),
    [
        ("Linux", "riscv64", "for Linux on riscv64", "set RENODE"),
        ("Windows", "AMD64", "for Windows on AMD64", "set RENODE"),
        ("Darwin", "arm64", "disk image", "63b1fb691207f503"),
        ("Linux", "aarch64", "only 1 source", "--unconfirmed"),
    ],
)
def test_a_machine_that_cannot_be_served_is_one_line_and_a_hint(system, machine, words, hint):
    with pytest.raises(EnvironmentMissing, match=words) as caught:
        archive_for(system=system, machine=machine)
    assert hint in caught.value.hint


def test_an_archive_of_one_source_is_taken_where_the_user_says_so():
    assert archive_for(system="Linux", machine="aarch64", unconfirmed=True).confirmed == 1


def test_a_version_that_is_not_pinned_is_a_usage_error():
    with pytest.raises(UsageError, match="is not pinned") as caught:
        archive_for((1, 15, 3), system="Linux", machine="x86_64")
    assert caught.value.hint == "pinned are: 1.17.0, 1.16.1"


def test_another_c_library_than_glibc_is_one_line_and_a_hint(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Linux")
    with pytest.raises(EnvironmentMissing, match="needs glibc"):
        check_libc("CS_PATH_THAT_MUSL_DOES_NOT_KNOW")


def test_the_pinned_table_is_well_formed():
    for one in ARCHIVES:
        assert one.url.startswith("https://github.com/renode/renode/releases/download/v")
        assert f"v{'.'.join(map(str, one.version))}/renode-" in one.url
        assert len(bytes.fromhex(one.sha256)) == 32
        assert one.version >= MINIMUM
    assert len({(one.version, one.system, one.machine) for one in ARCHIVES}) == len(ARCHIVES)
    assert len({one.sha256 for one in ARCHIVES}) == len(ARCHIVES)


# -- where it is found -----------------------------------------------------------------------------


def put(cache: Path, version: str) -> Path:
    program = cache / version / "renode"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_newest_installed_one_is_found_after_renode_and_path(cache, tmp_path, monkeypatch):
    newest = [put(cache, version) for version in ("1.9.0", "1.17.0", "1.16.1")][1]
    put(cache, ".new-half")
    monkeypatch.setenv("PATH", "")
    assert find.locate() == newest
    on_path = put(tmp_path, "bin")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find.locate() == on_path
    named = put(tmp_path, "named")
    monkeypatch.setenv("RENODE", str(named))
    assert find.locate() == named


# -- the command -----------------------------------------------------------------------------------


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


def test_a_dry_run_says_what_it_would_fetch_and_fetches_nothing(cache, table, capsys):
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
def test_options_that_need_others_say_so(cache, arguments, capsys):
    assert main(["doctor", *arguments]) == 2
