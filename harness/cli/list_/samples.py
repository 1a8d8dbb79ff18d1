"""``tflm-hil list samples``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.build.table import load
from harness.cli.options import json_option
from harness.cli.output import write_text
from harness.cli.parameters import STDOUT


@click.command()
@json_option("the list")
def samples(json_file: Path | None) -> None:
    """List samples with their models and resolver configurations.

    The names are arguments of `tflm-hil build` and `tflm-hil run`.
    """
    table = load()
    rows = [
        {
            "sample": sample.name,
            "title": sample.title,
            "model": sample.model,
            "operators": list(sample.needed),
            "arena": sample.arena,
            "configurations": [row.name for known, row in table.pairs() if known == sample],
        }
        for sample in table.samples.values()
    ]
    write_text(json_file, json.dumps(rows, indent=2))
    if json_file == STDOUT:
        return
    for row in rows:
        click.secho(f"{row['sample']}: {row['title']}", bold=True)
        click.echo(f"  model           {row['model']}, arena {row['arena']} B")
        for name in ("operators", "configurations"):
            words = row[name]
            assert isinstance(words, list)
            text = click.wrap_text(" ".join(words), 100, "", " " * 18)
            click.echo(f"  {name:<15} {text}")
