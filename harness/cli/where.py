"""``tflm-hil where``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from harness.base import paths

_PLACES: dict[str, Callable[[], Path]] = {
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
    """Print the folder of Robot's resource file, of samples, models, platforms, schemas, the cache.

    \b
    robot --pythonpath "$(tflm-hil where robot)" suite.robot

    The line of a suite is `Resource    tflm.resource`, in a checkout and with an installed wheel.
    """
    click.echo(_PLACES[what]())
