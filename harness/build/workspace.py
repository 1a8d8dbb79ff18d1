"""Finds a Zephyr workspace, its release, and the settings that affect builds in it."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import EnvironmentMissing
from harness.build import board_names
from harness.build.toolchain import VARIABLES

#: Environment variables that Zephyr's CMake and Kconfig files, CMake and west read.
_VARIABLES = re.compile(
    r"(?!ZEPHYR_BASE$)(?:ZEPHYR_|EXTRA_|CMAKE_|CONFIG_|BOARD|SHIELD|SNIPPET|WEST_|KCONFIG_|\w+_ROOT$"
    r"|\w*TOOLCHAIN|CROSS_COMPILE$|CONF_FILE$|OVERLAY_CONFIG$|DTC_OVERLAY_FILE$|USE_CCACHE$"
    r"|(?:AS|C|CPP|CXX|LD)FLAGS$|(?:AS|CC|CXX|LD)$)"
)
#: West's configuration files besides that of the workspace: environment variable -> default path.
_SETTINGS = {"WEST_CONFIG_SYSTEM": "/etc/westconfig", "WEST_CONFIG_GLOBAL": "~/.westconfig"}

_NEW_BOARD_NAMES = (3, 7)
_NEW_CONF_OPTION = (3, 4)


@dataclass(frozen=True)
class Workspace:
    """A Zephyr workspace: ``base`` is Zephyr's repository, ``version`` (major, minor).

    ``release`` is the content of its file VERSION; ``settings`` are the environment variables and
    west's settings that affect builds, such as arguments for CMake.
    """

    base: Path
    version: tuple[int, int]
    release: str = ""
    settings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A part of folder names that differs between workspaces, releases and settings.

        These need separate build trees, because CMake caches their values.
        """
        major, minor = self.version
        parts = "\0".join((str(self.base.resolve()), self.release, *self.settings))
        key = hashlib.sha256(parts.encode()).hexdigest()[:8]
        return f"zephyr{major}.{minor}-{key}"

    def board(self, name: str) -> str:
        """The board's name in this release of Zephyr."""
        board = board_names.Board.of(name)
        return name if board is None or self.version >= _NEW_BOARD_NAMES else board.flat

    @property
    def fragment_option(self) -> str:
        """The CMake variable for further configuration fragments."""
        return "EXTRA_CONF_FILE" if self.version >= _NEW_CONF_OPTION else "OVERLAY_CONFIG"


def find_workspace(
    start: Path | None = None, environment: Mapping[str, str] | None = None
) -> Workspace:
    """The workspace of ZEPHYR_BASE, or the one that contains ``start`` or else this project.

    ``start`` defaults to the working directory. Raises EnvironmentMissing with the commands that
    create a workspace.
    """
    variables = os.environ if environment is None else environment
    named = variables.get("ZEPHYR_BASE")
    if named:
        return _workspace(Path(named), "ZEPHYR_BASE", variables)
    for folder in (start or Path.cwd(), paths.own_samples()):
        for top in (folder.resolve(), *folder.resolve().parents):
            settings = top / ".west" / "config"
            if files.is_file(settings):
                return _workspace(top / _zephyr_base(settings), str(settings), variables)
    raise _missing("no Zephyr workspace: ZEPHYR_BASE is not set, and no .west folder was found")


def _zephyr_base(settings: Path) -> str:
    parser = configparser.ConfigParser()
    try:
        parser.read(settings)
        return parser.get("zephyr", "base", fallback="zephyr")
    except configparser.Error as error:
        raise _missing(f"{settings} cannot be read: {error}") from error


def _workspace(base: Path, source: str, variables: Mapping[str, str]) -> Workspace:
    try:
        text = (base / "VERSION").read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentMissing(
            f"{source} points to {base}, which does not contain Zephyr",
            hint="run west update again if it was interrupted, or set another ZEPHYR_BASE",
        ) from error
    numbers = dict(re.findall(r"VERSION_(MAJOR|MINOR)\s*=\s*(\d+)", text))
    if len(numbers) != len(("MAJOR", "MINOR")):
        raise _missing(f"{base / 'VERSION'} does not contain Zephyr's version")
    version = (int(numbers["MAJOR"]), int(numbers["MINOR"]))
    return Workspace(base, version, text, tuple(_settings(base, variables)))


def _settings(base: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """The environment variables and west's settings that affect builds in a workspace."""
    for name in sorted(variables):
        if name in VARIABLES or _VARIABLES.match(name):
            yield f"{name}={variables[name]}"
    own = next(
        (
            top / ".west" / "config"
            for top in base.resolve().parents
            if files.is_folder(top / ".west")
        ),
        None,
    )
    others = [Path(variables.get(name) or usual) for name, usual in _SETTINGS.items()]
    parser = configparser.ConfigParser(interpolation=None)
    for file in (*others, own):
        if file is not None:
            with suppress(configparser.Error, UnicodeDecodeError):  # west reports the error
                parser.read(file.expanduser(), encoding="utf-8")
    for section in ("build", "zephyr"):
        if parser.has_section(section):
            yield from (f"{section}.{name}={value}" for name, value in parser.items(section))


def _missing(message: str) -> EnvironmentMissing:
    project = paths.own_samples().parent
    if not files.is_file(project / "west.yml"):
        return EnvironmentMissing(
            message,
            hint="set ZEPHYR_BASE, or work in a clone of the project, which has a west manifest",
        )
    commands = (
        f"cd {project.parent}",
        f"west init -l {project.name}",
        "west update",
        "west zephyr-export",
        "pip install -r zephyr/scripts/requirements-base.txt",
        "west sdk install -t arm-zephyr-eabi",
    )
    return EnvironmentMissing(message, hint="create one: " + " && ".join(commands))
