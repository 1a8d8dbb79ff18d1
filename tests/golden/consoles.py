"""Consoles as images: a text, the case that a user would write for it, and spoilt copies."""

from __future__ import annotations

import random
import re
import struct
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRANSCRIPTS = HERE.parent / "data" / "transcripts"
#: Tables of consoles by strangers, in the folder `consoles`.
STRANGERS = ("values", "tests", "failures")
_COMPILE = "arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -Os -ffreestanding -nostdlib"
_MARK = b"golden console:\0"
_CAPACITY = 65536  # as in console.c


@dataclass(frozen=True)
class Console:
    """A text; ``case`` is a case file for its image ``app.elf``; ``model`` is linked into it."""

    name: str
    text: bytes
    case: str
    model: str = ""

    def files(self, models: Mapping[str, bytes]) -> dict[str, bytes]:
        """What a user has in the folder."""
        return {
            "app.elf": self.image(models),
            "hil.toml": self.case.encode(),
            **self._model(models),
        }

    def spoilt(self, models: Mapping[str, bytes]) -> dict[str, bytes]:
        """The same with one case, and one image, for each way to spoil the text."""
        files, cases = self._model(models), []
        for rule, spoil in SPOILERS.items():
            spoilt = replace(self, text=spoil(self.text, seeded(self, rule)))
            files[f"{rule}.elf"] = spoilt.image(models)
            case = self.case.replace('"app.elf"', f'"{rule}.elf"')
            cases.append(re.sub('^name = ".*"$', f'name = "{rule}"', case, flags=re.M))
        return {**files, "hil.toml": "".join(cases).encode()}

    def image(self, models: Mapping[str, bytes]) -> bytes:
        """An ELF for the nRF9160 that prints the text and sleeps."""
        elf = _program(models.get(self.model, b""))
        assert len(self.text) <= _CAPACITY, f"{self.name} is too long for its image"
        at = elf.index(_MARK) + len(_MARK)
        content = struct.pack("<I", len(self.text)) + self.text
        return elf[:at] + content + elf[at + len(content) :]

    def _model(self, models: Mapping[str, bytes]) -> dict[str, bytes]:
        return {"model.tflite": models[self.model]} if self.model else {}


@cache
def _program(model: bytes) -> bytes:
    """console.c, compiled, with ``model`` in it."""
    with tempfile.TemporaryDirectory() as folder:
        elf, embedded = Path(folder, "app.elf"), Path(folder, "model.tflite")
        embedded.write_bytes(model)
        define = [f'-DMODEL="{embedded}"'] if model else []
        source = ["-T", HERE / "console.ld", HERE / "console.c", "-o", elf]
        subprocess.run([*_COMPILE.split(), *define, *source], check=True)
        return elf.read_bytes()


def captures() -> Iterator[Console]:
    """The captures of real images in tests/data/transcripts."""
    rows = _table("captures")["row"]
    for path in sorted(TRANSCRIPTS.rglob("*.log")):
        name = str(path.relative_to(TRANSCRIPTS).with_suffix(""))
        row = next(row for row in rows if fnmatch(name, row["files"]))
        yield Console(name, path.read_bytes(), row["case"], row.get("model", ""))


def strangers() -> Iterator[Console]:
    """Consoles in the forms in which other people print."""
    for table in STRANGERS:
        for name, row in _table(table).items():
            text = row["text"].encode()
            yield Console(name, text, row["case"], row.get("model", ""))


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((HERE / "consoles" / f"{name}.toml").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------------- ways to spoil a text


def seeded(console: Console, rule: str) -> random.Random:
    """The chance in spoiling a console, each time the same."""
    return random.Random(f"{console.name} {rule}")


def _cut_off(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text) // 4, len(text))] if text else text


def _line_dropped(text: bytes, chance: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    full = [at for at, line in enumerate(lines) if line.strip()]
    if full:
        del lines[chance.choice(full)]
    return b"".join(lines)


def _value_changed(text: bytes, chance: random.Random) -> bytes:
    digits = [at for at, byte in enumerate(text) if chr(byte).isdigit()]
    if not digits:
        return text
    at = chance.choice(digits)
    return text[:at] + b"%d" % ((text[at] - 48 + 1 + chance.randrange(9)) % 10) + text[at + 1 :]


def _repeated(text: bytes, chance: random.Random) -> bytes:
    return (text + text)[:_CAPACITY]


def _control_characters(text: bytes, chance: random.Random) -> bytes:
    for extra in (b"\0", b"\x1b[31m", b"\x07\x08", b"\xff\xfe", b"\r"):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + extra + text[at:]
    return text


#: Rule -> what it makes of a text.
SPOILERS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut off": _cut_off,
    "line dropped": _line_dropped,
    "value changed": _value_changed,
    "repeated": _repeated,
    "control characters": _control_characters,
}
