"""``tflm-hil init``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), required=False
)
def init(folder: Path) -> None:
    """Write hil.toml, test_firmware.py and a workflow for the firmware in FOLDER.

    Takes the newest ELF (a Zephyr build's, too), the .tflite whose bytes are in it, and runs it for
    a second on the simulator to see what it prints. Asks nothing, overwrites nothing.

    \b
    tflm-hil init
    tflm-hil init my_application && tflm-hil run my_application
    """
    from harness import starter  # noqa: PLC0415 - see cli/__init__
    from harness.targets import Stop  # noqa: PLC0415

    found = starter.look(folder)
    for path in starter.write(found, folder):
        click.echo(f"wrote {path}")
    if found.stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        click.echo(f"note: the image came to no good end: {found.stop.replace('_', ' ')}")
    elif found.scraper is None:
        click.echo("note: the image printed nothing that can be expected")
    click.echo(f"next: tflm-hil run {folder}; pytest {folder}")
