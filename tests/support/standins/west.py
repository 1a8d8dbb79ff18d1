"""``west flash`` with its nrfutil runner, which resets the board afterwards."""

from __future__ import annotations

from pathlib import Path

from standins.common import (
    Erase,
    ToolError,
    ToolProbe,
    need,
    options,
    say,
)

_VALUES = ("--build-dir", "-d", "--runner", "-r", "--dev-id", "-i", "--hex-file", "--domain")
_FLAGS = ("--skip-rebuild", "--no-rebuild", "--erase", "--no-reset")


def run(bench: Path, arguments: list[str]) -> None:
    """Runs ``west flash``; the build folder must contain a CMake cache."""
    if arguments[:1] != ["flash"]:
        raise ToolError(f"unknown command {arguments[:1]}", 1)
    settings, rest = options(arguments[1:], _VALUES, _FLAGS)
    if rest:
        raise ToolError(f"runner received unknown arguments: {rest}", 1)
    build = Path(settings.get("--build-dir") or need(settings, "-d"))
    if not (build / "CMakeCache.txt").is_file():
        raise ToolError(f"{build} is not a build directory", 1)
    runner = settings.get("--runner") or need(settings, "-r")
    if "--skip-rebuild" not in settings and "--no-rebuild" not in settings:
        raise ToolError("this stand-in does not rebuild", 1)
    target = ToolProbe(bench, settings.get("--dev-id") or need(settings, "-i"))
    if runner not in ("nrfutil", "nrfjprog", "jlink"):
        raise ToolError(f"board {target.kit.key} does not support this runner", 1)
    erase = Erase.ALL if "--erase" in settings else Erase.PAGES
    target.program(Path(need(settings, "--hex-file")), erase)
    if "--no-reset" not in settings:
        target.reset()
    say("-- west flash: flashed successfully")
