"""``tflm-hil list``: what there is."""

from __future__ import annotations

import click

from harness.cli import Commands


@click.group(
    name="list", cls=Commands, package="harness.cli.list_",
    descriptions={
        "samples": "List samples with their models and resolver configurations.",
        "chips": "List the chips, their memories, and peripherals without a model.",
        "paths": "Print where this package's files are: documentation, Robot's resource, samples.",
    },
)  # fmt: skip
def list_() -> None:
    """List samples, chips, or the folders of this package.

    \b
    tflm-hil list samples
    tflm-hil list chips nrf5340
    robot --pythonpath "$(tflm-hil list paths robot)" suite.robot
    """
