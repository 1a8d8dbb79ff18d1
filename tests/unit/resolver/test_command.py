"""`tflm-hil resolver` from the command line: exit codes, reasons, hints, documents."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_runs import BOTH, CONV, NEEDED, SOFTMAX

from harness.base.errors import ExitCode
from harness.cli import main
from harness.elf import Image

Compile = Callable[..., Image]
Said = Callable[..., tuple[int, str, str]]

FOREVER = f"{BOTH} for (volatile int forever = 1; forever;) ++forever;"


@pytest.fixture
def resolver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs ``resolver`` with these words; MODEL is that of the images."""
    model = tmp_path / "made.tflite"
    model.write_bytes(NEEDED.data)

    def run(*words: object) -> tuple[int, str, str]:
        code = main(["resolver", *(str(model) if word == "MODEL" else str(word) for word in words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize(
    ("register", "slots", "code", "said"),
    [(BOTH, 2, ExitCode.PASSED, ""),
     (f"{BOTH} resolver.AddAdd();", 3, ExitCode.PASSED, ""),
     (CONV, 1, ExitCode.CHECK_FAILED, "is wrong for made.tflite: missing"),
     (f"{CONV} {BOTH}", 2, ExitCode.CHECK_FAILED, "is wrong for made.tflite: duplicate"),
     (BOTH, 1, ExitCode.CHECK_FAILED, "is wrong for made.tflite: missing, too_small"),
     (FOREVER, 2, ExitCode.CANNOT_TELL,
      "cannot tell whether the resolver of little.elf is right for made.tflite: "
      "AllocateTensors() is not reached: when its time is over, the image is in setup")],
    ids=["ok", "unused", "missing", "duplicate", "too small", "cannot tell"],
)  # fmt: skip
def test_the_exit_code_is_that_of_the_verdict(
    compile_image: Compile, resolver: Said, register: str, slots: int, code: int, said: str
) -> None:
    image = compile_image(register, slots)
    found, _, error = resolver("check", image.path, "MODEL", "--timeout", "0.05")
    assert found == code
    assert said in error if said else not error


@pytest.mark.parametrize(
    ("words", "said"),
    [(["check", "{elf}"], "needs MODEL"),
     (["check", "{elf}", "MODEL", "--live"], "resolver check runs the image"),
     (["check", "{elf}", "MODEL", "--until", "nowhere"], "has no function 'nowhere'"),
     (["check", "{elf}", "MODEL", "--timeout", "-1"], "--timeout"),
     (["check", "{elf}", "MODEL", "--target", "nowhere"], "--target"),
     (["explain", "ADD", "{elf}"], "resolver dump")],
)  # fmt: skip
def test_a_wrong_call_is_exit_code_2(
    compile_image: Compile, resolver: Said, words: list[str], said: str
) -> None:
    elf = str(compile_image(BOTH).path)
    code, _, error = resolver(*(word.format(elf=elf) for word in words))
    assert code == ExitCode.USAGE == 2
    assert said in error


def test_the_timeout_is_of_the_target_s_clock(compile_image: Compile, resolver: Said) -> None:
    late = compile_image(f"for (volatile int i = 0; i < 500000; ++i) {{}} {BOTH}")
    codes = [resolver("check", late.path, "MODEL", "--timeout", each)[0] for each in ("0.01", "1")]
    assert codes == [ExitCode.CANNOT_TELL, ExitCode.PASSED]


def test_until_names_where_the_resolver_is_read(compile_image: Compile, resolver: Said) -> None:
    image = compile_image(CONV, interpret=f"interpret(g_model, resolver); {SOFTMAX}")
    assert resolver("check", image.path, "MODEL")[0] == ExitCode.CHECK_FAILED
    assert resolver("check", image.path, "MODEL", "--until", "loop")[0] == ExitCode.PASSED


def document(said: Said, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*words, "--json", "-")[1])
    return found


def test_the_document_of_a_check_has_verdict_and_reason(
    compile_image: Compile, resolver: Said
) -> None:
    image = compile_image(FOREVER)
    found = document(resolver, "check", image.path, "MODEL", "--timeout", "0.05")
    assert (found["verdict"], found["registered"]) == ("cannot_tell", None)
    assert found["reason"].startswith("AllocateTensors() is not reached")
    assert found["resolver"]["registered"] is None
    assert found["linked"] == ["CONV_2D", "SOFTMAX"]


OTHER = "static tflite::MicroMutableOpResolver<5> other; other.AddAdd();"


def test_dump_lists_the_interpreter_s_resolver_first_then_the_others(
    compile_image: Compile, resolver: Said
) -> None:
    image = compile_image(f"{OTHER} {BOTH} resolver.AddAdd();", extra=("-O0",))
    code, out, error = resolver("dump", image.path)
    assert code == ExitCode.PASSED
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    assert [head.partition(" at ")[0] for head in heads] == ["resolver", "setup::other"]
    assert "  0  CONV_2D  added in setup at main.cc:" in out
    assert "  -  ADD is refused in setup at main.cc:" in out
    assert error.startswith("note: several resolvers are in memory")
    found = document(resolver, "dump", image.path)
    assert (found["elf"], found["target"]) == (str(image.path), "simulator")
    first, second = found["resolvers"]
    assert [one["operator"] for one in first["registered"]] == ["CONV_2D", "SOFTMAX"]
    assert [one["operator"] for one in first["refused"]] == ["ADD"]
    assert (second["declared"], second["source"], second["slot_bytes"]) == (5, "dwarf", 36)


def test_dump_of_an_image_without_a_resolver_cannot_tell(tmp_path: Path, resolver: Said) -> None:
    path = tmp_path / "silent.elf"
    code = MadeSection(
        ".text", 0, struct.pack("<IIH", 0x2000_1000, 9, 0xE7FE), load=0, executable=True
    )
    path.write_bytes(write_elf([code], [MadeSymbol("main", 9, 2, "func")]))
    found, _, error = resolver("dump", path, "--timeout", "0.05")
    assert found == ExitCode.CANNOT_TELL
    assert "the image names no interpreter of tflite-micro" in error
