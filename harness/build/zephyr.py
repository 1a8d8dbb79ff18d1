"""The Zephyr builder: ``west build`` in the workspace that it finds.

The image is the real thing: Zephyr, tflite-micro and the same sample sources as the standalone
build. ELF, map, ``.config`` and devicetree of each build are kept side by side.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import BuildFailed, EnvironmentMissing, UsageError
from harness.base.platforms import DEFAULT_BOARD
from harness.build import board_names
from harness.build.configurations import load
from harness.build.inputs import Contents, InputRecord, Inputs, Roots, digest
from harness.build.options import BuildResult
from harness.build.parallel import parallel_map
from harness.build.processes import Processes
from harness.build.toolchain import VARIABLES, search_of
from harness.build.variants import Variant

#: Kernel variants of Zephyr builds, each with a fragment ``zephyr_samples/common/NAME.conf``.
KERNEL_VARIANTS = ("cmsis-nn", "soft-float")

#: Boards by their current names, the default first.
ZEPHYR_BOARDS = tuple(
    sorted(board_names.boards(), key=lambda name: not name.startswith(f"{DEFAULT_BOARD}/"))
)

#: Files of a build that are kept: path -> name.
_KEPT = {"zephyr/zephyr.elf": "zephyr.elf", "zephyr/zephyr.map": "zephyr.map",
         "zephyr/.config": "config", "zephyr/zephyr.dts": "zephyr.dts",
         "zephyr/zephyr.hex": "zephyr.hex"}  # fmt: skip
#: Further ones for the non-secure board; the first holds all images.
_MERGED = "zephyr/tfm_merged.hex"
_KEPT_WITH_TFM = {_MERGED: "tfm_merged.hex", "tfm/bin/tfm_s.elf": "tfm_s.elf",
                  "tfm/bin/bl2.elf": "bl2.elf"}  # fmt: skip

#: Environment variables that Zephyr's CMake and Kconfig files, CMake and west read.
_VARIABLES = re.compile(
    r"(?!ZEPHYR_BASE$)(?:ZEPHYR_|EXTRA_|CMAKE_|CONFIG_|BOARD|SHIELD|SNIPPET|WEST_|KCONFIG_|\w+_ROOT$"
    r"|\w*TOOLCHAIN|CROSS_COMPILE$|CONF_FILE$|OVERLAY_CONFIG$|DTC_OVERLAY_FILE$|USE_CCACHE$"
    r"|(?:AS|C|CPP|CXX|LD)FLAGS$|(?:AS|CC|CXX|LD)$)"
)
#: Files of west's settings beside the workspace's own: variable that names one, usual path.
_SETTINGS = {"WEST_CONFIG_SYSTEM": "/etc/westconfig", "WEST_CONFIG_GLOBAL": "~/.westconfig"}
_COMPILER = re.compile(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", re.MULTILINE)
_LOADED = re.compile(r"^LOAD (/.+)$", re.MULTILINE)

_BUILD_SECONDS = 1800.0
_COMPILER_SECONDS = 60.0
_NEW_BOARD_NAMES = (3, 7)
_NEW_CONF_OPTION = (3, 4)
_ERROR_LINE = re.compile(r"error|undefined reference|overflowed|No such file", re.IGNORECASE)
#: Progress of ninja and CMake is not an error, even for a file called perror.c.
_PROGRESS_LINE = re.compile(r"\[\d+/\d+\] |-- ")
_MOST_LINES, _MOST_CAUSES = 12, 3  # of a message

#: Text in the output of a failed build -> the remedy.
_CAUSES = {
    # Debian's compiler and Zephyr 3.1: the libraries of soft float are linked.
    "uses VFP register arguments": "the float ABI of the link is not the image's: include"
    " zephyr_samples/common/float_abi.cmake after find_package(Zephyr); an image without FPU: west"
    " config -d build.cmake-args, if that says -mfloat-abi=hard",
    'Target "tfm" not found': "the ns board needs TF-M, which this workspace lacks: take the module"
    " trusted-firmware-m (group tee) into its manifest, and west update",
    # From Zephyr 3.4 on, with a newlib that was built without locks (Debian 12's 3.3.0).
    "Retargetable locking must be enabled": "this compiler's newlib has no retargetable locks"
    " (Debian 12's has not): build with the Zephyr SDK or Arm's GNU toolchain",
}


@dataclass(frozen=True)
class Workspace:
    """A Zephyr workspace: ``base`` is Zephyr's repository, ``version`` (major, minor).

    ``release`` is the content of its file VERSION; ``settings`` are the variables for the
    toolchain and west's settings for builds, among them arguments for CMake.
    """

    base: Path
    version: tuple[int, int]
    release: str = ""
    settings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A part of folder names, for each workspace, each release and each toolchain's settings.

        CMake keeps its first findings in a build tree, so others must not build there.
        """
        major, minor = self.version
        parts = [str(self.base.resolve()), self.release, *self.settings]
        return f"zephyr{major}.{minor}-{digest(*parts)[:8]}"

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
    """The workspace that ZEPHYR_BASE names, or that ``start`` (the working directory) is in, or
    this project.

    Raises EnvironmentMissing with the commands that set one up.
    """
    variables = os.environ if environment is None else environment
    named = variables.get("ZEPHYR_BASE")
    if named:
        return _workspace(Path(named), "ZEPHYR_BASE", variables)
    for folder in (start or Path.cwd(), paths.own_samples()):
        for top in (folder.resolve(), *folder.resolve().parents):
            settings = top / ".west" / "config"
            if settings.is_file():
                return _workspace(top / _zephyr_base(settings), str(settings), variables)
    raise _missing("there is no Zephyr workspace: ZEPHYR_BASE is not set and no .west folder found")


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
            f"{source} names {base}, which holds no Zephyr",
            hint="west update has not finished: run it again, or name another ZEPHYR_BASE",
        ) from error
    numbers = dict(re.findall(r"VERSION_(MAJOR|MINOR)\s*=\s*(\d+)", text))
    if len(numbers) != len(("MAJOR", "MINOR")):
        raise _missing(f"{base / 'VERSION'} does not give Zephyr's version")
    version = (int(numbers["MAJOR"]), int(numbers["MINOR"]))
    return Workspace(base, version, text, tuple(_settings(base, variables)))


def _settings(base: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """The variables and west's settings that a build in the workspace of ``base`` follows."""
    for name in sorted(variables):
        if name in VARIABLES or _VARIABLES.match(name):
            yield f"{name}={variables[name]}"
    own = next(
        (top / ".west" / "config" for top in base.resolve().parents if (top / ".west").is_dir()),
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
    if not (project / "west.yml").is_file():
        return EnvironmentMissing(
            message,
            hint="set ZEPHYR_BASE, or work in a clone of the project: it is a west manifest",
        )
    commands = (
        f"cd {project.parent}",
        f"west init -l {project.name}",
        "west update",
        "west zephyr-export",
        "pip install -r zephyr/scripts/requirements-base.txt",
        "west sdk install -t arm-zephyr-eabi",
    )
    return EnvironmentMissing(message, hint="set one up: " + " && ".join(commands))


def build_zephyr(
    sample: str,
    configuration: str = "exact",
    *,
    board: str = ZEPHYR_BOARDS[0],
    fragments: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> BuildResult:
    """Build one sample in one configuration with Zephyr and tflite-micro.

    Raises UsageError for an unknown name, EnvironmentMissing without a workspace, BuildFailed with
    the messages of west, CMake or the compiler.
    """
    variant = load().variant(sample, configuration, "tflm")
    _check_known("board", board, ZEPHYR_BOARDS)
    for fragment in fragments:
        _check_known("kernel variant", fragment, KERNEL_VARIANTS)
    workspace = workspace or find_workspace()
    started = time.monotonic()
    name = "-".join([sample, configuration, board.replace("/", "_"), *fragments, workspace.key])
    folder = paths.cache() / "zephyr" / name
    folder.mkdir(parents=True, exist_ok=True)
    tree = folder / "build"
    record = folder / "compiler.json"
    if not _same_compiler(record):
        shutil.rmtree(tree, ignore_errors=True)
    processes = Processes()

    def build(command: Sequence[str]) -> None:
        try:
            _run_west(command, workspace, folder / "build.log", processes)
        finally:
            _record_compiler(tree, record, processes)

    arguments = _arguments(variant, workspace, board, fragments, tree)
    parallel_map(build, [arguments], jobs=1, stop=processes.stop)
    for path, kept_name in (_KEPT | _KEPT_WITH_TFM).items():
        if (tree / path).is_file():
            shutil.copyfile(tree / path, folder / kept_name)
    elf = folder / "zephyr.elf"
    if not (tree / "zephyr" / "zephyr.elf").is_file():
        raise BuildFailed(f"west build left no zephyr.elf in {tree / 'zephyr'}")
    seconds = time.monotonic() - started
    return BuildResult(
        elf, folder / "zephyr.map", sample, configuration, "zephyr", False, seconds,
        merged=(tree / _MERGED).is_file(),
    )  # fmt: skip


def _check_known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UsageError(f"there is no {what} {name!r}", hint=f"one of {', '.join(names)}")


def _arguments(
    variant: Variant, workspace: Workspace, board: str, fragments: Sequence[str], tree: Path
) -> list[str]:
    """The command line of ``west build``, with its arguments for CMake."""
    application = paths.samples() / variant.sample.application
    cmake = [
        f'-DCONFIG_TFLM_HIL_SAMPLE="{variant.sample.name}"',
        f"-DCONFIG_TFLM_HIL_RESOLVER_{variant.configuration.name.upper()}=y",
    ]
    if fragments:
        confs = ";".join(str(paths.samples() / "common" / f"{name}.conf") for name in fragments)
        cmake.append(f"-D{workspace.fragment_option}={confs}")
    return [
        sys.executable, "-m", "west", "build", "--pristine", "auto",
        "--board", workspace.board(board), "--build-dir", str(tree), str(application),
        "--", *cmake,
    ]  # fmt: skip


def _run_west(
    command: Sequence[str], workspace: Workspace, log: Path, processes: Processes
) -> None:
    environment = {**os.environ, "ZEPHYR_BASE": str(workspace.base)}
    try:
        done = processes.run(
            command, folder=workspace.base, environment=environment, seconds=_BUILD_SECONDS,
            session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise BuildFailed(f"west build took more than {_BUILD_SECONDS:.0f} s") from error
    files.write(log, done.output)
    if done.code != 0:
        raise _failure(done.output, log)


def _same_compiler(record: Path) -> bool:
    """True if the compiler of the build tree beside ``record`` is still the same in all its parts.

    Ninja compiles changed sources, but does not notice a changed compiler.
    """
    try:
        kept = InputRecord(**json.loads(record.read_bytes()))
    except (OSError, ValueError, TypeError):
        return False
    return kept.current(Roots({}), Contents()) is not None


def _record_compiler(tree: Path, record: Path, processes: Processes) -> None:
    """Note the compiler that CMake found, and the libraries that were linked, if it came so far."""

    def run(words: Sequence[object]) -> str:
        done = processes.run(
            [str(word) for word in words], folder=tree, seconds=_COMPILER_SECONDS,
            environment={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        return done.output + done.errors

    settings, map_file = tree / "CMakeCache.txt", tree / "zephyr" / "zephyr.map"
    compiler = _COMPILER.search(settings.read_text() if settings.is_file() else "")
    if compiler is None:
        return
    libraries = _LOADED.findall(map_file.read_text() if map_file.is_file() else "")
    inputs = Inputs.of(search_of(Path(compiler[1]), (), run).inputs, Inputs(frozenset(libraries)))
    files.write(record, InputRecord.of(inputs, Roots({}, [tree]), Contents()).to_json())


def _failure(output: str, log: Path) -> BuildFailed:
    """An error with the errors of west, CMake or the compiler, lines with known causes first."""
    lines = output.splitlines()
    hints = [hint for text, hint in _CAUSES.items() if text in output]
    causes = [line for line in lines if any(text in line for text in _CAUSES)]
    errors = [line for line in lines if _ERROR_LINE.search(line) and not _PROGRESS_LINE.match(line)]
    shown = list(dict.fromkeys([*causes[:_MOST_CAUSES], *errors])) or lines[-_MOST_LINES:]
    return BuildFailed(
        "west build failed:\n" + "\n".join(shown[:_MOST_LINES]),
        hint=hints[0] if hints else f"the whole output: {log}",
    )
