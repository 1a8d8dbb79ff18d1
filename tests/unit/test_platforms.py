"""The chip's and the board's table: what they hold, and the errors of a table that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base import paths, platforms
from harness.base.errors import UsageError
from harness.base.platforms import Area, UartPins, read_board_table, read_chip_table

CHIP = (paths.platforms() / "chips" / "nrf9160.toml").read_text()
BOARD = (paths.platforms() / "boards" / "nrf9160dk.toml").read_text()


def test_memories_of_the_chip() -> None:
    chip = platforms.chip_table("nrf9160")
    assert [(one.name, one.origin, one.size) for one in chip.areas] == [
        ("flash", 0, 1 << 20),
        ("ram", 0x2000_0000, 256 << 10),
        ("ficr", 0x00FF_0000, 0x1000),
        ("uicr", 0x00FF_8000, 0x1000),
    ]
    assert (chip.flash.page, chip.flash.region, chip.ram.region) == (4096, 32 << 10, 8 << 10)


def test_clocks_and_processor_of_the_chip() -> None:
    chip = platforms.chip_table()
    assert (chip.name, chip.core, chip.fpu) == ("nRF9160", "cortex-m33", "fpv5-sp-d16")
    assert (chip.cpu_hz, chip.lfclk_hz, chip.timer_hz) == (64_000_000, 32_768, 16_000_000)
    assert (chip.priority_bits, chip.irqs, chip.mpu_regions) == (3, 65, 16)


def test_peripheral_in_both_windows() -> None:
    uarte = platforms.chip_table().peripheral("UARTE0")
    assert uarte.addresses == (0x5000_8000, 0x4000_8000)
    assert (uarte.number, uarte.irq, uarte.size) == (8, 8, 0x1000)


def test_peripheral_of_the_secure_window_alone() -> None:
    assert platforms.chip_table().peripheral("SPU").addresses == (0x5000_3000,)


@pytest.mark.parametrize("name", platforms.chip_names())
def test_ficr_agrees_with_the_table(name: str) -> None:
    chip = platforms.chip_table(name)
    flash, ram = chip.area("flash").size, chip.area("ram").size
    words = [chip.ficr[offset] for offset in (0x218, 0x21C, 0x220, 0x224)]
    assert words == [ram >> 10, flash >> 10, chip.flash.page, flash // chip.flash.page]
    assert f"{chip.ficr[0x20C]:x}" == chip.name.removeprefix("nRF")


def test_no_two_chips_have_the_same_device_id() -> None:
    chips = [platforms.chip_table(name) for name in platforms.chip_names()]
    assert len({chip.ficr[0x204] for chip in chips}) == len(chips)


def test_console_of_the_board() -> None:
    board = platforms.board_table("nrf9160dk")
    assert board.chip is platforms.chip_table("nrf9160")
    console = board.console
    assert (console.uarte, console.pins) == ("UARTE0", UartPins(txd=29, rxd=28, rts=27, cts=26))
    assert (console.baud, console.parity, console.stop_bits) == (115200, False, 1)
    assert not console.flow_control
    assert board.vcom["VCOM0"].uarte == console.uarte


def test_non_secure_image_of_the_board_starts_behind_tfm() -> None:
    assert platforms.board_table().partitions.nonsecure == 0x5_0000


def test_link_hint_names_the_chip_and_its_memories() -> None:
    hint = platforms.chip_table().link_hint
    assert hint == "is it linked for the nRF9160 (flash at 0, RAM at 0x20000000)?"


def test_area_holds_stretches_that_lie_in_it_as_a_whole() -> None:
    area = Area("ram", 0x100, 0x10)
    assert (area.end, area.addresses) == (0x110, range(0x100, 0x110))
    assert area.holds(0x100, 0x10)
    assert area.holds(0x10F)
    assert not area.holds(0x10F, 2)
    assert not area.holds(0xFF)


def test_each_table_of_the_project_can_be_read() -> None:
    folder = paths.platforms()
    chips = {path.stem: read_chip_table(path) for path in (folder / "chips").glob("*.toml")}
    boards = {path.stem: read_board_table(path) for path in (folder / "boards").glob("*.toml")}
    assert chips.keys() >= {platforms.DEFAULT_CHIP}
    assert boards.keys() >= {platforms.DEFAULT_BOARD}


def changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpu_hz = 64_000_000", "cpu_hz = 0", "chip table t.toml, soc: cpu_hz: 0 is not above 0"),
        ("cpu_hz = 64_000_000", 'cpu_hz = "64 MHz"', "chip table t.toml, soc: cpu_hz is a whole"),
        ("cpu_hz = 64_000_000", "", "chip table t.toml, soc: 'cpu_hz' is missing"),
        ("page = 0x1000", "page = 0x1000\npages = 1", "t.toml, flash: unknown key 'pages'"),
        ("origin = 0x2000_0000", "origin = 0x2_0000_0000", "is not a number of 32 bits"),
        ("origin = 0x00FF_8000", "origin = 0x00FF_0800", "ficr and uicr share address 0x00ff0800"),
        ('WDT         = { offset = 0x18000, irq = 24', 'WDT = { offset = 0x18000, irq = 65',
         "peripherals.WDT: irq 65 is not below 65"),
        ("RTC1        = { offset = 0x15000", "RTC1 = { offset = 0x14800",
         "RTC0 and RTC1 share address 0x40014800"),
        ('GPIOTE1     = { offset = 0x31000, irq = 49, bases = ["ns"]',
         'GPIOTE1 = { offset = 0x31000, irq = 49, bases = ["nsc"]', "GPIOTE1: no window 'nsc'"),
        ('GPIOTE1     = { offset = 0x31000, irq = 49, bases = ["ns"]',
         "GPIOTE1 = { offset = 0x31000, irq = 49, bases = []", "GPIOTE1: bases is empty"),
        ("ns = 0x4000_0000", "public = 0x4000_0000", "windows are 's' (secure)"),
        ('"INFO.PART"         = { offset = 0x20C', '"INFO.PART" = { offset = 0x20E',
         "ficr: INFO.PART at 0x20e is not a word of FICR"),
        ('"INFO.PART"         = { offset = 0x20C', '"INFO.PART" = { offset = 0x1000',
         "ficr: INFO.PART at 0x1000 is not a word of FICR"),
        ('"INFO.PART"         = { offset = 0x20C', '"INFO.PART" = { offset = 0x208',
         "ficr: INFO.DEVICEID[1] and INFO.PART share offset 0x208"),
        ("gpio = 'PS, \"GPIO\"'", "", "sources: no source of [gpio]"),
        ("gpio = 'PS, \"GPIO\"'", "gpio = ' '", "sources: no source of [gpio]"),
        ("gpio = 'PS, \"GPIO\"'", "gpio = 'x'\ngpoi = 'x'", "sources: unknown key 'gpoi'"),
    ],
)  # fmt: skip
def test_wrong_chip_table_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(changed(CHIP, old, new))
    with pytest.raises(UsageError) as refused:
        read_chip_table(path)
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('uarte = "UARTE0"\npins', 'uarte = "UARTE9"\npins',
         "console: the nRF9160 has no 'UARTE9'"),
        ('usb_interface = 4, uarte = "UARTE1"', 'usb_interface = 4, uarte = "UART1"',
         "vcom.VCOM2: the nRF9160 has no 'UART1'"),
        ("cts = 26", "cts = 32", "console.pins.cts: the nRF9160 has no P0.32"),
        ("cts = 26", "cts = 27", "console.pins.rts and console.pins.cts are both P0.27"),
        ("led1 = 2", "led1 = 29", "console.pins.txd and pins.led1 are both P0.29"),
        ("cts = 26", 'cts = "P0.26"', "console, pins: cts is a whole number"),
        ("baud = 115_200", "baud = 0", "baud: 0 is not a baud rate"),
        ("flow_control = false", "flow_control = 0", "flow_control is true or false"),
        ("flow_control = false", "", "console: 'flow_control' is missing"),
        ("flow_control = false", "flow_control = false\nspeed = 1", "unknown key 'speed'"),
        ("nonsecure = 0x5_0000", "nonsecure = 0x5_1000",
         "partitions.nonsecure: 0x51000 is not the start of a region of flash"),
        ("nonsecure = 0x5_0000", "nonsecure = 0x10_0000",
         "partitions.nonsecure: 0x100000 is not the start of a region of flash"),
    ],
)  # fmt: skip
def test_wrong_board_table_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(changed(BOARD, old, new))
    with pytest.raises(UsageError) as refused:
        read_board_table(path)
    assert message in refused.value.message


def test_board_of_an_unknown_chip_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(changed(BOARD, 'chip = "nrf9160"', 'chip = "nrf9999"'))
    with pytest.raises(UsageError, match=r"nrf9999\.toml"):
        read_board_table(path)
