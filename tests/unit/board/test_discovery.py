"""Probes and ports."""

from __future__ import annotations

import pytest

from harness.base.errors import EnvironmentMissing, UsageError
from harness.targets.board import discovery
from harness.targets.board.discovery import Port
from harness.targets.board.lab import BoardEntry, Lab
from harness.targets.board.virtual import bench

DK = "000960012345"


def dk_ports(serial=DK, first=0):
    """A DK as Linux and pyserial show it, in an order that means nothing."""
    return [
        Port(f"/dev/ttyACM{first + 2}", serial, 4, 0x1366),
        Port(f"/dev/ttyACM{first}", serial, 0, 0x1366),
        Port(f"/dev/ttyACM{first + 1}", serial, 2, 0x1366),
    ]


def test_console_is_the_lowest_interface_in_any_order():
    (board,) = discovery.attached(Lab(), ports=dk_ports)
    assert (board.probe, board.port) == ("960012345", "/dev/ttyACM0")
    assert board.ports == ("/dev/ttyACM0", "/dev/ttyACM1", "/dev/ttyACM2")
    assert "lowest USB interface (0) of 3" in board.how
    assert "PCA10090" in board.kit


def test_without_interface_numbers_the_lowest_name_is_chosen_with_a_note():
    ports = [Port("COM12", DK, None, 0x1366), Port("COM7", DK, None, 0x1366)]
    (board,) = discovery.attached(Lab(), ports=lambda: ports)
    assert board.port == "COM7"
    assert "not known" in board.how


def test_ports_of_other_vendors_or_without_a_serial_number_are_ignored():
    ports = [
        Port("/dev/ttyUSB0", "A1", None, 0x0403),
        Port("/dev/ttyS0", ""),
        Port("x", "", 0, 0x1366),
    ]
    assert discovery.attached(Lab(), ports=lambda: ports) == []


def test_the_lab_file_names_the_board_and_overrules_the_port():
    entry = BoardEntry("dk1", "960012345", port="/dev/by-id/x", baud=1_000_000, tags=("modem",))
    (board,) = discovery.attached(Lab((entry,)), ports=dk_ports)
    assert (board.name, board.port, board.baud) == ("dk1", "/dev/by-id/x", 1_000_000)
    assert board.how == "named in the lab file"


def test_remote_board_of_the_lab_file_is_listed():
    (board,) = discovery.attached(
        Lab((BoardEntry("far", "960000009", port="rfc2217://h:4001"),)), ports=list
    )
    assert board.port == "rfc2217://h:4001"


def test_a_lab_file_may_name_a_virtual_board_and_its_flash_tool(tmp_path):
    folder = tmp_path / "960000007"
    folder.mkdir()
    ports = (("/dev/pts/8", 2), ("/dev/pts/7", 0))
    bench.write(
        folder,
        bench.PublishedBoard("tryout", "960000007", 1, "socket", 115_200, ports, 1, "nrf9160dk"),
    )
    for runner, chosen in (("jlink", "jlink"), ("", "pyocd")):
        entry = BoardEntry("dk7", "000960000007", runner=runner, tags=("modem",))
        (board,) = discovery.attached(Lab((entry,)), ports=list, bench=tmp_path)
        assert (board.name, board.port, board.runner) == ("dk7", "/dev/pts/7", chosen)
        assert board.tags == ("modem", "virtual")
        assert (board.control, board.uid) == (folder, "remote:127.0.0.1:1")


def test_pyocd_knows_a_probe_by_its_serial_number_without_zeros():
    (board,) = discovery.attached(Lab((BoardEntry("dk1", DK),)), ports=dk_ports)
    assert board.uid == "960012345"


def two():
    return discovery.attached(Lab(), ports=lambda: dk_ports() + dk_ports("000960099999", 3))


def test_two_boards_and_none_named_lists_both():
    with pytest.raises(UsageError) as caught:
        discovery.select(two())
    assert "960012345" in caught.value.message
    assert "960099999" in caught.value.message


@pytest.mark.parametrize("name", ["960099999", "000960099999"])
def test_a_board_is_named_by_its_serial_number_with_or_without_zeros(name):
    assert discovery.select(two(), name).probe == "960099999"


def test_a_tag_chooses_a_board_only_if_one_alone_has_it():
    lab = Lab((BoardEntry("a", "1", tags=("x", "y")), BoardEntry("b", "2", tags=("x",))))
    boards = discovery.attached(lab, ports=list)
    assert discovery.select(boards, "y").name == "a"
    with pytest.raises(UsageError, match="2 boards match 'x'"):
        discovery.select(boards, "x")


def test_unknown_name_lists_the_boards():
    with pytest.raises(EnvironmentMissing, match="960012345"):
        discovery.select(two(), "dk7")


def test_error_without_boards_has_a_hint():
    with pytest.raises(EnvironmentMissing, match="no board is attached") as caught:
        discovery.select([])
    assert "virtual-board" in caught.value.hint


@pytest.mark.parametrize(
    ("location", "number"), [("1-2:1.0", 0), ("1-1.4:1.2", 2), ("1-2", None), (None, None)]
)
def test_interface_numbers_from_linux_locations(location, number):
    assert discovery._interface(location) == number


def test_boards_are_sorted_by_name_and_each_stands_once(tmp_path, monkeypatch):
    for serial in ("960000007", DK.lstrip("0")):  # the second is on USB as well
        (tmp_path / serial).mkdir()
        ports = ((f"/dev/pts/{serial}", 0),)
        bench.write(
            tmp_path / serial,
            bench.PublishedBoard(f"v{serial}", serial, 1, "", 9600, ports, 1, "nrf9160dk"),
        )
    lab = Lab((BoardEntry("zz", "1"), BoardEntry("aa", "2")))
    monkeypatch.setenv("TFLM_HIL_VIRTUAL_BENCH", str(tmp_path))
    names = [board.name for board in discovery.attached(lab, ports=dk_ports)]
    assert names == ["960012345", "aa", "v960000007", "zz"]
    monkeypatch.delenv("TFLM_HIL_VIRTUAL_BENCH")
    names = [board.name for board in discovery.attached(lab, ports=dk_ports)]
    assert names == ["960012345", "aa", "zz"]


def test_absent_board_of_the_lab_file_has_an_unknown_port():
    (board,) = discovery.attached(Lab((BoardEntry("far", "960000009"),)), ports=list)
    assert (board.port, board.ports, board.kit) == ("", (), "nRF9160 DK (PCA10090)")
    assert board.how == "the lab file names no port and the probe is not attached here"
    assert str(board) == "far (probe 960000009, port unknown)"


def test_kits_with_either_interface_mcu_are_known_by_vendor():
    ports = [Port("/dev/ttyACM0", "1050112233", 0, 0x1915), Port("/dev/ttyACM1", "5", 0, 0x1366)]
    boards = discovery.attached(Lab(), ports=lambda: ports)
    assert [board.kit for board in boards] == ["Nordic DK with interface MCU 2", ""]
    assert [board.how for board in boards] == ["the probe's only serial port"] * 2


def test_ports_are_those_that_pyserial_lists(monkeypatch):
    from serial.tools.list_ports_common import ListPortInfo

    listed = ListPortInfo("/dev/ttyACM0", skip_link_detection=True)
    listed.serial_number, listed.location, listed.vid = "960", "1-2:1.4", 0x1366
    bare = ListPortInfo("/dev/ttyS0", skip_link_detection=True)
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [listed, bare])
    assert discovery.usb_ports() == [
        Port("/dev/ttyACM0", "960", 4, 0x1366), Port("/dev/ttyS0", "", None, None)
    ]  # fmt: skip


def test_single_board_needs_no_name_and_a_numeric_name_may_be_ambiguous():
    (board,) = discovery.attached(Lab(), ports=dk_ports)
    assert discovery.select([board]) == board
    named = discovery.attached(Lab((BoardEntry("7", "1"), BoardEntry("b", "7"))), ports=list)
    with pytest.raises(UsageError, match=r"2 boards match '7':\n    7 \(probe 1"):
        discovery.select(named, "7")


def test_hint_of_each_refusal_names_the_option():
    with pytest.raises(
        UsageError, match=r"^2 boards are attached, and none was selected:\n    960012345"
    ) as many:
        discovery.select(two())
    assert many.value.hint == (
        "select one: --board NAME or the environment variable TFLM_HIL_BOARD"
    )
    with pytest.raises(EnvironmentMissing, match=r"^no board 'dk7'; there are:\n    9600"):
        discovery.select(two(), "dk7")
    with pytest.raises(EnvironmentMissing, match=r"^no board 'dk7' is attached"):
        discovery.select([], "dk7")
