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

    Takes the newest ELF (a Zephyr build's too) and the .tflite whose bytes are in it, and runs the
    ELF twice for a second on the simulator to read its output. Overwrites nothing.

    An image that shows a failure (a fault, FAIL, ERROR) gets a case without expected values. The
    values of others are copied from their output, right or wrong: check them.

    \b
    tflm-hil init
    tflm-hil init my_application && tflm-hil run my_application
    """
    from harness import starter  # noqa: PLC0415 - see cli/__init__
    from harness.targets import Stop  # noqa: PLC0415

    contents = starter.look(folder)
    for path in starter.write(contents, folder):
        click.echo(f"wrote {path}")
    if contents.stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        click.echo(f"note: the image ended badly: {contents.stop.replace('_', ' ')}")
    if contents.failure:
        click.echo(f"note: the image shows a failure, so nothing is expected: {contents.failure}")
    elif contents.scraper is None:
        click.echo("note: the image printed nothing that can be expected")
    click.echo(f"next: tflm-hil run {folder}; pytest {folder}")
