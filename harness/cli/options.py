"""Options shared by several subcommands."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from harness.base import numbers
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.platforms import DEFAULT_CHIP
from harness.base.tables import ValueCheck
from harness.build.builders import BUILDERS, builder_with
from harness.build.options import KERNEL_VARIANTS
from harness.cli.parameters import CHIP, FILE_OR_WORD, HISTORY_VARIABLE, Destination, Name, Number
from harness.targets.registry import all_options


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


def json_option(what: str = "the document") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--json [FILE]``, the parameter ``json_file``."""
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", default=None,
        type=Destination(dash=True),
        help=f"Write {what} as JSON to FILE; with - or without FILE to standard output, without "
        "any other output there.",
    )  # fmt: skip


def chip_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--chip NAME``, the parameter ``chip``, None by default."""
    return click.option(
        "--chip", metavar="NAME", type=CHIP,
        help="The chip of the image, or the chip to build a SAMPLE for (`tflm-hil list chips`).  "
        f"[default: detected in the image; {DEFAULT_CHIP} for a SAMPLE]",
    )(command)  # fmt: skip


def builder_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--builder`` and ``--variant``, combined to the parameter ``builder``; None by default."""

    @wraps(command)
    def with_builder(*, builder: str | None, variants: tuple[str, ...], **others: Any) -> Any:
        if variants:
            builder = builder_with(builder or "standalone", variants)
        return command(builder=builder, **others)

    add_variant = click.option(
        "--variant", "variants", type=click.Choice(KERNEL_VARIANTS), multiple=True,
        help="With --builder zephyr: kernels of CMSIS-NN, or no floating-point unit; repeatable.",
    )  # fmt: skip
    add_builder = click.option(
        "--builder", type=click.Choice(BUILDERS),
        metavar="standalone|standalone-ns|zephyr|zephyr-ns",
        help="Builder of a SAMPLE: standalone, with this project's small runtime, or zephyr, with "
        "Zephyr and tflite-micro; -ns: for the non-secure world, with a secure image of this "
        "project or TF-M.  [default: standalone]",
    )  # fmt: skip
    return add_builder(add_variant(with_builder))


def beside_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--beside IMAGE``, the parameter ``beside``, a tuple of paths."""
    return click.option(
        "--beside", metavar="IMAGE", multiple=True, type=click.Path(path_type=Path),
        help="A further image to load: a bootloader, the secure firmware, or the ELF of a HEX "
        "file; repeatable.",
    )(command)  # fmt: skip


def history_option(
    what: str = "The history: an SQLite file, or a database URL.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--history FILE|URL``, the parameter ``url``."""
    return click.option(
        "--history", "url", metavar="FILE|URL", type=FILE_OR_WORD,
        default=lambda: os.environ.get(HISTORY_VARIABLE) or None,
        help=f"{what}  [default: ${HISTORY_VARIABLE}]",
    )  # fmt: skip


def arithmetic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--rounding`` and ``--multipliers``, combined to the parameter ``arithmetic``."""

    @wraps(command)
    def with_arithmetic(*, rounding: Rounding, multipliers: Multipliers, **others: Any) -> Any:
        return command(arithmetic=Arithmetic(rounding, multipliers), **others)

    rounding = click.option(
        "--rounding", type=click.Choice(get_args(Rounding)), default="double", show_default=True,
        help="Rounding of requantization: double as in TFLM, single as in parts of CMSIS-NN.",
    )  # fmt: skip
    multipliers = click.option(
        "--multipliers", type=click.Choice(get_args(Multipliers)), default="double",
        show_default=True,
        help="Precision in which multipliers are computed from scales: double since TFLM of "
        "autumn 2026, single before.",
    )  # fmt: skip
    return rounding(multipliers(with_arithmetic))


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all targets; the parameters are named as in the targets."""
    for option, names in reversed(all_options().values()):
        spelled = option.spelled, option.name
        text = f"With --target {' or '.join(names)}: {option.help}"
        if option.kind == "seconds":
            add = number_option(
                *spelled, check=numbers.seconds_or_zero, help=text, metavar="SECONDS",
                default_text=option.default,
            )  # fmt: skip
        else:
            default = f"  [default: {option.default}]" if option.default else ""
            kind = Name(option.words, or_file=option.file)
            add = click.option(*spelled, type=kind, help=text + default)
        command = add(command)
    return command


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
