"""``tflm-hil where``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from harness.base import paths

_PLACES: dict[str, Callable[[], Path]] = {
    "docs": paths.docs,
    "examples": paths.examples,
    "robot": paths.robot,
    "samples": paths.samples,
    "models": paths.models,
    "platforms": paths.platforms,
    "schemas": paths.schemas,
    "cache": paths.cache,
}


@click.command()
@click.argument("what", type=click.Choice(list(_PLACES)))
def where(what: str) -> None:
    """Print the folder of documentation, examples, Robot's resource file, samples, models,
    platforms, schemas, or the cache.

    \b
    cp -r "$(tflm-hil where examples)/bare_metal" firmware
    robot --pythonpath "$(tflm-hil where robot)" suite.robot

    A suite then contains `Resource    tflm.resource`, in a checkout and with an installed wheel.
    """
    click.echo(_PLACES[what]())
