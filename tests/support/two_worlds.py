"""The two images of tests/firmware/worlds, as a fixture, and the scenario that they are to play."""

from __future__ import annotations

import struct
import subprocess

import needs
import pytest
from firmwares import FLAGS
from firmwares import SOURCES as FIRMWARE

from harness.elf import Image, combined
from harness.simulator import Machine

SOURCES = FIRMWARE / "worlds"
SCENARIO = 0x2000_3FF0


def scenario(name: str) -> int:
    """The number of a scenario, as worlds.h has it."""
    text = (SOURCES / "worlds.h").read_text()
    names = text.partition("enum Scenario {")[2].partition("}")[0].replace("= 1", "").split(",")
    return [one.strip() for one in names].index(name) + 1


def machine_for(firmware: Image, name: str, operand: int = 0) -> Machine:
    machine = Machine(firmware)
    machine.write_memory(SCENARIO, struct.pack("<2I", scenario(name), operand))
    return machine


@pytest.fixture(scope="session")
def two_worlds(tmp_path_factory: pytest.TempPathFactory) -> Image:
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("worlds")

    def link(name: str, *more: str) -> Image:
        elf = folder / f"{name}.elf"
        command = [compiler, *FLAGS.split(), "-T", str(SOURCES / f"{name}.ld")]
        command += [str(SOURCES / f"{name}.c"), *more, "-o", str(elf)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Image.from_elf(elf)

    gateways = folder / "gateways.o"
    library = ("-Wl,--cmse-implib", f"-Wl,--out-implib={gateways}", "-lgcc")
    secure = link("secure", "-mcmse", *library)
    return combined.compose([link("nonsecure", str(gateways)), secure])
