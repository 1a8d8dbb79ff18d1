"""What tests need besides ``pip install .[test]``: how it is found, how to get it, who may lack it.

A test names it in a marker, ``@pytest.mark.needs("gdb-multiarch")``; a fixture or a function asks
for it, ``gdb = needs.require("gdb-multiarch")``. Where it is missing the test is skipped, with the
name. ``named_skips.py`` fails every other skip.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import chromium
import loopback
import postgresql
import pytest

# conftest.py imports this file for all tests: functions import the package, when they need it.

Found = Path | str | None


@dataclass(frozen=True)
class Need:
    """``find`` gives where it is, or None; ``absent`` says why CI may lack it, "" if it may not."""

    name: str
    how: str  # to get it
    find: Callable[[], Found]
    absent: str = ""

    @property
    def reason(self) -> str:
        """The text of a skip."""
        return f"needs {self.name}: {self.how}"


def find(name: str) -> Found:
    """Where ``name`` is, or None. Raises LookupError for a name that is not in the table."""
    if name not in NEEDS:
        raise LookupError(f"no need is called {name!r}")
    return NEEDS[name].find()


def require(name: str, *more: str) -> Path | str:
    """Where ``name`` is; skips the test if it, or one of ``more``, is missing."""
    __tracebackhide__ = True  # pytest reports the line that calls this
    places = []
    for one in (name, *more):
        place = find(one)
        if place is None:
            pytest.skip(NEEDS[one].reason)
        places.append(place)
    return places[0]


def _programs(*names: str) -> Callable[[], Found]:
    """Finds the first program on PATH, if all of them are there."""

    def find() -> Found:
        paths = [shutil.which(name) for name in names]
        return None if None in paths else paths[0]

    return find


def _module(name: str) -> Callable[[], Found]:
    def find() -> Found:
        spec = find_spec(name)
        return None if spec is None else spec.origin or name

    return find


def _if(condition: bool) -> Callable[[], Found]:
    return lambda: "here" if condition else None


def _folder(variable: str, content: str) -> Callable[[], Found]:
    """Finds the folder that an environment variable names; ``content`` is a pattern of its files.

    A folder without them is an error, not an absence.
    """

    def find() -> Found:
        value = os.environ.get(variable)
        if not value:
            return None
        if not any(Path(value).glob(content)):
            raise LookupError(f"{variable}: there is no {content} in {value}")
        return Path(value)

    return find


def _located(find: Callable[[], Path], variable: str) -> Found:
    """As the package finds it; ``variable`` must name the right thing."""
    from harness.base.errors import EnvironmentMissing

    try:
        return find()
    except EnvironmentMissing as missing:
        if os.environ.get(variable):
            raise LookupError(missing.message) from missing
        return None


def _renode() -> Found:
    from harness.targets.renode.find import locate

    return _located(locate, "RENODE")


def _pinned_renode() -> Found:
    from harness.targets.renode.archives import for_this_machine

    archive = for_this_machine()
    return archive.url if archive else None


def _zephyr() -> Found:
    from harness.build.workspace import find_workspace

    return _located(lambda: find_workspace().base, "ZEPHYR_BASE")


def _gdb() -> Found:
    from harness.debug.gdb import GDBS

    return next(filter(None, map(shutil.which, GDBS)), None)


def _cc() -> Found:
    from harness.base import native

    return None if native.packages() else shutil.which("cc")


def flatbuffers_headers() -> Path | None:
    """The folder of FlatBuffers' C++ headers."""
    folders = (Path(top, "include/flatbuffers") for top in ("/usr", "/usr/local"))
    return next(filter(Path.is_dir, folders), None)


def _flatc() -> Found:
    return shutil.which("flatc") if flatbuffers_headers() else None


def _network_namespace() -> Found:
    from harness.base.errors import EnvironmentMissing
    from harness.debug.renode import check_network

    try:
        check_network()
    except EnvironmentMissing:
        return None
    return "here"


def _user_namespaces() -> Found:
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    limit = "echo 0 > /proc/sys/user/max_user_namespaces"
    command = [unshare, "--user", "--map-root-user", "sh", "-c", limit]
    done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    return None if done.returncode else unshare


def _labgrid() -> Found:
    python = os.environ.get("TFLM_HIL_LABGRID")
    if not python:
        return None
    if not Path(python).with_name("labgrid-client").exists():
        raise LookupError(f"TFLM_HIL_LABGRID: there is no labgrid-client beside {python}")
    return Path(python)


def _renode_test() -> Found:
    runner = os.environ.get("TFLM_HIL_RENODE_TEST")
    if not runner:
        return None
    if not shutil.which(runner):
        raise LookupError(f"TFLM_HIL_RENODE_TEST is not a program: {runner}")
    return Path(runner)


def _apt(name: str, *programs: str, packages: str = "") -> Need:
    return Need(name, f"apt install {packages or name}", _programs(*(programs or (name,))))


def _pip(name: str, module: str = "") -> Need:
    return Need(name, f"pip install {name}", _module(module or name))


def _tree(name: str, variable: str, content: str) -> Need:
    return Need(name, f"the folder in ${variable}", _folder(variable, content), _NO_TREE)


_DOCTOR = "tflm-hil doctor --install"
_ARM = ("gcc", "g++", "gcc-ar", "as", "addr2line", "objcopy", "strip")
_NO_TREE = "CI has no such tree"
_RIGHT = "CI's user may lack the right"

_ROWS = (
    # Compilers and tools of a build
    Need("arm-none-eabi-gcc", _DOCTOR, _programs(*(f"arm-none-eabi-{tool}" for tool in _ARM))),
    Need("flatc", _DOCTOR, _flatc),
    Need("cc", _DOCTOR, _cc),
    _apt("g++"),
    _apt("binutils", "c++filt"),
    _apt("clang", "clang", "ld.lld", packages="clang lld"),
    _apt("llvm", "llvm-addr2line"),
    _apt("make"),
    _apt("cmake"),
    _apt("git"),
    # Other programs
    Need("gdb-multiarch", "apt install gdb-multiarch, or another gdb for Arm", _gdb),
    _apt("qemu-system-arm"),
    Need("chromium", "apt install chromium", chromium.program),
    Need("postgresql", "apt install postgresql", postgresql.programs),
    Need("ser2net", "apt install ser2net", loopback.ser2net_program),
    _apt("openssl"),
    _apt("jq"),
    _apt("fish"),
    _apt("zsh"),
    # Python packages
    _pip("pyocd"),
    _pip("distributed"),
    _pip("intelhex"),
    _pip("mkdocs-material", "material"),
    _pip("check-jsonschema", "check_jsonschema"),
    Need(
        "labgrid",
        "the python of an environment with labgrid in $TFLM_HIL_LABGRID",
        _labgrid,
    ),
    # What CI may lack
    Need(
        "tflite-micro",
        "an x86-64 machine, PyPI has it for no other",
        _if(platform.machine() == "x86_64"),
        absent="CI may run on another machine",
    ),
    Need(
        "renode",
        "tflm-hil doctor --install --with renode",
        _renode,
        absent="CI may be without Renode",
    ),
    Need(
        "renode-test",
        "Renode's own test runner in $TFLM_HIL_RENODE_TEST",
        _renode_test,
        absent="it needs an environment of its own",
    ),
    Need(
        "pinned renode",
        "Linux on x86-64 or aarch64",
        _pinned_renode,
        absent="CI may run on another machine",
    ),
    Need(
        "linux",
        "a Linux machine",
        _if(platform.system() == "Linux"),
        "CI may run on another system",
    ),
    Need("root", "run the tests as root", _if(os.geteuid() == 0), "CI may run as a user"),
    Need("user", "do not run the tests as root", _if(os.geteuid() != 0), "CI may run as root"),
    Need("network namespace", "a kernel that lets processes make one", _network_namespace, _RIGHT),
    Need(
        "user namespaces",
        "util-linux's unshare, and a kernel that lets it limit them",
        _user_namespaces,
        _RIGHT,
    ),
    # Trees of other projects
    Need(
        "zephyr",
        "a Zephyr workspace in $ZEPHYR_BASE, or around this checkout",
        _zephyr,
        absent=_NO_TREE,
    ),
    *(
        _tree(f"zephyr {major}.{minor}", f"TFLM_HIL_ZEPHYR_{major}_{minor}", "VERSION")
        for major, minor in ((3, 1), (3, 4), (3, 7), (4, 3))
    ),
    _tree("zephyr images", "TFLM_HIL_IMAGES", "*.elf"),
    _tree("riot", "TFLM_HIL_RIOT", "Makefile.include"),
    _tree("nuttx", "TFLM_HIL_NUTTX", "include/nuttx/irq.h"),
    _tree("freertos", "TFLM_HIL_FREERTOS", "tasks.c"),
)
NEEDS = {need.name: need for need in _ROWS}
