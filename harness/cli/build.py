"""``tflm-hil build``."""

from __future__ import annotations

import click

from harness.firmware.builders import BUILDERS, build_all, build_one
from harness.firmware.configurations import load

ALL = "all-configurations"


@click.command()
@click.argument("sample")
@click.option(
    "--resolver",
    default="exact",
    show_default=True,
    metavar="CFG",
    help=f"Resolver configuration, or {ALL} (see `tflm-hil samples`).",
)
@click.option(
    "--builder",
    type=click.Choice(BUILDERS),
    default="standalone",
    show_default=True,
    help="standalone: this project's own small runtime; zephyr: west, Zephyr and tflite-micro.",
)
@click.option("-j", "--jobs", type=click.IntRange(0), default=0, metavar="N",
              help="Parallel builds of the standalone builder.  [default: one a core]")  # fmt: skip
def build(sample: str, resolver: str, builder: str, jobs: int) -> None:
    """Build SAMPLE; print the ELF's path, alone, on standard output.

    What is in the cache already (TFLM_HIL_CACHE moves it) is not built again.

    \b
    tflm-hil build hello_world
    tflm-hil build hello_world --resolver person_detection
    tflm-hil build digits --resolver all-configurations
    """
    if resolver != ALL:
        click.echo(build_one(sample, resolver, builder))
        return
    table = load()
    table.sample(sample)  # names the known ones, if this is none
    wanted = [(one.name, row.name) for one, row in table.pairs() if one.name == sample]
    paths = build_all(wanted, builder, jobs, lambda line: click.echo(line, err=True))
    for path in paths.values():
        click.echo(path)
