"""The models of the simulator's peripherals as a file of C#."""

from __future__ import annotations

import ast
import inspect

from csharp.classes import Functions, Writer
from csharp.layout import block, comment, folded, indented, spaced
from csharp.sources import Members, Model, model_of, source_of
from harness.simulator.peripherals import MODELS, split, texts
from harness.simulator.peripherals.base import Device, Nordic

#: Classes that are written by hand (device.cs).
_BY_HAND = (Device, Nordic)

_HEAD = """\
// Models of Nordic's peripherals for Renode 1.17 or later, compiled by Renode at its start.
//
// Generated from harness/simulator/peripherals by tests/support/renode_platforms.py: a model is
// changed there, and this file is written anew. Its methods are those of Python, statement by
// statement; what they stand on is written by hand: Device, Nordic (device.cs), Registers, Chip and
// Py (python.cs). Registers, tasks and events are declared with the values that the classes have in
// Python. What only the built-in simulator asks of a model is left out: its snapshots, and why an
// interrupt does not come.

using System;
using System.Collections.Generic;
using System.Linq;

namespace Antmicro.Renode.Peripherals.Nordic
{
"""


def models() -> list[Model]:
    """The classes to translate, bases before those that are derived from them."""
    found = dict.fromkeys(
        base
        for one in (*MODELS.values(), split.SplitRegisters, split.NonSecureView)
        for base in reversed(inspect.getmro(one))
        if base.__module__.startswith("harness.") and base not in _BY_HAND
    )
    return [model_of(one) for one in found]


def _texts(members: Members) -> list[str]:
    """The functions of texts.py."""
    source = source_of(texts.__name__)
    functions = Functions(members, vars(texts), "Texts")
    nodes = [one for one in source.tree.body if isinstance(one, ast.FunctionDef)]
    methods = [functions.method(node, source, "public static") for node in nodes]
    return [*comment(texts.__doc__), "public static class Texts", *block(spaced(methods))]


def text() -> str:
    """The file."""
    found = models()
    members = Members(found)
    for one in found:
        Writer(one, members).learn()
    classes = [Writer(one, members).lines() for one in found]
    return whole(_HEAD, [*classes, _texts(members)])


def whole(head: str, classes: list[list[str]]) -> str:
    """A file from its head and its classes."""
    lines = folded(indented(spaced(classes)))
    return head + "".join(f"{line}\n" for line in lines) + "}\n"
