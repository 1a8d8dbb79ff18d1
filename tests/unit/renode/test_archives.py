"""Which archive of Renode a machine gets."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
from renode_archive import NAME

from harness.base.errors import EnvironmentMissing
from harness.targets.renode import archives
from harness.targets.renode.archives import ARCHIVES, MINIMUM, PINNED, installable, shown


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch):
    """Makes this machine another one."""

    def become(system: str, machine: str, libc: str = "glibc") -> None:
        monkeypatch.setattr(platform, "system", lambda: system)
        monkeypatch.setattr(platform, "machine", lambda: machine)
        monkeypatch.setattr(platform, "libc_ver", lambda: (libc, ""))

    return become


def test_a_machine_gets_its_own_archive(host):
    host("Linux", "x86_64")
    assert installable().name == NAME


@pytest.mark.parametrize(
    ("machine", "words", "hint"),
    [
        (("Linux", "riscv64"), "for Linux on riscv64", "set RENODE"),
        (("Windows", "AMD64"), "for Windows on AMD64", "set RENODE"),
        (("Darwin", "arm64", ""), "disk image", "63b1fb691207f503"),
        (("Linux", "x86_64", "musl"), "needs glibc", "container"),
        (("Linux", "aarch64"), "only 1 source", "--unconfirmed"),
    ],
)
def test_a_machine_that_cannot_be_served_is_one_line_and_a_hint(host, machine, words, hint):
    host(*machine)
    with pytest.raises(EnvironmentMissing, match=words) as caught:
        installable()
    assert "\n" not in caught.value.message
    assert hint in caught.value.hint


def test_archive_of_one_source_is_accepted_with_consent(host):
    host("Linux", "aarch64")
    assert installable(unconfirmed=True).confirmed == 1


@pytest.mark.needs("linux")
def test_the_c_library_of_this_machine_is_known():
    assert platform.libc_ver()[0] == "glibc"


def test_the_table_is_well_formed():
    for one in ARCHIVES:
        release = f"https://github.com/renode/renode/releases/download/v{shown(PINNED)}/"
        assert one.url.startswith(f"{release}renode-{shown(PINNED)}.")
        assert len(bytes.fromhex(one.sha256)) == 32
    assert len({(one.system, one.machine) for one in ARCHIVES}) == len(ARCHIVES)
    assert len({one.sha256 for one in ARCHIVES}) == len(ARCHIVES)
    assert MINIMUM <= PINNED


def cache_key(change: str = "") -> subprocess.CompletedProcess[str]:
    run = "import runpy; runpy.run_module('harness.targets.renode', run_name='__main__')"
    command = [sys.executable, "-W", "error", "-c", f"{change}\n{run}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.needs("pinned renode")
def test_the_key_of_renodes_cache_names_version_and_hash_and_nothing_else_is_printed():
    archive = archives.for_this_machine()
    key = f"{shown(PINNED)}-{archive.system}-{archive.machine}-{archive.sha256}\n"
    printed = cache_key()
    assert (printed.returncode, printed.stdout, printed.stderr) == (0, key, "")


def test_a_machine_without_an_archive_has_no_cache_key():
    printed = cache_key("import platform; platform.machine = lambda: 'riscv64'")
    assert (printed.returncode, printed.stdout) == (1, "")
    assert printed.stderr == "no pinned archive of Renode 1.17.0 for this machine\n"
