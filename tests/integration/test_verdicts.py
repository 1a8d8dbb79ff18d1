"""Images that misbehave end within their deadline, with a verdict and the right exit code."""

import json
from pathlib import Path

import pytest
from kept_images import kept

from harness.base.errors import FirmwareFailed
from harness.case.case import Case
from harness.cli import main
from harness.keywords import TflmHil

COMPILER = "arm-none-eabi-gcc"
pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

HEAD = """
extern void reset(void);
void fault(void) { for (;;) __asm__("wfi"); }
__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    (void *)0x20010000, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
    (void *)fault};
"""
BODIES = {
    "silent": 'void reset(void) { for (;;) __asm__("wfi"); }',
    "loop": "void reset(void) { for (;;) {} }",
    "fault": "void reset(void) { *(volatile int *)0x60000000 = 1; }",
    "null_call": "void reset(void) { ((void (*)(void))0)(); }",
    "lockup": "void reset(void) { *(void *volatile *)0xE000ED08 = (void *)0xFFFFFF80;"
    " *(volatile int *)0x60000000 = 1; }",
    "reset_loop": "void reset(void) { *(volatile unsigned *)0xE000ED0C = 0x05FA0004; for (;;) {} }",
}
WORDS = {
    "silent": "silent",
    "loop": "silent",
    "fault": "PRECISERR",
    "null_call": "INVSTATE",
    "lockup": "PRECISERR",
    "reset_loop": "reset itself",
}


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    script = "SECTIONS { . = 0; .vectors : { KEEP(*(.vectors)) } .text : { *(.text*) } }"

    def make(name: str) -> Path:
        files = {f"{name}.c": HEAD + BODIES[name], "image.ld": script}
        flags = ["-mcpu=cortex-m33", "-mthumb", "-O1", "-g", "-nostdlib", "-fno-builtin"]
        command = [COMPILER, *flags, "-Timage.ld", f"{name}.c"]
        return kept(folder / f"{name}.elf", command, written=files)

    return make


@pytest.mark.parametrize("name", BODIES)
def test_an_image_that_misbehaves_is_the_firmwares_fault(build, name, tmp_path, capsys):
    arguments = ["run", str(build(name)), "--timeout", "0.5", "--output", str(tmp_path)]
    code = main([*arguments, "--json", "-"])
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert code == 4
    assert case["verdict"] == "firmware"
    assert WORDS[name] in case["reason"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"hello, I am a text\n",
        lambda data: data[:200],
        lambda data: data[:18] + b"\x3e\x00" + data[20:],
        lambda data: data[:4] + b"\x02" + data[5:],
    ],
    ids=["empty", "text", "truncated", "x86", "64-bit"],
)
def test_what_is_no_image_ends_in_one_line_and_exit_code_2(build, damage, tmp_path, capsys):
    path = tmp_path / "bad.elf"
    path.write_bytes(damage(build("silent").read_bytes()))
    code = main(["run", str(path), "--output", str(tmp_path)])
    said = capsys.readouterr().err
    assert code == 2
    assert said.startswith("tflm-hil: ")
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 2


@pytest.mark.parametrize("wait", ["wait_for_end", "wait_for_inference"])
def test_keywords_that_wait_fail_on_an_image_that_never_speaks(build, wait):
    library = TflmHil()
    library.start(Case("loop", elf=build("loop"), timeout=0.05))
    with pytest.raises(FirmwareFailed, match=r"it branches to itself .*; pc is in reset"):
        getattr(library, wait)()
    library.stop_target()
