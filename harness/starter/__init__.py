"""``tflm-hil init``: a first case file for a folder of firmware.

The image in the folder runs twice. If it prints tensors of its model, the case compares them with
the model. Otherwise the case expects the printed values, and a comment in the file asks the user to
check them. Output that shows a failure is never expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import files, paths
from harness.base.errors import BadModel, HilError, UsageError
from harness.base.findings import NOTES
from harness.base.text import count_of
from harness.case.subject import CASE_FILE
from harness.elf import Image
from harness.elf.models import embedded_models
from harness.model import Model
from harness.starter.fit import Fit, find_fit
from harness.starter.printed import Printed, expectation, first_failure, last_line
from harness.targets import Stop, open_target
from harness.targets.registry import DEFAULT
from harness.uart import Console
from harness.uart.lines import Line, LineSplitter
from harness.uart.records import PREFIX
from harness.uart.scrapers import SCRAPERS, TensorRegex, scrapers_that_fit

#: Scraper -> text in the images that it reads ("": images with records); the first match is used.
_SIGNATURES = {
    "": PREFIX.encode(),
    "ztest": b"PROJECT EXECUTION",
    "unit_tests": b"~~~ALL TESTS PASSED~~~",
    "hello_world": b"x_value",
    "person_detection": b"person score",
}
#: Duration of a run on the target's clock, and its limit on the wall clock, in seconds.
_SECONDS, _GUARD = 1.0, 20.0
#: Timing of the second run: output that differs from the first run's depends on time.
_OTHER_TIMING = "branches"
HEADER = "hil_records.h"
#: The JSON schema beside the case file, with which editors complete and check keys.
_SCHEMA = "hil.schema.json"
_REGEX_HINT = "regexes of `inputs` and `outputs` can read them (docs/how-to/printed-values.md)"
#: Folders that are not searched.
_SKIPPED = {"hil-results", "node_modules", "venv", "CMakeFiles"}
#: Most inferences of a case for an image that does not end.
_ENOUGH = 20
_MAX_DEPTH = 4  # levels of folders that are searched
#: Lines with these words fail a case whose values are copied from the image.
_ABSENT = r"\b(?:FAIL|ERROR|ASSERT|FATAL|PANIC)"


@dataclass(frozen=True)
class FirmwareFolder:
    """The result of :func:`scan`. ``scraper`` is None if no output can be expected.

    ``fit`` has the regexes that read the model's tensors from the console. ``embedded`` are the
    bytes of a model that only the image contains, to be written to ``model``. ``ends_at`` is a
    regex for the last line, "" without a reliable last line. ``failure`` is a fault, finding or
    line that shows a failure, "" for none.
    """

    elf: Path
    model: Path | None
    scraper: str | None
    printed: Printed | None
    stop: Stop
    ends_at: str = ""
    failure: str = ""
    fit: Fit | None = None
    embedded: bytes = b""

    @property
    def reads(self) -> bool:
        """True if the written case reads the console output."""
        return self.scraper is not None or self.fit is not None

    def notes(self) -> Iterator[str]:
        """Lines for the user: findings, and limits of the written case."""
        if self.fit is not None:
            yield from self._notes_on(self.fit)
        elif self.model is not None and self.scraper != "" and self.scraper not in SCRAPERS:
            yield (
                f"note: no printed numbers are inputs and outputs of {self.model.name};"
                f" {_REGEX_HINT}"
            )
        if self.failure and self.fit is None:
            yield f"note: the image shows a failure, so nothing is expected: {self.failure}"
        elif self.failure:
            yield f"note: the image shows a failure: {self.failure}"
        elif not self.reads:
            yield "note: the image printed nothing that can be expected"

    def _notes_on(self, fit: Fit) -> Iterator[str]:
        assert self.model is not None
        right = fit.compared - fit.mismatches
        yield (
            f"found: inputs and outputs of {self.model.name} in the text; {right} of "
            f"{count_of(fit.compared, 'value')} of {count_of(fit.inferences, 'inference')} are "
            "what the model computes"
        )
        if fit.problem:
            yield f"note: the case fails: {fit.problem}"
        yield (
            "note: printed inputs are not verified, and may not exercise all of the model: "
            f"tflm-hil vectors {self.model.name} --output vectors.npz finds inputs that do"
        )

    @property
    def ends(self) -> bool:
        """True if the image ended, or its scraper, records or last line mark the end."""
        known = self.scraper in SCRAPERS and SCRAPERS[self.scraper]().end is not None
        return self.stop is Stop.IDLE or self.scraper == "" or known or bool(self.ends_at)


@dataclass(frozen=True)
class _ObservedRun:
    """The first second of an image; ``failure`` as in :class:`FirmwareFolder`."""

    lines: Sequence[Line]
    stop: Stop
    failure: str

    @property
    def quiet(self) -> bool:
        """True if the image ended, or printed nothing in the second half of the run."""
        return self.stop is Stop.IDLE or not self.lines or self.lines[-1].time < _SECONDS / 2


def scan(folder: Path, console: Path | None = None) -> FirmwareFolder:
    """The newest image below ``folder``, its model, and its console output.

    ``console`` is a capture of the output, which replaces two runs on the simulator. Raises
    :class:`UsageError` if there is no image that the simulator can load.
    """
    elf = _newest_image(folder)
    content = files.read(elf)
    models = ((path, files.read(path)) for path in _below(folder, ".tflite"))
    model = next((path for path, data in models if data and data in content), None)
    embedded = b"" if model is not None else _embedded(elf)
    run = _run(elf) if console is None else _captured(console)
    if embedded:
        model = folder / f"{elf.stem}_model.tflite"
    found = FirmwareFolder(elf, model, None, None, run.stop, embedded=embedded)
    scraper = _named_scraper(content, run, has_model=model is not None)
    if scraper is not None and (scraper == "" or SCRAPERS[scraper]().end is not None):
        return replace(found, scraper=scraper)
    again = run if console is not None else _run_again(elf)
    ends_at = last_line(run.lines, again.lines) if run.quiet and console is None else ""
    if scraper is not None:
        return replace(found, scraper=scraper, ends_at=ends_at)
    fit = _fit(run, embedded or (files.read(model) if model is not None else b""))
    if fit is not None:
        return replace(found, fit=fit, ends_at=ends_at, failure=run.failure)
    if run.failure or run.stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        return replace(found, failure=run.failure)
    ends = run.stop is Stop.IDLE
    printed = expectation(run.lines, again=again.lines, ends=ends, until=_SECONDS)
    regex = printed.regex if printed else None
    return replace(found, scraper=regex, printed=printed, ends_at=ends_at)


def _embedded(elf: Path) -> bytes:
    """The bytes of a model that is a variable of the image; b"" if there is none."""
    return next((model.data for model in embedded_models(Image.from_elf(elf))), b"")


def _fit(run: _ObservedRun, model: bytes) -> Fit | None:
    try:
        return find_fit(run.lines, Model.from_bytes(model)) if model else None
    except BadModel:
        return None


def _captured(console: Path) -> _ObservedRun:
    """The run of a console capture; its end is unknown."""
    splitter, reader = LineSplitter(), Console()
    data = files.read(console)
    reader.feed(data)
    reader.finish()
    lines = [*splitter.feed(data), *splitter.flush()]
    return _ObservedRun(lines, Stop.DEADLINE, next(_failures(lines, reader, ()), ""))


def _named_scraper(content: bytes, run: _ObservedRun, *, has_model: bool) -> str | None:
    """The built-in scraper for the image; "" for an image with records, None if there is none."""
    for scraper, signature in _SIGNATURES.items():
        if signature in content and (scraper != "hello_world" or has_model):
            return scraper
    return "unity" if "unity" in scrapers_that_fit(run.lines) else None


def _below(folder: Path, suffix: str) -> Iterator[Path]:
    """The files below ``folder`` that end in ``suffix``."""
    for path in sorted(folder.rglob(f"*{suffix}")):
        inside = path.relative_to(folder).parts
        skipped = any(part.startswith(".") or part in _SKIPPED for part in inside)
        if len(inside) <= _MAX_DEPTH and not skipped and files.is_file(path):
            yield path


def _newest_image(folder: Path) -> Path:
    """The newest image; for a Zephyr build the final one. Raises :class:`UsageError`."""
    if not files.is_folder(folder):
        raise UsageError(f"there is no folder {folder}", hint="name the folder with the firmware")
    images = [path for path in _below(folder, ".elf") if not path.stem.startswith("zephyr_pre")]
    if not images:
        raise UsageError(
            f"{folder} holds no .elf", hint="build the firmware first, or name its folder"
        )
    # Programs of the host, for example tests, are used only if there is no firmware: the reader of
    # the ELF then reports the error.
    firmware = [path for path in images if _is_arm(path)]
    return max(firmware or images, key=lambda path: path.stat().st_mtime_ns)


def _is_arm(path: Path) -> bool:
    """True for a 32-bit Arm ELF (EI_CLASS, e_machine)."""
    head = files.read(path)[:20]
    return (head[4:5], head[18:20]) == (b"\x01", b"\x28\x00")


def _run(elf: Path, timing: str = "instructions") -> _ObservedRun:
    console, splitter = Console(), LineSplitter()
    lines: list[Line] = []
    with open_target(DEFAULT, Image.from_elf(elf), timing=timing) as session:
        stop = session.run(None, session.deadline(_SECONDS, guard=_GUARD))
        for chunk in session.console:
            console.feed(chunk.data, chunk.time)
            lines += splitter.feed(chunk.data, chunk.time)
        console.finish(_SECONDS)
        lines += splitter.flush(_SECONDS)
        faults = [str(fault) for fault in session.faults]
    return _ObservedRun(lines, stop, next(_failures(lines, console, faults), ""))


def _run_again(elf: Path) -> _ObservedRun:
    """A run with another timing: output that is equal in both runs does not depend on time."""
    return _run(elf, _OTHER_TIMING)


def _failures(lines: Sequence[Line], console: Console, faults: Sequence[str]) -> Iterator[str]:
    """Faults, findings and lines that show a failure."""
    yield from faults
    yield from (one.message for one in console.findings if one.kind not in NOTES)
    line = first_failure(lines)
    if line is not None:
        yield f"line {line.number} {line.text[:100]!r}"


def texts(contents: FirmwareFolder, folder: Path) -> dict[str, str]:
    """The text files to write, by their path in ``folder``."""
    elf = contents.elf.relative_to(folder).as_posix()
    flash = Image.from_elf(contents.elf).chip.area("flash").size >> 10
    return {
        CASE_FILE: _case_file(contents, folder, elf),
        _SCHEMA: files.read(paths.schemas() / "hil_toml.json").decode(),
        "test_firmware.py": _TEST_FILE.format(elf=elf, flash=flash),
        ".github/workflows/firmware.yml": _WORKFLOW,
    }


def write(contents: FirmwareFolder, folder: Path) -> list[Path]:
    """Writes all files and returns their paths; raises :class:`UsageError` if one exists."""
    wanted: dict[Path, str | bytes] = {
        folder / name: text for name, text in texts(contents, folder).items()
    }
    if contents.embedded and contents.model is not None:
        wanted[contents.model] = contents.embedded
    existing = [path.relative_to(folder).as_posix() for path in wanted if files.exists(path)]
    if existing:
        raise UsageError(
            f"{', '.join(existing)} in {folder} would be overwritten",
            hint="move it elsewhere, or write the other files by hand (docs/cases.md)",
        )
    for path, text in wanted.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot create the folder {path.parent}: {error.strerror}") from error
        files.write(path, text)
    return list(wanted)


def write_header(folder: Path) -> Path:
    """Writes the C header for printing records, and returns its path.

    Raises :class:`UsageError` if the file exists.
    """
    path = folder / HEADER
    if not files.is_folder(folder):
        raise UsageError(f"there is no folder {folder}", hint="name the folder with the firmware")
    if files.exists(path):
        raise UsageError(f"{path} would be overwritten", hint="it exists: move it elsewhere")
    files.write(path, files.read(Path(__file__).with_name(HEADER)))
    return path


def _case_name(elf: Path, folder: Path) -> str:
    """The image's name; for a Zephyr application (zephyr.elf) that of its folder."""
    return folder.resolve().name if elf.stem == "zephyr" else elf.stem


def _case_file(contents: FirmwareFolder, folder: Path, elf: str) -> str:
    lines = [
        f"#:schema ./{_SCHEMA}",
        "# What to run, and what is expected: tflm-hil run . (docs/cases.md has every key)",
        "",
        "[defaults]",
        'targets = ["simulator"]        # also: "renode", "board", "virtual-board"',
        "timeout = 10                   # seconds on the target's clock",
        "",
        "[[case]]",
        f"name = {_quoted(_case_name(contents.elf, folder))}",
        f"elf = {_quoted(elf)}",
    ]
    if contents.model is not None:
        model = contents.model.relative_to(folder).as_posix()
        origin = "taken out of the image" if contents.embedded else "its bytes are in the image"
        lines.append(f"model = {_quoted(model)}   # {origin}")
    if contents.fit is not None:
        lines += _tensors(contents.fit, ends=contents.ends)
    elif contents.scraper is None:
        lines += _nothing_expected(contents)
    elif contents.scraper:
        lines.append(f"scraper = {_literal(contents.scraper)}   # how to read what it prints")
    if contents.ends_at:
        lines.append(f"end = {{ line = {_literal(contents.ends_at)} }}   # its last line")
    elif not contents.ends and contents.reads:
        lines.append('end = "never"                  # it did not end when this file was written')
    if contents.printed is not None:
        lines += _values(contents.printed)
    lines.append(_budgets(contents.elf))
    return "\n".join(lines) + "\n"


def _tensors(fit: Fit, *, ends: bool) -> list[str]:
    """The keys that read the model's tensors from the console."""
    wrong = f"{fit.mismatches} of {fit.compared} printed values are not what the model computes"
    return [
        "# Regexes for the model's tensors in the text (docs/how-to/printed-values.md). Printed",
        "# inputs are not verified: if you know them, name a file instead.",
        *([f"# {wrong}, so this case fails."] if fit.mismatches else []),
        f"inputs = [{', '.join(map(_tensor, fit.printed.inputs))}]",
        f"outputs = [{', '.join(map(_tensor, fit.printed.outputs))}]",
        f"inferences = {fit.inferences if ends else min(fit.inferences, _ENOUGH)}",
    ]


def _tensor(one: TensorRegex) -> str:
    if one.form != "real":
        return _literal(one.regex)
    return f"{{ regex = {_literal(one.regex)}, form = {_quoted(one.form)} }}"


def _nothing_expected(contents: FirmwareFolder) -> list[str]:
    """A commented scraper, and the failure that the image shows."""
    if not contents.failure:
        return [f"{_SCRAPER_EXAMPLE}   # it printed nothing that can be expected"]
    return [
        f"# This image shows a failure: {' '.join(contents.failure.split())}",
        "# Fix it and run tflm-hil init again.",
        f"{_SCRAPER_EXAMPLE}   # nothing that it printed is expected",
    ]


_SCRAPER_EXAMPLE = "# scraper = '/result: (?P<value>-?\\d+)/'"


def _values(printed: Printed) -> list[str]:
    """The keys that expect the printed values, with a warning that these may be wrong."""
    varied = ["# Numbers that depend on the timing were left out."] if printed.varied else []
    return [
        "# Output of this image on the simulator. It is not verified: compare it with the results",
        "# that you expect of your model, and correct wrong values.",
        *varied,
        f"inferences = {len(printed.values)}",
        "expect.values = [",
        *map(_row, printed.values),
        "]",
        f"expect.lines_absent = [{_literal(_ABSENT)}]   # such a line fails the case",
    ]


def _budgets(elf: Path) -> str:
    """Budgets slightly above the size of the image."""
    from harness.case.measure import size_of  # noqa: PLC0415 - only if files are written

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
    """A TOML value."""
    return _literal(value) if isinstance(value, str) else repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a TOML basic string has the same form


def _literal(text: str) -> str:
    """A TOML literal string, which needs no escapes, if possible."""
    return _quoted(text) if "'" in text else f"'{text}'"


_TEST_FILE = '''"""Firmware tests: `pytest` runs this file and hil.toml (docs/pytest.md)."""

ELF = "{elf}"


def test_image_fits_flash(hil):
    assert hil.footprint(ELF).region("FLASH").used < {flash} * 1024


def test_console_output_after_reset(hil):
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
      # - run: west build ...   # build the images of hil.toml
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
