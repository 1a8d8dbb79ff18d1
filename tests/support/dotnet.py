"""The few types of .NET that the agent inside Renode uses, in Python."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class ByteList(list):
    """``List<Byte>``."""

    Add = list.append
    Count = property(len)

    def GetRange(self, index: int, count: int) -> ByteList:  # noqa: N802
        if index < 0 or count < 0 or index + count > len(self):
            raise ValueError("ArgumentException")
        return ByteList(self[index : index + count])

    def RemoveRange(self, index: int, count: int) -> None:  # noqa: N802
        del self[index : index + count]

    def ToArray(self) -> bytes:  # noqa: N802
        return bytes(self)


class Writer(io.RawIOBase):
    """A StreamWriter: lines leave at once with AutoFlush, and else not before there are many."""

    AutoFlush = False
    NewLine = "\r\n"

    def __init__(self, descriptor: int, _encoding: object) -> None:
        self.descriptor = descriptor

    def WriteLine(self, text: str) -> None:  # noqa: N802
        data = (text + self.NewLine).encode() if self.AutoFlush else b""
        while data:
            data = data[os.write(self.descriptor, data) :]


class Reader:
    """A StreamReader: lines without their ends, None at the end."""

    def __init__(self, descriptor: int, _encoding: object) -> None:
        self.file = os.fdopen(os.dup(descriptor), encoding="utf-8")

    def ReadLine(self) -> str | None:  # noqa: N802
        line = self.file.readline()
        if not line:
            self.file.close()
            return None
        return line.rstrip("\n")


def unsigned(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        number = int(value)
        if not 0 <= number < 1 << bits:
            raise OverflowError(f"{number} is not a UInt{bits}")
        return number

    return convert


def system(clock: Callable[[], float]) -> SimpleNamespace:
    """The namespace ``System``."""

    class Stopwatch:
        def __init__(self) -> None:
            self.begun = clock()

        @property
        def ElapsedMilliseconds(self) -> int:  # noqa: N802
            return int((clock() - self.begun) * 1000)

    class Generic:
        def __getitem__(self, _kind: object) -> Callable[..., Any]:
            return ByteList

    def encoding(name: str) -> SimpleNamespace:
        return SimpleNamespace(
            GetString=lambda data: bytes(data).decode(name), GetBytes=lambda text: text.encode(name)
        )

    unsigned_byte = unsigned(8)

    def file_stream(path: str, *_: object) -> int:
        return int(path.removeprefix("/dev/fd/"))

    return SimpleNamespace(
        Exception=Exception,
        Byte=unsigned_byte,
        Array={unsigned_byte: bytes},
        UInt32=unsigned(32),
        UInt64=unsigned(64),
        BitConverter=SimpleNamespace(ToString=lambda data: bytes(data).hex("-").upper()),
        Collections=SimpleNamespace(Generic=SimpleNamespace(List=Generic())),
        Diagnostics=SimpleNamespace(Stopwatch=SimpleNamespace(StartNew=Stopwatch)),
        IO=SimpleNamespace(
            FileStream=file_stream,
            FileMode=SimpleNamespace(Open="Open"),
            FileAccess=SimpleNamespace(Read="Read", Write="Write"),
            FileShare=SimpleNamespace(ReadWrite="ReadWrite"),
            StreamReader=Reader,
            StreamWriter=Writer,
        ),
        Text=SimpleNamespace(
            Encoding=SimpleNamespace(GetEncoding=lambda number: encoding("latin-1")),
            UTF8Encoding=lambda bom: encoding("utf-8"),
        ),
    )
