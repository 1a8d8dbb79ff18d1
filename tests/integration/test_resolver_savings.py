"""What `resolver check` says that a resolver of exactly the model saves, against real builds."""

from __future__ import annotations

import pytest

from harness import footprint
from harness.base import paths
from harness.build.builders import build_one
from harness.cli import main
from harness.elf import Image
from harness.model import Model
from harness.resolver import Audit, check

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
MODEL = "hello_world_int8.tflite"


def image(resolver: str) -> Image:
    return Image.from_elf(build_one("hello_world", resolver, "standalone", "nrf9160"))


def audited(resolver: str) -> Audit:
    return check(image(resolver), Model.from_file(paths.models() / MODEL))


def used(firmware: Image) -> dict[str, int]:
    return {region.name: region.used for region in footprint.analyse(firmware).regions}


@pytest.mark.parametrize("resolver", ["person_detection", "all", "too_large"])
def test_the_bytes_that_are_said_are_those_of_an_image_without_them(resolver: str) -> None:
    """Within 160 B of flash per operator and 3 %, for the calls that register; RAM to a word."""
    audit, before, after = audited(resolver), used(image(resolver)), used(image("exact"))
    assert audit.saved_flash is not None and audit.saved_ram is not None
    unused = sum(1 for row in audit.operators if not row.needed)
    flash = before["FLASH"] - after["FLASH"]
    assert abs(flash - audit.saved_flash) <= 160 * max(unused, 1) + 0.03 * flash
    assert abs(before["RAM"] - after["RAM"] - audit.saved_ram) <= 8  # of an alignment


@pytest.mark.parametrize(
    ("resolver", "flash", "ram"), [("exact", 0, 0), ("missing", None, None), ("empty", None, None)]
)
def test_an_exact_resolver_saves_nothing_and_of_a_wrong_one_nothing_is_said(
    resolver: str, flash: int | None, ram: int | None
) -> None:
    audit = audited(resolver)
    assert (audit.saved_flash, audit.saved_ram) == (flash, ram)


@pytest.mark.parametrize(
    ("resolver", "said"),
    [
        (
            "person_detection",
            "a resolver of 1 slot saves about {flash:,} B of flash and 180 B of RAM",
        ),
        ("too_large", "a resolver of 1 slot saves 1,116 B of RAM"),
        ("exact", ""),
        ("missing", ""),
    ],
)
def test_the_command_names_the_saving_and_the_command_that_gives_it(
    resolver: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    main(["resolver", "check", str(image(resolver).path), MODEL])
    said = said.format(flash=audited(resolver).saved_flash)
    lines = [line for line in capsys.readouterr().out.splitlines() if "saves" in line]
    assert lines == ([f"{said}: tflm-hil resolver generate {MODEL}"] if said else [])
