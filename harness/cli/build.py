"""``tflm-hil build``."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from harness.base import logs, numbers
from harness.base.errors import UsageError
from harness.build.builders import build_all
from harness.build.options import KERNEL_VARIANTS
from harness.build.table import ALL, load
from harness.build.zephyr import ZEPHYR_BOARDS
from harness.cli.options import builder_options, chip_option, number_option
from harness.cli.output import on_stderr
from harness.cli.parameters import CONFIGURATION, SAMPLE


@click.command()
@click.argument("sample", type=SAMPLE)
@click.option(
    "--resolver",
    type=CONFIGURATION,
    default="exact",
    show_default=True,
    metavar="CFG",
    help=f"Resolver configuration, or {ALL} (see `tflm-hil list samples`).",
)
@builder_options
@click.option("--board", type=click.Choice(ZEPHYR_BOARDS),
              help=f"With --builder zephyr.  [default: {ZEPHYR_BOARDS[0]}]")  # fmt: skip
@chip_option
@number_option("-j", "--jobs", check=numbers.count_or_zero, default=0, metavar="N",
               default_text="one per core", help="Commands at a time (standalone).")  # fmt: skip
def build(
    sample: str,
    resolver: str,
    builder: str | None,
    board: str | None,
    chip: str | None,
    jobs: int,
) -> None:
    """Build SAMPLE; print only the path of its ELF on standard output.

    For standalone-ns and zephyr-ns this is the folder with both ELFs and the merged HEX file.
    Progress is shown on a terminal, and for several images.
    Only what has changed is built again (TFLM_HIL_CACHE sets the folder of all builds, `tflm-hil
    doctor` shows and clears it).

    \b
    tflm-hil build hello_world
    tflm-hil build hello_world --resolver person_detection
    tflm-hil build digits --resolver all-configurations
    tflm-hil build hello_world --builder standalone-ns
    tflm-hil build hello_world --chip nrf5340
    tflm-hil build digits --builder zephyr --variant cmsis-nn
    """
    if board and chip:
        raise UsageError("--board and --chip cannot be combined: the board determines the chip")
    builder = builder or "standalone"
    if board and (not builder.startswith("zephyr") or resolver == ALL):
        raise UsageError(f"--board needs --builder zephyr and one configuration, not {ALL}")
    progress = resolver == ALL or sys.stderr.isatty()
    with logs.shown(on_stderr) if progress else nullcontext():
        if board:
            from harness.build.zephyr import build_zephyr  # noqa: PLC0415 - see cli/__init__

            variants = [name for name in KERNEL_VARIANTS if name in builder]
            images = [build_zephyr(sample, resolver, board=board, fragments=variants).image]
        elif resolver == ALL:
            table = load()
            table.sample(sample)  # raises UsageError for an unknown name
            pairs = [(one.name, row.name) for one, row in table.pairs() if one.name == sample]
            images = list(build_all(pairs, builder, jobs, chip or "").values())
        else:
            images = list(build_all([(sample, resolver)], builder, jobs, chip or "").values())
    for image in images:
        click.echo(image)
