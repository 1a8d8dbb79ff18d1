"""Every hint that stands beside a verdict: what earns it, and what looks alike and does not."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import inner_pytest
import numpy as np
import pytest
from bare_images import BareImages
from bare_interpreter import with_interpreter
from device import line
from little_tflm import compile_little
from model_builder import Op, T, build

from harness.base import paths
from harness.base.errors import CheckFailed, HilError
from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.base.hints import Hint
from harness.case import Case, CaseResult, load_cases, run_case
from harness.case.lifecycle import lifecycle
from harness.case.live import Live
from harness.cli import main
from harness.uart.scrapers import SCRAPERS

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "gdb-multiarch")

PAGE = paths.PACKAGE.parent / "docs" / "how-to" / "failure.md"
Y = r"/y=(?P<y>\d+)/"
MISSING = "Failed to allocate tail memory. Requested: {0}, available 12, missing: {0}"
NODE = "Node FULLY_CONNECTED (number 0) failed to prepare with status 1"
NO_OPERATOR = "Didn't find op for builtin opcode 'SOFTMAX'"
SPIN = "for (;;) wait();"


def say(*lines: str) -> str:
    return "".join(f'say("{text}\\n");' for text in lines)


def record(kind: str, sequence: int = 0, **fields: object) -> str:
    text = line(sequence, kind, **fields).decode().strip()
    return "".join(f'say("{text[at : at + 100]}");' for at in range(0, len(text), 100)) + say("")


def dense(weights: str, value: int = 1) -> bytes:
    """A FULLY_CONNECTED with float activations, and weights of one value."""
    values = np.full((3, 4), value, weights)
    scale = None if weights == "float32" else 0.1
    tensors = [T((1, 4), "float32"), T((3, 4), weights, scale, 0, values, name="dense/kernel"),
               T((1, 3), "float32")]  # fmt: skip
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    return build(tensors, [operator], [0], [2])


def quantized() -> bytes:
    """A FULLY_CONNECTED whose output of int8 stands for -12.8 to 12.7."""
    weights = np.ones((1, 1), "int8")
    tensors = [T((1, 1), "int8", 0.1, 0), T((1, 1), "int8", 0.1, 0, weights),
               T((1, 1), "int8", 0.1, 0)]  # fmt: skip
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    return build(tensors, [operator], [0], [2])


#: A loop before AllocateTensors(), whose end the compiler does not know.
WAITS = "for (volatile int on = 1; on;) {} interpret(g_model, resolver);"


@dataclass
class Doors:
    """The public ways to a verdict. Each gives its hint, "" without one."""

    images: BareImages
    folder: Path
    capsys: pytest.CaptureFixture[str]
    pytester: pytest.Pytester

    def image(self, body: str, model: bytes = b"", allocates: str = "") -> Path:
        return with_interpreter(self.images, self.folder, body, model, allocates)

    def result(self, body: str, *, holds: bytes = b"", model: bytes = b"", **keys) -> CaseResult:
        """Of a case for an image that ``holds`` a model, with the file of a ``model``."""
        given = {"scraper": Y, "expect": Expected(values=({"y": 1},)), "timeout": 2.0,
                 "observe_after": 0.1} | keys  # fmt: skip
        if model:
            given["model"] = self.folder / "m.tflite"
            given["model"].write_bytes(model)
        elf = self.image(body, holds) if holds else self.images(body)
        return run_case(Case("own", elf=elf, **given), self.folder)

    def run(self, body: str, **keys) -> str:
        return self.result(body, **keys).judgement.hint

    def two_files(self, first_line: str) -> str:
        """Of an image with wrong values; one file reads a header behind ``first_line``."""
        header, own, other = (self.folder / name for name in ("s.h", "own.c", "other.c"))
        header.write_text("struct settings { char zero; int gain; };\n")
        own.write_text('#include "s.h"\nstruct settings settings;\n')
        other.write_text(f'{first_line}\n#include "s.h"\nextern struct settings settings;\n'
                         "int gain(void) { return settings.gain; }\n")  # fmt: skip
        elf = self.images("gain();" + say("y=2"), f"-O1 {own} {other}")
        case = Case("own", elf=elf, scraper=Y, expect=Expected(values=({"y": 1},)))
        return run_case(case, self.folder).judgement.hint

    def unparsed(self, body: str, **keys) -> str:
        """The message about a number that cannot be read."""
        findings = self.result(body, **keys).evidence.findings
        return next(one.message for one in findings if one.kind is Kind.UNPARSED_VALUE)

    def case_file(self, body: str, text: str) -> str:
        """The hint of a case with ``text`` in its file."""
        file = self.folder / "hil.toml"
        known = f"name = 'own'\nelf = '{self.images(body)}'\nscraper = '{Y}'\n"
        file.write_text(f"[[case]]\n{known}expect.values = [{{ y = 1 }}]\n{text}\n")
        return run_case(*load_cases(file), self.folder).judgement.hint

    def session(self, body: str, test: Callable[[Live], object]) -> str:
        try:
            with Live.open(Case("own", elf=self.images(body))) as live:
                test(live)
        except HilError as error:
            return error.hint
        return ""

    def in_a_test(self, body: str, test: str) -> str:
        """The hint of a pytest session; RUN in ``test`` runs the image."""
        run = f'hil.run("{self.images(body)}", scraper=r"{Y}", expect={{"values": [{{"y": 1}}]}})'
        self.pytester.makepyfile(f"def test_it(hil):\n    {test.replace('RUN', run)}")
        said = inner_pytest.run(self.pytester).stdout.str()
        return "".join(re.findall("^ *hint: (.*)$", said, re.MULTILINE)[:1])

    def command(self, *words: str | Path) -> str:
        main([str(word) for word in words])
        return self.capsys.readouterr().err.partition("\nhint: ")[2].strip()

    def arena(self, allocates: str) -> str:
        body = "take(0, g_model, g_model, tensor_arena, sizeof tensor_arena); allocate();"
        return self.command("arena", self.image(body, dense("float32"), allocates))

    def debug(self, body: str) -> str:
        (self.folder / "gdb").touch()
        return self.command("debug", self.images(body), "--at", "fault", "--timeout", "0.1",
                            "--batch", self.folder / "gdb")  # fmt: skip

    def campaign(self, sample: str, *words: str) -> str:
        return self.command("campaign", sample, "--count", "20", "--workers", "1", *words)

    def calls(self, *records: bytes) -> str:
        console = self.folder / "console.bin"
        console.write_bytes(b"".join(records))
        with pytest.raises(CheckFailed) as failed:
            lifecycle(console, "Atan")
        return failed.value.hint

    @cached_property
    def little(self) -> Path:
        """A folder with a firmware as app.elf, stripped.elf, app.hex."""
        made = self.folder / "little"
        elf = compile_little(made, interpret=WAITS)
        for command in (["objcopy", elf, "app.elf"], ["strip", "-o", "stripped.elf", elf],
                        ["objcopy", "-O", "ihex", elf, "app.hex"]):  # fmt: skip
            subprocess.run([f"arm-none-eabi-{command[0]}", *command[1:]], cwd=made, check=True)
        return made

    def resolver(self, name: str, *words: str) -> str:
        """Of an image that waits before it allocates."""
        return self.command("resolver", "check", self.little / name, "hello_world_int8",
                            "--timeout", "0.01", *words)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A hint with the facts of its text, what earns it, and what looks alike and does not."""

    hint: Hint
    earns: Callable[[Doors], str]
    alike: Callable[[Doors], str]
    facts: dict[str, object]


def row(hint: Hint, earns: Callable[[Doors], str], alike: Callable[[Doors], str],
        **facts: object) -> Row:  # fmt: skip
    return Row(hint, earns, alike, facts)


FLOAT, OTHER = dense("float32"), dense("float32", 2)
REMEDY = "convert with full integer quantization (a representative_dataset), or with none"
SAYS_NODE = say(NODE, "AllocateTensors() failed")
OUTPUT = record("output", 1, inference=0, index=0, offset=0, total=1, hex="00")
CALLS = {"operator": "Atan", "init": 1, "prepare": 1, "invoke": 1, "free": 1, "reset": 0}
RECORDS = {"scraper": "", "expect": Expected()}
PRINTED = {"scraper": "", "expect": Expected(), "inputs": (r"x=(\S+)",), "outputs": (r"y=(\S+)",)}
TABLE = (
    row(Hint.LARGER_ARENA,
        lambda on: on.run(say(MISSING.format(65_536))),
        lambda on: on.run(say("Couldn't allocate memory for tensor arena"))),
    row(Hint.BEYOND_RAM,
        lambda on: on.run(say(MISSING.format(262_145))),
        lambda on: on.run(say(MISSING.format(262_144))),
        wanted=262_145),
    row(Hint.CONVERT_MODEL,
        lambda on: on.run(SAYS_NODE, model=dense("int8")),
        lambda on: on.run(SAYS_NODE, model=FLOAT),
        remedy=REMEDY),
    row(Hint.NAME_MODEL,
        lambda on: on.run(say("y=2"), holds=OTHER, model=FLOAT),
        lambda on: on.run(say("y=2"), holds=FLOAT, model=FLOAT)),
    row(Hint.GIVE_MODEL,
        lambda on: on.run(record("boot") + OUTPUT + record("end", 2, inferences=1), **RECORDS),
        lambda on: on.run(record("boot") + record("end", 1, inferences=0), **RECORDS)),
    row(Hint.ONE_LAYOUT,
        lambda on: on.two_files("#pragma pack(1)"),
        lambda on: on.two_files("#pragma pack()")),
    row(Hint.COMPARE_RESULTS,
        lambda on: on.run(say("y=1"), expect=Expected()),
        lambda on: on.run(say("y is 1"), expect=Expected()),
        reference="expect.values in a case file (docs/cases.md)"),
    row(Hint.LIST_A_ROUND,
        lambda on: on.run(say("y=1", "y=2", "y=3") + SPIN, end="never"),
        lambda on: on.run(say("y=2", "y=2", "y=3") + SPIN, end="never")),
    row(Hint.REAL_VALUES,
        lambda on: on.unparsed(say("x=1", "y=0.5"), model=quantized(), **PRINTED).split("; ")[-1],
        lambda on: on.unparsed(say("x=1", "y=300"), model=quantized(), **PRINTED).split("; ")[-1]),
    row(Hint.OTHER_SCRAPER,
        lambda on: on.run(say("x_value: 1.0, y_value: 0.0")),
        lambda on: on.run(say("x_scale: 1.0, y_scale: 0.0")),
        name="hello_world", results="1 result"),
    row(Hint.NEEDS_SCRAPER,
        lambda on: on.run(say("score: 7"), **RECORDS),
        lambda on: on.run(say("*** Booting Zephyr OS build v3.7.0 ***", "[00:00:00.250,000] up"),
                          **RECORDS),
        known=", ".join(SCRAPERS)),
    row(Hint.SEND_INPUT,
        lambda on: on.run(record("boot") + record("ready", 1, input_bytes=1), **RECORDS),
        lambda on: on.run(record("ready") + record("stack", 1), **RECORDS)),
    row(Hint.LARGER_GUARD,
        lambda on: re.sub("about .* s:", "about 1 s:", on.run(
            "for (;;) { wait(); " + say("z") + "}", timeout=1e4, guard=0.2)),
        lambda on: on.run(say("z") + SPIN, timeout=1e4, guard=0.2),
        timeout=1e4, needed=1),
    row(Hint.MORE_TIME,
        lambda on: on.run("for (;;) { wait(); " + say("y=1") + "}", timeout=0.1, inferences=999),
        lambda on: on.run(say("y=1") + SPIN, timeout=0.1, inferences=999)),
    row(Hint.NEVER_ENDS,
        lambda on: on.run(say("y=1") + SPIN, timeout=0.1),
        lambda on: on.run(say("y=1") + SPIN, timeout=0.1, inferences=2)),
    row(Hint.DROP_KEY,
        lambda on: on.case_file(say("y=1"), "press = ['button1@999']"),
        lambda on: on.case_file(say("y=2"), "press = ['button1@999']")),
    row(Hint.ASSERT_SOMETHING,
        lambda on: on.session(say("y=1"), lambda live: live.run_for(0.1)),
        lambda on: on.session(say("y=1"), lambda live: live.wait_for("y=2"))),
    row(Hint.CHECK_VERDICT,
        lambda on: on.in_a_test(say("y=2"), "RUN"),
        lambda on: on.in_a_test(say("y=2"), "assert not RUN")),
    row(Hint.COUNT_CALLS,
        lambda on: on.calls(line(0, "boot"), line(1, "end", inferences=1)),
        lambda on: on.calls(line(0, "boot"))),
    row(Hint.WITHOUT_STRIP,
        lambda on: on.resolver("stripped.elf", "--until", "setup").partition(", or ")[0],
        lambda on: on.resolver("app.elf", "--until", "setup").partition(", or ")[0]),
    row(Hint.ALSO_LOAD,
        lambda on: on.resolver("app.hex", "--until", "setup").partition(", or ")[0],
        lambda on: on.resolver("app.hex", "--until", "setup", "--also-load",
                               str(on.little / "app.elf"))),
    row(Hint.PASS_ELF,
        lambda on: on.command("arena", on.little / "app.hex"),
        lambda on: on.command("arena", on.little / "app.elf")),
    row(Hint.READ_LATER,
        lambda on: on.resolver("app.elf"),
        lambda on: on.resolver("app.elf", "--until", "setup")),
    row(Hint.RESOLVER_LACKS,
        lambda on: on.run(say(NO_OPERATOR, "AllocateTensors() failed")),
        lambda on: on.run(say("AllocateTensors() failed"))),
    row(Hint.NOT_THE_ARENA,
        lambda on: on.arena(say(NODE) + "return 1;"),
        lambda on: on.arena(say(MISSING.format(512), NODE) + "return 1;")),
    row(Hint.WHERE_IT_HANGS,
        lambda on: on.debug(say("y=1")),
        lambda on: on.debug(say("y=1") + SPIN)),
    row(Hint.DEBUG_LONGER,
        lambda on: on.debug(say("y=1") + SPIN),
        lambda on: on.debug(say("y=1"))),
    row(Hint.OWN_INPUTS,
        lambda on: on.campaign("hello_world", "--inputs", str(on.folder / "rows.npy")),
        lambda on: on.campaign("hello_world", "--resolver", "console", "--inference", "999")),
    row(Hint.LARGER_COUNT,
        lambda on: on.campaign("hello_world", "--budget", "hang=0.1"),
        lambda on: on.campaign("hello_world", "--budget", "masked=0")),
)  # fmt: skip


EVIDENCE = [hint.evidence for hint in Hint]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def doors(
    images: BareImages,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pytester: pytest.Pytester,
) -> Doors:
    np.save(tmp_path / "rows.npy", np.zeros((1, 1), "int8"))
    return Doors(images, tmp_path, capsys, pytester)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.hint.name)
def test_a_hint_is_earned(row: Row, doors: Doors) -> None:
    assert row.earns(doors) == row.hint.told(**row.facts)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.hint.name)
def test_what_looks_alike_does_not_earn_it(row: Row, doors: Doors) -> None:
    with_any_facts = re.sub(r"\\\{.*?\\\}", ".+", re.escape(row.hint.text))
    assert not re.search(with_any_facts, row.alike(doors))


def test_no_hint_is_left_out() -> None:
    assert [row.hint for row in TABLE] == [*Hint]


def test_no_other_module_makes_a_text() -> None:
    """What takes one takes a HintText (mypy); the hint of an error that ends a case is its own."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths.PACKAGE.rglob("*.py")}
    makers = {
        path.relative_to(paths.PACKAGE).as_posix()
        for path, text in texts.items()
        if "HintText" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "HintText"
    }
    assert makers == {"base/hints.py", "case/run.py"}


def test_the_page_has_each_with_its_evidence() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [evidence for _, evidence in rows if evidence in EVIDENCE] == [*EVIDENCE]
