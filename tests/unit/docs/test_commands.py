"""The commands that the pages show can be given: each exists and has the options of its line.

What stands in docs/cli.md about samples of one's own is run as it stands.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness.cli import COMMANDS, cli

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(?:sh|console)?\n(.*?)^```|^((?:    .*\n)+)", re.MULTILINE | re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """Every line of a code block that begins with `tflm-hil`, with its page."""
    found = []
    for page in PAGES:
        for fenced, indented in _BLOCK.findall(page.read_text(encoding="utf-8")):
            text = (fenced or indented).replace("\\\n", " ")
            for line in text.splitlines():
                command = line.strip().removeprefix("$ ")
                if command.startswith("tflm-hil "):
                    found.append((page.name, re.split(r" #|\s{3,}", command)[0]))
    return found


@pytest.mark.parametrize(("page", "line"), shown())
def test_a_command_of_the_pages_exists_with_its_options(page, line):
    words = shlex.split(line.split(" && ")[0].split(" | ")[0].split(" > ")[0])[1:]
    if words[:1] == ["--samples"]:
        words = words[2:]
    assert words[0] in COMMANDS, page
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    named = words[1:] and not words[1].startswith("--")
    if isinstance(command, click.Group) and (named or not command.invoke_without_command):
        known = command.get_command(click.Context(cli), words[1])
        assert known is not None, page
        command = known
    options = {word for one in command.params for word in (*one.opts, *one.secondary_opts)}
    for word in words[1:]:
        if word.startswith("--"):
            assert word.partition("=")[0] in options | {"--help"}, page


@pytest.mark.needs("arm-none-eabi-gcc", "flatc")
def test_samples_of_ones_own_run_as_the_page_shows(tmp_path):
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    [script] = re.findall(r"^```sh\n(mkdir mine.*?)^```", text, re.MULTILINE | re.DOTALL)
    program = tmp_path / "bin" / "tflm-hil"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "1 of 1 case passed" in done.stdout, done.stderr
