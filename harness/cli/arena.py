"""``tflm-hil arena``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.errors import HilError
from harness.firmware import Firmware

_OUTPUT = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


@click.command()
@click.argument("what", metavar="ELF|SAMPLE")
@click.option("--resolver", default="exact", show_default=True, help="Configuration of a SAMPLE.")
@click.option("--seconds", default=30.0, show_default=True, type=click.FloatRange(0, min_open=True),
              help="Virtual seconds that one probe may take.")  # fmt: skip
@click.option("--json", "json_file", type=_OUTPUT, help="Write the document (- for stdout).")
def arena(what: str, resolver: str, seconds: float, json_file: Path | None) -> None:
    """Find the smallest tensor arena with which ELF (or SAMPLE) allocates, to the byte.

    Runs the image on the simulator again and again with another size; builds nothing.
    """
    from harness.footprint.arena import minimum  # noqa: PLC0415 - see cli/__init__
    from harness.targets.simulator import open as open_simulator  # noqa: PLC0415

    elf = Path(what)
    if not elf.is_file():
        from harness.firmware.builders import build_one  # noqa: PLC0415

        elf = build_one(what, resolver)
    found = minimum(Firmware.from_elf(elf), open_simulator, seconds=seconds)
    document = json.dumps({"elf": str(elf), **found.to_json()}, indent=1) + "\n"
    if json_file == Path("-"):
        click.echo(document, nl=False)
        return
    if json_file is not None:
        try:
            json_file.write_text(document, "utf-8")
        except OSError as error:
            raise HilError(f"cannot write {json_file}: {error.strerror}") from error
    used = "not printed" if found.used is None else f"{found.used:,} B"
    click.echo(f"declared            {found.declared:>9,} B")
    click.echo(f"smallest that works {found.minimum:>9,} B  (multiple of 16: {found.aligned:,})")
    click.echo(f"arena_used_bytes()  {used:>11}")
    click.echo(f"margin              {found.margin:>9,} B")
    click.echo(f"{len(found.probes)} runs, {found.instructions:,} instructions; "
               f"the size was changed at {found.site}")  # fmt: skip
