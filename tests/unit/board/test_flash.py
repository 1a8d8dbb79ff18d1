"""Getting an image into flash and knowing that it is there, with a file for the flash."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from harness.base.errors import FlashFailed, ProgramMissing, Unsupported, UsageError
from harness.targets.board.flash import Flasher
from harness.targets.board.flash_image import FlashImage
from harness.targets.board.runners import RUNNERS, Command, Runner

SERIAL = "000960012345"


@dataclass(frozen=True)
class Copying(Runner):
    """Flashes by copying; ``desk`` holds the flash, and a log of what was done."""

    name: ClassVar[str] = "copying"
    program_name: ClassVar[str] = "sh"
    desk: Path = Path()
    lies: bool = False
    reads_back: bool = True

    def do(self, what: str, deed: str) -> Command:
        return Command(("sh", "-c", f"cd {self.desk}; echo {what} >> log; {deed}"), 10.0)

    def program(self, image: FlashImage, folder: Path) -> list[Command]:
        return [self.do("program", "true" if self.lies else f"cp {image.hex} flash")]

    def verify(self, image: FlashImage, folder: Path) -> list[Command]:
        return [self.do("verify", f"cmp {image.hex} flash")] if self.reads_back else []

    def reset(self) -> list[Command]:
        return [self.do("reset", "test ! -e broken || { echo no target; exit 1; }")]


@pytest.fixture
def image(tmp_path: Path) -> FlashImage:
    (tmp_path / "a.hex").write_text("content")
    return FlashImage(tmp_path / "a.hex", tmp_path / "a.elf", ((0, b"abcd"), (8, b"e")), "f" * 64)


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().split() if path.exists() else []


def test_an_image_is_read_back_before_and_after_it_is_programmed(tmp_path, image):
    report = Flasher(Copying(SERIAL, desk=tmp_path)).ensure(image)
    assert log(tmp_path) == ["verify", "program", "verify"]
    assert (report.programmed, report.reason, report.size) == (True, "programmed and read back", 5)
    assert 0 < report.seconds < 10


def test_an_image_that_is_there_is_left_there(tmp_path, image):
    flasher = Flasher(Copying(SERIAL, desk=tmp_path))
    flasher.ensure(image)
    again = flasher.ensure(image)
    assert (again.programmed, again.reason, again.size) == (False, "read-back equals the image", 0)
    assert flasher.ensure(image, always=True).programmed
    assert log(tmp_path)[3:] == ["verify", "program", "verify"]


def test_tool_without_read_back_programs_each_time(tmp_path, image):
    flasher = Flasher(Copying(SERIAL, desk=tmp_path, reads_back=False))
    for _ in range(2):
        report = flasher.ensure(image)
        assert report.programmed
        assert report.reason == "programmed; this runner cannot read back"
    assert log(tmp_path) == ["program", "program"]


def test_a_false_success_is_found_by_reading_back(tmp_path, image):
    with pytest.raises(FlashFailed) as failed:
        Flasher(Copying(SERIAL, desk=tmp_path, lies=True)).ensure(image)
    said = failed.value.message
    assert said.startswith(f"copying reported that probe {SERIAL} was programmed, but ")
    assert "a.elf: sh ended with exit code" in said and "cmp: " in said
    assert failed.value.hint == "power-cycle the board and try another runner"


def test_failed_reset_is_reported_with_the_tools_output(tmp_path):
    flasher = Flasher(Copying(SERIAL, desk=tmp_path))
    flasher.reset()
    (tmp_path / "broken").touch()
    with pytest.raises(FlashFailed) as failed:
        flasher.reset()
    assert failed.value.message == (
        f"could not reset the board with probe {SERIAL}: sh ended with exit code 1\n    no target"
    )
    assert failed.value.hint.startswith("check cable and power")


def test_a_dry_run_is_every_command_and_does_nothing(tmp_path, image):
    runner = Copying(SERIAL, desk=tmp_path)
    commands = Flasher(runner).dry_run(image, tmp_path)
    done = [command.argv[2].split("echo ")[1].split()[0] for command in commands]
    assert done == ["verify", "program", "verify", "reset"]
    assert log(tmp_path) == []


def test_a_tool_that_is_missing_or_does_not_start_is_no_failure_of_the_board(tmp_path):
    flasher = Flasher(RUNNERS["nrfjprog"](SERIAL), str(tmp_path))
    with pytest.raises(ProgramMissing, match="'nrfjprog' is not on PATH"):
        flasher.reset()
    (tmp_path / "nrfjprog").write_bytes(b"\x7fELF garbage")
    (tmp_path / "nrfjprog").chmod(0o755)
    with pytest.raises(ProgramMissing, match="nrfjprog cannot be started: Exec format error"):
        flasher.reset()


# -- what each tool is called for beside ------------------------------------------------------


def text(command: Command) -> str:
    return shlex.join(command.argv) + command.script


def test_west_flashes_from_its_build_folder_and_leaves_the_rest_to_nrfutil(tmp_path, image):
    build = tmp_path / "build"
    (build / "zephyr").mkdir(parents=True)
    (build / "CMakeCache.txt").touch()
    built = FlashImage(image.hex, build / "zephyr" / "zephyr.elf", image.blocks, image.sha256)
    west, nrfutil = RUNNERS["west"](SERIAL), RUNNERS["nrfutil"](SERIAL)
    (command,) = west.program(built, tmp_path)
    assert text(command) == (
        f"west flash --skip-rebuild --build-dir {build} --runner nrfutil --dev-id 960012345 "
        f"--hex-file {image.hex}"
    )
    assert west.verify(built, tmp_path) == nrfutil.verify(built, tmp_path)
    assert west.reset() == nrfutil.reset()
    file = tmp_path / "m.hex"
    assert west.read(0, 4, file) == nrfutil.read(0, 4, file)
    with pytest.raises(UsageError, match="Zephyr build folder"):
        west.program(image, tmp_path)
    with pytest.raises(Unsupported, match="use the probe on far"):
        RUNNERS["west"](SERIAL, "far").program(built, tmp_path)


@pytest.mark.parametrize(
    ("runner", "call"),
    [("nrfutil", f"nrfutil device read --serial-number {SERIAL} --address 0x00001000 --bytes 16 "
                 "--width 8 --to-file "),
     ("pyocd", "savemem 0x1000 16 m.bin"),
     ("jlink", ',0x1000,0x10\nq\n')],
)  # fmt: skip
def test_memory_is_read_into_a_file(tmp_path, runner, call):
    (command,) = RUNNERS[runner](SERIAL).read(0x1000, 16, tmp_path / "m.bin")
    assert call in text(command)
    assert "m.bin" in text(command)


def test_nrfjprog_reads_no_memory_of_a_running_board(tmp_path):
    with pytest.raises(Unsupported, match="read memory of a running board"):
        RUNNERS["nrfjprog"](SERIAL).read(0, 4, tmp_path / "m")
