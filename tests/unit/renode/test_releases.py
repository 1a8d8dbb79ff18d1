"""Which archive of Renode a machine gets, and where a Renode is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from renode_archive import NAME

from harness.base.errors import EnvironmentMissing, UsageError
from harness.targets.renode import find
from harness.targets.renode.install import archive_for, check_libc
from harness.targets.renode.releases import ARCHIVES, MINIMUM, PINNED, shown


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


def test_archive_of_one_source_is_accepted_with_consent():
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


def cache_key(*arguments):
    command = [sys.executable, "-W", "error", "-m", "harness.targets.renode", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_key_of_renodes_cache_names_version_and_hash_and_nothing_else_is_printed():
    printed = cache_key()
    assert printed.stdout.startswith(f"{shown(PINNED)}-")
    assert printed.stdout.strip().rpartition("-")[2] in {one.sha256 for one in ARCHIVES}
    assert printed.stderr == ""


def test_unpinned_release_has_no_cache_key():
    printed = cache_key("1.2.3")
    assert (printed.returncode, printed.stdout) == (1, "")
    assert printed.stderr == "no pinned archive of Renode 1.2.3 for this machine\n"
