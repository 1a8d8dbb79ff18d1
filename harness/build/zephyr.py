"""The Zephyr builder: `west build` as a command of ninja's, one build tree for each application.

All samples and resolver configurations of an application share its tree: they differ in generated
files only, so another configuration compiles the few files that include them, and links. What makes
an image is copied out of the tree. Ninja runs this module as a program for each image.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path

from harness.base import files, paths, process
from harness.base.errors import BuildFailed, HilError, ProgramTimedOut, UsageError
from harness.base.platforms import DEFAULT_BOARD
from harness.build import board_names, generated, toolchain
from harness.build.first_error import first_error, overflows, space_hint
from harness.build.generated import Sample
from harness.build.ninja import (
    Edge,
    ManifestPart,
    NinjaFolder,
    first_line,
    folders,
    literal,
    program,
    python,
    record,
    with_context,
    write_changed,
)
from harness.build.options import KERNEL_VARIANTS, BuildResult
from harness.build.table import load
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

_BUILD_SECONDS = 1800.0
_QUERY_SECONDS = 60.0
_PLACED = re.compile(r"^\S+:\d+: ")
#: The files of assignments that Kconfig has read.
_MERGED = re.compile(r"(?:Loaded|Merged) configuration '(.+?)'")
#: Characters by which an error is found in the output; messages of several lines are joined.
_TOLD = 30
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
    'unknown command "build"': "west cannot read the workspace's manifest: west list says why",
    'provided by "Zephyr-sdk"': "install the SDK (west sdk install -t arm-zephyr-eabi), or set"
    " ZEPHYR_TOOLCHAIN_VARIANT to another toolchain",
    # From Zephyr 3.4 on, with a newlib that was built without locks (Debian 12's 3.3.0).
    "Retargetable locking must be enabled": "the compiler's newlib has no retargetable locking"
    " (such as Debian 12's): build with the Zephyr SDK or Arm's GNU toolchain",
}


#: The file that an image's command writes; it names the ELF of the application.
_IMAGE = "image"
#: A name that no file has: an input that runs the command of an image each time.
_ALWAYS = "always"
_COMPILER = "CMAKE_CXX_COMPILER"
_COMPILER_RECORD, _COMPILER_MEMO = "compiler", "compiler.json"
#: The output of the last run of west.
_LOG = "west.log"


def build_zephyr(
    sample: str,
    configuration: str = "exact",
    *,
    board: str = ZEPHYR_BOARDS[0],
    fragments: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> BuildResult:
    """Builds a sample in a configuration with Zephyr and tflite-micro, or finds it built.

    Raises UsageError for an unknown name, EnvironmentMissing without a workspace, BuildFailed with
    the first error of west, CMake, Kconfig, the compiler or the linker.
    """
    pairs = [(sample, configuration)]
    return build_many(pairs, board=board, fragments=fragments, workspace=workspace)[0]


def build_many(
    pairs: Sequence[tuple[str, str]],
    *,
    board: str = ZEPHYR_BOARDS[0],
    fragments: Sequence[str] = (),
    workspace: Workspace | None = None,
) -> list[BuildResult]:
    """Builds (sample, configuration) pairs as :func:`build_zephyr`; the results are in order."""
    table = load()
    samples = [table.variant(*pair, "tflm").sample for pair in pairs]
    _check_known("board", board, ZEPHYR_BOARDS)
    for fragment in fragments:
        _check_known("kernel variant", fragment, KERNEL_VARIANTS)
    setup = _ZephyrSetup(workspace or find_workspace())
    trees = [_ApplicationTree(setup, one.application, board, tuple(fragments)) for one in samples]
    images = [
        _ZephyrImage(tree, sample, name)
        for tree, sample, (_, name) in zip(trees, samples, pairs, strict=True)
    ]
    folder = setup.folder
    with folder.locked():
        for tree in set(trees):
            tree.remove_if_the_compiler_changed()
        parts = {part.folder: part for image in images for part in image.parts}
        folder.build(
            list(parts.values()), [image.output for image in images], sources={}, failed=_failed
        )
    return [image.result for image in images]


def _check_known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UsageError(f"there is no {what} {name!r}", hint=f"one of {', '.join(names)}")


@dataclass(frozen=True)
class _ZephyrSetup:
    """A workspace with the samples that are built in it, and their build folder."""

    workspace: Workspace

    @property
    def folder(self) -> NinjaFolder:
        """Another copy of the samples, and another user, have another folder."""
        places = f"{paths.samples().resolve()}\n{os.getuid()}"
        key = hashlib.sha256(places.encode()).hexdigest()[:8]
        return NinjaFolder(folders() / f"{self.workspace.key}-{key}", self._rules)

    @property
    def _rules(self) -> str:
        return "\n".join(
            [
                first_line(paths.samples(), self.workspace.base),
                "ninja_required_version = 1.11",
                "pool west",
                "  depth = 1",
                "rule west",
                f"  command = {python('harness.build.zephyr')} $arguments",
                "  description = west build $image",
                "  depfile = $out.d",
                "  deps = gcc",
                "  pool = west",
                "",
            ]
        )


@dataclass(frozen=True)
class _ApplicationTree:
    """The build tree of an application for a board."""

    setup: _ZephyrSetup
    application: str
    board: str
    fragments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "-".join((self.application, self.board.replace("/", "_"), *self.fragments))

    @property
    def path(self) -> Path:
        """The folder of the tree and of the images that are kept."""
        return self.setup.folder.path / self.name

    @property
    def arguments(self) -> list[str]:
        """The arguments of the program for all images of the tree."""
        workspace = self.setup.workspace
        words = [str(self.path), str(workspace.base), workspace.board(self.board),
                 str(paths.samples() / self.application)]  # fmt: skip
        if self.fragments:
            folder = paths.samples() / "common"
            fragments = ";".join(str(folder / f"{name}.conf") for name in self.fragments)
            words.append(f"-D{workspace.fragment_option}={fragments}")
        return words

    def remove_if_the_compiler_changed(self) -> None:
        """Ninja sees changed sources, but not a compiler that was replaced by an older file."""
        compiler, known = _setting(self.path / "build", _COMPILER), self.path / _COMPILER_RECORD
        if not compiler or not files.is_file(known):
            return
        memo = self.path / _COMPILER_MEMO
        gone = not files.is_file(Path(compiler))
        if gone or known.read_text("utf-8") != toolchain.identity(Path(compiler), [], memo):
            shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True)
class _ZephyrImage:
    """A sample in a configuration, copied out of the tree."""

    tree: _ApplicationTree
    sample: Sample
    configuration: str

    @property
    def folder(self) -> str:
        return f"{self.tree.name}/{self.sample.name}-{self.configuration}"

    @property
    def output(self) -> str:
        return f"{self.folder}/{_IMAGE}"

    @property
    def parts(self) -> list[ManifestPart]:
        names = [f"--sample={self.sample.name}", f"--configuration={self.configuration}"]
        variables = {
            "arguments": literal(shlex.join([self.output, *names, "--", *self.tree.arguments])),
            "image": self.folder,
        }
        return [
            ManifestPart(self.tree.name, []),
            ManifestPart(self.folder, [Edge("west", [self.output], [], [], variables)]),
        ]

    @property
    def result(self) -> BuildResult:
        folder = BuildFolder(self.tree.setup.folder.path / self.folder)
        assert folder.application is not None
        return BuildResult(folder.application, folder.path if folder.flashed else None)


def main() -> None:
    """Brings the tree up to date with `west build`, and copies the files of one image out of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("output", type=Path, help="a file in the folder of the image")
    parser.add_argument("--sample", required=True)
    parser.add_argument("--configuration", required=True)
    parser.add_argument("tree", type=Path, help="the folder of the tree")
    parser.add_argument("base", type=Path, help="Zephyr's repository")
    parser.add_argument("board")
    parser.add_argument("source", type=Path, help="the folder of the application")
    parser.add_argument("cmake", nargs="*", help="further arguments for CMake")
    options = parser.parse_args()
    build = _WestBuild(options.tree, options.base, options.board, options.source, options.cmake)
    build.update({"sample": options.sample, "resolver": options.configuration})
    build.keep(options.output)


@dataclass(frozen=True)
class _WestBuild:
    """A run of `west build` in the tree ``folder / "build"``."""

    folder: Path
    base: Path
    board: str
    source: Path
    cmake: Sequence[str]

    @property
    def tree(self) -> Path:
        return self.folder / "build"

    def update(self, choices: dict[str, str]) -> None:
        """Configures the tree if need be, and builds it for ``choices`` of names.

        The names are in files that only the commands for generated sources depend on
        (``zephyr_samples/common/tflm_hil.cmake``).
        """
        paths_of = {name: self.folder / name for name in choices}
        for name, path in paths_of.items():
            write_changed(path, f"{choices[name]}\n")
        named = [f"-DTFLM_HIL_{name.upper()}=@{path}" for name, path in paths_of.items()]
        # Samples of a user's own have no package beside them.
        generator = f"-DTFLM_HIL_GENERATOR={generated.__file__}"
        arguments = [*named, generator, *self.cmake]
        # Configured separately, because it takes longer than building a configuration.
        configured = self.folder / "arguments.json"
        before = configured.read_text() if files.is_file(configured) else None
        if before is not None and before != json.dumps(arguments):
            # CMake's cache would keep the values of removed arguments.
            shutil.rmtree(self.tree, ignore_errors=True)
        if not files.is_folder(self.tree) or before != json.dumps(arguments):
            configured.unlink(missing_ok=True)
            self._west(("--cmake-only",), arguments)
            write_changed(configured, json.dumps(arguments))
        self._west()

    def _west(self, options: Sequence[str] = (), cmake: Sequence[str] = ()) -> None:
        command = [
            sys.executable, "-m", "west", "build", *options, "--pristine", "auto",
            "--board", self.board, "--build-dir", str(self.tree),
            str(self.source), *(("--", *cmake) if cmake else ()),
        ]  # fmt: skip
        own = Path(program()).parent  # where the machine has no ninja
        search = os.pathsep.join([os.environ.get("PATH", os.defpath), str(own)])
        environment = {"ZEPHYR_BASE": str(self.base), "PATH": search}
        done = process.run(
            command, folder=self.base, environment=environment, seconds=_BUILD_SECONDS, check=False
        )
        files.write(self.folder / _LOG, done.output)
        if done.code != 0:
            print(done.output, end="", flush=True)
            sys.exit(done.code)

    def keep(self, output: Path) -> None:
        """Copies the image's files out of the tree, which later builds change, beside ``output``.

        Records their digests, what ninja is to watch, and the compiler.
        """
        elf = BuildFolder(self.tree).application
        if elf is None:
            sys.exit(f"error: west build left no zephyr.elf in {self.tree}")
        result, kept = output.parent, []
        write_changed(result / _LOG, (self.folder / _LOG).read_bytes())
        for name in (*_KEPT_OF_SYSBUILD, *_KEPT, *(f"*/{name}" for name in _KEPT)):
            for path in self.tree.glob(name):
                target = result / path.relative_to(self.tree)
                write_changed(target, path.read_bytes())
                kept.append(target)
        files.write(output, f"{elf.relative_to(self.tree)}\n")
        record(output, [output, *kept])
        inputs = (re.sub(r"([ #])", r"\\\1", name).replace("$", "$$") for name in self._inputs())
        files.write(Path(f"{output}.d"), f"{output}: {' '.join(sorted(inputs))}\n")
        compiler = _setting(self.tree, _COMPILER)
        if compiler:
            identity = toolchain.identity(Path(compiler), [], self.folder / _COMPILER_MEMO)
            files.write(self.folder / _COMPILER_RECORD, identity)

    def _inputs(self) -> set[str]:
        """The files outside the tree that the image depends on.

        These are the inputs of all its build steps, the headers that compilers read, and the files
        that CMake read. Ninja does not know those of sysbuild's and TF-M's builds: such an image is
        built each time.
        """
        named: set[str] = set()
        for query in (("inputs", "zephyr/zephyr.elf"), ("deps",), ("query", "build.ninja")):
            # Another release of ninja than the tree's own would discard its log.
            own = _setting(self.tree, "CMAKE_MAKE_PROGRAM") or program()
            command = [own, "-C", str(self.tree), "-t", *query]
            done = process.run(command, seconds=_QUERY_SECONDS, check=False, split=True)
            if done.code != 0 or done.cut:
                return {_ALWAYS}
            lines = done.output.splitlines()
            if query[0] != "inputs":  # headings are not indented, kinds of inputs are marked
                lines = [line.strip().lstrip("| ") for line in lines if line.startswith("    ")]
            # `inputs` quotes for a shell.
            named.update(shlex.split(line)[0] if line.startswith("'") else line for line in lines)
        if files.exists(self.tree / "domains.yaml") or files.exists(self.tree / "tfm"):
            return {_ALWAYS}
        found = (self.tree / name for name in named)
        return {
            str(path)
            for path in found
            if not path.is_relative_to(self.folder) and files.is_file(path)
        } or {_ALWAYS}


def _setting(tree: Path, name: str) -> str:
    """A value in CMake's cache of a build tree, "" if it has none."""
    cache = tree / "CMakeCache.txt"
    text = cache.read_text() if files.is_file(cache) else ""
    found = re.search(rf"^{name}:\w+=(.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _assigned(error: str, output: str) -> str:
    """The error with the place of the assignment, if Kconfig names only the symbol."""
    symbol = re.search(r"\b[A-Z][A-Z0-9_]{2,}\b", error)
    if symbol is None or _PLACED.match(error):
        return error
    places = [
        f"{path}:{number}: "
        for path in map(Path, _MERGED.findall(output))
        if files.is_file(path)
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if line.strip().startswith(f"CONFIG_{symbol[0]}=")
    ]
    return f"{''.join(places[-1:])}{error}"  # the last assignment counts


def _printed_about(error: str, output: str) -> list[str]:
    """The lines of the output from the error on, up to the tools that it stopped."""
    said = _PLACED.sub("", error)[:_TOLD]
    lines = dropwhile(lambda line: said not in line, output.splitlines())
    printed = takewhile(lambda line: not line.startswith(("ninja: ", "FATAL ERROR: ")), lines)
    return [line for line in printed if line.strip()]


def _failed(output: str, log: Path) -> BuildFailed:
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
        error = _assigned(first_error(output), output)
        maps = sorted(log.parent.glob("*/build/zephyr/*.map"), key=lambda one: one.stat().st_mtime)
        if overflows(error) and maps:  # zephyr_pre0.map, of the first of several links
            full = f"{space_hint(maps[-1])}; {full}"
        return BuildFailed(
            with_context(f"west build failed: {error}", _printed_about(error, output)), hint=full
        )
    text, remedy = known
    line = next(line for line in output.splitlines() if text in line)
    return BuildFailed(f"west build failed: {line.strip()}", hint=f"{remedy}; {full}")


if __name__ == "__main__":
    try:
        main()
    except ProgramTimedOut as error:
        sys.exit(f"error: {error.reason}; build again: compiled files are reused")
    except HilError as error:
        sys.exit(f"error: {error}")
