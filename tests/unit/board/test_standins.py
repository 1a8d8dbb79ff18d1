"""The stand-ins do what the real tools do, and refuse what those refuse, so that no wrong command
can pass here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from misbehaving_board import TranscriptChip
from standins import STANDINS, nrfjprog
from standins.common import ToolError, ToolProbe, finish
from virtual_boards import SERIAL as S
from virtual_boards import ThreadDk, peek, poke

from harness.base.platforms import board_table
from harness.elf import hexfile

NRFUTIL = ["nrfutil", "device", "program", "--serial-number", S, "--firmware", "{hex}"]
DEVICE = ["nrfutil", "device"]
NRFJPROG = ["nrfjprog", "--family", "NRF91", "--snr", S]
JLINK = ["JLinkExe", "-USB", S, "-Device", "nRF9160_xxAA", "-If", "SWD", "-CommandFile", "{script}"]
WEST = ["west", "flash", "--skip-rebuild", "--build-dir", "{build}", "--runner", "nrfutil",
        "--dev-id", S, "--hex-file", "{hex}"]  # fmt: skip

Run = Callable[..., "Said"]


class Said:
    """How a tool ended: its exit code and its words."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text


@pytest.fixture
def dk(tmp_path: Path) -> Iterator[ThreadDk]:
    with ThreadDk(tmp_path / "bench") as board:
        yield board


@pytest.fixture
def run(dk: ThreadDk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls a tool as its script on the bench does; ``script`` is J-Link's command file."""
    (tmp_path / "a.hex").write_text(hexfile.write([(0, b"hello world")]))
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "CMakeCache.txt").touch()
    words_of = {"{hex}": tmp_path / "a.hex", "{script}": tmp_path / "script",
                "{build}": tmp_path / "build", "{dir}": tmp_path, "{out}": tmp_path / "out",
                "{bin}": tmp_path / "a.bin"}  # fmt: skip
    (tmp_path / "a.bin").write_bytes(b"hello world")

    def called(words: list[str], script: str = "q\n") -> Said:
        (tmp_path / "script").write_text(script.replace("{dir}", str(tmp_path)))
        tool, *arguments = [str(words_of.get(word, word)) for word in words]
        module = import_module(f"standins.{STANDINS[tool]}")
        with pytest.raises(SystemExit) as ended:
            finish(lambda: module.run(tmp_path / "bench", arguments))
        return Said(ended.value.code, capsys.readouterr().out)

    return called


def flash(dk: ThreadDk, size: int = 11, at: int = 0) -> bytes:
    return peek(dk.board, at, size)


REFUSED = {
    "nrfutil: no subcommand": (["nrfutil"], 2, "unrecognized subcommand"),
    "nrfutil: another tool's": (["nrfutil", "trace", "x"], 2, "unrecognized subcommand"),
    "nrfutil: device alone": (["nrfutil", "device"], 2, "unrecognized subcommand"),
    "nrfutil: unknown subcommand": ([*DEVICE, "flash"], 2, "unrecognized subcommand 'flash'"),
    "nrfutil: unknown option": ([*NRFUTIL, "--fast"], 2, "unexpected argument '--fast' found"),
    "nrfutil: a word too many": ([*NRFUTIL, "now"], 2, "unexpected argument 'now' found"),
    "nrfutil: erase mode that is none": (
        [*NRFUTIL, "--options", "chip_erase_mode=ERASE_SOME"], 2,
        "invalid value 'chip_erase_mode=ERASE_SOME' for '--options'"),
    "nrfutil: programming option that is none": (
        [*NRFUTIL, "--options", "verfy=VERIFY_READ"], 2, "invalid value 'verfy=VERIFY_READ'"),
    "nrfutil: an option twice": (
        [*NRFUTIL, "--firmware", "{hex}"], 2,
        "the argument '--firmware' cannot be used multiple times"),
    "nrfutil: no firmware": (
        NRFUTIL[:-2], 2, "the following required argument was not provided: --firmware"),
    "nrfutil: a value is missing": (NRFUTIL[:-1], 2, "a value is required for '--firmware'"),
    "nrfutil: a probe that is not there": (
        [*NRFUTIL[:4], "1", *NRFUTIL[5:]], 41, "no probe with serial number 1 is connected"),
    "nrfutil: a file that is not hex": ([*NRFUTIL[:-1], "{bin}"], 2, "cannot use the file"),
    "nrfutil: a file that is not there": ([*NRFUTIL[:-1], "{out}"], 2, "cannot use the file"),
    "nrfutil: reset kind that is none": (
        [*DEVICE, "reset", "--serial-number", S, "--reset-kind", "RESET_LOUD"], 2,
        "invalid value 'RESET_LOUD' for '--reset-kind'"),
    "nrfutil: width that is none": (
        [*DEVICE, "read", "--serial-number", S, "--address", "0", "--width", "12"], 2,
        "invalid value '12' for '--width'"),
    "nrfutil: an address that is none": (
        [*DEVICE, "read", "--serial-number", S, "--address", "here"], 2, "invalid number 'here'"),
    "nrfutil: a flag with a value": (
        [*DEVICE, "read", "--serial-number", S, "--address", "0", "--direct=1"], 2,
        "unexpected value for '--direct'"),
    "nrfutil: memory that is not there": (
        [*DEVICE, "read", "--serial-number", S, "--address", "0x70000000"], 33,
        "nothing answers at 0x70000000"),
    "nrfjprog: no operation": (NRFJPROG, 15, "one operation at a time"),
    "nrfjprog: two operations": (
        [*NRFJPROG, "--pinreset", "--verify", "{hex}"], 15, "one operation at a time"),
    "nrfjprog: no erase": ([*NRFJPROG, "--program", "{hex}"], 12, "flash is not erased"),
    "nrfjprog: another family": (
        ["nrfjprog", "--family", "NRF52", "--snr", S, "--pinreset"], 18, "not of this family"),
    "nrfjprog: leading zeros": (
        ["nrfjprog", "--family", "NRF91", "--snr", f"000{S}", "--pinreset"], 11, "leading zeros"),
    "nrfjprog: unknown option": ([*NRFJPROG, "--pinreset", "--hard"], 2, "'--hard' found"),
    "nrfjprog: a word too many": ([*NRFJPROG, "--pinreset", "now"], 11, "unknown argument now"),
    "JLinkExe: no device": ([*JLINK[:3], *JLINK[5:]], 2, "was not provided: -Device"),
    "JLinkExe: another device": (
        [*JLINK[:4], "nRF52840_xxAA", *JLINK[5:]], 1, "Unknown device nRF52840_xxAA"),
    "JLinkExe: JTAG": ([*JLINK[:6], "JTAG", *JLINK[7:]], 1, "the chip has SWD only"),
    "JLinkExe: no probe": (["JLinkExe", *JLINK[3:]], 2, "was not provided: -SelectEmuBySN"),
    "JLinkExe: no command file": (JLINK[:-2], 2, "was not provided: -CommanderScript"),
    "JLinkExe: a probe that is not there": (
        ["JLinkExe", "-USB", "1", *JLINK[3:]], 1, "Cannot connect to J-Link."),
    "nrfjprog: a chip that is not there": (
        ["nrfjprog", "--family", "NRF91", "--snr", "1", "--pinreset"], 41, "no probe"),
    "JLinkExe: a word too many": ([*JLINK, "now"], 1, "unknown command line option now"),
    "west: another command": (["west", "build"], 1, "unknown command ['build']"),
    "west: no build folder": ([*WEST[:4], "{dir}", *WEST[5:]], 1, "is not a build directory"),
    "west: another runner": ([*WEST[:6], "openocd", *WEST[7:]], 1, "does not support this runner"),
    "west: builds": (["west", "flash", *WEST[3:]], 1, "does not rebuild"),
    "west: a word too many": ([*WEST, "now"], 1, "runner received unknown arguments: ['now']"),
    "west: unknown option": ([*WEST, "--quick"], 2, "unexpected argument '--quick' found"),
    "virtual-power: no board": (["virtual-power"], 2, "virtual-power SERIAL"),
    "virtual-power: two boards": (["virtual-power", S, S], 2, "virtual-power SERIAL"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "code", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(run: Run, dk: ThreadDk, words: list[str], code: int, why: str) -> None:
    said = run(words)
    assert said.code == code
    assert said.text.startswith("Error: ") and why in said.text
    assert dk.board.resets == 0 and flash(dk) == b"\xff" * 11


TOUCHED = "chip_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE"

#: Words of a call that programs, whether all else is erased, whether the image then starts.
PROGRAMS = {
    "nrfutil": (NRFUTIL, True, False),
    "nrfutil, all": ([*NRFUTIL, "--options", "chip_erase_mode=ERASE_ALL"], True, False),
    "nrfutil, what is touched": ([*NRFUTIL, "--options", TOUCHED], False, False),
    "nrfutil, and resets": ([*NRFUTIL, "--options", f"{TOUCHED},reset=RESET_PIN"], False, True),
    "nrfutil, and does not": ([*NRFUTIL, "--options", "reset=RESET_NONE"], True, False),
    "nrfjprog": ([*NRFJPROG, "--program", "{hex}", "--sectorerase"], False, False),
    "nrfjprog, all": ([*NRFJPROG, "--program", "{hex}", "--chiperase", "--verify"], True, False),
    "nrfjprog, and resets": (
        [*NRFJPROG, "--program", "{hex}", "--sectorerase", "--reset"], False, True),
    "JLinkExe": (JLINK, False, False),
    "west": (WEST, False, True),
    "west, all": ([*WEST, "--erase", "--no-reset"], True, False),
}  # fmt: skip


@pytest.mark.parametrize(("words", "all_erased", "resets"), PROGRAMS.values(), ids=PROGRAMS)
def test_programmed(
    run: Run, dk: ThreadDk, words: list[str], all_erased: bool, resets: bool
) -> None:
    poke(dk.board, 0x8000, b"far away")
    said = run(words, 'R\nloadfile "{dir}/a.hex"\nq\n')
    assert said.code == 0, said.text
    assert flash(dk) == b"hello world"
    assert flash(dk, 8, 0x8000) == (b"\xff" * 8 if all_erased else b"far away")
    assert dk.board.resets == resets


RESETS = {
    "nrfutil": [*DEVICE, "reset", "--serial-number", f"000{S}", "--reset-kind", "RESET_PIN"],
    "nrfutil, its own way": [*DEVICE, "reset", "--serial-number", S],
    "nrfjprog": [*NRFJPROG, "--pinreset"],
    "JLinkExe": ["JLinkExe", "-nogui", "1", "-SelectEmuBySN", S, *JLINK[3:]],
}


@pytest.mark.parametrize("words", RESETS.values(), ids=RESETS)
def test_reset(run: Run, dk: ThreadDk, words: list[str]) -> None:
    assert run(words, "RSetType 2\nr\ng\nqc\ng\n").code == 0
    assert dk.board.resets == 1


COMPARES = {
    "nrfutil": ([*DEVICE, "fw-verify", "--serial-number", S, "--firmware", "{hex}"], 1),
    "nrfjprog": ([*NRFJPROG, "--verify", "{hex}"], 55),
    "JLinkExe": (JLINK, 1),
}


@pytest.mark.parametrize(("words", "code"), COMPARES.values(), ids=COMPARES)
def test_compared(run: Run, dk: ThreadDk, words: list[str], code: int) -> None:
    """The address of the first byte that differs is named."""
    script = 'verifybin "{dir}/a.bin",0x0\nq\n'
    poke(dk.board, 0, b"hello world")
    assert run(words, script).code == 0
    poke(dk.board, 0, b"hello\0world")
    said = run(words, script)
    assert said.code == code
    assert "0x00000005" in said.text


def test_memory_is_read_into_a_file(run: Run, dk: ThreadDk, tmp_path: Path) -> None:
    poke(dk.board, 0x10, b"hello world")
    out = tmp_path / "out"
    device = [*DEVICE, "read", "--serial-number", S, "--address", "0x10"]
    assert run([*device, "--bytes", "11", "--width", "8", "--to-file", "{out}"]).code == 0
    assert hexfile.read(out.read_text(), "out") == [(0x10, b"hello world")]
    assert run(JLINK, 'savebin "{dir}/out",0x16,5\nq\n').code == 0
    assert out.read_bytes() == b"world"


def test_jlink_shows_each_command_and_ends_at_the_one_that_fails(run: Run, dk: ThreadDk) -> None:
    said = run(JLINK, "\nExitOnError 1\nfrobnicate now\ng\n")
    assert said.code == 1
    assert said.text.splitlines()[2:] == [
        "J-Link>ExitOnError 1",
        "J-Link>frobnicate now",
        "Error: Unknown command. '?' for help: frobnicate",
    ]
    assert dk.board.resets == 0


def test_the_supply_of_a_board_can_be_switched_off_and_on(run: Run, dk: ThreadDk) -> None:
    assert run(["virtual-power", S]).code == 0
    assert run([*NRFJPROG, "--pinreset"]).code == 41  # it is away for a moment


LOCKED = {
    "nrfutil": [*NRFUTIL, "--options", TOUCHED],
    "nrfjprog": [*NRFJPROG, "--program", "{hex}", "--sectorerase"],
    "west": WEST,
}


@pytest.mark.parametrize("words", LOCKED.values(), ids=LOCKED)
def test_a_locked_chip_is_refused(run: Run, dk: ThreadDk, words: list[str]) -> None:
    poke(dk.board, 0x8000, b"far away")
    dk.do("misbehave", names=["locked"])
    said = run(words)
    assert (said.code, flash(dk, 8, 0x8000)) == (16, b"far away")
    assert "locked (APPROTECT)" in said.text


def test_a_words_flash_is_not_erased_by_itself(run: Run, dk: ThreadDk) -> None:
    """Without an erase, writing only clears bits, and the read-back sees it."""
    poke(dk.board, 0, b"\0")
    said = run([*NRFUTIL, "--options", "chip_erase_mode=ERASE_NONE,verify=VERIFY_READ"])
    assert (said.code, "0x00000000" in said.text) == (55, True)


def test_tool_fails_the_given_number_of_times(run: Run, dk: ThreadDk) -> None:
    dk.do("misbehave", names=["flash-fails=1"])
    failed = run(NRFUTIL)
    assert (failed.code, flash(dk)) == (33, b"\xff" * 11)
    assert "target did not respond" in failed.text
    assert run(NRFUTIL).code == 0


def test_tools_take_the_names_of_the_boards_chip(tmp_path: Path) -> None:
    with ThreadDk(tmp_path, chip=TranscriptChip(board_table("nrf5340dk"))):
        probe = ToolProbe(tmp_path, S)
        assert probe.kit.chip.key == "nrf5340"
        with pytest.raises(ToolError, match="not of this family") as refused:
            nrfjprog.run(tmp_path, ["--family", "NRF91", "--snr", S, "--reset"])
        assert refused.value.code == 18
        nrfjprog.run(tmp_path, ["--family", "NRF53", "--snr", S, "--reset"])
