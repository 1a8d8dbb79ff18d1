"""``tflm-hil samples``."""

from __future__ import annotations

import json

import click

from harness.firmware.configurations import load


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def samples(as_json: bool) -> None:
    """List samples, their models and the resolver configurations that each can be built with."""
    table = load()
    rows = [
        {
            "sample": sample.name,
            "title": sample.title,
            "model": sample.model,
            "operators": list(sample.needed),
            "arena": sample.arena,
            "configurations": [row.name for one, row in table.pairs() if one.name == sample.name],
        }
        for sample in table.samples.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.secho(f"{row['sample']}: {row['title']}", bold=True)
        click.echo(f"  model           {row['model']}, arena {row['arena']} B")
        for name in ("operators", "configurations"):
            words = row[name]
            assert isinstance(words, list)
            text = click.wrap_text(" ".join(words), 100, "", " " * 18)
            click.echo(f"  {name:<15} {text}")
