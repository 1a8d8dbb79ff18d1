"""``tflm-hil arena``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.base import numbers
from harness.base.errors import CheckFailed
from harness.case.subject import Subject
from harness.cli.options import (
    command_line,
    json_option,
    model_option,
    number_option,
    resolver_option,
)
from harness.cli.output import write_text
from harness.cli.parameters import IMAGE, STDOUT
from harness.elf import combined


@click.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@model_option
@resolver_option
@number_option("--timeout", default=30.0, check=numbers.seconds, metavar="SECONDS",
               help="Time limit of each run, in virtual time.")  # fmt: skip
@json_option()
def arena(
    what: Subject,
    model: str | None,
    resolver: str | None,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Find the smallest tensor arena with which AllocateTensors of ELF (or SAMPLE) succeeds.

    Runs the unmodified image on the simulator repeatedly, with different sizes. With --model an
    image that holds another model is refused: exit code 1.

    \b
    tflm-hil arena hello_world
    tflm-hil arena build/zephyr/zephyr.elf --json arena.json
    """
    from harness.case.plan import one_case  # noqa: PLC0415 - see cli/__init__
    from harness.case.samples import elf_of  # noqa: PLC0415
    from harness.elf.models import held_model  # noqa: PLC0415
    from harness.footprint.arena import minimum  # noqa: PLC0415
    from harness.model import Model  # noqa: PLC0415
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    case = one_case(what, command_line({"model": model, "resolver": resolver}))
    elf = elf_of(case)
    image = combined.read(elf)
    held = held_model(image, Model.from_file(case.model)) if case.model else None
    if held and held.wrong:
        raise CheckFailed(held.text)
    smallest = minimum(image, open_simulator, seconds=timeout)
    write_text(json_file, json.dumps({"elf": str(elf), **smallest.to_json()}, indent=1))
    if json_file == STDOUT:
        return
    used = "not printed" if smallest.used is None else f"{smallest.used:,} B"
    click.echo(f"declared            {smallest.declared:>9,} B")
    click.echo(
        f"smallest that works {smallest.minimum:>9,} B  (multiple of 16: {smallest.aligned:,})"
    )
    click.echo(f"arena_used_bytes()  {used:>11}")
    click.echo(f"margin              {smallest.margin:>9,} B")
    click.echo(f"{len(smallest.probes)} runs, {smallest.instructions:,} instructions; "
               f"the size was changed at {smallest.site}")  # fmt: skip
