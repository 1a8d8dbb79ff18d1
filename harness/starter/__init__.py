"""A first case file for a folder of firmware: find the image, run it once, write what it did.

With a model the case is a test from the start. Without one it expects the values that the image
printed, which the user corrects if they are wrong.
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

#: Scraper -> text in an image that it reads ("": an image with records); the first that fits.
_SIGNATURES = {
    "": PREFIX.encode(),
    "ztest": b"PROJECT EXECUTION",
    "unit_tests": b"~~~ALL TESTS PASSED~~~",
    "hello_world": b"x_value",
    "person_detection": b"person score",
}
#: Seconds on the target's clock that the image runs, and wall seconds of the guard.
_SECONDS, _GUARD = 1.0, 20.0
#: Folders without firmware of the user's.
_SKIPPED = {"hil-results", "node_modules", "venv", "CMakeFiles"}
_DEEPEST = 4  # levels of folders that are searched


@dataclass(frozen=True)
class Contents:
    """What a folder holds. ``scraper`` is None if nothing was printed that can be expected."""

    elf: Path
    model: Path | None
    scraper: str | None
    printed: Printed | None
    stop: Stop

    @property
    def ends(self) -> bool:
        """True if the image came to its end, or its scraper or records know one."""
        known = self.scraper in SCRAPERS and SCRAPERS[self.scraper]().end is not None
        return self.stop is Stop.IDLE or self.scraper == "" or known


def look(folder: Path) -> Contents:
    """The contents of a folder: its newest image, the model in it, what it prints when it runs.

    Raises :class:`UsageError` if there is no image that the simulator loads.
    """
    elf = _newest_image(folder)
    content = files.read(elf)
    models = _below(folder, ".tflite")
    model = next((path for path in models if files.read(path) in content), None)
    lines, stop = _run(elf)
    for scraper, signature in _SIGNATURES.items():
        if signature in content and (scraper != "hello_world" or model is not None):
            return Contents(elf, model, scraper, None, stop)
    if stop in (Stop.LOCKUP, Stop.RESET_LOOP):  # what a crashing image prints is not to be expected
        return Contents(elf, model, None, None, stop)
    printed = what_to_expect(lines, ends=stop is Stop.IDLE, until=_SECONDS)
    return Contents(elf, model, printed.regex if printed else None, printed, stop)


def _below(folder: Path, suffix: str) -> Iterator[Path]:
    for path in sorted(folder.rglob(f"*{suffix}")):
        inside = path.relative_to(folder).parts
        skipped = any(part.startswith(".") or part in _SKIPPED for part in inside)
        if len(inside) <= _DEEPEST and not skipped and files.is_file(path):
            yield path


def _newest_image(folder: Path) -> Path:
    """The newest image; of a Zephyr build the final one, not an intermediate one."""
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
        stop = session.run(None, session.deadline(_SECONDS, guard=_GUARD))
        splitter = LineSplitter()
        lines: list[Line] = []
        for chunk in session.console:
            lines += splitter.feed(chunk.data, chunk.time)
        lines += splitter.flush(_SECONDS)
    return lines, stop


def texts(contents: Contents, folder: Path) -> dict[str, str]:
    """The files to write, by their path in ``folder``."""
    elf = contents.elf.relative_to(folder).as_posix()
    return {
        "hil.toml": _case_file(contents, folder, elf),
        "test_firmware.py": _TEST_FILE.format(elf=elf),
        ".github/workflows/firmware.yml": _WORKFLOW,
    }


def write(contents: Contents, folder: Path) -> list[Path]:
    """Write all files, or none: raises :class:`UsageError` if one is there already."""
    wanted = {folder / name: text for name, text in texts(contents, folder).items()}
    existing = [path.relative_to(folder).as_posix() for path in wanted if path.exists()]
    if existing:
        raise UsageError(
            f"{', '.join(existing)} in {folder} would be overwritten",
            hint="move it away, or write the rest by hand (docs/cases.md)",
        )
    for path, text in wanted.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {path.parent}: {error.strerror}") from error
        files.write(path, text)
    return list(wanted)


def _case_file(contents: Contents, folder: Path, elf: str) -> str:
    lines = [
        "# What to run, and what is expected: tflm-hil run . (docs/cases.md has every key)",
        "",
        "[defaults]",
        'targets = ["simulator"]        # also: "renode", "board", "virtual-board"',
        "timeout = 10                   # seconds on the target's clock",
        "",
        "[[case]]",
        f"name = {_quoted(contents.elf.stem)}",
        f"elf = {_quoted(elf)}",
    ]
    if contents.model is not None:
        model = contents.model.relative_to(folder).as_posix()
        lines.append(f"model = {_quoted(model)}   # its bytes are in the image")
    if contents.scraper is None:
        lines.append(
            "# scraper = '/result: (?P<value>-?\\d+)/'   # it printed nothing that can be expected"
        )
    elif contents.scraper:
        lines.append(f"scraper = {_literal(contents.scraper)}   # how to read what it prints")
    if not contents.ends and contents.scraper is not None:
        lines.append("ends = false                   # it did not end when this file was written")
    if contents.printed is not None:
        lines += ["# What it printed when this file was written; correct what is wrong."]
        lines.append(f"inferences = {len(contents.printed.values)}")
        lines += ["expect.values = [", *map(_row, contents.printed.values), "]"]
    lines += [_budgets(contents.elf)]
    return "\n".join(lines) + "\n"


def _budgets(elf: Path) -> str:
    from harness.case.figures import size_of  # noqa: PLC0415 - only if files are written

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
    entries = (f"{name} = {_value(value)}" for name, value in values.items())
    return "  { " + ", ".join(entries) + " },"


def _value(value: float | str) -> str:
    return _literal(value) if isinstance(value, str) else repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a TOML basic string has the same form


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
