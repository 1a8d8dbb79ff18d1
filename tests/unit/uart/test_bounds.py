"""Text from a device is hostile: time, memory and reports stay bounded, whatever it prints."""

import importlib
import itertools
import pkgutil
import re
import time
import tracemalloc

import pytest

import harness.uart
from harness.base.findings import Finding, Findings, Kind
from harness.uart import Console, scraper
from harness.uart.messages import RULES
from harness.uart.scrapers import SCRAPERS, ExpectedResults

MEGABYTE = 1 << 20
WORST = MEGABYTE // 16  # characters that are searched: a quadratic pattern takes seconds for them


def patterns_in(value: object, seen: dict[int, object]):
    """Every compiled pattern that a module or class holds, in containers and attributes too.

    ``seen`` keeps what it has seen: another object could otherwise get the same ``id``.
    """
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(patterns_in(v, seen) for v in value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from itertools.chain.from_iterable(patterns_in(v, seen) for v in value)
    elif getattr(value, "__module__", "").startswith("harness.uart") and hasattr(value, "__dict__"):
        yield from patterns_in(dict(vars(value)), seen)


def package_patterns() -> list:
    seen: dict[int, object] = {}
    found = []
    for module in pkgutil.walk_packages(harness.uart.__path__, "harness.uart."):
        loaded = importlib.import_module(module.name)
        found += patterns_in(dict(vars(loaded)), seen)
    for name in SCRAPERS:
        found += patterns_in(re.compile(SCRAPERS[name].end or b"x"), seen)
    return sorted(set(found), key=lambda one: str(one.pattern))


PATTERNS = package_patterns()


def worst_strings(pattern: re.Pattern) -> list[str]:
    """Beginnings of what matches, repeated, and runs of one character behind one."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    plain = re.sub(r"\\(.)", r"\1", re.sub(r"\(\?P<\w+>|\(\?:|[()?*+^$]", "", text))
    literals = re.findall(r"[A-Za-z_~*<>'#\[\]:.,=\- ]{2,}", plain) or ["a"]
    first, longest = literals[0], max(literals, key=len)
    units = (first, longest, f"{first}a", f"{first}1", " ", "*", "1", "a")
    repeated = [(unit * (WORST // len(unit) + 1))[:WORST] for unit in units]
    return [*repeated, *((first + char * WORST)[:WORST] for char in "a1 ")]


def seconds(search, data: str | bytes, tries: int = 1) -> float:
    """Processor seconds of `search(data)`, the best of some tries."""
    best = float("inf")
    for _ in range(tries):
        started = time.process_time()
        search(data)
        best = min(best, time.process_time() - started)
    return best


def assert_linear(search, data: str | bytes, *, little: float) -> None:
    """Four times the data cost four times the work, not sixteen times."""
    quarter = data[: len(data) // 4]
    if seconds(search, quarter) < little:  # too little to be told from noise
        return
    small, whole = seconds(search, quarter, 3), seconds(search, data)
    if whole >= 9 * small:  # once may be a busy machine's doing
        whole = seconds(search, data, 3)
    assert whole < 9 * small, f"{data[:60]!r}: {small:.3f} s, then {whole:.3f} s"


def test_the_search_for_patterns_finds_those_of_every_reader():
    texts = {str(one.pattern) for one in PATTERNS}
    assert {str(rule.pattern.pattern) for rule in RULES} <= texts
    assert any("HIL" in text for text in texts)
    assert len(PATTERNS) > 40


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: str(one.pattern)[:40])
def test_a_pattern_takes_time_linear_in_its_worst_text(pattern):
    binary = isinstance(pattern.pattern, bytes)
    for text in worst_strings(pattern):
        assert_linear(pattern.search, text.encode() if binary else text, little=0.005)


NOISE = {
    "zeros": b"\0",
    "escapes": b"\x1b[",
    "no UTF-8": b"\xff",
    "control and text": "é\x01".encode(),
    "short lines": b"a line\n",
    "assertions": b"ASSERTION FAIL [",
    "nodes": b"Node ",
    "stars": b"*",
    "x_value": b"x_value: ",
    "blanks": b"x_value: 1,       ",
    "failed at": b"a failed at b ",
    "suites": b" - PASS - [",
}


@pytest.mark.parametrize("name", ["", *SCRAPERS, r"/(?P<a>(a*)*)b(?P<c>.*)c/"])
@pytest.mark.parametrize("noise", NOISE)
def test_a_console_takes_work_linear_in_its_input(name, noise):
    def read(data: bytes) -> None:
        console = Console([scraper(name)] if name else [])
        console.feed(data)
        console.finish()
        assert console.findings is not None

    unit = NOISE[noise]
    assert_linear(read, unit * (MEGABYTE // 8 // len(unit)), little=0.05)


@pytest.mark.parametrize("noise", NOISE)
def test_a_console_holds_little_of_its_input(noise):
    unit = NOISE[noise]
    data = unit * (MEGABYTE // 8 // len(unit))
    tracemalloc.start()
    console = Console([scraper("hello_world")])
    for _ in range(4):
        console.feed(data)
    console.finish()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 * MEGABYTE


def test_a_flood_is_a_finding_and_its_rest_is_counted(monkeypatch):
    monkeypatch.setattr("harness.uart.console.LARGEST", 200_000)
    console = Console()
    console.feed(b"noise\n" * 100_000)
    console.feed(b"noise\n" * 10)
    console.finish()
    (flood,) = console.findings
    assert flood.kind is Kind.CONSOLE_FLOOD
    assert console.size < 300_000
    assert f"{600_060 - console.size:,} more bytes came" in flood.message
    assert len(console.raw) == console.size


def test_too_many_lines_are_a_flood_too(monkeypatch):
    monkeypatch.setattr("harness.uart.console.MOST_LINES", 1000)
    console = Console()
    console.feed(b"\n" * (1 << 18))
    assert console.flooded


def test_findings_of_one_kind_are_capped_and_counted():
    found = Findings(limit=3)
    for line in range(1, 11):
        found.add(Finding(Kind.FAULT, f"fault {line}", line=line))
    found.add(Finding(Kind.ASSERTION, "another kind", line=11))
    assert [one.message for one in found] == [
        "fault 1",
        "fault 2",
        "fault 3",
        "another kind",
        "and 7 more fault findings",
    ]
    assert len(found) == 5
    assert [one.line for one in found][-1] == 10


def test_repeated_faults_are_reported_in_few_lines():
    console = Console()
    console.feed(b"***** BUS FAULT *****\n" * 5000)
    console.finish()
    assert len(console.findings) == 21
    assert console.findings[-1].message == "and 4,980 more fault findings"


def test_a_number_of_thousands_of_digits_is_left_out_of_a_known_message():
    console = Console()
    digits = b"9" * 5000
    console.feed(
        b"Failed to resize buffer. Requested: " + digits + b", available 1, missing: 2\n"
        b"A took " + digits + b" ticks (0 ms).\nticks_per_second " + digits + b"\n"
        b">>> ZEPHYR FATAL ERROR " + digits + b": x on CPU 0\n"
    )
    console.finish()
    arena, panic = console.findings
    assert (arena.kind, dict(arena.values)) == (
        Kind.ARENA_TOO_SMALL,
        {"available": 1, "missing": 2},
    )
    assert panic.kind is Kind.KERNEL_PANIC
    assert len(arena.message) < 1000


@pytest.mark.parametrize("name", SCRAPERS)
def test_a_check_of_endless_results_lists_a_few(name):
    console = Console([scraper(name)])
    console.feed(b"Running TESTSUITE s\n" + b"START - a\nTesting a\n[ RUN      ] a\n" * 2000)
    console.feed(b"x_value: 1.0, y_value: 2.0\nperson score: 1, no person score: 2\n" * 2000)
    console.finish()
    told = console.scrapers[0].check(ExpectedResults(values=({"x": 9.0},), repeats=True))
    listed = console.scrapers[0].check(ExpectedResults())
    for check in (told, listed):
        assert len(check.details) < 20_000
        assert len(check.problems) < 100
        assert all(len(problem) < 1000 for problem in check.problems)
