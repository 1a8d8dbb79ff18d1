"""The console protocol on a real image: what a device refuses, and what a host does about it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import needs
import numpy as np
import pytest
from fed_sample import fed_sample

from harness import targets
from harness.base import paths
from harness.base.errors import FirmwareFailed
from harness.build.builders import build_one
from harness.case.feed import Feeder
from harness.case.tap import Tap
from harness.elf import Image
from harness.model import Model
from harness.reference import Interpreter
from harness.targets.base import ConsoleMatch
from harness.targets.session import Session
from harness.uart import Console, TensorKey, encode
from harness.uart.records import encode_tensor, fill_blocks

MODEL = "hello_world_int8.tflite"
VALUE = np.array([[37]], np.int8)


class NoisyLine:
    """A session whose line to the device spoils what ``spoil`` is told to, write by write."""

    def __init__(self, session: Session, spoil: Callable[[int, bytes], bytes]) -> None:
        self._session = session
        self._spoil = spoil
        self.writes = 0

    def write(self, data: bytes) -> None:
        self._session.write(self._spoil(self.writes, data))
        self.writes += 1

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)


class Host:
    """A host that sends lines of its own making and sees what is answered."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tap = Tap(session, Console())
        self.deadline = session.deadline(30, guard=60)
        self.tap.run(ConsoleMatch(rb"~HIL \d+ ready [^\n]*\n"), self.deadline)
        assert self.tap.console.of_kind("ready")

    def send(self, line: bytes) -> tuple[str, str, str]:
        """Kind, ``of`` and reason of the answer to ``line``; empty where none comes."""
        seen = len(self.tap.console.records)
        self.session.write(fill_blocks(line))
        patience = self.session.deadline(0.5, guard=30)
        self.tap.run(ConsoleMatch(rb"~HIL \d+ (?:ack|nak) [^\n]*\n"), patience)
        for one in self.tap.console.records[seen:]:
            if one.kind in ("ack", "nak"):
                return one.kind, str(one.integer("of")), str(one.fields.get("reason", ""))
        return "", "", ""

    def input(self, sequence: int, **changed: object) -> bytes:
        fields = {"index": 0, "offset": 0, "total": 1, "hex": VALUE.tobytes().hex()} | changed
        return encode(sequence, "input", {k: v for k, v in fields.items() if v is not None})


def expected() -> bytes:
    model = Model.from_file(paths.models() / MODEL)
    return Interpreter.from_model(model).invoke([VALUE])[0].tobytes()


@pytest.fixture
def session() -> Iterator[Session]:
    with fed_sample("hello_world") as opened:
        yield opened


@pytest.fixture
def host(session: Session) -> Host:
    return Host(session)


def test_a_whole_record_is_acknowledged_by_its_number(host: Host) -> None:
    assert host.send(host.input(0)) == ("ack", "0", "")


@pytest.mark.parametrize("place", [5, 20, -5], ids=["number", "field", "crc"])
def test_one_wrong_bit_is_refused_and_the_record_taken_when_it_comes_again(
    host: Host, place: int
) -> None:
    spoiled = bytearray(host.input(0))
    spoiled[place] ^= 1
    kind, _, reason = host.send(bytes(spoiled))
    assert (kind, reason) == ("nak", "crc")
    assert host.send(host.input(0)) == ("ack", "0", "")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"hex": None}, "format"),
        ({"total": None}, "format"),
        ({"hex": "0"}, "format"),
        ({"hex": "zz"}, "format"),
        ({"index": 1}, "range"),
        ({"offset": 1}, "range"),
        ({"total": 2}, "range"),
        ({"hex": "0001"}, "range"),
    ],
    ids=str,
)
def test_an_input_that_does_not_fit_its_tensor_is_refused(
    host: Host, changed: dict[str, object], reason: str
) -> None:
    assert host.send(host.input(0, **changed)) == ("nak", "0", reason)


def test_a_number_out_of_turn_is_refused(host: Host) -> None:
    assert host.send(host.input(3)) == ("nak", "3", "sequence")
    assert host.send(host.input(0)) == ("ack", "0", "")


def test_a_kind_that_is_not_known_is_refused(host: Host) -> None:
    assert host.send(encode(0, "sing", {})) == ("nak", "0", "kind")


def test_a_record_without_a_number_is_refused_as_number_nought(host: Host) -> None:
    body = b"~HIL input index=0"
    assert host.send(body + b" *%08x\r\n" % zlib.crc32(body)) == ("nak", "0", "format")


def test_a_run_before_all_inputs_came_is_refused(host: Host) -> None:
    assert host.send(encode(0, "run", {"inference": 0})) == ("nak", "0", "range")


def test_text_that_is_no_record_is_not_answered(host: Host) -> None:
    assert host.send(b"is anybody there?\r\n") == ("", "", "")
    assert host.send(host.input(0)) == ("ack", "0", "")


def test_a_line_longer_than_the_buffer_does_no_harm(host: Host) -> None:
    assert host.send(b"~HIL 0 input hex=" + b"00" * 400 + b"\r\n")[0] == "nak"
    assert host.send(host.input(0)) == ("ack", "0", "")


def test_a_record_that_comes_again_is_acknowledged_and_not_carried_out_twice(host: Host) -> None:
    run = encode(1, "run", {"inference": 0})
    assert host.send(host.input(0)) == ("ack", "0", "")
    assert host.send(run) == ("ack", "1", "")
    host.session.run(ConsoleMatch(rb"~HIL \d+ ready [^\n]*\n"), host.deadline)
    assert host.send(run) == ("ack", "1", "")
    assert len(host.tap.console.of_kind("inference")) == 1


def feed(session: Session, spoil: Callable[[int, bytes], bytes]) -> tuple[NoisyLine, Console]:
    """Two inferences of VALUE and the end, over a line that spoils some of it."""
    line = NoisyLine(session, spoil)
    deadline = session.deadline(30, guard=60)
    tap = Tap(line, Console())
    feeder = Feeder(tap, deadline)
    feeder.wait_ready()
    for number in range(2):
        feeder.infer(number, [VALUE.tobytes()])
    feeder.done()
    tap.run(ConsoleMatch(rb"~HIL \d+ end [^\n]*\n"), deadline)
    return line, tap.console


def flip(data: bytes) -> bytes:
    return data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]


SPOILED = {
    "a wrong bit": lambda number, data: flip(data) if number in (0, 3) else data,
    "a lost byte": lambda number, data: data[:-9] + data[-8:] if number in (0, 3) else data,
    "a lost record": lambda number, data: b"" if number == 0 else data,
    "noise before it": lambda _number, data: b"\xff\x00junk\r\n" + data + b"\n" * 8,
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_a_host_on_a_bad_line_sends_again_until_the_outputs_are_right(
    session: Session, spoil: Callable[[int, bytes], bytes]
) -> None:
    line, console = feed(session, spoil)
    assert [record.integer("status") for record in console.of_kind("end")] == [0]
    assert [console.tensors[TensorKey("output", n, 0)] for n in range(2)] == [expected()] * 2
    # Two inputs, two runs and `done`: more writes only where something had to be sent again.
    assert line.writes > 5 or spoil is SPOILED["noise before it"]


def test_a_line_that_spoils_everything_ends_with_what_the_device_said(session: Session) -> None:
    with pytest.raises(FirmwareFailed, match=r"did not take input 0 .* in 3 tries \(nak: crc\)"):
        feed(session, lambda _number, data: flip(data) if len(data) > 16 else data)


def test_a_tensor_of_many_records_survives_one_that_is_spoiled() -> None:
    needs.require("arm-none-eabi-gcc", "flatc")
    firmware = Image.from_elf(build_one("digits_cnn", "console"))
    pixels = np.load(paths.models() / "digits_test.npz")["float32"][:1]
    model = Model.from_file(paths.models() / "digits_cnn_int8.tflite")
    wanted = Interpreter.from_model(model).invoke([pixels.reshape(model.inputs[0].shape)])[0]
    assert len(list(encode_tensor(0, "input", 0, pixels.tobytes()))) == 4
    with targets.open_target("simulator", firmware) as session:
        line = NoisyLine(session, lambda number, data: flip(data) if number == 2 else data)
        tap, deadline = Tap(line, Console()), session.deadline(30, guard=120)
        feeder = Feeder(tap, deadline)
        feeder.wait_ready()
        feeder.infer(0, [pixels.tobytes()])
        assert [one.text("reason") for one in tap.console.of_kind("nak")] == ["crc"]
        assert tap.console.tensors[TensorKey("output", 0, 0)] == wanted.tobytes()
