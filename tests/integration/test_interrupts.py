"""Ctrl-C and SIGTERM: the reports of what ran, nothing left behind, an exit code that says so."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.build.standalone import build_standalone

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
SIGNALS = [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]
QUICK = '[[case]]\nname = "quick"\nsample = "hello_world"\n'
#: Runs its test set for minutes: bare sleep of the virtual clock does not take wall time.
ENDLESS = '[[case]]\nname = "endless"\nelf = "endless.elf"\ntimeout = 100000.0\nguard = 600.0\n'
AFTER = '[[case]]\nname = "after"\nsample = "hello_world"\n'


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image that spins without a word."""
    folder = tmp_path_factory.mktemp("endless")
    sources = Path(__file__).resolve().parents[1] / "firmware"
    (folder / "endless.c").write_text(
        '#include "machine.h"\nvoid HardFault(void) {}\n'
        "void Main(void) { for (volatile int i = 0;; ++i) {} }\n"
    )
    elf = folder / "endless.elf"
    flags = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O1 -ffreestanding"
    command = ["arm-none-eabi-gcc", *flags.split(), "-nostdlib", f"-I{sources}", "-T",
               str(sources / "machine.ld"), "endless.c", "-o", str(elf)]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return elf


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path, endless: Path) -> Iterator[Start]:
    """Starts a command on a case that ends, one that does not, and one behind it."""
    build_standalone("hello_world")
    shutil.copy(endless, tmp_path / "endless.elf")
    (tmp_path / "hil.toml").write_text(QUICK + ENDLESS + AFTER)
    (tmp_path / "tmp").mkdir()
    children: list[subprocess.Popen[str]] = []

    def started(*words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
        child = subprocess.Popen(
            words, cwd=tmp_path, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        children.append(child)
        return child

    yield started
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def wait_for(path: Path) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < limit, f"{path} never came"
        time.sleep(0.05)


def group_is_gone(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
def test_run_reports_the_cases_that_ran(
    start: Start, tmp_path: Path, number: int, code: int, name: str
) -> None:
    reports = ["--json", "r.json", "--junit", "r.xml", "--html", "r.html"]
    child = start(sys.executable, "-m", "harness", "run", "hil.toml", *reports)
    wait_for(tmp_path / "hil-results" / "simulator" / "endless" / "console.bin")
    time.sleep(0.3)
    os.killpg(child.pid, number)
    said, told = child.communicate(timeout=30)

    assert child.returncode == code
    assert "1 of 1 case passed" in said
    assert f"tflm-hil: interrupted by {name}: 1 of 3 cases ran" in told
    assert "r.json, r.xml, r.html" in told
    assert "Traceback" not in told
    assert [one["name"] for one in json.loads((tmp_path / "r.json").read_text())["cases"]] == [
        "quick"
    ]
    assert len(ElementTree.parse(tmp_path / "r.xml").findall(".//testcase")) == 1
    assert "quick" in (tmp_path / "r.html").read_text()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert group_is_gone(child.pid)


def test_an_interrupted_run_before_the_first_result_says_so(start: Start, tmp_path: Path) -> None:
    (tmp_path / "hil.toml").write_text(ENDLESS + AFTER)
    child = start(sys.executable, "-m", "harness", "run", "hil.toml", "--json", "-")
    wait_for(tmp_path / "hil-results" / "simulator" / "endless" / "console.bin")
    os.killpg(child.pid, signal.SIGINT)
    said, told = child.communicate(timeout=30)
    assert child.returncode == 130
    assert json.loads(said)["cases"] == []
    assert "0 of 2 cases ran" in told


ALL_AT_ONCE = """
import sys, time
from pathlib import Path
from harness.base import signals
from harness.case import load_cases
from harness.case.parallel import run_parallel

results = {}
with signals.raised(), signals.Keeping() as keeping:
    cases = {case.name: case for case in load_cases(Path("hil.toml"))}
    run_parallel(cases, Path("out"), None, results)
print(*results, flush=True)
sys.exit(signals.exit_code(keeping.stop))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "name"), SIGNALS)
def test_cases_in_worker_processes_end_with_the_signal_and_keep_what_came(
    start: Start, tmp_path: Path, number: int, code: int, name: str
) -> None:
    child = start(sys.executable, "-c", ALL_AT_ONCE)
    for case in ("quick", "after"):
        wait_for(tmp_path / "out" / case / "result.json")
    wait_for(tmp_path / "out" / "endless" / "console.bin")
    time.sleep(0.5)
    os.kill(child.pid, number)  # the workers hear of it from their parent
    said, told = child.communicate(timeout=30)
    assert (child.returncode, sorted(said.split()), told) == (code, ["after", "quick"], "")
    assert group_is_gone(child.pid)


def test_workers_end_with_a_parent_that_is_killed(start: Start, tmp_path: Path) -> None:
    child = start(sys.executable, "-c", ALL_AT_ONCE)
    wait_for(tmp_path / "out" / "endless" / "console.bin")
    child.kill()
    child.wait()
    limit = time.monotonic() + 10
    while not group_is_gone(child.pid):
        assert time.monotonic() < limit, "a worker still runs"
        time.sleep(0.05)


SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil

*** Test Cases ***
Quick
    Run Case    hil.toml    quick
Endless
    Run Case    hil.toml    endless
After
    Run Case    hil.toml    after
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_robot_reports_the_cases_that_ran(start: Start, tmp_path: Path, number: int) -> None:
    (tmp_path / "suite.robot").write_text(SUITE)
    child = start(sys.executable, "-m", "robot", "--outputdir", "out", "suite.robot")
    wait_for(tmp_path / "out" / "cases" / "simulator" / "endless" / "console.bin")
    time.sleep(0.5)
    os.kill(child.pid, number)
    said, _ = child.communicate(timeout=60)
    assert child.returncode not in (0, None)
    cases = json.loads((tmp_path / "out" / "results.json").read_text())["cases"]
    assert [one["name"] for one in cases] == ["quick"]
    assert "1 of 1 case passed" in said
    for report in ("hil.html", "hil-junit.xml", "output.xml"):
        assert (tmp_path / "out" / report).stat().st_size
    assert group_is_gone(child.pid)


SUITE = """*** Settings ***
Library    harness.keywords.TflmHil

*** Test Cases ***
""" + "".join(
    f"{name}\n    Run Case    hil.toml    {name}\n" for name in ("quick", "endless", "after")
)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_robot_fails_what_was_stopped_and_what_did_not_run_and_reports_the_rest(
    start: Start, tmp_path: Path, number: int
) -> None:
    (tmp_path / "suite.robot").write_text(SUITE)
    child = start(sys.executable, "-m", "robot", "-d", "out", "--xunit", "x.xml", "suite.robot")
    wait_for(tmp_path / "out" / "cases" / "simulator" / "endless" / "console.bin")
    time.sleep(0.3)
    os.kill(child.pid, number)
    said, told = child.communicate(timeout=30)

    assert child.returncode == 2  # Robot's own rule: the number of tests that failed
    assert "3 tests, 1 passed, 2 failed" in said
    assert "1 of 1 case passed" in said
    assert "Traceback" not in told
    rows = ElementTree.parse(tmp_path / "out" / "x.xml").findall(".//testcase")
    failures = [row.find("failure") for row in rows]
    assert [None if one is None else one.get("message") for one in failures] == [
        None, "Execution terminated by signal", "Test execution stopped due to a fatal error.",
    ]  # fmt: skip
    cases = json.loads((tmp_path / "out" / "results.json").read_text())["cases"]
    assert [one["name"] for one in cases] == ["quick"]
    for report in ("hil.html", "hil-junit.xml", "log.html", "report.html", "output.xml"):
        assert (tmp_path / "out" / report).stat().st_size > 0
    assert list((tmp_path / "tmp").iterdir()) == []
    assert group_is_gone(child.pid)


def test_a_build_that_is_interrupted_leaves_no_compiler_running(
    start: Start, tmp_path: Path
) -> None:
    os.environ["TFLM_HIL_CACHE"], before = str(tmp_path / "cache"), os.environ.get("TFLM_HIL_CACHE")
    try:
        child = start(sys.executable, "-m", "harness", "build", "digits")
    finally:
        if before is None:
            del os.environ["TFLM_HIL_CACHE"]
        else:
            os.environ["TFLM_HIL_CACHE"] = before
    limit = time.monotonic() + 60
    while not list(tmp_path.glob("cache/build/*/nrf9160/*.o")):
        assert time.monotonic() < limit
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGTERM)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 143
    assert told.strip().splitlines()[-1] == "tflm-hil: interrupted"
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline"))
    assert not [one for one in commands if str(tmp_path).encode() in one]
