"""The Arm compiler: its paths, command lines and inputs."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.base import files, paths, process
from harness.base.errors import (
    BuildFailed,
    EnvironmentMissing,
    ProgramMissing,
    ProgramTimedOut,
)
from harness.base.platforms import BoardTable, board_with, chip_called
from harness.build import board_names
from harness.build.first_error import first_error, overflows, space_hint
from harness.build.inputs import Inputs
from harness.build.options import BuildOptions

_HINT = "tflm-hil doctor --install installs missing tools"

# -ffp-contract=off: products and sums are rounded separately, as in the official interpreter.
_COMMON = (
    "-mthumb", "-g", "-std=c++17", "-ffunction-sections", "-fdata-sections",
    "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit",
    "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "--specs=nano.specs",
)  # fmt: skip
_LINK = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--no-warn-rwx-segments")


#: Variables that GCC and the linker read (GCC's and ld's manuals, "Environment").
VARIABLES = (
    "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX",
    "GNUTARGET", "LDEMULATION", "LD_RUN_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH",
)  # fmt: skip
#: Programs that the compiler driver may search and run.
_PROGRAMS = ("cc1", "cc1plus", "as", "ar", "collect2", "real-ld", "collect-ld", "ld",
             "liblto_plugin.so")  # fmt: skip
_PROGRAMS_OF_LTO = ("lto1", "lto-wrapper")
_SECONDS = 300

_SEARCHED = re.compile(r"^(programs|libraries): =(.*)$", re.MULTILINE)
_HEADER_FOLDERS = re.compile(r'^#include (?:"\.\.\."|<\.\.\.>) search starts here:\n((?: .*\n)*)',
                             re.MULTILINE)  # fmt: skip
_NO_FOLDER = re.compile(r'^ignoring nonexistent directory "(.*)"$', re.MULTILINE)
_DRIVER = re.compile(r"^COLLECT_GCC=(.*)$", re.MULTILINE)
_SPECS = re.compile(r"^Reading specs from (.*)$", re.MULTILINE)
#: Lines of ld --verbose about files that it opened, and that it did not find.
_OPENED = re.compile(r"^(?:attempt to open (.*) succeeded|opened script file (.*))$", re.MULTILINE)
_NOT_OPENED = re.compile(r"^(?:attempt to open (.*) failed|cannot find script file (.*))$",
                         re.MULTILINE)  # fmt: skip


@dataclass(frozen=True)
class Search:
    """The folders of a compiler's system headers, in order, and the files of the compiler."""

    folders: Sequence[str]
    inputs: Inputs


@dataclass(frozen=True)
class Toolchain:
    """GCC for Arm; the environment variable ``CROSS_COMPILE`` can set another prefix.

    ``stopped`` ends all running tools once it is set, and lets no further one start.
    """

    compiler: Path
    archiver: Path
    flatc: Path
    stopped: threading.Event = field(default_factory=threading.Event, compare=False)

    @classmethod
    def find(cls) -> Toolchain:
        """The tools on PATH. Raises :class:`EnvironmentMissing` for the first that is missing."""
        prefix = os.environ.get("CROSS_COMPILE", "arm-none-eabi-")
        tools = []
        for name in (f"{prefix}g++", f"{prefix}gcc-ar", "flatc"):
            path = shutil.which(name)
            if path is None:
                raise EnvironmentMissing(f"{name} is not on PATH", hint=_HINT)
            tools.append(Path(path).absolute())
        compiler, archiver, flatc = tools
        return cls(compiler, archiver, flatc)

    @property
    def command(self) -> list[str]:
        """The paths of compiler and archiver, and the environment variables that they read."""
        values = (f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ)
        return [str(self.compiler), str(self.archiver), *values]

    def search(self, flags: Sequence[str], folder: Path) -> Search:
        """The search path and the files of the compiler, as printed by itself."""
        search = search_of(self.compiler, flags, lambda words: self.run(words, "compiler", folder))
        archiver = Inputs(frozenset([str(self.archiver)]))
        return Search(search.folders, Inputs.of(search.inputs, archiver))

    @staticmethod
    def flags(options: BuildOptions) -> tuple[str, ...]:
        """The compiler flags for ``options``."""
        chip = chip_called(options.chip)
        core = (f"-mcpu={chip.core}", *_COMMON)
        fpu = ("-mfloat-abi=hard", f"-mfpu={chip.fpu}") if options.fpu else ("-mfloat-abi=soft",)
        defines = tuple(f"-D{define}" for define in options.defines)
        # One partition, so that inlining does not depend on the number of the host's cores.
        lto = ("-flto", "-flto-partition=one") if options.lto else ()
        kit = _kit_defines(board_with(chip.key), nonsecure=options.nonsecure)
        return (*core, *kit, *fpu, f"-O{options.optimize}", *lto, *defines)

    def compile(
        self, source: Path, target: Path, flags: Sequence[str], include: Sequence[Path]
    ) -> list[str]:
        """Compiles a file to an object; returns the paths that compiler and assembler read.

        Raises :class:`BuildFailed` with the compiler's message.
        """
        folders = [f"-I{folder}" for folder in include]
        lists = [target.with_suffix(suffix) for suffix in (".d", ".asm.d")]
        self.run(
            [self.compiler, *flags, *folders, "-MD", "-MF", lists[0], f"-Wa,--MD,{lists[1]}",
             "-c", source, "-o", target],
            source.name, target.parent,
        )  # fmt: skip
        read = (target.parent / name for one in lists for name in _dependencies(one))
        # The assembler lists other names, too.
        return [str(path) for path in read if files.is_file(path)]

    def link(
        self, objects: Sequence[Path], script: Path, target: Path, flags: Sequence[str]
    ) -> Inputs:
        """Links objects and archives to an ELF, with its map file beside it.

        ``script`` may include others from its folder. Returns the linker's inputs: scripts,
        libraries, objects, and the paths searched for them without success.
        """
        map_file = target.with_suffix(".map")
        command = [
            self.compiler, *flags, *_LINK, f"-L{script.parent}", f"-T{script}",
            f"-Wl,-Map={map_file}", "-Wl,--verbose", *objects, "-lm", "-o", target,
        ]  # fmt: skip
        try:
            output = self.run(command, target.name, target.parent)
        except BuildFailed as error:
            raise _with_map(error, map_file) from error
        opened, missed = (
            [target.parent / (one or other) for one, other in lines.findall(output)]
            for lines in (_OPENED, _NOT_OPENED)
        )
        return Inputs(
            frozenset(str(path) for path in opened if files.is_file(path)),
            frozenset(map(str, missed)),
        )

    def run(self, command: Sequence[object], what: str, folder: Path) -> str:
        """Runs a tool on ``what`` in ``folder``; returns its output.

        Raises :class:`BuildFailed` with the tool's first error.
        """
        words = [str(word) for word in command]
        # LC_ALL: messages are parsed. TMPDIR: temporary files of a killed compiler are removed.
        environment = {"LC_ALL": "C", "TMPDIR": str(folder)}
        try:
            done = process.run(
                words, folder=folder, environment=environment, seconds=_SECONDS, check=False,
                split=True, session=False, stopped=self.stopped,
            )  # fmt: skip
        except ProgramMissing as error:
            raise EnvironmentMissing(error.message, hint=_HINT) from error
        except ProgramTimedOut as error:
            raise BuildFailed(f"{what}: {error.reason}") from error
        if done.code != 0:
            output = done.errors or done.output
            log = _failed(f"{what}.log", output)
            raise BuildFailed(
                f"{what} cannot be built: {first_error(output)}", hint=f"full output: {log}"
            )
        if done.cut:  # what is left out may be inputs
            raise BuildFailed(f"{what}: {Path(words[0]).name} printed too much to be read")
        return done.output + done.errors


def _failed(name: str, content: bytes | str) -> Path:
    """A file about a failed build, which outlives the build's folder."""
    path = paths.cache() / "failed" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, content)
    return path


def _with_map(error: BuildFailed, map_file: Path) -> BuildFailed:
    """``error`` of a link; if a region overflows, its hint shows what is in the way."""
    if not overflows(error.message) or not files.is_file(map_file):
        return error
    kept = _failed(map_file.name, files.read(map_file))
    return BuildFailed(error.message, hint=f"{space_hint(kept)}; {error.hint}")


def search_of(
    compiler: Path, flags: Sequence[str], run: Callable[[Sequence[object]], str]
) -> Search:
    """The search path of a compiler for headers, and its programs and specs as inputs.

    The inputs include the paths that are searched before these programs and specs. ``run`` returns
    a command's output.
    """
    # Without flags: programs and specs are the same for all multilibs.
    listed = run([compiler, "-print-search-dirs"])
    verbose = run([compiler, *flags, "-v", "-E", "-x", "c++", os.devnull, "-o", os.devnull])
    folders = {name: value.split(":") for name, value in _SEARCHED.findall(listed)}
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    named = [flag.partition("=")[2] for flag in flags if flag.startswith("--specs=")]
    programs = (*_PROGRAMS, *(_PROGRAMS_OF_LTO if "-flto" in flags else ()))
    found = [
        *(_found(name, [*folders.get("programs", []), *path]) for name in programs),
        *(_found(name, folders.get("libraries", [])) for name in ("specs", *named)),
    ]
    # The compiler on PATH may be a wrapper script.
    drivers = [str(compiler), *filter(None, map(shutil.which, _DRIVER.findall(verbose)))]
    read = Inputs(
        frozenset([*drivers, *_SPECS.findall(verbose)]), frozenset(_NO_FOLDER.findall(verbose))
    )
    headers = "".join(_HEADER_FOLDERS.findall(verbose)).splitlines()
    return Search([line[1:] for line in headers], Inputs.of(read, *found))


def _found(name: str, folders: Sequence[str]) -> Inputs:
    """The first file called ``name`` in ``folders``, and the paths searched before it."""
    absent: set[str] = set()
    for path in (Path(folder) / name for folder in folders):
        if files.is_file(path):
            return Inputs(frozenset([str(path)]), frozenset(absent))
        absent.add(str(path))
    return Inputs(absent=frozenset(absent))


def _kit_defines(kit: BoardTable, *, nonsecure: bool) -> Iterator[str]:
    """Macros for ``soc/registers.h`` of the runtime: facts of chip and kit."""
    chip = kit.chip
    facts = {
        "SECURE_WINDOW": chip.secure_window,
        "NONSECURE_WINDOW": chip.nonsecure_window,
        "CLOCK": chip.peripheral("CLOCK").offset,
        "SPU": chip.peripheral("SPU").offset,
        "P0": chip.peripheral("P0").offset,
        "UARTE": chip.peripheral(kit.console.uarte).offset,
        "UARTE_IRQ": chip.peripheral(kit.console.uarte).irq,
        "FLASH_REGION": chip.flash.region,
        "FLASH_REGIONS": chip.spu_regions("flash"),
        "RAM_REGION": chip.ram.region,
        "RAM_REGIONS": chip.spu_regions("ram"),
        "RTC1": chip.peripheral("RTC1").offset,
        "RTC1_IRQ": chip.peripheral("RTC1").irq,
        "IRQS": chip.irqs,
        "CPU_HZ": chip.cpu_hz,
        "LFCLK_HZ": chip.lfclk_hz,
        "TXD": kit.console.pins.txd,
        "RXD": kit.console.pins.rxd,
    }
    yield f'-DCONFIG_BOARD="{kit.key}"'
    yield f'-DCONFIG_BOARD_TARGET="{board_names.target_of(kit, nonsecure=nonsecure)}"'
    yield from (f"-DTFLM_HIL_{name}={value}" for name, value in facts.items())
    if nonsecure:
        yield "-DTFLM_HIL_NONSECURE"


def _dependencies(rules: Path) -> Iterator[str]:
    """The prerequisites in a makefile written by a compiler or an assembler; removes the file."""
    text = rules.read_text(encoding="utf-8", errors="surrogateescape")
    rules.unlink()
    words = text.replace("\\\n", " ").partition(": ")[2]
    for word in re.findall(r"(?:\\.|[^\s\\])+", words):
        yield re.sub(r"\\(.)", r"\1", word).replace("$$", "$")
