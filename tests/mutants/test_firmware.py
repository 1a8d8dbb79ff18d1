"""Images with one bit flipped, in code or model: a pass only if all was compared and is right."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from test_transcripts import what_noticed

from harness.build.builders import build_one
from harness.case import Case, run_case
from harness.case.samples import sample_case
from harness.elf import Image
from harness.reference import Interpreter

pytestmark = [
    pytest.mark.needs("arm-none-eabi-gcc", "flatc"),
    pytest.mark.timeout(3600),
]

SAMPLES = ("hello_world", "digits")
#: Bits of each image that are flipped, one a run, the same ones each time.
_FLIPS, _SEED = 1000, 2026
#: The time of a run, in that of the good image.
_LONGEST = 1.5
_TENSOR = re.compile(
    rb"~HIL \d+ (input|output) inference=(\d+) index=0 offset=(\d+) total=(\d+) hex=([0-9a-f]+) "
)


def tensors(console: bytes) -> dict[tuple[bytes, int], bytearray]:
    """What a console says went in and came out, by kind and inference; parts must follow on."""
    found: dict[tuple[bytes, int], bytearray] = {}
    for kind, inference, offset, total, data in _TENSOR.findall(console):
        tensor = found.setdefault((kind, int(inference)), bytearray())
        assert len(tensor) == int(offset), "a part is missing or came twice"
        tensor += bytes.fromhex(data.decode())
        assert len(tensor) <= int(total)
    return found


def wrong_for_all_that_it_passed(console: bytes, good: bytes, model, inputs_are_known) -> str:
    """Why a console that passed should not have; "" where it is right in every output."""
    said, wanted = tensors(console), tensors(good)
    if said.keys() != wanted.keys():
        return f"tensors {sorted(said.keys() ^ wanted.keys())} are not those of the good image"
    if inputs_are_known and said != wanted:
        return "inputs or outputs are not those of the good image"
    interpreter = Interpreter.from_file(model)
    for (kind, number), data in said.items():
        if kind == b"output":
            put = np.frombuffer(said[b"input", number], interpreter.inputs[0].dtype)
            right = interpreter.invoke([put.reshape(interpreter.inputs[0].shape)])[0]
            if right.tobytes() != bytes(data):
                return f"output {number} is wrong"
    return ""


def flips(elf, seed: str, count: int) -> list[tuple[int, int]]:
    """Offsets in the file and bits, seeded: anywhere in what is loaded into flash."""
    image = Image.from_elf(elf)
    data = elf.read_bytes()
    offsets = []
    for segment in image.segments:
        start = data.find(segment.data) if segment.data else -1
        if start >= 0 and segment.address < 0x1000_0000:
            offsets += range(start, start + len(segment.data))
    chance = random.Random(seed)
    return [(chance.choice(offsets), chance.randrange(8)) for _ in range(count)]


def _cases(name: str, elf, timeout: float) -> dict[str, Case]:
    case = replace(sample_case(name, "exact"), timeout=timeout)
    return {"sample": case, "elf": Case("own", elf=elf, model=case.model, timeout=timeout)}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_bit_flip_that_passes_changed_no_output(
    name, part, tally, tmp_path, monkeypatch, explained_tenth
):
    good_elf = build_one(name, "exact")
    right = run_case(sample_case(name, "exact"), tmp_path)
    good, timeout = right.console.read_bytes(), _LONGEST * right.measures.virtual_seconds
    elf, wrong = tmp_path / good_elf.name, []
    monkeypatch.setattr("harness.case.samples.build_one", lambda *names: elf)
    chosen = flips(good_elf, f"{_SEED} {name}", _FLIPS)[part]
    for number, (offset, bit) in enumerate(chosen):
        data = bytearray(good_elf.read_bytes())
        data[offset] ^= 1 << bit
        elf.write_bytes(data)
        way = ("sample", "elf")[number % 2]
        case = _cases(name, elf, timeout)[way]
        with explained_tenth(number):
            result = run_case(case, tmp_path)
        if not result.passed:
            tally.noticed("bit flips", what_noticed(result))
            continue
        tally.noticed("bit flips", ["nothing: every output was compared and is right"])
        console = result.console.read_bytes()
        why = wrong_for_all_that_it_passed(console, good, case.model, way == "sample")
        if why:
            wrong.append(f"bit {bit} at file offset 0x{offset:x} as {way}: {why}")
    assert not wrong, "\n".join(wrong)


def test_the_plain_check_finds_what_is_wrong(tmp_path):
    case = sample_case("hello_world", "exact")
    good = run_case(case, tmp_path).console.read_bytes()
    one = re.search(rb" output inference=3 index=0 offset=0 total=1 hex=(..)", good)
    wrong = good[: one.end() - 2] + b"55" + good[one.end() :]
    less = good.replace(b" output inference=7 ", b" uotput inference=7 ")
    assert wrong_for_all_that_it_passed(good, good, case.model, True) == ""
    assert "output 3 is wrong" in wrong_for_all_that_it_passed(wrong, good, case.model, False)
    assert "not those" in wrong_for_all_that_it_passed(wrong, good, case.model, True)
    assert "not those" in wrong_for_all_that_it_passed(less, good, case.model, False)
