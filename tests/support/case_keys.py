"""Writes what is generated from the keys of a case: ``python tests/support/case_keys.py``.

harness/case/arguments.py (signatures for mypy and editors) and harness/schemas/hil_toml.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from harness.base import paths
from harness.case import casefile
from harness.case.schema import ARGUMENTS

ROOT = Path(__file__).parents[2]
HEAD = '''\
"""The keys of a case as keyword arguments. tests/support/case_keys.py writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict


class SessionArguments(TypedDict, total=False):
    """The keys that count in a live session; ``set``: further ones, as TOML (docs/cases.md)."""

    set: str | Sequence[str]
'''
MIDDLE = '''

class CaseArguments(SessionArguments, total=False):
    """The keys of a case (docs/cases.md)."""

'''


def python_type(annotation: Any) -> str:
    """The type of a value as a user may write it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return python_type(arguments[0])
    if origin in (Union, UnionType):
        kinds = [
            one
            for kind in arguments
            if kind is not NoneType
            for one in python_type(kind).split(" | ")
        ]
        return " | ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return f"Literal[{', '.join(map(json.dumps, arguments))}]"
    if origin is tuple:
        return f"Sequence[{python_type(arguments[0])}]"
    if is_dataclass(annotation) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return "Mapping[str, Any]"
    return "str | Path" if annotation is Path else str(annotation.__name__)


def arguments_module() -> str:
    """The content of harness/case/arguments.py."""
    lines = {live: [] for live in (True, False)}
    for name, key in ARGUMENTS.items():
        kind = "str" if key.name == "targets" else python_type(key.annotation)
        lines[key.live].append(f"    {name}: {kind}\n")
    return HEAD + "".join(lines[True]) + MIDDLE + "".join(lines[False])


def case_file_schema() -> str:
    """The content of harness/schemas/hil_toml.json."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tflm-hil case file (hil.toml)",
    }
    return json.dumps({**head, **casefile.schema()}, indent=2) + "\n"


if __name__ == "__main__":
    (ROOT / "harness" / "case" / "arguments.py").write_text(arguments_module())
    (paths.schemas() / "hil_toml.json").write_text(case_file_schema())
