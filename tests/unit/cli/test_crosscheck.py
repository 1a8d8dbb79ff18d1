"""``tflm-hil run X --target simulator,renode``: the real simulator beside a scripted Renode."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import needs
import pytest
from fake_renode import FakeRenode, ran

from harness.build.standalone import build_standalone
from harness.case import Case
from harness.cli import main
from harness.cli.run.crosschecks import CrossChecks
from harness.elf import Image
from harness.targets import ConsoleMatch, open_target
from harness.targets.renode import RenodeServer, server

END = rb"~HIL \d+ end [^\n]*\n"
OUTPUT = b" output inference=3 "
RAM = 0x20000000


@pytest.fixture(scope="module")
def image() -> Path:
    needs.require("arm-none-eabi-gcc", "flatc")
    return build_standalone("hello_world", "exact").elf


class Twin:
    """A Renode that prints what the simulator has printed, and then has the same RAM."""

    def __init__(self, image: Path) -> None:
        with open_target("simulator", Image.from_elf(image)) as session:
            session.run(ConsoleMatch(END), session.deadline(10))
            self.printed = [(int(one.time * 1e9), one.data) for one in session.console]
            self.ram = bytearray(session.memory.read(RAM, 0x4000))
            self.executed = session.counters.instructions
        self._now = 0
        self.renode = FakeRenode(run=self._run, send_bytes=self._bytes)

    def _run(self, budget: int, wall: int, target: int) -> list[str]:
        if self._now:
            self._now += budget
            return ran(time=self._now, executed=self.executed)
        self._now = self.printed[-1][0]
        lines = [f"console {at} {data.hex()}" for at, data in self.printed]
        return ran(*lines, time=self._now, executed=self.executed, stop="match")

    def _bytes(self, address: int, size: int) -> list[str]:
        return [self.ram[address - RAM :][:size].hex()]


@pytest.fixture
def twin(image: Path, monkeypatch: pytest.MonkeyPatch) -> Twin:
    one = Twin(image)
    connected = lambda _: RenodeServer(connect=one.renode.connect)  # noqa: E731
    monkeypatch.setattr(server, "RenodeServer", connected)
    return one


def run(image: Path, output: Path, capsys, *options: str) -> tuple[int, str]:
    arguments = ["run", str(image), "--target", "simulator,renode", "--output", str(output)]
    code = main([*arguments, "--model", "hello_world_int8", *options])
    return code, capsys.readouterr().out


def test_two_targets_that_show_the_same_are_equal(twin, image, tmp_path, capsys):
    code, out = run(image, tmp_path, capsys)
    assert code == 0, out
    assert "simulator and renode are equal" in out
    assert "20 output records, 3,072 B of (anonymous namespace)::tensor_arena" in out
    assert "20 equal" in out


def test_the_first_output_that_differs_is_named_and_fails_the_run(twin, image, tmp_path, capsys):
    twin.printed = [(at, data.replace(OUTPUT, OUTPUT + b"x=1 ")) for at, data in twin.printed]
    code, out = run(image, tmp_path, capsys)
    assert code == 1
    assert "simulator and renode differ: output record 3: " in out


def test_a_byte_of_ram_that_differs_is_named_and_fails_the_run(twin, image, tmp_path, capsys):
    firmware = Image.from_elf(image)
    arena = next(s for s in firmware.symbols if "tensor_arena" in s.name)
    twin.ram[arena.address + 0x20 - RAM] = 0xA5
    code, out = run(image, tmp_path, capsys)
    assert code == 1
    assert "differ: (anonymous namespace)::tensor_arena+0x20: 0x" in out
    assert "against 0xa5" in out


def test_json_holds_the_comparison(twin, image, tmp_path, capsys):
    code, out = run(image, tmp_path, capsys, "--json")
    assert code == 0
    (check,) = json.loads(out)["crosschecks"]
    assert (check["targets"], check["equal"]) == (["simulator", "renode"], True)
    assert check["outputs"] == 20
    schema = Path(__file__).parents[3] / "harness" / "schemas" / "run.json"
    jsonschema.validate(json.loads(out), json.loads(schema.read_text()))


def test_a_target_that_is_not_here_is_named_and_nothing_is_called_equal(image, tmp_path, capsys):
    code, out = run(image, tmp_path, capsys, "--renode", "/nowhere/renode")
    assert code == 3
    assert "simulator and renode not compared: no run on renode" in out
    assert "are equal" not in out


def test_a_symbol_that_is_not_there_is_an_error(twin, image, tmp_path, capsys):
    code, out = run(image, tmp_path, capsys, "--symbol", "nothing_like_it")
    assert code == 2
    assert "has no object 'nothing_like_it'" in out


def test_a_target_is_not_compared_with_itself(image):
    case = Case("one", elf=image)
    assert not CrossChecks([case, case]).wanted
    assert CrossChecks([case, case.on("renode")]).wanted


def test_symbols_need_two_targets(image, tmp_path, capsys):
    assert main(["run", str(image), "--symbol", "x", "--output", str(tmp_path)]) == 2
    assert "no case runs on two" in capsys.readouterr().err
