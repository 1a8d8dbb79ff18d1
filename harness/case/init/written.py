"""The files that ``tflm-hil init`` writes: case file, its schema, a test, a workflow."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import AoT, Table

from harness.base import files, paths
from harness.base.errors import HilError, UsageError
from harness.base.text import unused
from harness.case.case import Case, LastLine
from harness.case.init.draft import TIMEOUT, Draft
from harness.case.init.images import images
from harness.case.init.workflow import inside_repository, workflow
from harness.case.subject import CASE_FILE
from harness.elf import Image
from harness.uart.scrapers import TensorRegex

HEADER = "hil_records.h"
#: The JSON schema beside the case file, with which editors complete and check keys.
_SCHEMA = "hil.schema.json"
_HEAD = f"""\
#:schema ./{_SCHEMA}
# What to run, and what is expected: tflm-hil run . (docs/cases.md has every key)

[defaults]
targets = ["simulator"]  # also: "renode", "board", "virtual-board"
timeout = {TIMEOUT:g}  # seconds on the target's clock

"""


@dataclass(frozen=True)
class WrittenFiles:
    """Files that were written, and files of the user that are left alone."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def next_image(folder: Path) -> tuple[Path | None, str, list[str]]:
    """The newest image below ``folder`` without a case, a name for its case, and the known cases.

    None if each image has one. Raises :class:`UsageError` without an image, or for a case file that
    cannot be read.
    """
    found, cases = images(folder), _cases(folder)
    known = {(folder / elf).resolve() for elf in cases.values() if elf}
    elf = next((one for one in found if one.resolve() not in known), None)
    if elf is None:
        return None, "", list(cases)
    base = folder.resolve().name if elf.stem == "zephyr" else elf.stem
    return elf, unused(base, cases, "-"), list(cases)


def _cases(folder: Path) -> dict[str, str]:
    """The images of the cases in the folder's case file, by the cases' names."""
    path = folder / CASE_FILE
    if not files.exists(path):
        return {}
    rows = files.read_toml(path).get("case", [])
    named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return {str(row.get("name", "")): str(row.get("elf", "")) for row in named}


def write(drafted: Draft, folder: Path, name: str) -> WrittenFiles:
    """Write what ``drafted`` needs; the case file of an earlier run gets one more case."""
    wanted: dict[Path, str | bytes] = {folder / CASE_FILE: _case_file(drafted, folder, name)}
    if drafted.keeps_model and drafted.case is not None and drafted.case.model is not None:
        wanted[drafted.case.model] = drafted.model_data
    wanted[folder / _SCHEMA] = files.read(paths.schemas() / "hil_toml.json")
    test = folder / f"test_{_slug(folder)}.py"
    kept = [test] if files.exists(test) else []
    if not kept:
        wanted[test] = _test_file(drafted.elf, folder)
    flow = workflow(folder)
    if flow.text:
        wanted[flow.path] = flow.text
    for path, text in wanted.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot create the folder {path.parent}: {error.strerror}") from error
        files.write(path, text)
    return WrittenFiles(tuple(wanted), tuple(kept), flow.notes)


def write_header(folder: Path) -> Path:
    """Write the C header for printing records, and return its path.

    Raises :class:`UsageError` if the file exists.
    """
    path = folder / HEADER
    if not files.is_folder(folder):
        raise UsageError(f"there is no folder {folder}", hint="name the folder with the firmware")
    if files.exists(path):
        raise UsageError(f"{path} would be overwritten", hint="it exists: move it elsewhere")
    files.write(path, files.read(Path(__file__).with_name(HEADER)))
    return path


def _case_file(drafted: Draft, folder: Path, name: str) -> str:
    """The text of the case file with one more case; the rest of it is as it was."""
    path = folder / CASE_FILE
    before = files.read(path).decode() if files.exists(path) else _HEAD
    document = tomlkit.parse(before.rstrip("\n") + "\n\n")
    cases = document.setdefault("case", tomlkit.aot())
    if isinstance(cases, AoT):
        cases.append(_table(drafted, folder, name))
    text = tomlkit.dumps(document)
    old, new = tomllib.loads(before), tomllib.loads(text)
    whole = isinstance(cases, AoT) and new["case"][:-1] == old.get("case", [])
    if not whole or _but_cases(new) != _but_cases(old):
        raise UsageError(
            f"{path} cannot be extended", hint="add a [[case]] by hand (docs/cases.md)"
        )
    return text


def _but_cases(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "case"}


def _table(drafted: Draft, folder: Path, name: str) -> Table:
    table = tomlkit.table()
    table.add("name", name)
    table.add("elf", _path(drafted.elf, folder))
    case = drafted.case
    if case is None:
        _nothing_expected(table, drafted)
    else:
        for sentence in drafted.verdicts():
            table.add(tomlkit.comment(_one_line(sentence)))
        _expected(table, case, folder)
    table.add("budgets", _budgets(drafted.elf))
    table.add(tomlkit.nl())
    return table


def _expected(table: Table, case: Case, folder: Path) -> None:
    """The keys that say what is expected."""
    if case.model is not None:
        table.add("model", _path(case.model, folder))
    if isinstance(case.inputs, tuple):
        table.add("inputs", _regexes(case.inputs))
        table.add("outputs", _regexes(case.outputs))
    if case.scraper:
        given = case.scraper
        table.add("scraper", _literal(given) if isinstance(given, str) else _regexes(given))
    if isinstance(case.end, LastLine):
        end = tomlkit.inline_table()
        end.append("line", _literal(case.end.line))
        table.add("end", end)
    elif case.end != "idle":
        table.add("end", case.end)
    if case.inferences:
        table.add("inferences", case.inferences)
    if case.timeout > TIMEOUT:
        table.add("timeout", int(case.timeout))
    if case.expect.values:
        rows = tomlkit.array().multiline(True)
        for values in case.expect.values:
            row = tomlkit.inline_table()
            for key, value in values.items():
                row.append(key, _literal(value) if isinstance(value, str) else value)
            rows.append(row)
        table.add(tomlkit.key(["expect", "values"]), rows)
    if case.expect.lines_absent:
        absent = _regexes(case.expect.lines_absent, multiline=False)
        table.add(tomlkit.key(["expect", "lines_absent"]), absent)


def _nothing_expected(table: Table, drafted: Draft) -> None:
    """A commented scraper, and the failure that the image shows."""
    if drafted.watched.failure:
        table.add(
            tomlkit.comment(f"the image shows a failure: {_one_line(drafted.watched.failure)}")
        )
        table.add(tomlkit.comment("mend it, then take this case out and run tflm-hil init again"))
    else:
        table.add(tomlkit.comment("it printed nothing that can be expected"))
    table.add(tomlkit.comment(r"scraper = '/result: (?P<value>-?\d+)/'"))


def _regexes(given: tuple[Any, ...], *, multiline: bool = True) -> tomlkit.items.Array:
    array = tomlkit.array().multiline(multiline)
    for one in given:
        if isinstance(one, TensorRegex) and one != TensorRegex(one.regex):
            table = tomlkit.inline_table()
            table.append("regex", _literal(one.regex))
            for key in ("form", "factor"):
                if getattr(one, key) != getattr(TensorRegex(""), key):
                    table.append(key, getattr(one, key))
            array.append(table)
        else:
            array.append(_literal(one.regex if isinstance(one, TensorRegex) else one))
    return array


def _literal(text: str) -> tomlkit.items.String:
    """A TOML literal string, which needs no escapes, if possible."""
    plain = "'" not in text and text.isprintable()
    return tomlkit.string(text, literal=plain)


def _budgets(elf: Path) -> tomlkit.items.InlineTable:
    """Budgets a little above the size of the image."""
    from harness.case.measure import size_of  # noqa: PLC0415 - only if files are written

    table = tomlkit.inline_table()
    try:
        size = size_of(Image.from_elf(elf))
    except HilError:
        size = None
    for key, used in (("flash", size.flash), ("ram", size.ram)) if size else ():
        table.append(key, f"{-(-used // 1024) + 1} KB")
    return table


def _path(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _slug(folder: Path) -> str:
    """A name for the folder's test file that no other folder of the repository has."""
    inside = inside_repository(folder)
    parts = inside.parts or (folder.resolve().name,)
    words = re.sub(r"\W+", "_", "_".join(parts), flags=re.ASCII).strip("_").lower()
    return words or "firmware"


def _test_file(elf: Path, folder: Path) -> str:
    flash = Image.from_elf(elf).chip.area("flash").size >> 10
    return _TEST_FILE.format(elf=_path(elf, folder), flash=flash)


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
