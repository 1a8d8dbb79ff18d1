"""``tflm-hil list paths``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from harness.base import paths as places

_PLACES: dict[str, Callable[[], Path]] = {
    "docs": places.docs,
    "examples": places.examples,
    "robot": places.robot,
    "samples": places.samples,
    "models": places.models,
    "platforms": places.platforms,
    "schemas": places.schemas,
    "cache": places.cache,
}


@click.command()
@click.argument("name", type=click.Choice(list(_PLACES)), required=False)
def paths(name: str | None) -> None:
    """Print the folders of documentation, examples, Robot's resource file, samples, models,
    platforms, schemas, and the cache; with NAME only this one.

    \b
    cp -r "$(tflm-hil list paths examples)/bare_metal" firmware
    robot --pythonpath "$(tflm-hil list paths robot)" suite.robot

    A suite then contains `Resource    tflm.resource`, in a checkout and with an installed wheel.
    """
    if name is not None:
        click.echo(_PLACES[name]())
        return
    for place, folder in _PLACES.items():
        click.echo(f"{place:<10} {folder()}")
