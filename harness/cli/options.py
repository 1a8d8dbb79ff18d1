"""Options that several subcommands have, alike in all of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click

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
    """An option with a number; its help ends with the numbers that it takes, and its default.

    ``default_text`` describes the default of an option that has no number of its own.
    """
    text = default_text or ("" if default is None else f"{default:g}")
    limits = f"{check.takes}; default: {text}" if text else check.takes
    return click.option(
        *names, type=Number(check), default=default, help=f"{help}  [{limits}]", **others
    )


def json_option(what: str = "the document") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--json [FILE]``, the same in every subcommand: the parameter is ``json_file``."""
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", default=None,
        type=Destination(dash=True),
        help=f"Write {what} as JSON to FILE. With - or no FILE: to standard output, and nothing "
        "else there.",
    )  # fmt: skip


def chip_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--chip NAME``, the same in every command that builds or runs: ``chip``, None by default."""
    return click.option(
        "--chip", metavar="NAME", type=CHIP,
        help="The chip that an image is for, or that a SAMPLE is built for (`tflm-hil chips`).  "
        f"[default: as the image says; {DEFAULT_CHIP} for a SAMPLE]",
    )(command)  # fmt: skip


def builder_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--builder`` and ``--variant``, together the parameter ``builder``; None by default."""

    @wraps(command)
    def with_builder(*, builder: str | None, variants: tuple[str, ...], **others: Any) -> Any:
        if variants:
            builder = builder_with(builder or "standalone", variants)
        return command(builder=builder, **others)

    add_variant = click.option(
        "--variant", "variants", type=click.Choice(KERNEL_VARIANTS), multiple=True,
        help="With --builder zephyr: CMSIS-NN's kernels, or no floating point unit; may be given "
        "again.",
    )  # fmt: skip
    add_builder = click.option(
        "--builder", type=click.Choice(BUILDERS),
        metavar="standalone|standalone-ns|zephyr|zephyr-ns",
        help="Who builds a SAMPLE: this project's own small runtime, or west with Zephyr and "
        "tflite-micro; -ns: in the non-secure world, on a secure image of this project, or TF-M.  "
        "[default: standalone]",
    )  # fmt: skip
    return add_builder(add_variant(with_builder))


def beside_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--beside IMAGE``, the same in every command that takes an image: ``beside``, a tuple."""
    return click.option(
        "--beside", metavar="IMAGE", multiple=True, type=click.Path(path_type=Path),
        help="A further image, loaded with the first: a bootloader, the secure firmware, or the "
        "ELF of a HEX file; may be given again.",
    )(command)  # fmt: skip


def history_option(
    what: str = "The history: an SQLite file, or a database URL.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--history FILE|URL``, the same in every command: the parameter is ``url``."""
    return click.option(
        "--history", "url", metavar="FILE|URL", type=FILE_OR_WORD,
        default=lambda: os.environ.get(HISTORY_VARIABLE) or None,
        help=f"{what}  [default: ${HISTORY_VARIABLE}]",
    )  # fmt: skip


def arithmetic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--rounding`` and ``--multipliers``, together the parameter ``arithmetic``."""

    @wraps(command)
    def with_arithmetic(*, rounding: Rounding, multipliers: Multipliers, **others: Any) -> Any:
        return command(arithmetic=Arithmetic(rounding, multipliers), **others)

    rounding = click.option(
        "--rounding", type=click.Choice(get_args(Rounding)), default="double", show_default=True,
        help="TFLM rounds twice, some of CMSIS-NN once.",
    )  # fmt: skip
    multipliers = click.option(
        "--multipliers", type=click.Choice(get_args(Multipliers)), default="double",
        show_default=True,
        help="How multipliers come from scales: double since TFLM of autumn 2026, single before.",
    )  # fmt: skip
    return rounding(multipliers(with_arithmetic))


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all targets; each parameter has the target's own name for it."""
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
                     help="Keep results in this SQLite file as they come; a study that was "
                     "stopped continues from there."),
        click.option("--scheduler", default="", metavar="tcp://...",
                     help="Run on the Dask cluster of this scheduler (extra: dask)."),
        number_option("--patience", check=numbers.seconds_or_zero, default=30.0,
                      metavar="SECONDS",
                      help="Wait so long for a scheduler, or for a worker if none is left."),
        number_option("--workers", check=numbers.count, metavar="N",
                      help="Processes on this machine.", default_text="one per core"),
    ):  # fmt: skip
        command = option(command)
    return command
