"""Each key of a case through each door: the same plan as by the case file, and an effect."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from keys import EFFECTS, ROWS, VALUES, Effect
from stage import Stage

from harness.case import Case
from harness.case.plan import Plan, Request, plan
from harness.case.schema import ARGUMENTS
from harness.case.subject import Subject
from harness.cli import main
from harness.keywords.arguments import planned
from harness.pytest_plugin.fixture import Hil

needs_compiler = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


def toml(value: object) -> str:
    """A value as TOML: JSON but for tables and infinite numbers."""
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{json.dumps(key)} = {toml(one)}' for key, one in value.items())} }}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def of_file(name: str) -> str:
    return ARGUMENTS[name].name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("RENODE", "TFLM_HIL_LAB"):
        monkeypatch.delenv(name, raising=False)
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    for name in ("a.elf", "b.elf"):
        Path(name).write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))
    Path("base.json").write_text("{}")
    return tmp_path


def subject_of(beside: dict[str, object]) -> Subject:
    sample = str(beside.get("sample", ""))
    return Subject(sample, sample=sample) if sample else Subject.find("a.elf")


def planned_by_file(key: str, beside: dict[str, object], value: object) -> Case:
    keys = {"name": "a", **({} if "sample" in beside else {"elf": "a.elf"}), **beside}
    if value is not None:
        keys[of_file(key)] = value
    lines = [f"{name} = {toml(one)}" for name, one in keys.items()]
    Path("hil.toml").write_text("\n".join(["[[case]]", *lines]))
    (case,) = plan(Request(Subject.find("hil.toml", case_files=True))).cases
    return replace(case, name="a")


Door = Callable[[str, object, dict[str, object], pytest.FixtureRequest], Plan]


def by_option(key: str, value: object, beside: dict[str, object], request) -> Plan:
    """``tflm-hil run``: by its option, or by --set if the key has none."""
    words = []
    for name, one in {**beside, key: value}.items():
        if name == "sample":
            continue
        row = ARGUMENTS[name]
        if name == "options":
            words += [f"--{word.replace('_', '-')}={given}" for word, given in one.items()]
        elif (
            not row.option or isinstance(one, dict) or (name == "inputs" and isinstance(one, list))
        ):
            words += ["--set", f"{row.name}={toml(one)}"]
        elif row.is_list:
            words += [f"{row.spelled}={each}" for each in one]
        else:
            words += [f"{row.spelled}={one}"]
    return by_command_line(words, beside, request)


def by_set(key: str, value: object, beside: dict[str, object], request) -> Plan:
    """``tflm-hil run --set``."""
    given = {name: one for name, one in {**beside, key: value}.items() if name != "sample"}
    words = [
        word for name, one in given.items() for word in ("--set", f"{of_file(name)}={toml(one)}")
    ]
    return by_command_line(words, beside, request)


def by_command_line(words: list[str], beside: dict[str, object], request) -> Plan:
    seen: list[Plan] = []

    def note(wanted: Request) -> Plan:
        seen.append(plan(wanted))
        return replace(seen[0], items=())

    request.getfixturevalue("monkeypatch").setattr("harness.cli.run.plan", note)
    main(["run", str(beside.get("sample", "a.elf")), *words, "--dry-run"])
    assert seen, request.getfixturevalue("capsys").readouterr().err
    return seen[0]


def by_fixture(key: str, value: object, beside: dict[str, object], request) -> Plan:
    """pytest's ``hil.run``."""
    keys = {name: one for name, one in {**beside, key: value}.items() if name != "sample"}
    if key == "target":
        (keys[key],) = value
    hil = Hil(request)
    hil._here = Path()
    return hil._plan(str(beside.get("sample", "a.elf")), keys, "hil.run")


def by_keyword(key: str, value: object, beside: dict[str, object], request) -> Plan:
    """Robot's ``Run Case`` and ``Run Sample Case``, whose arguments are text."""
    keys = {
        name: toml(one) if isinstance(one, (list, dict)) else str(one)
        for name, one in {**beside, key: value}.items()
        if name != "sample"
    }
    if key == "peripherals":  # its text is NAME=MODEL
        keys[key] = ",".join(f"{name}={model}" for name, model in value.items())
    return planned(subject_of(beside), "Run Case", keys)


DOORS: dict[str, Door] = {
    "option": by_option, "set": by_set, "hil.run": by_fixture, "keyword": by_keyword,
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("key", VALUES)
def test_each_door_plans_as_the_case_file_does(key, door, folder, request):
    value, beside = VALUES[key]
    expected = planned_by_file(key, beside, value)
    plain = {name: one for name, one in beside.items() if name == "sample"}
    assert expected != planned_by_file(key, plain, None), "the value changes nothing"
    (case,) = DOORS[door](key, value, beside, request).cases
    assert replace(case, name="a") == expected


def test_every_key_has_its_rows():
    assert VALUES.keys() == EFFECTS.keys() == ARGUMENTS.keys()


def ran(stage: Stage, key: str, effect: Effect, value: object):
    given = {**dict(effect.beside), key: value}
    words = [f"{of_file(name)}={toml(one)}" for name, one in given.items()]
    call = ["run", effect.subject, *(word for one in words for word in ("--set", one))]
    return stage.call(call)


@needs_compiler
@pytest.mark.parametrize("key", EFFECTS)
def test_a_right_value_passes_and_a_wrong_one_does_not(key, tmp_path, monkeypatch, capsys):
    stage = Stage(tmp_path, monkeypatch, capsys)
    np.savez(stage.folder / "feed.npz", SAADC=np.zeros((4, 1), np.int16))
    with np.load(ROWS) as rows:
        np.savez(stage.folder / "few.npz", **{name: array[:10] for name, array in rows.items()})
    hexfile = ["arm-none-eabi-objcopy", "-O", "ihex", "hello.elf", "hello.hex"]
    subprocess.run(hexfile, cwd=stage.folder, check=True)
    effect = EFFECTS[key]
    right = ran(stage, key, effect, effect.right)
    assert right.green, right.said
    wrong = ran(stage, key, effect, effect.wrong)
    assert not wrong.green, wrong.said
    assert "a bug in tflm-hil" not in wrong.said
    assert effect.says in wrong.said


#: Door -> the call with a target, given as that door gives it.
TARGETED: dict[str, Callable[[Stage, str], object]] = {
    "run": lambda stage, name: stage.cli(f"run hil.toml --target {name}"),
    "robot cases": lambda stage, name: stage.robot("Run Case    hil.toml", f"TARGET:{name}"),
    "robot live": lambda stage, name: stage.robot(
        "Start Target    ${ELF}    model=hello.tflite\nWait For Inference    3", f"TARGET:{name}"
    ),
    "pytest cases": lambda stage, name: stage.pytest("", f"--hil-target={name}"),
    "pytest runs": lambda stage, name: stage.pytest(
        "assert hil.run('hello.elf', model='hello.tflite')", f"--hil-target={name}"
    ),
    "pytest live": lambda stage, name: stage.pytest(
        "hil.session('hello.elf', model='hello.tflite').wait_for_inferences(3)",
        f"--hil-target={name}",
    ),
    "action": lambda stage, name: stage.action(targets=name),
}
#: Target -> what the call says; "" is green.
OUTCOMES = {
    "simulator": "",
    "virtual-board": "",
    "renode": "RENODE is not a program: /no/such/renode",
    "board": "no board is attached",
    "simulatr": "no target 'simulatr'",
}


#: The action installs a Renode that is absent, over the network.
NOT_TRIED = ("action", "renode")


@pytest.mark.slow
@pytest.mark.needs("arm-none-eabi-gcc", "flatc", "pyocd")  # virtual-board is read through pyocd
@pytest.mark.parametrize("door", TARGETED)
def test_each_door_runs_on_the_target_that_is_named(door, tmp_path, monkeypatch, capsys):
    wrong = []
    for target, says in OUTCOMES.items():
        if (door, target) == NOT_TRIED:
            continue
        folder = tmp_path / target
        folder.mkdir()
        outcome = TARGETED[door](Stage(folder, monkeypatch, capsys), target)
        if outcome.green is bool(says) or says not in outcome.said:
            wrong.append(f"{target}: {outcome.said}")
    assert not wrong, "\n".join(wrong)
