"""Generated pages of the site: commands, keys of a case file, keywords."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files
from robot.libdoc import libdoc

from harness.base.tables import Key, keys
from harness.case.case import Case
from harness.cli import COMMANDS, cli

#: A row of the table of keys in cases.md.
_MEANING = re.compile(r"^\| (`[^|]*`) \| (.*) \|$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for path, text in _generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def _generated() -> dict[str, str]:
    return {
        "commands.md": commands(),
        "case-file.md": case_file((Path(__file__).parent / "cases.md").read_text("utf-8")),
        "keywords.html": keywords(),
    }


def case_file(guide: str) -> str:
    """Every key of a case file, from its reader; ``guide`` explains them."""
    meanings = {
        name: text
        for names, text in _MEANING.findall(guide)
        for name in re.findall(r"`([^`]+)`", names)
    }
    rows = [
        f"| `{key.name}` | {key.takes} | {_default(key)} | {meanings[key.name]} |"
        for key in keys(Case)
    ]
    head = """# Keys of a case file

The keys of a `[[case]]`, and of `[defaults]` for all cases. Any other key is refused. This page is
generated from the reader of case files; [Case files](cases.md)
has examples and explains verdicts.

| key | takes | default | meaning |
|---|---|---|---|
"""
    return head + "\n".join(rows) + "\n"


def _default(key: Key) -> str:
    return "required" if key.required else f"`{key.default}`" if key.default else ""


def commands() -> str:
    """Every subcommand with what its ``--help`` says."""
    root = click.Context(cli, info_name="tflm-hil")
    parts = ["# Commands", "", _fenced(cli.get_help(root))]
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        for words, subcommand, context in _all(command, name, root):
            parts += ["", f"## tflm-hil {words}", "", _fenced(subcommand.get_help(context))]
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
