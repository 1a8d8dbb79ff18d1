"""``tflm-hil resolver``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from harness.case.casefile import find_model
from harness.cli.options import STDOUT, Destination, Seconds, json_option, write_text
from harness.errors import CheckFailed
from harness.firmware import Firmware
from harness.model import Model
from harness.targets import TARGETS

_ELF = click.Path(dir_okay=False, path_type=Path)
_JSON = json_option()


@click.group()
def resolver() -> None:
    """Check, generate, dump, explain operator resolvers."""


@resolver.command()
@click.argument("elf", type=_ELF)
@click.argument("model")
@_JSON
def check(elf: Path, model: str, json_file: Path | None) -> None:
    """Hold ELF's resolver against what MODEL needs, without running anything.

    \b
    tflm-hil resolver check build/zephyr/zephyr.elf model.tflite

    Exit code 1 where an operator is missing, refused, registered twice, or cannot be told.
    """
    from harness.resolver.audit import check as audit_image  # noqa: PLC0415 - see cli/__init__

    audit = audit_image(Firmware.from_elf(elf), Model.from_file(find_model(model)))
    _write(json_file, audit.to_json())
    if json_file != STDOUT:
        from rich.console import Console  # noqa: PLC0415

        from harness.resolver.text import show_audit  # noqa: PLC0415

        show_audit(Console(highlight=False), audit)
    if not audit.passed:
        raise CheckFailed(f"the resolver of {elf.name} is wrong for {audit.model}: "
                          f"{', '.join(audit.verdicts)}")  # fmt: skip


@resolver.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--namespace", default="hil", show_default=True, help="C++ namespace.")
@click.option("-o", "--output", type=Destination(dash=True), metavar="FILE",
              help="The header to write.  [default: standard output]")  # fmt: skip
def generate(models: tuple[str, ...], namespace: str, output: Path | None) -> None:
    """Print a C++ header with exactly the resolver that the MODELs need.

    \b
    tflm-hil resolver generate model.tflite --output src/resolver.h
    """
    from harness.resolver.generate import generate as make_header  # noqa: PLC0415

    header = make_header(
        [Model.from_file(find_model(model)) for model in models], namespace=namespace
    )
    write_text(output or STDOUT, header)


@resolver.command()
@click.argument("elf", type=_ELF)
@click.option("--target", default="simulator", show_default=True, type=click.Choice(list(TARGETS)),
              help="Where to run it.")  # fmt: skip
@click.option("--until", "symbol", default="", help="Read when this function is reached.")
@click.option("--timeout", default=5.0, show_default=True, type=Seconds(), metavar="SECONDS",
              help="Read after so long, on the target's clock, at the latest.")  # fmt: skip
@_JSON
def dump(elf: Path, target: str, symbol: str, timeout: float, json_file: Path | None) -> None:
    """Run ELF and list what its resolvers hold in memory.

    Read is when AllocateTensors is entered: after the registration, before the first inference.

    \b
    tflm-hil resolver dump build/zephyr/zephyr.elf
    tflm-hil resolver dump build/zephyr/zephyr.elf --until loop
    """
    from harness.resolver.dump import dump as read_tables  # noqa: PLC0415
    from harness.resolver.moment import run_past_registration  # noqa: PLC0415
    from harness.targets import open as open_target  # noqa: PLC0415

    firmware = Firmware.from_elf(elf)
    with open_target(target, firmware) as session:
        moment = run_past_registration(session, firmware, symbol=symbol, seconds=timeout)
        if moment.why:
            click.echo(f"note: {moment.why}", err=True)
        found = read_tables(session, firmware)
    _write(
        json_file, {"elf": str(elf), "target": target, "resolvers": [r.to_json() for r in found]}
    )
    if json_file != STDOUT:
        from rich.console import Console  # noqa: PLC0415

        from harness.resolver.text import show_live  # noqa: PLC0415

        show_live(Console(highlight=False), found)


@resolver.command()
@click.argument("operator")
@click.argument("elf", type=_ELF)
@_JSON
def explain(operator: str, elf: Path, json_file: Path | None) -> None:
    """Walk the registration of OPERATOR in ELF: calls, stored pointers, where they lead.

    \b
    tflm-hil resolver explain FULLY_CONNECTED build/zephyr/zephyr.elf
    """
    from harness.resolver.explain import explain as walk  # noqa: PLC0415
    from harness.resolver.text import explanation_lines  # noqa: PLC0415

    found = walk(Firmware.from_elf(elf), operator)
    _write(json_file, found.to_json())
    if json_file != STDOUT:
        for line in explanation_lines(found):
            click.echo(line)


def _write(path: Path | None, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1))
