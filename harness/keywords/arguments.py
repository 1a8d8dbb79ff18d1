"""The keys of a case as arguments of keywords, and the requests that they make."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from robot.api import logger
from robot.utils import timestr_to_secs

from harness.base import numbers
from harness.base.errors import UsageError
from harness.case.overlay import CaseLayer, LayerKind, door_layer
from harness.case.plan import Plan, Request, plan
from harness.case.schema import ARGUMENTS, DoorKey, arguments
from harness.case.subject import Subject
from harness.keywords import variables

Method = TypeVar("Method", bound=Callable[..., Any])
#: Robot variables -> the keys that they set; those of targets' options are called like these.
_VARIABLES = {"TARGET": "target", "CHIP": "chip", "BUILDER": "builder"}


def with_keys(*, live: bool = False) -> Callable[[Method], Method]:
    """Decorator: give a keyword with ``**keys`` a named argument for each key of a case.

    Robot binds names that it does not know to ``keys``, too, so that they can be refused.
    """

    def decorate(method: Method) -> Method:
        signature = inspect.signature(method)
        *own, rest = signature.parameters.values()
        named = {parameter.name for parameter in own}
        keys = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name, key in ARGUMENTS.items()
            if name not in named and (key.live or not live)
        ]
        method.__signature__ = signature.replace(parameters=[*own, *keys, rest])  # type: ignore[attr-defined]
        return method

    return decorate


def planned(
    subject: Subject,
    keyword: str,
    keys: Mapping[str, Any],
    *,
    of_suite: Collection[str] = (),
    names: tuple[str, ...] = (),
    live: bool = False,
) -> Plan:
    """The plan of a keyword's arguments and of Robot's variables; its notes are warnings.

    ``of_suite`` are the variables that the suite's file sets.
    """
    given = {name: value for name, value in keys.items() if value is not None}
    tags = given.pop("tag", "")
    given = arguments(given, keyword, live=live)
    spelled = {key.name: f"{keyword}: {name}=" for name, key in ARGUMENTS.items() if name in given}
    values = {name: _read(ARGUMENTS.get(name), value) for name, value in given.items()}
    layer = door_layer(keyword, values, spelled=spelled)
    made = plan(
        Request(
            subject,
            (variables_layer(of_suite), layer),
            names,
            (str(tags),) if tags else (),
            allow_skips=variables.allow_skips(),
        )
    )
    for note in made.notes:
        logger.warn(note)
    return made


def _read(key: DoorKey | None, value: object) -> object:
    """A time in Robot's form as seconds; any other value as it is."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if key is not None and key.check is numbers.seconds and isinstance(value, str):
        try:
            return timestr_to_secs(value)
        except ValueError as error:
            raise UsageError(f"{key.name}: {error}") from error
    return str(value) if isinstance(value, Path) else value


def variables_layer(of_suite: Collection[str] = ()) -> CaseLayer:
    """The keys that the user set by Robot's variables."""
    given: dict[str, object] = {
        key: str(value)
        for name, key in _VARIABLES.items()
        if variables.is_set(name, of_suite) and (value := variables.value(name))
    }
    options = variables.target_options()
    spelled = {"targets": "${TARGET}", "chip": "${CHIP}", "builder": "${BUILDER}"}
    spelled |= {f"options.{name}": f"${{{name.upper()}}}" for name in options}
    return door_layer(
        "Robot's variables",
        {**given, "options": options},
        spelled=spelled,
        source=LayerKind.ENVIRONMENT,
    )
