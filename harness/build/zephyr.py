"""The Zephyr builder: runs ``west build`` in a workspace.

Images consist of Zephyr, tflite-micro and the sample sources of the standalone build. An
application has one build tree for all its samples and resolver configurations, which differ in
generated files only: another configuration compiles the few files that include them, and links.
"""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.base import files, paths, process
from harness.base.errors import BuildFailed, ProgramTimedOut, UsageError
from harness.base.platforms import DEFAULT_BOARD
from harness.build import board_names, ninja
from harness.build.cache import locked
from harness.build.configurations import load
from harness.build.first_error import first_error, overflows, space_hint
from harness.build.inputs import Contents, InputRecord, Inputs, Roots, digest
from harness.build.options import KERNEL_VARIANTS, BuildResult
from harness.build.parallel import parallel_map
from harness.build.toolchain import search_of
from harness.build.variants import Sample
from harness.build.workspace import Workspace, find_workspace
from harness.elf.build_folder import BuildFolder

#: Boards by their current names, the default first.
ZEPHYR_BOARDS = tuple(
    sorted(board_names.boards(), key=lambda name: not name.startswith(f"{DEFAULT_BOARD}/"))
)

#: Files of an image that are kept, relative to its build folder.
_KEPT = (
    "zephyr/zephyr.elf", "zephyr/zephyr.map", "zephyr/zephyr.dts", "zephyr/zephyr.hex",
    "zephyr/zephyr.bin", "zephyr/zephyr.signed.hex", "zephyr/.config", "zephyr/merged.hex",
    "zephyr/tfm_merged.hex", "tfm/bin/tfm_s.elf", "tfm/bin/bl2.elf",
)  # fmt: skip
#: Files of a sysbuild that are kept, besides those of its images.
_KEPT_OF_SYSBUILD = ("domains.yaml", "merged.hex")

_COMPILER = re.compile(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", re.MULTILINE)
_LOADED = re.compile(r"^LOAD (/.+)$", re.MULTILINE)

_BUILD_SECONDS = 1800.0
_COMPILER_SECONDS = 60.0
#: Kconfig's warning about a selected option of a missing module.
_LACKING = re.compile(
    r"^warning: (\w+) \(defined at .+\) has direct dependencies 0\b", re.MULTILINE
)
_MODULES = {
    "CMSIS_DSP": "cmsis-dsp",
    "CMSIS_NN": "cmsis-nn",
    "HAS_CMSIS_CORE": "cmsis_6 (before Zephyr 4.2: cmsis)",
    "HAS_NRFX": "hal_nordic",
}
#: Text in the output of a failed build -> the remedy.
_CAUSES = {
    # Debian's compiler and Zephyr 3.1: the soft-float libraries are linked.
    "uses VFP register arguments": "the float ABI of the link differs from the image's: include"
    " zephyr_samples/common/float_abi.cmake after find_package(Zephyr); for an image without FPU"
    " run west config -d build.cmake-args if it contains -mfloat-abi=hard",
    'Target "tfm" not found': "the ns board needs TF-M, which this workspace lacks: add the module"
    " trusted-firmware-m (group tee) to its manifest, then west update",
    # From Zephyr 3.4 on, with a newlib that was built without locks (Debian 12's 3.3.0).
    "Retargetable locking must be enabled": "the compiler's newlib has no retargetable locking"
    " (such as Debian 12's): build with the Zephyr SDK or Arm's GNU toolchain",
}


def build_zephyr(
    sample: str,
    configuration: str = "exact",
    *,
    board: str = ZEPHYR_BOARDS[0],
    fragments: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> BuildResult:
    """Builds a sample in a configuration with Zephyr and tflite-micro.

    Raises UsageError for an unknown name, EnvironmentMissing without a workspace, BuildFailed with
    the first error of west, CMake, Kconfig, the compiler or the linker.
    """
    variant = load().variant(sample, configuration, "tflm")
    _check_known("board", board, ZEPHYR_BOARDS)
    for fragment in fragments:
        _check_known("kernel variant", fragment, KERNEL_VARIANTS)
    started = time.monotonic()
    tree = _BuildTree(
        workspace or find_workspace(), variant.sample, configuration, board, tuple(fragments)
    )  # fmt: skip
    tree.folder.mkdir(parents=True, exist_ok=True)
    with locked(tree.folder, fcntl.LOCK_EX):  # against builds of other configurations
        cached = tree.is_kept()
        if not cached:
            parallel_map(_BuildTree.build, [tree], jobs=1, stop=tree.stopped.set)
    folder = BuildFolder(tree.result)
    elf = folder.application
    assert elf is not None
    return BuildResult(
        elf, cached, time.monotonic() - started, folder.path if folder.flashed else None
    )


def _check_known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UsageError(f"there is no {what} {name!r}", hint=f"one of {', '.join(names)}")


@dataclass(frozen=True)
class _BuildTree:
    """The build tree of an application for a board, with the results beside it.

    The names of sample and configuration are in files that only the commands for generated sources
    depend on (``zephyr_samples/common/tflm_hil.cmake``).
    """

    workspace: Workspace
    sample: Sample
    configuration: str
    board: str
    fragments: tuple[str, ...]
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def folder(self) -> Path:
        parts = (
            self.sample.application,
            self.board.replace("/", "_"),
            *self.fragments,
            self.workspace.key,
            digest(str(self.source.resolve()))[:8],  # another checkout has other files
        )
        return paths.cache() / "zephyr" / "-".join(parts)

    @property
    def source(self) -> Path:
        """The folder of the application."""
        return paths.samples() / self.sample.application

    @property
    def path(self) -> Path:
        return self.folder / "build"

    @property
    def result(self) -> Path:
        """The folder of the image that is kept."""
        return self.folder / f"{self.sample.name}-{self.configuration}"

    def is_kept(self) -> bool:
        """True if the image exists and its inputs have not changed."""
        try:
            document = json.loads(self._record.read_bytes())
            record = InputRecord(document["files"], document["absent"])
            same = document["key"] == self._key
        except (OSError, ValueError, KeyError, TypeError):
            return False
        kept = BuildFolder(self.result).application
        return same and kept is not None and record.current(Roots({}), Contents()) is not None

    def build(self) -> None:
        """Updates the build tree, and copies the image's files."""
        begun = time.time_ns()
        arguments = json.dumps(self._cmake_arguments)
        # CMake's cache would keep the values of removed arguments.
        if not _same_compiler(self._compiler) or self._configured_with() not in (None, arguments):
            shutil.rmtree(self.path, ignore_errors=True)
        for name, value in self._choices.items():
            _write_changed(self.folder / name, f"{value}\n".encode())
        log = self.result.with_suffix(".log")
        # Configured separately, because it takes longer than building a configuration.
        if not files.is_folder(self.path) or self._configured_with() != arguments:
            self._configured.unlink(missing_ok=True)
            self._run_west(log, ("--cmake-only",), self._cmake_arguments)
            # Recorded before compiling, so that an interrupted build can be resumed.
            _record_compiler(self.path, self._compiler, self.stopped)
            _write_changed(self._configured, arguments.encode())
        self._run_west(log)
        _record_compiler(self.path, self._compiler, self.stopped)
        self._keep()
        self._write_record(begun)

    def _keep(self) -> None:
        """Copies the image's files out of the tree, which later builds change."""
        elf = BuildFolder(self.path).application
        if elf is None:
            raise BuildFailed(f"west build left no zephyr.elf in {self.path}")
        self._record.unlink(missing_ok=True)
        for name in (*_KEPT_OF_SYSBUILD, *_KEPT, *(f"*/{name}" for name in _KEPT)):
            for path in self.path.glob(name):
                target = self.result / path.relative_to(self.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                _write_changed(target, path.read_bytes())

    def _write_record(self, begun: int) -> None:
        """Writes the record of the image's inputs, if ninja can list all of them.

        It cannot for the separate builds of sysbuild and TF-M. No record is written either if a
        file changed after ``begun`` (ns), since it may have been read before the change.
        """
        if files.exists(self.path / "domains.yaml") or files.exists(self.path / "tfm"):
            return

        def run(words: Sequence[object]) -> str:
            done = process.run(
                [str(word) for word in words], folder=self.path, seconds=_COMPILER_SECONDS,
                check=False, split=True, stopped=self.stopped,
            )  # fmt: skip
            return done.output if done.code == 0 and not done.cut else ""

        read = ninja.inputs_of("zephyr/zephyr.elf", self.path, run)
        young = any(Path(path).stat().st_ctime_ns > begun for path in read.files
                    if not path.startswith(f"{self.folder}/"))  # fmt: skip
        if young or not read.files:
            return
        compiler = json.loads(self._compiler.read_bytes())
        record = InputRecord.of(read, Roots({}, [self.folder]), Contents())
        document = {
            "key": self._key,
            "files": {**record.files, **compiler["files"]},
            "absent": compiler["absent"],
        }
        files.write(self._record, json.dumps(document))

    @property
    def _record(self) -> Path:
        return self.result.with_suffix(".json")

    @property
    def _key(self) -> str:
        """A hash of the inputs of a build besides files and compiler."""
        return digest(json.dumps(self._cmake_arguments), *self.sample.sources)

    @property
    def _compiler(self) -> Path:
        return self.folder / "compiler.json"

    @property
    def _choices(self) -> dict[str, str]:
        """The files that select sample and configuration: name -> content."""
        return {"sample": self.sample.name, "resolver": self.configuration}

    @property
    def _configured(self) -> Path:
        """The file with the arguments of the last complete CMake run."""
        return self.folder / "arguments.json"

    def _configured_with(self) -> str | None:
        """The arguments of the last CMake run; None if it was not complete."""
        with suppress(OSError):
            return self._configured.read_text()
        return None

    @property
    def _cmake_arguments(self) -> list[str]:
        arguments = [f"-DTFLM_HIL_{name.upper()}=@{self.folder / name}" for name in self._choices]
        if self.fragments:
            folder = paths.samples() / "common"
            fragments = ";".join(str(folder / f"{name}.conf") for name in self.fragments)
            arguments.append(f"-D{self.workspace.fragment_option}={fragments}")
        return arguments

    def _run_west(self, log: Path, options: Sequence[str] = (), cmake: Sequence[str] = ()) -> None:
        command = [
            sys.executable, "-m", "west", "build", *options, "--pristine", "auto",
            "--board", self.workspace.board(self.board), "--build-dir", str(self.path),
            str(self.source), *(("--", *cmake) if cmake else ()),
        ]  # fmt: skip
        try:
            done = process.run(
                command, folder=self.workspace.base,
                environment={"ZEPHYR_BASE": str(self.workspace.base)},
                seconds=_BUILD_SECONDS, check=False, stopped=self.stopped,
            )  # fmt: skip
        except ProgramTimedOut as error:
            raise BuildFailed(
                f"west build took more than {_BUILD_SECONDS:.0f} s",
                hint="build again: compiled files are reused",
            ) from error
        files.write(log, done.output)
        if done.code != 0:
            raise _failure(done.output, log, self.path)


def _write_changed(path: Path, content: bytes) -> None:
    """Writes ``content`` unless the file has it already, to keep its time stamp for ninja."""
    if not files.is_file(path) or path.read_bytes() != content:
        files.write(path, content)


def _same_compiler(record: Path) -> bool:
    """True if no file of the compiler in ``record`` has changed.

    Ninja detects changed sources, but not a changed compiler.
    """
    try:
        kept = InputRecord(**json.loads(record.read_bytes()))
    except (OSError, ValueError, TypeError):
        return False
    return kept.current(Roots({}), Contents()) is not None


def _record_compiler(tree: Path, record: Path, stopped: threading.Event) -> None:
    """Records the files of the compiler that CMake found, and of the libraries linked so far."""

    def run(words: Sequence[object]) -> str:
        done = process.run(
            [str(word) for word in words], folder=tree, seconds=_COMPILER_SECONDS,
            environment={"LC_ALL": "C"}, check=False, split=True, stopped=stopped,
        )  # fmt: skip
        return done.output + done.errors

    settings, map_file = tree / "CMakeCache.txt", tree / "zephyr" / "zephyr.map"
    compiler = _COMPILER.search(settings.read_text() if files.is_file(settings) else "")
    if compiler is None:
        return
    libraries = _LOADED.findall(map_file.read_text() if files.is_file(map_file) else "")
    inputs = Inputs.of(search_of(Path(compiler[1]), (), run).inputs, Inputs(frozenset(libraries)))
    files.write(record, InputRecord.of(inputs, Roots({}, [tree]), Contents()).to_json())


def _failure(output: str, log: Path, tree: Path) -> BuildFailed:
    """The error of a failed build: its first error, and a hint with remedy and log file."""
    lacking = _LACKING.search(output)
    if lacking and lacking[1] in _MODULES:
        return BuildFailed(
            f"west build failed: this workspace lacks the module {_MODULES[lacking[1]]}",
            hint=f"add it to the workspace's manifest, then west update; full output: {log}",
        )
    known = next(((text, hint) for text, hint in _CAUSES.items() if text in output), None)
    full = f"full output: {log}"
    if known is None:
        error = first_error(output)
        maps = sorted((tree / "zephyr").glob("*.map"), key=lambda path: path.stat().st_mtime)
        if overflows(error) and maps:  # zephyr_pre0.map, of the first of several links
            full = f"{space_hint(maps[-1])}; {full}"
        return BuildFailed(f"west build failed: {error}", hint=full)
    text, remedy = known
    line = next(line for line in output.splitlines() if text in line)
    return BuildFailed(f"west build failed: {line.strip()}", hint=f"{remedy}; {full}")
