"""Hands inputs to the package's own entry points, in process, and says what must not be.

However an input looks: an exit code from 0 to 5, no traceback, no "bug in tflm-hil", bounded time.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import inputs
import needs
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_with_map

from harness import targets
from harness.base import paths
from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.errors import EnvironmentMissing
from harness.build.standalone import build_standalone
from harness.cli import main
from harness.targets.base import ConsoleChunk, Counters, Stop

#: Wall seconds that one input may take, on a machine that does other things beside.
SECONDS = 30.0
KINDS = ("arguments", "case files", "ELFs", "map files", "consoles")
_TRANSCRIPTS = Path(__file__).resolve().parents[1] / "data" / "transcripts"


class TooSlow(BaseException):
    """An input took longer than it may; no handler of the package takes it for its own."""


@dataclass
class Answer:
    """What came of one input."""

    code: int
    said: str
    seconds: float

    @property
    def problem(self) -> str:
        """What must not be, or an empty string."""
        if self.code not in range(6):
            return f"exit code {self.code}"
        for words in ("a bug in tflm-hil", "Traceback (most recent call last)"):
            if words in self.said:
                return next(line for line in self.said.splitlines() if words in line)
        return ""


class Played(Closing):
    """A session that prints what it was given, and then sleeps."""

    target = "simulator"
    byte_seconds = 0.0

    def __init__(self, data: bytes, chance: random.Random) -> None:
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(8)))
        edges = [0, *cuts, len(data)]
        self.pending = [data[a:b] for a, b in pairwise(edges) if a < b]
        self.console: list[ConsoleChunk] = []
        self.faults: list[object] = []
        self.findings: list[object] = []
        self.time = 0.0
        self._read = 0

    @property
    def counters(self) -> Counters:
        return Counters("simulator", int(self.time * 64e6), None, self.time, self.time)

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        return Deadline(seconds, now=lambda: self.time, guard=guard)

    def run(self, until: object, deadline: Deadline) -> Stop:
        if deadline.expired:
            return Stop.DEADLINE
        if not self.pending:
            return Stop.IDLE
        self.time += 1e-3
        self.console.append(ConsoleChunk(self.time, self.pending.pop(0)))
        return Stop.CONDITION

    def read(self) -> bytes:
        fresh = self.console[self._read :]
        self._read = len(self.console)
        return b"".join(chunk.data for chunk in fresh)

    def write(self, data: bytes) -> None:
        pass

    def where(self) -> str:
        return "spin at main.c:7"

    def close(self) -> None:
        pass


@dataclass
class Fuzzer:
    """One folder with everything that inputs are made of; ``call`` runs the command line."""

    folder: Path
    seed: int
    elfs: list[bytes] = field(default_factory=list)
    maps: list[bytes] = field(default_factory=list)
    consoles: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        text = MadeSection(".text", 0, b"\0\0\4\x20\x09\0\0\0" + b"\xfe\xe7" * 28, load=0,
                           executable=True)  # fmt: skip
        tiny = write_elf([text], [MadeSymbol("main", 9, 8, "func")], entry=9)
        self.files = inputs.Files(
            self.folder / "files", tiny, paths.models() / "digits_int8.tflite"
        )
        self.elfs = [tiny]
        if needs.find("arm-none-eabi-gcc"):
            compile_with_map(self.folder / "little")
            built = [self.folder / "little" / "little.elf", *_samples()]
            self.elfs += [path.read_bytes() for path in built]
            self.maps = [path.with_suffix(".map").read_bytes() for path in built]
        self.consoles = [path.read_bytes() for path in sorted(_TRANSCRIPTS.glob("*.log"))]
        self.results = self.folder / "results"

    def run(self, kind: str, number: int) -> Answer:
        """Make input ``number`` of a kind and run it."""
        self.files.make()
        chance = random.Random(f"{self.seed}/{kind}/{number}")
        makers: dict[str, Callable[[random.Random], Answer]] = {
            "arguments": self._arguments,
            "case files": self._case_file,
            "ELFs": self._elf,
            "map files": self._map,
            "consoles": self._console,
        }
        return makers[kind](chance)

    def _arguments(self, chance: random.Random) -> Answer:
        return self.call(inputs.arguments(chance, self.files))

    def _case_file(self, chance: random.Random) -> Answer:
        (self.files.folder / "hil.toml").write_bytes(inputs.case_file(chance))
        return self.call(["run", "hil.toml", *self._output(), "--guard", "2"])

    def _elf(self, chance: random.Random) -> Answer:
        (self.files.folder / "x.elf").write_bytes(inputs.elf(chance, chance.choice(self.elfs)))
        commands = (
            ["footprint", "x.elf", "--json", "-"],
            ["resolver", "check", "x.elf", "model.tflite", "--timeout", "0.01"],
            ["resolver", "dump", "x.elf", "--timeout", "0.01"],
            ["run", "x.elf", "--timeout", "0.001", "--guard", "1", *self._output()],
        )
        return self.call(chance.choice(commands))

    def _map(self, chance: random.Random) -> Answer:
        original = chance.choice(self.maps or [b"no compiler"])
        (self.files.folder / "x.map").write_bytes(inputs.spoilt(chance, original, 30))
        views = ("region", "symbol", "file", "library", "ram")
        return self.call(["footprint", "x.map", "--by", chance.choice(views)])

    def _console(self, chance: random.Random) -> Answer:
        data = inputs.console(chance, self.consoles)
        how = chance.choice(
            (
                [], ["--model", "hello_world_int8"], ["--scraper", "hello_world"],
                ["--scraper", "unit_tests"], ["--scraper", "person_detection"],
                ["--scraper", "ztest"], ["--scraper", r"/v=(?P<v>\S+)/"],
                ["--scraper", "hello_world", "--model", "hello_world_int8"],
            )
        )  # fmt: skip
        with played(lambda: Played(data, chance)):
            return self.call(["run", "good.elf", *how, *self._output(), "--json", "-"])

    def _output(self) -> list[str]:
        return ["--output", str(self.results)]

    def call(self, words: list[str]) -> Answer:
        """``tflm-hil WORDS``, in this process; what it said on both streams."""
        streams = sys.stdout, sys.stderr
        caught = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        before, here = time.monotonic(), Path.cwd()
        os.chdir(self.files.folder)
        sys.stdout = sys.stderr = caught
        try:
            with bounded():
                code = main(words)
        finally:
            sys.stdout, sys.stderr = streams
            os.chdir(here)
        said = caught.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
        return Answer(code, said, time.monotonic() - before)


def _samples() -> Iterator[Path]:
    """Real images, of tens of source files with all of their DWARF; none without a compiler."""
    with suppress(EnvironmentMissing):
        for sample, resolver in (("hello_world", "exact"), ("digits", "console")):
            yield build_standalone(sample, resolver).elf


@contextmanager
def played(session: Callable[[], Played]) -> Iterator[None]:
    """Every target that is opened in this block is the session."""
    real = targets.open_target
    targets.open_target = lambda *_, **__: session()  # type: ignore[assignment]
    try:
        yield
    finally:
        targets.open_target = real


@contextmanager
def bounded(seconds: float = SECONDS) -> Iterator[None]:
    """Raise :class:`TooSlow` in the middle of what takes longer."""

    def too_slow(number: int, frame: object) -> None:
        raise TooSlow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def surroundings() -> Iterator[Path]:
    """A folder of one's own, no compiler for samples, no board, no lab of the user."""
    folder = Path(tempfile.mkdtemp(prefix="tflm-hil-fuzz-"))
    (folder / "bin").mkdir()
    kept = dict(os.environ)
    try:
        yield folder
    finally:
        os.environ.clear()
        os.environ.update(kept)
        shutil.rmtree(folder, ignore_errors=True)


def alone(folder: Path) -> None:
    """From here on nothing outside ``folder`` is found or written."""
    os.environ.update(
        PATH=str(folder / "bin"), HOME=str(folder), XDG_CONFIG_HOME=str(folder),
        XDG_CACHE_HOME=str(folder), TFLM_HIL_CACHE=str(folder / "cache"),
        TFLM_HIL_LAB_STATE=str(folder / "lab"), CROSS_COMPILE="none-",
    )  # fmt: skip
    for name in ("ZEPHYR_BASE", "RENODE", "TFLM_HIL_LAB", "TFLM_HIL_BOARD", "TFLM_HIL_DEBUG",
                 "TFLM_HIL_VIRTUAL_BENCH"):  # fmt: skip
        os.environ.pop(name, None)
