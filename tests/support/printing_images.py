"""The images of tests/printing, which print results as firmware does, and their spoilt versions."""

from __future__ import annotations

from pathlib import Path

from kept_images import kept

SOURCES = Path(__file__).resolve().parents[1] / "printing"
MODELS = Path(__file__).resolve().parents[2] / "zephyr_samples" / "models"
#: What is wrong with the scores: board.h has their meaning.
RIGHT, *SPOILT = ("RIGHT", "SWAPPED", "CHANGED", "MISSING")
NAMES = sorted(path.stem for path in SOURCES.glob("*.c") if path.stem != "board")
FLAGS = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -Os -g -Wall -Wextra -Werror"
FLAGS += " -Wno-format -ffunction-sections -fdata-sections -nostartfiles --specs=nano.specs"
FLAGS += " -u _printf_float -Wl,--gc-sections"


def compiled(compiler: str, name: str, version: str, elf: Path) -> Path:
    """``elf``, the image NAME in one of its versions."""
    source, board, script = SOURCES / f"{name}.c", SOURCES / "board.c", SOURCES / "image.ld"
    command = [
        compiler, *FLAGS.split(), f"-I{SOURCES}", f"-I{MODELS}", f"-DSPOILT={version}",
        "-T", str(script), str(board), str(source),
    ]  # fmt: skip
    return kept(elf, command, read=(source, board, script, SOURCES / "board.h"))
