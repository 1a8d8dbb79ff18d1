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
    """Write a first case for the firmware in FOLDER: hil.toml, its schema, a test, a workflow.

    Takes the newest ELF without a case (also of a Zephyr build), and runs it twice on the
    simulator, with different timing, until it prints no more. Numbers that are inputs and outputs
    of the model in the image (a .tflite in FOLDER, or extracted from the ELF) are compared with the
    model. Other numbers and labels are copied, right or wrong: check them. Clocks, counters,
    addresses, sizes and versions are known for no results.

    Then it spoils each number, label and line of the console in turn, and says what the case does
    not notice. For an image that shows a failure (a fault, FAIL, ERROR) nothing is expected.

    Run it again for further images: it adds a case, and leaves what stands there. The workflow is
    at the root of the repository, with a row for each folder.

    Firmware that prints records (--records writes a C header for it) does not need expected values:
    its tensors are compared exactly, its arena and time are measured (docs/records.md).

    \b
    tflm-hil init
    tflm-hil init my_application && tflm-hil run my_application
    """
    from harness.case.init import written  # noqa: PLC0415 - see cli/__init__
    from harness.case.init.draft import draft  # noqa: PLC0415

    if records:
        click.echo(f"wrote {written.write_header(folder)}")
        click.echo("next: include it, and print the records that its first lines show")
        return
    elf, name, known = written.next_image(folder)
    if elf is None:
        click.echo(f"each image below {folder} has a case: {', '.join(known)}")
        click.echo(f"next: tflm-hil run {folder} --update takes the values of new firmware;")
        click.echo("a case that expects nothing is taken out of hil.toml, and written anew")
        return
    drafted = draft(elf, folder, name, console)
    files = written.write(drafted, folder, name)
    for path in files.written:
        click.echo(f"wrote {path}")
    for path in files.kept:
        click.echo(f"kept {path}")
    for note in (*drafted.notes(), *drafted.verdicts(), *files.notes):
        click.echo(note)
    click.echo(f"next: tflm-hil run {folder}; pytest {folder}")
