"""``tflm-hil layers``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.base import numbers
from harness.base.arithmetic import Arithmetic
from harness.base.errors import CheckFailed, UsageError
from harness.case.schema import KEYS
from harness.case.subject import Subject
from harness.cli.options import (
    arithmetic_options,
    command_line,
    json_option,
    key_option,
    model_option,
    number_option,
    resolver_option,
)
from harness.cli.output import write_text
from harness.cli.parameters import IMAGE, STDOUT
from harness.elf import combined
from harness.targets.registry import DEFAULT, Ability, who_can

if TYPE_CHECKING:
    from harness.reference.layers import Layer, LayerReport


@click.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@model_option
@resolver_option
@number_option("--inference", check=numbers.count_or_zero, default=0, metavar="N",
               help="Number of the inference, from 0.")  # fmt: skip
@click.option("--target", type=click.Choice(who_can(Ability.STEP)), default=DEFAULT,
              show_default=True, help="The target.")  # fmt: skip
@arithmetic_options
@key_option(KEYS["tolerance"])
@number_option("--timeout", default=30.0, check=numbers.seconds, metavar="SECONDS",
               help="Time limit for the end of the inference, in virtual time.")  # fmt: skip
@json_option("the table")
def layers(  # noqa: PLR0917 - one parameter per option
    what: Subject,
    model: str | None,
    resolver: str | None,
    inference: int,
    target: str,
    arithmetic: Arithmetic,
    tolerance: float | None,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Find the first operator whose outputs differ from the NumPy reference.

    Runs ELF (or SAMPLE) up to an inference, reads each operator's outputs from the target's memory,
    and compares them with those of the reference for the same inputs. The firmware needs no
    change, only its symbol table. Exit code 1 if an operator differs.

    \b
    tflm-hil layers digits
    tflm-hil layers build/zephyr/zephyr.elf --model model.tflite --inference 3
    """
    from harness import targets  # noqa: PLC0415 - see cli/__init__
    from harness.case.layers import compare_with_device  # noqa: PLC0415
    from harness.case.plan import one_case  # noqa: PLC0415
    from harness.case.samples import elf_of  # noqa: PLC0415
    from harness.elf.models import Held, held_model  # noqa: PLC0415
    from harness.reference import Interpreter  # noqa: PLC0415

    case = one_case(what, command_line({"model": model, "resolver": resolver}))
    if case.model is None:
        raise UsageError("an image needs --model to be compared with")
    model_file, elf = case.model, elf_of(case)
    firmware = combined.read(elf)
    interpreter = Interpreter.from_file(model_file, arithmetic)
    held = held_model(firmware, interpreter.model)
    if held.held is Held.ANOTHER:
        raise UsageError(
            held.text, hint="--model FILE is the .tflite that the image was built with"
        )
    with targets.open_target(target, firmware) as session:
        report = compare_with_device(
            session,
            firmware,
            interpreter,
            inference=inference,
            deadline=session.deadline(timeout),
            tolerance=tolerance,
        )
    document = {"elf": str(elf), "model": str(model_file), "target": target, "inference": inference,
                **report.to_json()}  # fmt: skip
    write_text(json_file, json.dumps(document))
    if json_file != STDOUT:
        click.echo(_table(report))
    if held.altered:
        raise CheckFailed(held.text)
    if held.text:
        click.echo(f"note: {held.text}", err=True)
    if not report.equal:
        raise CheckFailed(str(report).partition("\n")[0])


def _table(report: LayerReport) -> str:
    return "\n".join([*(_line(layer) for layer in report.layers), "", str(report)])


def _line(layer: Layer) -> str:
    shape = "x".join(map(str, layer.tensor.shape))
    comparison = layer.comparison
    if comparison is None:
        verdict = "not read"
    elif comparison.equal:
        verdict = "equal"
    else:
        verdict = f"{comparison.mismatches} of {comparison.total} differ, by {comparison.largest:g}"
        if layer.own_fault is not None:
            verdict += "  <- its own fault" if layer.own_fault else "  (its inputs differ)"
    name = layer.operator.name + (f":{layer.output}" if layer.output else "")
    return f"{layer.operator.index:>4}  {name:<24} {layer.tensor.dtype:<8} {shape:<14} {verdict}"
