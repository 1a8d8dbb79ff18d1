"""A first case file for a folder of firmware: look at what lies there, run it once, write it down.

What is written holds what the image did when it was looked at. Where a model is compared with, that
is a test; where only printed values are, it is a record of today that the user corrects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.elf import Image
from harness.errors import HilError, UsageError
from harness.targets import Stop, open_target
from harness.targets.registry import DEFAULT
from harness.uart.lines import LineSplitter
from harness.uart.records import PREFIX
from harness.uart.scrapers import SCRAPERS

#: Words of an image that tell which scraper reads it; the first that fits.
_TELLTALES = {
    "": PREFIX.encode(),
    "ztest": b"PROJECT EXECUTION",
    "unit_tests": b"~~~ALL TESTS PASSED~~~",
    "hello_world": b"x_value",
    "person_detection": b"person score",
}
#: Seconds on the target's clock that the image runs to be looked at, and wall seconds behind them.
_LOOK, _GUARD = 1.0, 20.0
#: Folders that hold no firmware of the user's.
_PASSED_OVER = {"hil-results", "node_modules", "venv", "CMakeFiles"}
_DEEPEST = 4  # folders below the one that is looked at
_MOST_VALUES = 200  # of a case file that somebody shall read
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$")


@dataclass(frozen=True)
class Printed:
    """A regex that reads the numbers of an image's lines, and what it read."""

    regex: str
    values: tuple[dict[str, float], ...]


@dataclass(frozen=True)
class Found:
    """What a folder holds. ``scraper`` is None where nothing was printed that could be read."""

    elf: Path
    model: Path | None
    scraper: str | None
    printed: Printed | None
    ends: bool


def look(folder: Path) -> Found:
    """Look at a folder: its newest image, the model in it, what it prints on the simulator.

    Raises :class:`UsageError` where there is no image that the simulator loads.
    """
    elf = _newest_image(folder)
    content = files.read(elf)
    model = next((one for one in _below(folder, ".tflite") if files.read(one) in content), None)
    lines, stop = _run(elf)
    ends = stop is Stop.IDLE
    for name, word in _TELLTALES.items():
        if word in content and (name != "hello_world" or model is not None):
            knows_its_end = name not in SCRAPERS or SCRAPERS[name]().end is not None
            return Found(elf, model, name, None, ends or knows_its_end)
    printed = _read_numbers(lines, ends=ends)
    return Found(elf, model, printed.regex if printed else None, printed, ends)


def _below(folder: Path, suffix: str) -> Iterator[Path]:
    for path in sorted(folder.rglob(f"*{suffix}")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in _PASSED_OVER for part in inside)
        if len(inside) <= _DEEPEST and not hidden and files.is_file(path):
            yield path


def _newest_image(folder: Path) -> Path:
    """The newest image; of a Zephyr build the final one, not what it is linked from."""
    if not files.is_folder(folder):
        raise UsageError(f"there is no folder {folder}")
    images = [path for path in _below(folder, ".elf") if not path.stem.startswith("zephyr_pre")]
    if not images:
        raise UsageError(
            f"{folder} holds no .elf", hint="build the firmware first, or name its folder"
        )
    return max(images, key=lambda path: path.stat().st_mtime_ns)


def _run(elf: Path) -> tuple[list[str], Stop]:
    with open_target(DEFAULT, Image.from_elf(elf)) as session:
        stop = session.run(None, session.deadline(_LOOK, guard=_GUARD))
        splitter = LineSplitter()
        data = b"".join(chunk.data for chunk in session.console)
        lines = [line.text for line in (*splitter.feed(data), *splitter.flush())]
    return lines, stop


def _read_numbers(lines: Sequence[str], *, ends: bool) -> Printed | None:
    """A regex from the form that most lines with numbers share, and what it reads of them.

    Of an image that does not end only numbers that repeat can be expected: one round of them.
    """
    forms: dict[str, list[list[str]]] = {}
    for line in lines:
        if _NUMBER.search(line) and line.isprintable():
            forms.setdefault(_NUMBER.sub("\0", line), []).append(_NUMBER.findall(line))
    if not forms:
        return None
    form = max(forms, key=lambda one: len(forms[one]))
    parts = form.split("\0")
    names = _names(parts[:-1])
    columns = dict(zip(names, zip(*forms[form], strict=True), strict=True))
    rounds = {name: len(told) if ends else _round(told) for name, told in columns.items()}
    count = max((length for length in rounds.values() if length), default=0)
    if not 0 < count <= _MOST_VALUES:
        return None
    kept = [name for name in names if rounds[name] and count % rounds[name] == 0]
    number = r"-?\d+(?:\.\d+)?"
    groups = [f"(?P<{name}>{number})" if name in kept else number for name in names]
    regex = "^" + "".join(
        re.escape(part) + group for part, group in zip(parts, [*groups, ""], strict=True)
    ).replace("\\ ", " ")
    rows = ({name: float(columns[name][at]) for name in kept} for at in range(count))
    return Printed(f"/{regex}/", tuple(rows))


def _round(told: Sequence[str]) -> int:
    """After how many values they begin again; 0 where they were not seen to, twice."""
    half = range(1, len(told) // 2 + 1)
    return next((n for n in half if all(a == b for a, b in zip(told, told[n:]))), 0)  # noqa: B905


def _names(before: Sequence[str]) -> list[str]:
    """A name for each number: the word in front of it, or ``value``; each once."""
    names: list[str] = []
    for text in before:
        word = match[1].lower() if (match := _LABEL.search(text)) else "value"
        names.append(word if word not in names else f"{word}_{len(names)}")
    return names


def texts(found: Found, folder: Path) -> dict[str, str]:
    """The files to write, by their path in ``folder``."""
    elf = found.elf.relative_to(folder).as_posix()
    return {
        "hil.toml": _case_file(found, folder, elf),
        "test_firmware.py": _TEST_FILE.format(elf=elf),
        ".github/workflows/firmware.yml": _WORKFLOW,
    }


def write(found: Found, folder: Path) -> list[Path]:
    """Write them all, or none: raises :class:`UsageError` where one is there already."""
    wanted = {folder / name: text for name, text in texts(found, folder).items()}
    there = [path.relative_to(folder).as_posix() for path in wanted if path.exists()]
    if there:
        raise UsageError(
            f"{', '.join(there)} in {folder} would be overwritten",
            hint="move it away, or write the rest by hand (docs/cases.md)",
        )
    for path, text in wanted.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {path.parent}: {error.strerror}") from error
        files.write(path, text)
    return list(wanted)


def _case_file(found: Found, folder: Path, elf: str) -> str:
    lines = [
        "# What to run, and what must come of it: tflm-hil run . (docs/cases.md has every key)",
        "",
        "[defaults]",
        'targets = ["simulator"]        # also: "renode", "board", "virtual-board"',
        "timeout = 10                   # seconds on the target's clock",
        "",
        "[[case]]",
        f"name = {_quoted(found.elf.stem)}",
        f"elf = {_quoted(elf)}",
    ]
    if found.model is not None:
        model = found.model.relative_to(folder).as_posix()
        lines.append(f"model = {_quoted(model)}   # its bytes are in the image")
    if found.scraper is None:
        lines.append(
            "# scraper = '/result: (?P<value>-?\\d+)/'   # it printed nothing with a number"
        )
    elif found.scraper:
        lines.append(f"scraper = {_literal(found.scraper)}   # how to read what it prints")
    if not found.ends:
        lines.append("ends = false                   # it did not end while it was looked at")
    if found.printed is not None:
        lines += ["# What it printed when this file was written; correct it where that is wrong."]
        lines.append(f"inferences = {len(found.printed.values)}")
        lines += ["expect.values = [", *map(_row, found.printed.values), "]"]
    lines += [_budgets(found.elf)]
    return "\n".join(lines) + "\n"


def _budgets(elf: Path) -> str:
    from harness.case.figures import size_of  # noqa: PLC0415 - not for who only looks

    try:
        size = size_of(Image.from_elf(elf))
    except HilError:
        size = None
    if size is None:
        return '# budgets = { flash = "400 KB", ram = "150 KB" }'
    flash, ram = (f"{-(-bytes_ // 1024) + 1} KB" for bytes_ in (size.flash, size.ram))
    return (
        f'budgets = {{ flash = "{flash}", ram = "{ram}" }}   # a little above what it costs today'
    )


def _row(values: dict[str, float]) -> str:
    return "  { " + ", ".join(f"{name} = {value!r}" for name, value in values.items()) + " },"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a TOML basic string is written alike


def _literal(text: str) -> str:
    return _quoted(text) if "'" in text else f"'{text}'"


_TEST_FILE = '''"""Firmware tests: `pytest` runs this file and hil.toml (docs/pytest.md)."""

ELF = "{elf}"


def test_it_fits_the_chip(hil):
    assert hil.footprint(ELF).region("FLASH").used < 1024 * 1024


def test_it_says_something_after_a_reset(hil):
    live = hil.session(ELF)
    live.wait_for(r"\\S")
    live.reset()
    live.wait_for(r"\\S")
'''

_WORKFLOW = """# Builds the firmware and tests it without a board.
name: firmware
on: [push, pull_request]

jobs:
  test:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      # - run: west build ...   # build what hil.toml names
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install tflm-hil pytest
      - run: pytest --junitxml=hil.xml
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: hil-results
          path: |
            hil.xml
            hil-results
"""
