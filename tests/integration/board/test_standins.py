"""The stand-ins refuse what the real tools refuse, so that a wrong command cannot pass here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.elf import hexfile

S = "960000001"
NRFUTIL = ["nrfutil", "device", "program", "--serial-number", S, "--firmware", "{hex}"]
NRFJPROG = ["nrfjprog", "--family", "NRF91", "--snr", S]
PYOCD = ["pyocd", "load", "--uid", S, "--target", "nrf91"]
JLINK = ["JLinkExe", "-USB", S, "-If", "SWD", "-CommandFile", "{script}"]

REFUSED = {
    "nrfutil: unknown subcommand": ["nrfutil", "device", "flash"],
    "nrfutil: unknown option": [*NRFUTIL, "--fast"],
    "nrfutil: erase mode that is none": [*NRFUTIL, "--options", "chip_erase_mode=ERASE_SOME"],
    "nrfutil: programming option that is none": [*NRFUTIL, "--options", "verfy=VERIFY_READ"],
    "nrfutil: an option twice": [*NRFUTIL, "--firmware", "{hex}"],
    "nrfutil: no firmware": NRFUTIL[:-2],
    "nrfutil: a value is missing": NRFUTIL[:-1],
    "nrfutil: a probe that is not there": [*NRFUTIL[:4], "1", *NRFUTIL[5:]],
    "nrfutil: a file that is no hex": [*NRFUTIL[:-1], "{script}"],
    "nrfutil: reset kind that is none": [
        *("nrfutil", "device", "reset", "--serial-number", S, "--reset-kind", "RESET_LOUD")
    ],
    "nrfjprog: no operation": NRFJPROG,
    "nrfjprog: two operations": [*NRFJPROG, "--memrd", "0", "--verify", "{hex}"],
    "nrfjprog: no erase": [*NRFJPROG, "--program", "{hex}"],
    "nrfjprog: another family": ["nrfjprog", "--family", "NRF52", "--snr", S, "--pinreset"],
    "nrfjprog: leading zeros": ["nrfjprog", "--family", "NRF91", "--snr", f"000{S}", "--pinreset"],
    "nrfjprog: unknown option": [*NRFJPROG, "--pinreset", "--hard"],
    "pyocd: no target": ["pyocd", "load", "--uid", S, "{hex}"],
    "pyocd: erase mode that is none": [*PYOCD, "--erase", "some", "{hex}"],
    "pyocd: no file": PYOCD,
    "pyocd: unknown subcommand": ["pyocd", "burn"],
    "JLinkExe: no device": JLINK,
    "JLinkExe: JTAG": ["JLinkExe", "-USB", S, "-Device", "nRF9160_xxAA", "-If", "JTAG",
                       "-CommandFile", "{script}"],
    "JLinkExe: unknown command": [*JLINK, "-Device", "nRF9160_xxAA"],
    "west: no build folder": ["west", "flash", "--skip-rebuild", "--build-dir", "{dir}",
                              "--runner", "nrfutil", "--dev-id", S, "--hex-file", "{hex}"],
    "west: unknown option": ["west", "flash", "--dev-id", S, "--quick"],
}  # fmt: skip


@pytest.fixture
def tool(dk, bench, tmp_path):
    dk(S)
    image = tmp_path / "a.hex"
    image.write_text(hexfile.write([(0, b"hello world")]))
    script = tmp_path / "script"
    script.write_text("ExitOnError 1\nfrobnicate\nq\n")
    names = {"{hex}": str(image), "{script}": str(script), "{dir}": str(tmp_path)}

    def call(words):
        words = [names.get(word, word) for word in words]
        return subprocess.run(
            [str(bench / "bin" / words[0]), *words[1:]],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return call


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_refused(tool, words):
    done = tool(words)
    assert done.returncode != 0
    assert "Error" in done.stdout
    assert "Traceback" not in done.stderr


def test_nrfutil_erases_everything_unless_told_otherwise(tool, tmp_path):
    far = tmp_path / "far.hex"
    far.write_text(hexfile.write([(0x8000, b"far away")]))
    assert tool([*NRFUTIL[:-1], str(far)]).returncode == 0
    touched = "chip_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE"
    verify = ["nrfutil", "device", "fw-verify", "--serial-number", S, "--firmware", str(far)]
    assert tool([*NRFUTIL, "--options", touched]).returncode == 0
    assert tool(verify).returncode == 0
    assert tool(NRFUTIL).returncode == 0
    assert tool(verify).returncode != 0


def test_nrfutil_lists_boards_and_ports_as_json(tool):
    done = tool(["nrfutil", "--json", "device", "list"])
    (device,) = json.loads(done.stdout)["data"]["devices"]
    assert device["serialNumber"] == "000960000001"
    assert [port["vcom"] for port in device["serialPorts"]] == [0, 1, 2]
    assert Path(device["serialPorts"][0]["comName"]).exists()


@pytest.mark.parametrize("runner", ["nrfutil", "pyocd", "jlink"])
def test_the_runners_read_commands_give_what_is_in_flash(tool, tmp_path, bench, runner):
    from harness.targets.board.process import run
    from harness.targets.board.runners import RUNNERS

    options = "chip_erase_mode=ERASE_ALL,verify=VERIFY_READ"
    assert tool([*NRFUTIL, "--options", options]).returncode == 0
    file = tmp_path / ("m.hex" if runner == "nrfutil" else "m.bin")
    for command in RUNNERS[runner](S).read(0, 11, file):
        assert run(command, search_path=f"{bench / 'bin'}:/usr/bin:/bin").ok
    content = file.read_bytes()
    data = hexfile.read(content.decode())[0][1] if runner == "nrfutil" else content
    assert data == b"hello world"
