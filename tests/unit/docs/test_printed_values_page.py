"""docs/how-to/printed-values.md: each form of its tables is right, and with other digits is not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from harness.case.observe import scrapers_of
from harness.case.outputs import check_outputs
from harness.case.plan import load_cases
from harness.model import Model
from harness.uart import Console

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "printed-values.md").read_text("utf-8")
MODEL = ROOT / "examples" / "bare_metal" / "model.tflite"
WINDOW = np.array([[16, 32, 48, 64]], np.int8)
SCRAPER = re.search(r"^scraper = .*$", PAGE, re.MULTILINE)[0]


def table(*heads: str) -> list[tuple[str, ...]]:
    """The cells of the rows below these heads."""
    _, _, below = PAGE.partition(f"| {' | '.join(heads)} |\n")
    rows = below.partition("\n\n")[0].splitlines()[1:]
    return [tuple(re.findall(r"`([^`]*)`", row)) for row in rows]


OUTPUTS = table("printed", "entry of `outputs`")
LISTED = table("printed", "`expect.values`", "`expect.compare`")


def spoilt(printed: str) -> str:
    """Other digits; another name if there is no digit."""
    if not re.search(r"\d", printed):
        return printed.replace("left", "right")
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + 5) % 10), printed)


def passes(folder: Path, keys: str, printed: str) -> bool:
    """Whether something was compared in the printed line, and all of it is right."""
    np.save(folder / "x.npy", WINDOW)
    (folder / "app.elf").touch()
    (folder / "hil.toml").write_text(f"[[case]]\nname = 'a'\nelf = 'app.elf'\n{keys}\n")
    (case,) = load_cases(folder / "hil.toml")
    console = Console(scrapers_of(case))
    console.feed(f"{printed}\n".encode())
    console.finish()
    model = None if case.model is None else Model.from_file(case.model)
    found = check_outputs(console, case, model, [[WINDOW.tobytes()]])
    return found.compared > 0 and not found.problem and not console.findings


@pytest.mark.parametrize(("printed", "entry"), OUTPUTS)
def test_an_output_is_read_as_its_entry_says(tmp_path, printed, entry):
    assert tomllib.loads(f"outputs = [{entry}]")
    keys = f"model = '{MODEL}'\ninputs = 'x.npy'\noutputs = [{entry}]"
    assert passes(tmp_path, keys, printed)
    assert not passes(tmp_path, keys, spoilt(printed))


@pytest.mark.parametrize(("printed", "values", "rules"), LISTED)
def test_a_listed_value_compares_as_its_rule_says(tmp_path, printed, values, rules):
    keys = f"{SCRAPER}\nexpect.values = {values}\nexpect.compare = {rules}"
    assert passes(tmp_path, keys, printed)
    assert not passes(tmp_path, keys, spoilt(printed))


def test_the_page_has_all_forms():
    assert (len(OUTPUTS), len(LISTED)) == (7, 7)
