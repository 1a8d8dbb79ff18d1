"""Options that several subcommands have are spelled and checked alike in all of them."""

import inspect
import json

import click
import pytest

from harness.cli import COMMANDS, cli, main
from harness.cli.parameters import Number


def _commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            words = command.list_commands(context)
            found |= {f"{name} {word}": command.get_command(context, word) for word in words}
    return found


ALL = _commands()


def options(name: str) -> list[click.Option]:
    return [one for one in ALL[name].params if isinstance(one, click.Option)]


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_every_option_has_a_help_text(name):
    assert ALL[name].help
    for option in options(name):
        assert option.hidden or option.help, option.opts


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """The parameters of a command's own function."""
    callback = ALL[name].callback
    assert callback is not None
    return dict(inspect.signature(inspect.unwrap(callback), eval_str=True).parameters)


WITH_OBJECT = [name for name in ALL if "options" in _parameters(name)]


@pytest.mark.parametrize("name", ALL)
def test_a_command_names_its_parameters(name):
    kinds = {one.kind for one in _parameters(name).values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", WITH_OBJECT)
def test_options_are_the_fields_of_a_frozen_object(name, monkeypatch):
    class Built(Exception):
        pass

    def build(self: object, **given: object) -> None:
        construct(self, **given)  # TypeError for a field that no option gives, or the reverse
        raise Built

    kind = _parameters(name)["options"].annotation
    assert kind.__dataclass_params__.frozen
    construct = kind.__init__
    monkeypatch.setattr(kind, "__init__", build)
    context = ALL[name].make_context(name, ["hello_world"])
    with pytest.raises(Built), context:
        ALL[name].invoke(context)


@pytest.mark.parametrize("name", ALL)
def test_help_fits_a_terminal_and_names_itself(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: tflm-hil {name}")
    examples = [line for line in shown.splitlines() if line.strip().startswith("tflm-hil")]
    assert all(len(line) <= 95 for line in examples)


def test_json_takes_the_same_values_everywhere(capsys, tmp_path):
    spelled = {name: one for name in ALL for one in options(name) if "--json" in one.opts}
    assert {"run", "footprint", "list samples", "reference", "boards", "arena"} <= spelled.keys()
    assert {one.metavar for one in spelled.values()} == {"[FILE]"}
    for arguments in (["--json"], ["--json", "-"]):
        assert main(["list", "samples", *arguments]) == 0
        assert json.loads(capsys.readouterr().out)
    file = tmp_path / "list.json"
    assert main(["list", "samples", "--json", str(file)]) == 0
    assert json.loads(file.read_text())


@pytest.mark.parametrize("name", ALL)
def test_help_names_the_numbers_that_an_option_takes(name):
    for option in options(name):
        if isinstance(option.type, Number):
            assert option.help is not None
            assert f"  [{option.type.check.takes}" in option.help


def test_times_are_called_timeout_and_refuse_nan(capsys):
    for name in ("run", "arena", "resolver dump"):
        assert main([*name.split(), "x.elf", "--timeout", "nan"]) == 2
        assert "--timeout" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["footprint", "x.elf", "--json", "-", "--markdown", "-"],
        ["campaign", "hello_world", "--replay", "17", "--html", "x.html"],
        ["campaign", "hello_world", "--budget", "critical=0.1", "--replay", "17"],
        ["doctor", "--dry-run"],
        ["doctor", "--all"],
    ],
)
def test_options_that_exclude_each_other_are_refused(arguments, capsys):
    assert main(arguments) == 2
    assert len(capsys.readouterr().err.splitlines()) <= 2


def test_an_elf_has_no_resolver_configuration_to_choose(tmp_path, capsys):
    elf = tmp_path / "x.elf"
    elf.write_bytes(b"")
    assert main(["arena", str(elf), "--resolver", "exact"]) == 2
    assert "--resolver" in capsys.readouterr().err


def test_a_command_that_is_not_there_is_answered_with_the_nearest(capsys):
    assert main(["footprnt"]) == 2
    assert (
        capsys.readouterr().err
        == "tflm-hil: no command 'footprnt'\nhint: did you mean footprint?\n"
    )


def test_every_usage_error_is_one_line_with_a_hint(capsys):
    for arguments in (
        ["run"], ["run", "digits", "--tmieout", "3"], ["run", "digits", "y"], ["--what"],
    ):  # fmt: skip
        assert main(arguments) == 2
        error, hint = capsys.readouterr().err.splitlines()
        assert error.startswith("tflm-hil: ")
        assert hint.startswith("hint: tflm-hil")


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("subcommand", ["release", "take"])
def test_the_lab_stands_before_a_subcommand_or_behind_it(subcommand, before, capsys, tmp_path):
    lab, words = ["--lab", str(tmp_path / "bench.toml")], [subcommand, "dk1"]
    assert main(["boards", *(lab + words if before else words + lab)]) == 2
    assert capsys.readouterr().err == f"tflm-hil: there is no file {lab[1]}\n"
