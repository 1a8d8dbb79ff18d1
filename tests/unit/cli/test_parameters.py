"""ELF, SAMPLE, hil.toml: named, refused and completed alike in every subcommand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from results import case_result

from harness.base import paths
from harness.base.errors import UsageError
from harness.case.subject import Subject
from harness.cli import cli, main
from harness.cli.parameters import Destination, Existing, Name, Number
from harness.history.keep import document, keep
from harness.history.run import Occasion
from harness.reference import compare

ROOT = Path(__file__).parents[3]

TAKES_AN_IMAGE = [
    ["run"], ["footprint"], ["arena"], ["layers"], ["resolver", "check"], ["resolver", "dump"],
]  # fmt: skip


@pytest.mark.parametrize("command", TAKES_AN_IMAGE, ids=" ".join)
def test_a_missing_file_has_one_wording(command, capsys):
    assert main([*command, "build/nothing.elf"]) == 2
    assert capsys.readouterr().err.startswith("tflm-hil: there is no file build/nothing.elf\nhint:")


@pytest.mark.parametrize("command", TAKES_AN_IMAGE, ids=" ".join)
def test_an_unknown_sample_is_refused_with_the_known_ones(command, capsys):
    assert main([*command, "helo_world"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tflm-hil: there is no sample 'helo_world'\nhint: samples: ")


@pytest.mark.parametrize(
    "arguments",
    [["footprint", "hello_world", "--baseline", "x.json"], ["reference", "m", "--input", "x.npy"],
     ["run", "hello_world", "--inputs", "x.npy"], ["history", "record", "x.json"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_options_that_read_a_file_have_the_same_wording(arguments, capsys):
    assert main(arguments) == 2
    assert "there is no file x." in capsys.readouterr().err


def completed(words: list[str], incomplete: str) -> set[str]:
    found = ShellComplete(cli, {}, "tflm-hil", "X").get_completions(words, incomplete)
    return {one.value for one in found if one.type == "plain"}


@pytest.mark.parametrize("command", ["run", "debug"])
def test_cases_are_completed(command, tmp_path, monkeypatch):
    rows = "".join(f'[[case]]\nname = "{name}"\nelf = "a.elf"\n' for name in ("boot", "big", "x"))
    (tmp_path / "hil.toml").write_text(rows)
    assert completed([command, str(tmp_path), "--case"], "b") == {"boot", "big"}
    monkeypatch.chdir(tmp_path)
    assert completed([command, "--case"], "") == {"boot", "big", "x"}


@pytest.mark.parametrize("text", ["", "case = 3", "[[case]]", "[[case]"])
def test_a_broken_case_file_completes_nothing(text, tmp_path):
    (tmp_path / "hil.toml").write_text(text)
    assert completed(["run", str(tmp_path), "--case"], "") == set()


def test_a_folder_stands_for_its_case_file(tmp_path):
    (tmp_path / "hil.toml").write_text("")
    assert Subject.find(str(tmp_path), case_files=True).case_file == tmp_path / "hil.toml"
    with pytest.raises(UsageError, match="is a folder"):
        Subject.find(str(tmp_path))


def test_a_folder_without_a_case_file_has_a_hint_to_init(tmp_path):
    with pytest.raises(UsageError, match=r"a folder without a hil\.toml") as refused:
        Subject.find(str(tmp_path), case_files=True)
    assert refused.value.hint == f"tflm-hil init {tmp_path} writes one"


def test_a_case_that_the_file_does_not_have_is_refused_by_name(tmp_path, capsys):
    file = tmp_path / "hil.toml"
    file.write_text('[[case]]\nname = "a"\nsample = "hello_world"\n')
    assert main(["run", str(file), "--case", "b"]) == 2
    assert f"{file} has no case 'b'\nhint: it has a" in capsys.readouterr().err


def test_case_is_for_case_files(capsys):
    assert main(["run", "hello_world", "--case", "a"]) == 2
    assert "--case selects cases of a case file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "foot", {"footprint"}),
        (["run"], "digits", {"digits", "digits_cnn"}),
        (["run", "--target"], "ren", {"renode"}),
        (["run", "--target"], "simulator,ren", {"simulator,renode"}),
        (["run", "--resolver"], "too_l", {"too_large"}),
        (["run", "--model"], "atan", {"atan_float32"}),
        (["arena"], "atan", {"atan"}),
        (["layers", "--target"], "sim", {"simulator"}),
        (["build"], "resid", {"residual"}),
        (["resolver"], "du", {"dump"}),
    ],
)
def test_names_are_completed(words, incomplete, expected):
    completions = ShellComplete(cli, {}, "tflm-hil", "X").get_completions(words, incomplete)
    plain = {one.value for one in completions if one.type == "plain"}
    assert plain == expected


#: Options whose values are free text or numbers: nothing can be offered.
FREE = {
    "--symbol", "--until", "--namespace", "--scheduler", "--commit", "--at", "--commit-url",
    "--current", "--voltage", "--supply-source", "--serial", "--name", "--tag", "--set",
    "--outputs",
}  # fmt: skip
NUMBERS = (click.IntRange, Number)
COMPLETED = (click.Choice, click.Path, Name, Existing, Destination)


def parameters(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    """Every parameter of every subcommand that takes a value."""
    for one in command.params:
        if not (isinstance(one, click.Option) and one.is_flag):
            yield path, one
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            inner = click.Context(below, info_name=name, parent=context)
            yield from parameters(below, inner, (*path, name))


def test_every_option_with_a_closed_set_is_completed():
    """Each parameter completes names or files, is a number, or is named as free text."""
    mute = {
        (*path, one.opts[0])
        for path, one in parameters(cli, click.Context(cli))
        if not isinstance(one.type, (*COMPLETED, *NUMBERS))
    }
    assert {words[-1] for words in mute} <= FREE, mute


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        (["run", "--scraper"], "zt", {"ztest"}),
        (["run", "--chip"], "nrf5", {"nrf5340"}),
        (["run", "--power-on"], "", {"zero", "both"}),
        (["run", "--timing"], "b", {"branches"}),
        (["run", "--runner"], "py", {"pyocd"}),
        (["run", "--wiring"], "nrf9160", {"nrf9160dk"}),
        (["run", "--press"], "button2", {"button2"}),
        (["run", "--peripherals"], "SAA", {"SAADC="}),
        (["run", "--builder"], "zephyr-s", {"zephyr-soft-float"}),
        (["debug", "--at"], "fau", {"fault"}),
        (["campaign"], "digits_", {"digits_cnn"}),
        (["campaign", "--faults"], "weights,reg", {"weights,registers"}),
        (["campaign", "--budget"], "crit", {"critical="}),
        (["sweep", "--budget"], "fl", {"flash="}),
        (["footprint", "--region"], "F", {"FLASH"}),
        (["boards", "flash", "--runner"], "jl", {"jlink"}),
        (["virtual-board", "--kit"], "nrf53", {"nrf5340dk"}),
        (["list"], "chi", {"chips"}),
        (["list", "paths"], "exam", {"examples"}),
        (["completion"], "z", {"zsh"}),
    ],
)
def test_closed_sets_are_completed(words, incomplete, expected):
    assert completed(words, incomplete) == expected


def test_boards_of_the_lab_file_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert completed(["run", "--board"], "") == set()
    (tmp_path / "lab.toml").write_text(
        '[[board]]\nname = "bench-1"\nprobe = "960000001"\ntags = ["quiet"]\n'
    )
    assert completed(["run", "--board"], "b") == {"bench-1"}
    assert completed(["boards", "release"], "") == {"bench-1", "quiet"}
    (tmp_path / "lab.toml").write_text("[[board]")
    assert completed(["run", "--board"], "") == set()


def test_names_of_a_history_are_completed(tmp_path, monkeypatch):
    file = tmp_path / "lab.db"
    monkeypatch.setenv("TFLM_HIL_HISTORY", str(file))
    assert completed(["history", "show"], "") == set()
    assert not file.exists()
    occasion = replace(Occasion.here(), branch="main", machine="bench")
    keep(str(file), document([case_result(name="boot")], occasion), occasion)
    assert completed(["history", "show"], "bo") == {"boot"}
    assert completed(["history", "check", "--base"], "") == {"main"}
    assert completed(["history", "record", "--machine"], "") == {"bench"}
    assert completed(["history", "bisect", "--figure"], "fl") == {"flash"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_TFLM_HIL_COMPLETE" in capsys.readouterr().out


IN_BASH = """eval "$(tflm-hil completion bash)"
COMP_WORDS=(tflm-hil run hello_world_f)
COMP_CWORD=2
_tflm_hil_completion tflm-hil
echo ${COMPREPLY[@]}
"""
IN_ZSH = """zmodload zsh/zpty
zpty shell 'PS1="> " zsh -f -i'
zpty -w shell 'autoload -Uz compinit && compinit -u -D'
zpty -w shell 'eval "$(tflm-hil completion zsh)"; echo rea""dy'
zpty -r shell seen '*ready*'
zpty -w -n shell $'tflm-hil run hello_world_f\\t'
zpty -r shell seen '*hello_world_float*'
[[ $seen == *hello_world_float* ]] && print hello_world_float
"""
IN_FISH = """tflm-hil completion fish | source
complete -C "tflm-hil run hello_world_f"
"""


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        pytest.param("bash", IN_BASH, id="bash"),
        pytest.param("fish", IN_FISH, id="fish", marks=pytest.mark.needs("fish")),
        pytest.param("zsh", IN_ZSH, id="zsh", marks=pytest.mark.needs("zsh")),
    ],
)
def test_a_shell_completes_through_its_script(shell, script, tmp_path):
    program = tmp_path / "tflm-hil"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [shell, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=120,
    )
    assert done.stdout.split() == ["hello_world_float"], done.stderr


def test_an_image_and_a_model_in_each_others_place_are_recognized(tmp_path, capsys):
    model, image = tmp_path / "m.tflite", tmp_path / "e.elf"
    model.write_bytes(b"\x1c\0\0\0TFL3" + bytes(40))
    image.write_bytes(b"\x7fELF" + bytes(60))
    assert main(["resolver", "check", str(model), str(image)]) == 2
    assert "name the image first, then the model" in capsys.readouterr().err
    assert main(["reference", str(image)]) == 2
    assert "it is an ELF image, not a model" in capsys.readouterr().err


def test_paths_lists_the_folder_of_the_robot_resource(capsys):
    assert main(["list", "paths", "robot"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "tflm.resource").is_file()


@pytest.mark.parametrize(("what", "holds"), [
    ("docs", "cases.md"), ("examples", "bare_metal/Makefile"),
])  # fmt: skip
def test_paths_lists_the_folders_of_documentation_and_examples(capsys, what, holds):
    assert main(["list", "paths", what]) == 0
    assert (Path(capsys.readouterr().out.strip()) / holds).is_file()


def test_paths_lists_all_folders(capsys):
    assert main(["list", "paths"]) == 0
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert {name for name, folder in rows if Path(folder).is_dir()} >= {
        "docs", "examples", "robot", "samples", "models", "platforms", "schemas",
    }  # fmt: skip


def test_samples_of_ones_own_are_found_through_the_option(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_SAMPLES", "")
    text = (paths.own_samples() / "resolvers.toml").read_text(encoding="utf-8")
    mine = text.replace("[samples.hello_world]", "[samples.mine]", 1)
    (tmp_path / "resolvers.toml").write_text(mine, encoding="utf-8")
    assert main(["--samples", str(tmp_path), "list", "samples", "--json"]) == 0
    names = [row["sample"] for row in json.loads(capsys.readouterr().out)]
    assert "mine" in names
    assert "hello_world" not in names


def test_no_color_is_honoured(monkeypatch):
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    code = (
        "import sys, os, pty\n"
        "pid, fd = pty.fork()\n"
        "if pid == 0: os.execv(sys.executable, [sys.executable, '-m', 'harness', 'samples'])\n"
        "data = b''\n"
        "while True:\n"
        "    try: part = os.read(fd, 4096)\n"
        "    except OSError: break\n"
        "    if not part: break\n"
        "    data += part\n"
        "sys.stdout.buffer.write(data)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=True
    )
    assert b"hello_world" in done.stdout
    assert b"\x1b" not in done.stdout


def test_a_float_that_differs_in_its_last_place_is_shown_with_the_digits_that_differ():
    import numpy as np

    one = np.array([1.39796], np.float32)
    shown = str(compare(np.nextafter(one, np.float32(2)), one))
    obtained, expected = shown.partition("obtained ")[2].split(", expected ")
    assert obtained != expected.splitlines()[0]
