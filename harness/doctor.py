"""The tools that the project needs on a machine, and how missing ones are installed."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from harness.base import native, process
from harness.base.errors import EnvironmentMissing, HilError
from harness.targets.renode.archives import MINIMUM, shown
from harness.targets.renode.find import locate

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Requirement:
    """One thing outside Python: a program on PATH, a file, or a thing that ``look`` finds."""

    name: str
    purpose: str
    package: str  # Debian's and Ubuntu's name; "" if they have none
    programs: tuple[str, ...] = ()  # any one of them
    files: tuple[str, ...] = ()  # glob patterns, any one of them
    look: Callable[[], str] | None = None  # gives where it is, "" if nowhere
    required: bool = True  # False: only for one target or builder
    images: bool = False  # testing images that are built needs it
    hint: str = ""  # where to get it, if there is no package


def _renode() -> str:
    try:
        return str(locate())
    except HilError:
        return ""


def _pyocd() -> str:
    spec = find_spec("pyocd")
    return (spec.origin or "") if spec else ""


def _workspace() -> str:
    from harness.build.workspace import find_workspace  # noqa: PLC0415 - only doctor needs it

    try:
        return str(find_workspace().base)
    except HilError:
        return ""


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement("Arm compiler", "builds firmware", "gcc-arm-none-eabi", ("arm-none-eabi-g++",)),
    Requirement(
        "newlib",
        "the C library of the firmware",
        "libnewlib-arm-none-eabi",
        files=(
            "/usr/lib/arm-none-eabi/newlib/nano.specs",
            "/usr/lib/arm-none-eabi/lib/nano.specs",
            "/usr/share/doc/libnewlib-arm-none-eabi",
        ),
    ),
    Requirement(
        "libstdc++ for newlib",
        "the C++ library of the firmware",
        "libstdc++-arm-none-eabi-newlib",
        files=("/usr/lib/gcc/arm-none-eabi/*/libstdc++.a", "/usr/include/newlib/c++/*/new"),
    ),
    Requirement("flatc", "makes the model's schema header", "flatbuffers-compiler", ("flatc",)),
    Requirement(
        "flatbuffers headers",
        "read models on the device",
        "libflatbuffers-dev",
        files=("/usr/include/flatbuffers/flatbuffers.h",),
    ),
    Requirement(
        "simulator's counting core",
        "runs images on the simulator",
        "",
        look=native.find,
        images=True,
        hint="tflm-hil doctor --install builds it",
    ),
    Requirement("cmake", "the zephyr builder", "cmake", ("cmake",), required=False),
    Requirement(
        "devicetree compiler",
        "the zephyr builder",
        "device-tree-compiler",
        ("dtc",),
        required=False,
    ),
    Requirement(
        "Zephyr workspace",
        "the zephyr builder",
        "",
        look=_workspace,
        required=False,
        hint="`tflm-hil build hello_world --builder zephyr` says how to set one up",
    ),
    Requirement(
        f"Renode >= {shown(MINIMUM)}",
        "the renode target",
        "",
        look=_renode,
        required=False,
        hint="tflm-hil doctor --install --with renode, or set RENODE to its path",
    ),
    Requirement(
        "flash tool",
        "the board target",
        "",
        ("nrfutil", "nrfjprog", "JLinkExe", "pyocd"),
        required=False,
        hint="nrfutil, nrfjprog or J-Link from their makers, or pip install 'tflm-hil[pyocd]'",
    ),
    Requirement(
        "pyOCD",
        "the virtual-board target, gdb, a board's memory",
        "",
        look=_pyocd,
        required=False,
        hint="pip install 'tflm-hil[pyocd]'",
    ),
)


#: What testing built images needs, and what single targets do.
FOR_IMAGES = tuple(
    need
    for need in REQUIREMENTS
    if need.images or (not need.required and "builder" not in need.purpose)
)


@dataclass(frozen=True)
class Diagnosis:
    """One requirement and where it was found ("" if it was not)."""

    requirement: Requirement
    found: str

    @property
    def ok(self) -> bool:
        """Whether it is there."""
        return bool(self.found)


def examine(requirements: Sequence[Requirement] = REQUIREMENTS) -> list[Diagnosis]:
    """Look for each requirement; nothing is executed."""
    return [Diagnosis(requirement, _find(requirement)) for requirement in requirements]


def _find(requirement: Requirement) -> str:
    if requirement.look is not None:
        return requirement.look()
    programs = (shutil.which(program) for program in requirement.programs)
    patterns = (pattern.lstrip("/") for pattern in requirement.files)
    matches = (str(path) for pattern in patterns for path in Path("/").glob(pattern))
    return next(filter(None, chain(programs, matches)), "")


def packages_to_install(diagnoses: Sequence[Diagnosis], *, optional: bool = False) -> list[str]:
    """The Debian packages for missing tools, with ``optional`` also for those not required."""
    missing = [diagnosis.requirement for diagnosis in diagnoses if not diagnosis.ok]
    return [need.package for need in missing if need.package and (optional or need.required)]


def build_core(*, dry_run: bool = False) -> str:
    """Build the counting core if it is missing or outdated, and install its prerequisites.

    Each command is logged before it runs. Gives a message: the action, or why there was none.
    """
    if native.find():
        return "the simulator has its counting core"
    packages = native.packages()
    try:
        for command in install_commands(packages) if packages else ():
            _log.info("%s: %s", "would run" if dry_run else "running", " ".join(command))
        if dry_run:
            return "would build the simulator's counting core"
        if packages:
            install(packages)
        library = native.build()
        native.check()
    except HilError as error:
        return f"the simulator cannot run: {error.message.splitlines()[0].rstrip(':')}"
    return f"built the simulator's counting core: {library}"


def install_commands(packages: Sequence[str]) -> list[list[str]]:
    """The commands that install ``packages``, with sudo if this user is not root.

    Raises :class:`EnvironmentMissing` if there is no apt-get or no sudo; the hint is the command
    for a user who may run it.
    """
    by_hand = f"apt-get install --yes {' '.join(packages)}"
    if shutil.which("apt-get") is None:
        raise EnvironmentMissing(
            "this system has no apt-get, so nothing can be installed for you",
            hint=f"on Debian or Ubuntu it would be: {by_hand}",
        )
    root: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise EnvironmentMissing(
                "installing needs root, and there is no sudo", hint=f"as root: {by_hand}"
            )
        root = ["sudo"]
    quiet = ["-qq", "-o", "Dpkg::Use-Pty=0"]
    return [
        [*root, "apt-get", "update", *quiet],
        [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes",
         "--no-install-recommends", *quiet, *packages],
    ]  # fmt: skip


def install(packages: Sequence[str]) -> None:
    """Install ``packages``; apt's output goes to this process's own.

    Raises :class:`EnvironmentMissing` if apt fails.
    """
    for command in install_commands(packages):
        if process.interactive(command) != 0:
            raise EnvironmentMissing(
                f"{' '.join(command[:3])} ... failed", hint="see its own message above"
            )
