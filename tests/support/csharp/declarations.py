"""The registers, tasks, events and shortcuts of a model, as it declares them in Renode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from itertools import groupby

from csharp.constants import number
from csharp.layout import block
from csharp.terms import pascal
from harness.simulator.peripherals.base import Device, Nordic, Register

#: Offset, name and index of a task or an event; no index if it is not one of many.
_Line = Callable[[str, str, bool], str]


def declaration(python: type[Device]) -> list[str]:
    """The body of Declare; empty if it is the base's."""
    own, base = _parts(python), inspect.getmro(python)[1]
    if base in (Device, Nordic) or inspect.isabstract(base):
        return _lines(own)
    others = _parts(base)
    pairs = list(zip(own, others, strict=True))
    if not all(part[: len(other)] == other for part, other in pairs):
        return _lines(own)
    more = _lines([part[len(other) :] for part, other in pairs])
    return ["base.Declare();", *more] if more else []


def _lines(parts: list[list[list[str]]]) -> list[str]:
    return [line for part in parts for group in part for line in group]


def _parts(python: type[Device]) -> list[list[list[str]]]:
    """The declarations by their kind, each with its lines."""
    registers = [[_register(python, one)] for one in python.REGISTERS]
    if not issubclass(python, Nordic):
        return [registers]
    shorts = [
        [f'Short({bit}, "{event}", "{task}");'] for bit, (event, task) in python.SHORTS.items()
    ]
    tasks = list(_each(python.TASKS, lambda *one: _task(python, *one)))
    events = list(_each(python.EVENTS, lambda *one: _event(python, *one)))
    return [tasks, events, list(_published(python)), shorts, registers]


def _each(offsets: dict[str, int], line: _Line) -> Iterator[list[str]]:
    """A line for each name, and one loop for names that differ by their index."""
    for stem, group in groupby(offsets.items(), key=lambda one: one[0].partition("[")[0]):
        rows = list(group)
        if rows[0][0] == stem:
            yield from ([line(f"0x{offset:03X}", stem, False)] for _, offset in rows)
            continue
        first, stride = rows[0][1], rows[1][1] - rows[0][1]
        expected = {f"{stem}[{n}]": first + stride * n for n in range(len(rows))}
        assert dict(rows) == expected, rows
        called = line(f"0x{first:03X} + {stride} * n", stem, True)
        yield [f"foreach(var n in Py.Range({len(rows)}))", *block([called])]


def _method(python: type[Device], name: str) -> str | None:
    """The method in C#; None if there is none."""
    found = getattr(python, name.lower().replace(".", "_"), None)
    return None if found is None else pascal(found.__name__)


def _task(python: type[Device], offset: str, stem: str, many: bool) -> str:
    method = _method(python, f"task_{stem}")
    if many:
        return f'Task({offset}, $"{stem}[{{n}}]", () => {method}(n));'
    return f'Task({offset}, "{stem}", {method});'


def _event(python: type[Device], offset: str, stem: str, many: bool) -> str:
    name = f'$"{stem}[{{n}}]"' if many else f'"{stem}"'
    return f"Event({offset}, {name}{_accessors(python, f'events_{stem}')});"


def _published(python: type[Nordic]) -> Iterator[list[str]]:
    for name, offset in python.EVENTS.items():
        if method := _method(python, f"write_publish_{name}"):
            yield [f"Publish(0x{offset:03X}, {method});"]


def _accessors(python: type[Device], name: str) -> str:
    found = {verb: _method(python, f"{verb}_{name}") for verb in ("read", "write")}
    return "".join(f", {verb}: {method}" for verb, method in found.items() if method)


def _register(python: type[Device], register: Register) -> str:
    text = f'0x{register.offset:03X}, "{register.name}"'
    if register.count > 1:
        text += f", {register.count}" + (f", {register.stride}" if register.stride != 4 else "")
    if register.reset:
        text += f", reset: {number(register.reset)}"
    if register.access != "rw":
        text += f', access: "{register.access}"'
    text += _accessors(python, register.name)
    return f"Register{'s' if register.count > 1 else ''}({text});"
