"""The document says of which types the kernels were held against the official interpreter."""

from __future__ import annotations

import re

import type_table

from harness.reference import Kernels


def test_every_operator_of_the_registry_has_rows_and_cases() -> None:
    rows = re.findall(
        r"^\| (\w+) \| (.*) \| (\d+) \| (\d+) \|$", type_table.written(), re.MULTILINE
    )
    kernels = Kernels.default()
    assert {row[0] for row in rows} == {*kernels.builtin, *kernels.custom}
    unverified = {row[0]: row[1] for row in rows if int(row[2]) + int(row[3]) == 0}
    assert unverified == type_table.NO_ORACLE
