"""Options shared by several subcommands."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource

from harness.base import numbers
from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.base.tables import ValueCheck
from harness.build.builders import BUILDERS, builder_with
from harness.build.options import KERNEL_VARIANTS
from harness.case.case import RUN
from harness.case.case import TARGET as TARGET_GROUP
from harness.case.overlay import CaseLayer, door_layer
from harness.case.schema import ARGUMENTS, KEYS, DoorKey, assignment
from harness.cli.parameters import (
    BUTTON,
    CHIP,
    CONFIGURATION,
    EXISTING,
    FILE_OR_WORD,
    HISTORY_VARIABLE,
    MODEL,
    SCRAPER,
    TARGET,
    Destination,
    Name,
    Number,
)
from harness.targets.registry import all_options

if TYPE_CHECKING:
    from harness.studies import Workers

Options = TypeVar("Options")
Result = TypeVar("Result")


def options_in(
    kind: type[Options],
) -> Callable[[Callable[[Options], Result]], Callable[..., Result]]:
    """Decorator next to a command's function: its parameters as one object of ``kind``.

    The fields of ``kind``, a frozen dataclass, are called as the parameters.
    """

    def decorate(command: Callable[[Options], Result]) -> Callable[..., Result]:
        @wraps(command)
        def with_object(**given: Any) -> Result:
            return command(kind(**given))

        return with_object

    return decorate


def number_option(
    *names: str,
    check: ValueCheck[Any],
    help: str,  # noqa: A002 - click's word
    default: float | None = None,
    default_text: str = "",
    **others: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option with a number; its help ends with the valid numbers and the default.

    ``default_text`` describes a default that is not a number.
    """
    text = default_text or ("" if default is None else f"{default:g}")
    limits = f"{check.takes}; default: {text}" if text else check.takes
    return click.option(
        *names, type=Number(check), default=default, help=f"{help}  [{limits}]", **others
    )


def given_options(context: click.Context) -> dict[str, str]:
    """The parameters given on the command line: name -> spelling of the option."""
    return {
        str(one.name): one.opts[0]
        for one in context.command.params
        if context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
    }


@dataclass(frozen=True, kw_only=True)
class JsonOption:
    """The option of :func:`json_option`."""

    json_file: Path | None


def json_option(what: str = "the document") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--json [FILE]``, the parameter ``json_file``."""
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", default=None,
        type=Destination(dash=True),
        help=f"Write {what} as JSON to FILE; with - or without FILE to standard output, without "
        "any other output there.",
    )  # fmt: skip


def resolver_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--resolver CFG``, the parameter ``resolver``, None by default."""
    return click.option(
        "--resolver", metavar="CFG", type=CONFIGURATION,
        help="Resolver configuration of a SAMPLE.  [default: exact]",
    )(command)  # fmt: skip


def model_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--model FILE|NAME``, the parameter ``model``, None by default."""
    return click.option(
        "--model", metavar="FILE|NAME", type=MODEL,
        help="The .tflite of the image.  [default: that of the SAMPLE]",
    )(command)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HistoryOption:
    """The option of :func:`history_option`."""

    url: str | None


def history_option(
    what: str = "The history: an SQLite file, or a database URL.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--history FILE|URL``, the parameter ``url``."""
    return click.option(
        "--history", "url", metavar="FILE|URL", type=FILE_OR_WORD,
        default=lambda: os.environ.get(HISTORY_VARIABLE) or None,
        help=f"{what}  [default: ${HISTORY_VARIABLE}]",
    )  # fmt: skip


#: Completion and checks of keys that name something; others are numbers, words or texts.
_TYPES: dict[str, Any] = {
    "also_load": click.Path(path_type=Path),
    "resolver": CONFIGURATION,
    "builder": click.Choice(BUILDERS),
    "chip": CHIP,
    "model": MODEL,
    "scraper": SCRAPER,
    "inputs": EXISTING,
    "vectors": EXISTING,
    "baseline": EXISTING,
    "end": Name(lambda: ("idle", "never", "system_off")),
    "press": BUTTON,
    "targets": TARGET,
}


class GroupedCommand(click.Command):
    """A command whose ``--help`` has a section for each group of its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options without a group last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx) if isinstance(one, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(one, "group", ""), []).append(record)
        for title in sorted(sections, key=lambda title: not title):
            with formatter.section(f"{title} options" if title else "Options"):
                formatter.write_dl(sections[title])


class _Grouped(click.Option):
    """An option of a group."""

    group = ""


def key_option(key: DoorKey) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of a key of cases; the parameter is called as the argument."""
    limits = [key.check.takes] if key.check and key.plain in (int, float) else []
    default = key.default_text or ("" if key.default in (None, "", ()) else _shown(key.default))
    if default and limits:
        limits = [f"{limits[0]}; default: {default}"]
    elif default:
        limits = [f"default: {default}"]
    kind = _TYPES.get(key.name)
    if kind is None and get_origin(key.plain) is Literal:
        kind = click.Choice(get_args(key.plain))
    elif kind is None and key.check and key.plain in (int, float):
        kind = Number(key.check)
    repeated = key.is_list and not key.split
    end = "  [" + "; ".join(limits) + "]" if limits else ""
    add = click.option(
        key.spelled, key.argument, metavar=key.option, type=kind, multiple=repeated, cls=_Grouped,
        help=f"{key.help.rstrip('.')}{'; repeatable' if repeated else ''}.{end}",
    )  # fmt: skip
    return _in_group(add, key.group)


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def _in_group(
    add: Callable[[Callable[..., Any]], Callable[..., Any]], group: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        decorated = add(command)
        decorated.__click_params__[-1].group = group  # type: ignore[attr-defined]
        return decorated

    return decorate


#: ``--also-load IMAGE``, the parameter ``also_load``, a tuple of paths.
also_load_option = key_option(KEYS["also_load"])
#: ``--chip NAME``, the parameter ``chip``, None by default.
chip_option = key_option(KEYS["chip"])

_variant_option = click.option(
    "--variant", "variants", type=click.Choice(KERNEL_VARIANTS), multiple=True,
    help="With --builder zephyr: kernels of CMSIS-NN, or no floating-point unit; repeatable.",
)  # fmt: skip


def builder_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--builder`` and ``--variant``, combined to the parameter ``builder``; None by default."""

    @wraps(command)
    def with_builder(*, builder: str | None, variants: tuple[str, ...], **others: Any) -> Any:
        if variants:
            builder = builder_with(builder or "standalone", variants)
        return command(builder=builder, **others)

    return key_option(KEYS["builder"])(_variant_option(with_builder))


def arithmetic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--rounding`` and ``--multipliers``, combined to the parameter ``arithmetic``."""
    names = ("rounding", "multipliers")

    @wraps(command)
    def with_arithmetic(**given: Any) -> Any:
        chosen = {name: word for name in names if (word := given.pop(name)) is not None}
        return command(arithmetic=Arithmetic(**chosen), **given)

    decorated: Callable[..., Any] = with_arithmetic
    for name in reversed(names):
        decorated = key_option(KEYS[name])(decorated)
    return decorated


def named_limits(
    texts: Iterable[str], names: Collection[str], form: str, most: float = math.inf
) -> dict[str, float]:
    """The values of ``--budget NAME=LIMIT``; ``form`` says which are valid, from 0 to ``most``.

    Raises :class:`UsageError`.
    """
    limits: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if name not in names or not (0 <= limit <= most and math.isfinite(limit)):
            raise UsageError(f"--budget {text!r} is not a budget", hint=form)
        limits[name] = limit
    return limits


def case_options(
    names: Collection[str] = (), *, without: Collection[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of keys of cases (those of ``names``, or all), of targets, and ``--set``.

    They come as one parameter ``layers``: the layer of a :class:`~harness.case.plan.Request`.
    """
    chosen = [
        key for key in ARGUMENTS.values()
        if key.option and (not names or key.name in names) and key.name not in without
    ]  # fmt: skip

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_layers(**given: Any) -> Any:
            values = {key.argument: given.pop(key.argument) for key in chosen}
            options = {name: given.pop(name) for name in all_options()}
            variants = given.pop("variants")
            if variants:
                values["builder"] = builder_with(values["builder"] or "standalone", variants)
            layer = command_line(values, options, given.pop("assignments"))
            return command(layers=(layer,), **given)

        decorated = target_options(with_layers)
        decorated = _in_group(click.option(
            "--set", "assignments", metavar="KEY=VALUE", multiple=True, cls=_Grouped,
            help="Set any other key of the case to a value of TOML: 'expect.values=[{x=1}]'; "
            "repeatable.",
        ), RUN)(decorated)  # fmt: skip
        for key in reversed(chosen):
            if key.name == "builder":
                decorated = _in_group(_variant_option, key.group)(decorated)
            decorated = key_option(key)(decorated)
        return decorated

    return decorate


def command_line(
    values: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    sets: tuple[str, ...] = (),
) -> CaseLayer:
    """The layer of the command line: keys, options of targets, and texts of ``--set``."""
    given = {name: value for name, value in values.items() if value not in (None, ())}
    chosen = {name: value for name, value in (options or {}).items() if value is not None}
    spelled = {ARGUMENTS[name].name: ARGUMENTS[name].spelled for name in values}
    spelled |= {f"options.{name}": all_options()[name][0].spelled for name in chosen}
    spelled |= {"peripherals": "--peripherals", "start": "--start"}
    for text in sets:
        for name, value in assignment(text).items():
            given[name], spelled[name] = value, f"--set {name}"
    if chosen:
        given["options"] = {**given.get("options", {}), **chosen}
    return door_layer("the command line", given, spelled=spelled)


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all targets; the parameters are named as in the targets."""
    for option, names in reversed(all_options().values()):
        spelled = option.spelled, option.name
        text = f"With --target {' or '.join(names)}: {option.help}"
        if option.kind == "seconds":
            add = number_option(
                *spelled, check=numbers.seconds_or_zero, help=text, metavar="SECONDS",
                default_text=option.default, cls=_Grouped,
            )  # fmt: skip
        else:
            default = f"  [default: {option.default}]" if option.default else ""
            kind = Name(option.words, or_file=option.file)
            add = click.option(*spelled, type=kind, help=text + default, cls=_Grouped)
        command = _in_group(add, TARGET_GROUP)(command)
    return command


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The options of :func:`study_options`."""

    store: Path | None
    scheduler: str
    patience: float
    workers: int | None

    def open_workers(self) -> AbstractContextManager[Workers]:
        """The workers that the options name."""
        from harness.studies import open_workers  # noqa: PLC0415 - see cli/__init__

        return open_workers(self.workers or 0, self.scheduler, self.patience)


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--workers``, ``--scheduler``, ``--patience`` and ``--store``."""
    for option in (
        click.option("--store", type=Destination(), metavar="FILE",
                     help="Store results in this SQLite file as they are computed; an interrupted "
                     "study continues from there."),
        click.option("--scheduler", default="", metavar="tcp://...",
                     help="Run on the Dask cluster of this scheduler (extra: dask)."),
        number_option("--patience", check=numbers.seconds_or_zero, default=30.0,
                      metavar="SECONDS",
                      help="Time to wait for a scheduler, or for a worker if none is left."),
        number_option("--workers", check=numbers.count, metavar="N",
                      help="Processes on this machine.", default_text="one per core"),
    ):  # fmt: skip
        command = option(command)
    return command
