"""Pages of the site that nobody writes: the commands, the keywords."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files
from robot.libdoc import libdoc

from harness.cli import COMMANDS, cli


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for path, text in (("commands.md", commands()), ("keywords.html", keywords())):
        files.append(File.generated(config, path, content=text))
    return files


def commands() -> str:
    """Every subcommand with what its ``--help`` says."""
    root = click.Context(cli, info_name="tflm-hil")
    parts = ["# Commands", "", _fenced(cli.get_help(root))]
    for name in COMMANDS:
        command = getattr(import_module(f"harness.cli.{name.replace('-', '_')}"),
                          name.replace("-", "_"))  # fmt: skip
        for words, one, context in _all(command, name, root):
            parts += ["", f"## tflm-hil {words}", "", _fenced(one.get_help(context))]
    return "\n".join(parts) + "\n"


def _all(
    command: click.Command, words: str, parent: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, info_name=words.rsplit(maxsplit=1)[-1], parent=parent)
    yield words, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            assert sub is not None
            yield from _all(sub, f"{words} {name}", context)


def _fenced(text: str) -> str:
    return f"```text\n{text}\n```"


def keywords() -> str:
    """Robot's own documentation of the keyword library."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "keywords.html"
        libdoc("harness.keywords.TflmHil", str(page), quiet=True)
        return page.read_text(encoding="utf-8")
