"""A first case file for a folder of firmware: look at what lies there, run it once, write it down.

What is written holds what the image did when it was looked at. Where a model is compared with, that
is a test; where only printed values are, it is a record of today that the user corrects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import files
from harness.elf import Image
from harness.errors import HilError, UsageError
from harness.starter.printed import Printed, what_to_expect
from harness.targets import Stop, open_target
from harness.targets.registry import DEFAULT
from harness.uart.lines import Line, LineSplitter
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


@dataclass(frozen=True)
class Found:
    """What a folder holds. ``scraper`` is None if nothing was printed that could be read."""

    elf: Path
    model: Path | None
    scraper: str | None
    printed: Printed | None
    stop: Stop

    @property
    def ends(self) -> bool:
        """True if the image came to its end, or what reads it knows one."""
        of_its_own = self.scraper in SCRAPERS and SCRAPERS[self.scraper]().end is not None
        return self.stop is Stop.IDLE or self.scraper == "" or of_its_own


def look(folder: Path) -> Found:
    """Look at a folder: its newest image, the model in it, what it prints on the simulator.

    Raises :class:`UsageError` if there is no image that the simulator loads.
    """
    elf = _newest_image(folder)
    content = files.read(elf)
    model = next((one for one in _below(folder, ".tflite") if files.read(one) in content), None)
    lines, stop = _run(elf)
    for name, word in _TELLTALES.items():
        if word in content and (name != "hello_world" or model is not None):
            return Found(elf, model, name, None, stop)
    if stop in (Stop.LOCKUP, Stop.RESET_LOOP):  # what it printed is not what it shall print
        return Found(elf, model, None, None, stop)
    read = what_to_expect(lines, ends=stop is Stop.IDLE, until=_LOOK)
    return Found(elf, model, read.regex if read else None, read, stop)


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


def _run(elf: Path) -> tuple[list[Line], Stop]:
    with open_target(DEFAULT, Image.from_elf(elf)) as session:
        stop = session.run(None, session.deadline(_LOOK, guard=_GUARD))
        splitter = LineSplitter()
        lines = [ln for chunk in session.console for ln in splitter.feed(chunk.data, chunk.time)]
        lines += splitter.flush(_LOOK)
    return lines, stop


def texts(found: Found, folder: Path) -> dict[str, str]:
    """The files to write, by their path in ``folder``."""
    elf = found.elf.relative_to(folder).as_posix()
    return {
        "hil.toml": _case_file(found, folder, elf),
        "test_firmware.py": _TEST_FILE.format(elf=elf),
        ".github/workflows/firmware.yml": _WORKFLOW,
    }


def write(found: Found, folder: Path) -> list[Path]:
    """Write them all, or none: raises :class:`UsageError` if one is there already."""
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
            "# scraper = '/result: (?P<value>-?\\d+)/'   # it printed nothing that can be expected"
        )
    elif found.scraper:
        lines.append(f"scraper = {_literal(found.scraper)}   # how to read what it prints")
    if not found.ends and found.scraper is not None:
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


def _row(values: Mapping[str, float | str]) -> str:
    told = (f"{name} = {_value(value)}" for name, value in values.items())
    return "  { " + ", ".join(told) + " },"


def _value(value: float | str) -> str:
    return _literal(value) if isinstance(value, str) else repr(value).removesuffix(".0")


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
