"""Inputs that nobody should write: command lines, case files, ELF files, consoles.

Each is made from a random generator alone, so that a number makes the same one again.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from pathlib import Path

import click

from harness.cli import COMMANDS, cli
from harness.uart import encode

NUMBERS = ("0", "1", "-1", "2", "nan", "inf", "-inf", "1e308", "1e999", "9" * 5000, "0x10", "1_0",
           "\u0663", "\u00b2", "", " ", "3.5", "65536", "4294967296", "-0", "1e-320")  # fmt: skip
TEXTS = ("", ".", "..", "/", "-", "--", "x" * 300, "x" * 5000, "a\0b", "\udcff.elf", "a\nb", "{}",
         "../../x", "~", "*", "%s", "\u202e", "\U0001f600", "hello_world", "digits", "exact",
         "all-configurations", "simulator", "renode", "board", "simulator,renode", "/(?P<x>.*)/",
         "/(a+)+$/", "/(/", "CONV_2D", "main", "unit_tests")  # fmt: skip
#: Commands that install, build for minutes or wait for Ctrl-C where their arguments are right.
_LEFT_OUT = ("doctor",)
_ENDS = {"virtual-board": ["--serial", "../x"]}


class Files:
    """A folder of things that have names: files that are right, broken, and none at all."""

    def __init__(self, folder: Path, elf: bytes, model: Path) -> None:
        self.folder = folder
        self._elf, self._model = elf, model.read_bytes()
        self.make()
        names = [path.name for path in folder.iterdir()]
        self.names = tuple(sorted([*names, "none", "folder/none", "/dev/null", "/dev/zero"]))

    def make(self) -> None:
        """Make them anew: a command may have written over one, as it was told to."""
        folder, elf, model = self.folder, self._elf, self._model
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "good.elf").write_bytes(elf)
        (folder / "cut.elf").write_bytes(elf[: len(elf) // 2])
        (folder / "empty.elf").touch()
        (folder / "model.tflite").write_bytes(model)
        (folder / "broken.tflite").write_bytes(model[:200])
        (folder / "rows.npy").write_bytes(b"\x93NUMPY\x01\x00" + b"((((" * 20)
        (folder / "deep.toml").write_text("a = " + "[" * 3000)
        (folder / "deep.json").write_text("[" * 100_000)
        (folder / "good.toml").write_text('[[case]]\nname = "a"\nelf = "good.elf"\n')
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        (folder / "loop").symlink_to(folder / "loop")


def word(chance: random.Random, files: Files) -> str:
    """One argument of a command line."""
    return chance.choice(chance.choice((NUMBERS, TEXTS, files.names)))


def arguments(chance: random.Random, files: Files) -> list[str]:
    """A command line: a subcommand, and options of its own, with values of all kinds."""
    name = chance.choice([name for name in COMMANDS if name not in _LEFT_OUT])
    command = cli.get_command(click.Context(cli), name)
    words = [name]
    while isinstance(command, click.Group) and chance.random() < 0.9:
        context = click.Context(command)
        under = chance.choice(sorted(command.list_commands(context)))
        words.append(under)
        command = command.get_command(context, under)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            words.append(word(chance, files))
        elif chance.random() < 0.25:
            words.append(chance.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                words.append(word(chance, files))
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        words.insert(chance.randrange(1, len(words) + 1), word(chance, files))
    return [*words, *_ENDS.get(name, [])]


_KEYS = ("name", "elf", "sample", "resolver", "builder", "targets", "model", "scraper", "inputs",
         "inferences", "rows", "reference", "rounding", "multipliers", "tolerance", "timeout",
         "guard", "watch", "ends", "expect", "budgets", "baseline", "nonsense", "exspect",
         )  # fmt: skip
_VALUES = ('"a"', '""', "1", "0", "-1", "1.5", "nan", "inf", "-inf", "1e308", "true", "false",
           "[]",
           '["simulator"]', '["a", 1]', "[[]]", "{}", "{a = 1}", '"good.elf"', '"model.tflite"',
           '"folder"', '"pipe"', '"none"', '"hello_world"', '"exact"', '"/(?P<x>.*)/"',
           "1979-05-27",
           "07:32:00", '"numpy"', '"none"', '"single"', "9" * 400, "9" * 5000, "0x7fffffffffffffff",
           '{outputs = true}', '{findings = ["fault"]}', '{findings = ["x:y"]}',
           '{values = [{x = 1}]}',
           '{values = [{x = "a"}]}', "{values = [3]}", '{flash = "60 KB"}', '{flash = "+1 %"}',
           '{flash = -1}', '{operators = {CONV_2D = 1}}', '{ram = 1e400}', '"\\u0000"',
           '"' + "x" * 300 + '"', '"deep.json"', '"rows.npy"',
           '{tests = {a = "fail"}}')  # fmt: skip


def case_file(chance: random.Random) -> bytes:
    """A ``hil.toml``, mostly of the right shape, with values of every kind."""
    rows = []
    for number in range(chance.choice((1, 1, 1, 2, 3))):
        lines = ["[[case]]", f'name = "case {number}"', 'elf = "good.elf"', "timeout = 0.01"]
        lines += [f"{chance.choice(_KEYS)} = {chance.choice(_VALUES)}"
                  for _ in range(chance.randrange(4))]  # fmt: skip
        kept: dict[str, str] = {}
        for line in lines[1:]:
            kept[line.partition(" =")[0]] = line
        rows += [lines[0], *kept.values()]
    if chance.random() < 0.2:
        rows.insert(0, f"[defaults]\n{chance.choice(_KEYS)} = {chance.choice(_VALUES)}")
    text = "\n".join(rows).encode()
    return spoilt(chance, text, 3) if chance.random() < 0.3 else text


def spoilt(chance: random.Random, data: bytes, most: int) -> bytes:
    """``data`` with some bytes changed, taken out, put in, or cut off."""
    content = bytearray(data)
    for _ in range(chance.randrange(1, most + 1)):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0:
                content[at : at + 1] = bytes((chance.randrange(256),))
            case 1:
                del content[at : at + chance.choice((1, 4, 100))]
            case 2:
                content[at:at] = chance.randbytes(chance.choice((1, 4, 50)))
            case 3:
                content[at:at] = content[at : at + chance.choice((10, 200))] * chance.choice((1, 9))
            case _:
                if chance.random() < 0.1:
                    del content[at:]
    return bytes(content)


_WILD = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0xFFFF, 0x10000)


def elf(chance: random.Random, original: bytes) -> bytes:
    """A real image with headers, tables, DWARF or code spoilt."""
    content = bytearray(original)
    sections = _sections(original)
    for _ in range(chance.randrange(1, 6)):
        place = chance.random()
        if place < 0.25:
            start, size = 0, 52
        elif place < 0.5 or not sections:
            (table,) = struct.unpack_from("<I", original, 32)
            start, size = table, len(original) - table
        else:
            start, size = chance.choice(sections)
        if size <= 4 or start + size > len(content):
            continue
        at = start + chance.randrange(size - 4)
        if chance.random() < 0.5:
            struct.pack_into("<I", content, at & ~3, chance.choice(_WILD))
        else:
            content[at] = chance.randrange(256)
    if chance.random() < 0.1:
        del content[chance.randrange(len(content)) :]
    return bytes(content)


def _sections(data: bytes) -> list[tuple[int, int]]:
    (table,) = struct.unpack_from("<I", data, 32)
    count = int.from_bytes(data[48:50], "little")
    rows = [struct.unpack_from("<10I", data, table + 40 * number) for number in range(count)]
    return [(row[4], row[5]) for row in rows if row[1] not in (0, 8) and row[5] > 8]


_KINDS = ("boot", "resolver", "arena", "tensor", "input", "output", "inference", "profile", "end",
          "failed", "ready", "ack", "nak", "lifecycle", "stack", "log", "nonsense")  # fmt: skip
_FIELDS = ("inference", "index", "offset", "total", "hex", "ticks", "source", "hz", "status",
           "inferences", "build", "model_crc32", "declared", "used", "registered", "refused",
           "shape", "scale", "zero_point", "dtype", "operator", "stage", "of", "reason",
           )  # fmt: skip
_MESSAGES = (
    b"Didn't find op for builtin opcode '%s'", b"Failed to get registration from op code %s",
    b"Couldn't register builtin op #%s, resolver size is too small (%s).",
    b"Failed to allocate tail memory. Requested: %s, available %s, missing: %s",
    b"Node %s (number %s) failed to prepare with status %s", b"***** USAGE FAULT *****",
    b"[00:00:00.000,000] <err> os: r15/pc:  0x%s", b"E: ***** HARD FAULT *****", b"FATAL: %s",
    b"*** Booting Zephyr OS build %s ***", b"x_value: %s, y_value: %s", b"person score: %s",
    b"~~~ALL TESTS PASSED~~~", b"START - test_%s", b" PASS - test_%s in 0.001 seconds",
    b"SUITE FAIL -   0.00%% [%s]: pass = %s", b"PROJECT EXECUTION SUCCESSFUL",
    b"ASSERTION FAIL [%s] @ %s:%s",
)  # fmt: skip


def console(chance: random.Random, originals: list[bytes]) -> bytes:
    """What an image printed once, spoilt; or records and messages that none would print."""
    lines = chance.choice(originals).splitlines(keepends=True) if chance.random() < 0.7 else []
    lines = lines[: chance.choice((20, 200, 1000))]
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(lines) + 1)
        match chance.randrange(6):
            case 0 if lines:
                del lines[at : at + 1]
            case 1 if lines:
                lines[at:at] = lines[at : at + chance.randrange(1, 5)]
            case 2:
                fields = {
                    chance.choice(_FIELDS): _value(chance) for _ in range(chance.randrange(6))
                }
                lines.insert(at, encode(chance.randrange(-1, 50), chance.choice(_KINDS), fields))
            case 3:
                text = chance.choice(_MESSAGES)
                while b"%s" in text:
                    text = text.replace(b"%s", _value(chance).encode("utf-8", "replace"), 1)
                lines.insert(at, text.replace(b"%%", b"%") + b"\r\n")
            case 4:
                lines.insert(at, chance.choice((b" ", b"~HIL ", b"9", b"\xff", b"(", b"\0")) * 9000)
            case _:
                lines.insert(at, chance.randbytes(chance.randrange(80)))
    data = b"".join(lines)
    return spoilt(chance, data, 6) if chance.random() < 0.5 else data


def _value(chance: random.Random) -> str:
    choice = chance.choice(("number", "wild", "word", "hex", "text"))
    if choice == "number":
        return str(chance.randrange(-5, 400))
    if choice == "wild":
        return chance.choice(NUMBERS).strip() or "0"
    if choice == "hex":
        return chance.randbytes(chance.randrange(40)).hex()
    if choice == "word":
        return chance.choice(("dwt", "int8", "[1,4]", "0x", "CUSTOM", "register", "-", "None"))
    return "".join(chance.choices("abc=~*\u00e9 \t:/()", k=chance.randrange(20)))
