"""The Arm compiler: its paths, flags and identity."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.base import files, process
from harness.base.errors import CannotWrite, EnvironmentMissing
from harness.base.platforms import BoardTable, board_with, chip_called
from harness.build import board_names
from harness.build.options import BuildOptions

_HINT = "tflm-hil doctor --install installs missing tools"

# -ffp-contract=off: products and sums are rounded separately, as in the official interpreter.
_COMMON = (
    "-mthumb", "-g", "-std=c++17", "-ffunction-sections", "-fdata-sections",
    "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit",
    "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "--specs=nano.specs",
)  # fmt: skip
LINK = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--no-warn-rwx-segments")

#: Variables that GCC and the linker read (GCC's and ld's manuals, "Environment").
VARIABLES = (
    "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX",
    "GNUTARGET", "LDEMULATION", "LD_RUN_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH",
)  # fmt: skip
#: Programs that the compiler runs, and files of its libraries: another release changes one of them.
_PROGRAMS = ("cc1", "cc1plus", "as", "ld", "collect2", "lto1", "lto-wrapper")
_LIBRARIES = ("libgcc.a", "libc_nano.a", "libm.a", "libstdc++_nano.a", "nano.specs", "specs")
_SECONDS = 60.0


@dataclass(frozen=True)
class Toolchain:
    """GCC for Arm; the environment variable ``CROSS_COMPILE`` can set another prefix."""

    compiler: Path
    archiver: Path
    flatc: Path
    ccache: Path | None = None

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
        return cls(compiler, archiver, flatc, _ccache())

    @property
    def settings(self) -> list[str]:
        """The paths of the tools, and the environment variables that they read."""
        values = (f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ)
        return [str(self.compiler), str(self.archiver), str(self.flatc), *values]

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


def _ccache() -> Path | None:
    """Ccache, if this machine has it and its folder can be written to."""
    found = shutil.which("ccache")
    if found is None:
        return None
    named = _folder_of(found, os.environ.get("CCACHE_DIR", ""), os.environ.get("HOME", ""))
    places = (Path(named), *Path(named).parents) if named else ()
    nearest = next((one for one in places if files.exists(one)), None)
    return Path(found) if nearest and os.access(nearest, os.W_OK | os.X_OK) else None


@functools.lru_cache(maxsize=4)  # a process for each build would take as long as ninja
def _folder_of(ccache: str, named: str, home: str) -> str:
    """The folder of ccache with these values of its variables; "" if it does not run."""
    done = process.run([ccache, "-k", "cache_dir"], seconds=_SECONDS, check=False, split=True)
    return done.output.strip() if done.code == 0 else ""


def identity(compiler: Path, others: Sequence[Path], memo: Path) -> str:
    """The SHA-256 of each file of a compiler, and of the tools ``others``, as lines of a text.

    ``memo`` is a file with what was computed before: a file is read again only if its status has
    changed. It is not written if that fails.
    """
    known = _remembered(memo)
    current = {path: _status(path) for path in known}
    started = {str(compiler), *map(str, others)}
    same = started <= known.keys() and all(one[0] == current[path] for path, one in known.items())
    if not same:
        found = started | set(_files_of(compiler))
        known = {path: _described(path, known) for path in sorted(found)}
        with suppress(CannotWrite):
            files.write(memo, json.dumps(known))
    return "".join(f"{digest}  {path}\n" for path, (_, digest) in known.items())


def _remembered(memo: Path) -> dict[str, list[str]]:
    """Status and digest of each file, from the file of an earlier call; empty if it has none."""
    with suppress(OSError, ValueError, AttributeError, TypeError):
        entries = json.loads(memo.read_bytes()).items()
        return {path: [str(status), str(digest)] for path, (status, digest) in entries}
    return {}


def _described(path: str, known: Mapping[str, list[str]]) -> list[str]:
    status = _status(path)
    if path in known and known[path][0] == status:
        return known[path]
    return [status, hashlib.sha256(Path(path).read_bytes()).hexdigest()]


def _status(path: str) -> str:
    try:
        found = Path(path).stat()
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _files_of(compiler: Path) -> Iterator[str]:
    """The programs and libraries of a compiler, as it prints their paths."""
    queries = [f"-print-prog-name={name}" for name in _PROGRAMS]
    queries += [f"-print-file-name={name}" for name in _LIBRARIES]
    for query in queries:
        done = process.run([str(compiler), query], seconds=_SECONDS, check=False, split=True)
        path = shutil.which(done.output.strip()) if "prog" in query else done.output.strip()
        if path and os.path.isabs(path) and files.is_file(Path(path)):  # noqa: PTH117
            yield path


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
