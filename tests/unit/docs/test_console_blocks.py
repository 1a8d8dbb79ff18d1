"""The pages whose commands are shown with their output: each prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from console_blocks import Shell, Step, agrees, run_page, steps

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.needs("arm-none-eabi-gcc", "make", "flatc")
@pytest.mark.parametrize(
    ("page", "least"),
    [
        pytest.param("tutorial.md", 15, marks=pytest.mark.slow),
        ("index.md", 1),
        pytest.param("how-to/resolver.md", 20, marks=pytest.mark.slow),
    ],
)
def test_a_page_shows_what_its_commands_print(page, least, tmp_path):
    assert run_page(DOCS / page, tmp_path) >= least


def test_a_block_is_commands_with_their_output():
    block = "$ cat <<'END'\n> a\n>\n> END\na\n\n$ true\n$ false\n...\n"
    assert list(steps(block)) == [
        Step("cat <<'END'\na\n\nEND", ("a",)), Step("true", ()), Step("false", ("...",)),
    ]  # fmt: skip


@pytest.mark.parametrize(("expected", "printed", "same"), [
    ("a b", "a b  \n", True), ("a ... c", "a b c\n", True), ("a ... c", "a b\nc\n", False),
    ("a\n...\nd", "a\nb\nc\nd\n", True), ("a\n...", "a\n", True), ("a", "a\nb\n", False),
    ("a.c", "abc\n", False),
])  # fmt: skip
def test_output_is_compared_line_by_line(expected, printed, same):
    assert agrees(tuple(expected.split("\n")), printed) is same


def test_a_command_without_output_must_print_nothing():
    assert agrees((), "")
    assert not agrees((), "surprise\n")


def test_folder_and_exit_code_outlive_a_command(tmp_path):
    shell = Shell(tmp_path)
    shell.run("mkdir a && cd a && false")
    assert shell.run('echo $? "${PWD##*/}"') == "1 a\n"
