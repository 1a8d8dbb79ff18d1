"""The document says of which types the kernels were held against the official interpreter."""

from __future__ import annotations

import re

import type_table

from harness.reference import Kernels


def test_every_operator_of_the_registry_has_a_row_with_a_type() -> None:
    rows = dict(re.findall(r"^\| ([A-Z0-9_]+) \| (.*) \|$", type_table.written(), re.MULTILINE))
    assert set(rows) == set(Kernels.default().builtin)
    assert all(re.search("int|float|bool", types) for types in rows.values())
