"""One strict reader of TOML tables: a dataclass is the schema."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from harness.base import numbers, platforms, tables
from harness.base.errors import UsageError
from harness.build import table
from harness.case.case import Case
from harness.studies.sweep import axes
from harness.targets.board import lab


@dataclass(frozen=True)
class Inner:
    depth: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outer:
    name: str
    share: float = 0.5
    wanted: bool = False
    mode: Literal["fast", "slow"] = "fast"
    wait: Annotated[float, numbers.seconds_or_zero] = 0.0
    serial: Annotated[str, tables.check("a serial number", raw=True)(str)] = ""
    inner: Inner | None = None
    rows: tuple[Inner, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)


def read(text: str) -> Outer:
    return tables.read(Outer, tomllib.loads(text), "a.toml")


def test_a_whole_document_becomes_dataclasses():
    assert read(
        """
        name = "x"
        share = 1
        serial = 960
        inner = { depth = 2, words = ["a", "b"] }
        rows = [{ depth = 1 }]
        sizes = { flash = 3 }
        """
    ) == Outer(
        "x", 1, serial="960", inner=Inner(2, ("a", "b")), rows=(Inner(1),), sizes={"flash": 3}
    )


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a.toml: 'name' is missing", ""),
        ('nmae = "x"', "a.toml: unknown key 'nmae'", "did you mean 'name'?"),
        ('name = "x"\nq = 1', "a.toml: unknown key 'q'", "known: name, share"),
        ("name = 3", "a.toml: name is a text, not 3", ""),
        ('name = "x"\nshare = true', "a.toml: share is a number, not True", ""),
        ('name = "x"\nwanted = 1', "a.toml: wanted is true or false, not 1", ""),
        ('name = "x"\nmode = "fats"', "a.toml: mode is 'fast' or 'slow', not 'fats'", "'fast'?"),
        ('name = "x"\nwait = -1', "a.toml: wait: -1 is not a time", ""),
        ('name = "x"\nwait = "soon"', "a.toml: wait is a number, not 'soon'", ""),
        ('name = "x"\ninner = 4', "a.toml, inner: must be a table, not 4", ""),
        ('name = "x"\ninner = { depth = 1.5 }', "inner: depth is a whole number, not 1.5", ""),
        ('name = "x"\nrows = [{ depth = 1 }, {}]', "a.toml, rows[1]: 'depth' is missing", ""),
        ('name = "x"\nrows = 2', "a.toml: rows is a list, not 2", ""),
        ('name = "x"\nsizes = { a = "b" }', "a.toml: sizes.a is a whole number, not 'b'", ""),
        ('name = "x"\nsizes = 5', "a.toml: sizes is a table, not 5", ""),
    ],
)  # fmt: skip
def test_a_mistake_names_file_and_key(text: str, message: str, hint: str):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_number_of_thousands_of_digits_is_shown_in_a_few():
    with pytest.raises(UsageError) as caught:
        tables.read(Outer, {"name": 10**5000}, "a.toml")
    assert len(caught.value.message) < 100


SCHEMAS = {
    "case file": Case,
    "lab file": lab._LabFile,
    "sweep": axes.Sweep,
    "chip table": platforms._ChipFile,
    "board table": platforms._BoardFile,
    "sample table": table._Document,
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_key_has_a_noun_phrase_for_the_manual(schema: type):
    for key in tables.keys(schema):
        assert key.takes
        assert not key.takes.endswith("."), key
        assert key.takes[0] in '"`' or key.takes[0].islower(), key


def test_the_noun_phrase_of_a_check_stands_in_the_list_of_keys():
    takes = {key.name: key.takes for key in tables.keys(Outer)}
    assert takes["wait"] == numbers.seconds_or_zero.takes
    assert takes["serial"] == "a serial number"
    assert takes["inner.words"] == "a list; each a text"
    assert takes["sizes"] == "a table; each value a whole number"
