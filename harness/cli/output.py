"""Output of all subcommands to the terminal and to files: results, tables, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import files
from harness.base.text import UNFOLDED
from harness.cli.parameters import STDOUT

if TYPE_CHECKING:
    from rich.console import Console

#: Prints a line of progress to standard error.
on_stderr = partial(click.echo, err=True)


def screen() -> Console:
    """A console for tables on standard output; rows are not wrapped in a file or a pipe."""
    from rich.console import Console  # noqa: PLC0415 - only if something is shown

    return Console(highlight=False, width=None if sys.stdout.isatty() else UNFOLDED)


def write_text(path: Path | None, text: str) -> None:
    """Writes ``text`` to the file of an option, ``-`` is standard output; does nothing for None.

    Raises :class:`CannotWrite` if that fails (for example on a full disk).
    """
    if path is None:
        return
    text = text if text.endswith("\n") else text + "\n"
    if path == STDOUT:
        click.echo(text, nl=False)
        return
    files.write(path, text)


def write_rows(
    path: Path | None, document: Mapping[str, Any], name: str, rows: Iterable[Any]
) -> None:
    """Writes ``document`` as JSON with ``rows`` as its last value ``name``.

    Rows are not collected in memory. Otherwise as :func:`write_text`.
    """
    if path is None:
        return
    parts = _json_parts({**document, name: []}, rows)
    if path == STDOUT:
        for part in parts:
            click.echo(part, nl=False)
        return
    files.write_parts(path, parts)


def _json_parts(document: Mapping[str, Any], rows: Iterable[Any]) -> Iterator[bytes]:
    """``document``, whose last value is an empty list, with ``rows`` in that list."""
    yield json.dumps(document).encode()[: -len("]}")]
    for number, row in enumerate(rows):
        yield (b", " if number else b"") + json.dumps(row).encode()
    yield b"]}\n"
