"""``tflm-hil init``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), required=False
)
@click.option(
    "--console",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the image's output (from a board, say), instead of a run on the simulator.",
)
@click.option(
    "--records",
    is_flag=True,
    help="Only write hil_records.h, to print console records in your firmware.",
)
def init(folder: Path, console: Path | None, records: bool) -> None:
    """Write hil.toml, its schema, test_firmware.py and a workflow for the firmware in FOLDER.

    Takes the newest ELF (also of a Zephyr build) and its model (a .tflite in FOLDER, or extracted
    from the ELF), and runs the ELF twice for a second on the simulator to read its output. Existing
    files are not overwritten.

    If printed numbers are inputs and outputs of the model, the case compares them with the model.
    Otherwise the printed values are copied, right or wrong: check them. For an image that shows a
    failure (a fault, FAIL, ERROR) the case has no expected values.

    Firmware that prints records (--records writes a C header for it) does not need expected values:
    its tensors are compared exactly, its arena and time are measured (docs/records.md).

    \b
    tflm-hil init
    tflm-hil init my_application && tflm-hil run my_application
    """
    from harness import starter  # noqa: PLC0415 - see cli/__init__
    from harness.targets import Stop  # noqa: PLC0415

    if records:
        click.echo(f"wrote {starter.write_header(folder)}")
        click.echo("next: include it, and print the records that its first lines show")
        return
    contents = starter.scan(folder, console)
    for path in starter.write(contents, folder):
        click.echo(f"wrote {path}")
    if contents.stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        click.echo(f"note: the run of the image failed: {contents.stop.replace('_', ' ')}")
    for note in contents.notes():
        click.echo(note)
    click.echo(f"next: tflm-hil run {folder}; pytest {folder}")
