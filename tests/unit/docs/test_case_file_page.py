"""docs/cases.md explains each key of a case file, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from harness.base.tables import keys
from harness.case.case import Case
from harness.case.schema import OLD_KEYS

GUIDE = Path(__file__).parents[3] / "docs" / "cases.md"


def test_every_key_of_a_case_file_has_its_meaning_on_the_page():
    rows = re.findall(r"^\| (`[^|]*`) \| .* \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    names = {key.name for key in keys(Case)}
    assert names <= told
    assert not {name for name in told if name in OLD_KEYS}


def test_a_key_has_the_values_that_it_takes_and_its_default():
    known = {key.name: key for key in keys(Case)}
    assert known["targets"].takes == "a list; each the name of a target"
    assert known["targets"].default == '["simulator"]'
    assert known["reference"].takes == '"numpy" or "none"'
    assert known["inferences"].takes == "a whole number from 1"
    assert known["expect.findings"].takes == "a list; each `kind` or `kind:subject`"
    assert known["end"].takes == '"idle" or "never" or "system_off" or a table of line'
    assert known["end"].default == '"idle"'
