"""The Arm compiler: where it is, which one it is, and how it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.build.result import BuildOptions
from harness.errors import BuildFailed, EnvironmentMissing

_HINT = "tflm-hil doctor --install installs what is missing"

# -ffp-contract=off: products and sums are rounded one by one, as in the official interpreter. Fused
# operations would give other last bits.
_COMMON = (
    "-mcpu=cortex-m33", "-mthumb", "-g", "-std=c++17", "-ffunction-sections", "-fdata-sections",
    "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit",
    "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "--specs=nano.specs",
)  # fmt: skip
_SECURE = ('-DCONFIG_BOARD_TARGET="nrf9160dk/nrf9160"',)
_NON_SECURE = ('-DCONFIG_BOARD_TARGET="nrf9160dk/nrf9160/ns"', "-DTFLM_HIL_NONSECURE")
_LINK = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--no-warn-rwx-segments")


@dataclass(frozen=True)
class Toolchain:
    """GCC for Arm; the environment's ``CROSS_COMPILE`` may name another prefix."""

    compiler: Path
    archiver: Path
    flatc: Path

    @classmethod
    def find(cls) -> Toolchain:
        """The tools on PATH. Raises :class:`EnvironmentMissing` for the first that is missing."""
        prefix = os.environ.get("CROSS_COMPILE", "arm-none-eabi-")
        tools = []
        for name in (f"{prefix}g++", f"{prefix}gcc-ar", "flatc"):
            path = shutil.which(name)
            if path is None:
                raise EnvironmentMissing(f"{name} is not on PATH", hint=_HINT)
            tools.append(Path(path))
        return cls(*tools)

    @cached_property
    def identity(self) -> bytes:
        """Tells compilers apart without starting them: path, size, time of change."""
        parts = []
        for tool in (self.compiler, self.flatc):
            real = tool.resolve()
            stat = real.stat()
            parts.append(f"{real}:{stat.st_size}:{stat.st_mtime_ns}")
        return "\n".join(parts).encode()

    @staticmethod
    def flags(options: BuildOptions) -> tuple[str, ...]:
        """Compiler flags: the nRF9160's core, with its FPU or without."""
        fpu = ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16") if options.fpu else ("-mfloat-abi=soft",)
        defines = tuple(f"-D{define}" for define in options.defines)
        # One partition for the whole image, so that inlining does not depend on the cores.
        lto = ("-flto", "-flto-partition=one") if options.lto else ()
        world = _NON_SECURE if options.nonsecure else _SECURE
        return (*_COMMON, *world, *fpu, f"-O{options.optimize}", *lto, *defines)

    def compile(
        self, source: Path, target: Path, flags: Sequence[str], include: Sequence[Path]
    ) -> None:
        """Compile a file to an object. Raises :class:`BuildFailed` with the compiler's message."""
        folders = [f"-I{folder}" for folder in include]
        self.run([self.compiler, *flags, *folders, "-c", source, "-o", target], source.name)

    def link(
        self, objects: Sequence[Path], script: Path, target: Path, flags: Sequence[str]
    ) -> None:
        """Link objects and archives to an ELF, with its map file beside it.

        ``script`` may include others from its folder.
        """
        map_file = target.with_suffix(".map")
        self.run(
            [self.compiler, *flags, *_LINK, f"-L{script.parent}", f"-T{script}",
             f"-Wl,-Map={map_file}", *objects, "-lm", "-o", target],
            target.name,
        )  # fmt: skip

    def run(self, command: Sequence[object], what: str) -> None:
        """Run a tool on ``what``. Raises :class:`BuildFailed` with the tool's message."""
        words = [str(word) for word in command]
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace",
                                  timeout=300, check=False)  # fmt: skip
        except OSError as error:
            raise EnvironmentMissing(f"cannot run {words[0]}: {error}", hint=_HINT) from error
        except subprocess.TimeoutExpired as error:
            raise BuildFailed(f"{what}: {Path(words[0]).name} did not end in 300 s") from error
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip()
            raise BuildFailed(f"{what} cannot be built:\n{output}")
