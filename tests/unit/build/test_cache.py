"""The build cache: entries appear whole; what killed builds leave is removed by the next one."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.errors import CannotWrite, EnvironmentMissing
from harness.build.cache import Cache
from harness.build.parallel import parallel_map

FILL_FOR_EVER = """
import sys, time
from pathlib import Path
from harness.build.cache import Cache

def fill(folder):
    (folder / "half").write_text("a file")
    print("filling", flush=True)
    time.sleep(600)

Cache(Path(sys.argv[1])).make("abcdef", fill)
"""


@pytest.fixture
def filling(tmp_path: Path):
    """Another process in the middle of a build."""
    with subprocess.Popen(
        [sys.executable, "-c", FILL_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"filling\n"
        yield child
        child.kill()


def drafts(root: Path) -> list[Path]:
    return list(root.rglob(".draft-*"))


def make(root: Path, key: str = "ghijkl") -> Path:
    return Cache(root).make(key, lambda folder: (folder / "file").touch())


def test_the_draft_of_a_killed_build_is_removed_by_the_next(tmp_path: Path, filling) -> None:
    assert len(drafts(tmp_path)) == 1
    filling.send_signal(signal.SIGKILL)
    filling.wait()
    made = make(tmp_path)
    assert drafts(tmp_path) == []
    assert (made / "file").exists()


def test_the_draft_of_a_build_that_still_runs_is_left_alone(tmp_path: Path, filling) -> None:
    made = make(tmp_path)
    assert [(draft / "half").exists() for draft in drafts(tmp_path)] == [True]
    assert (made / "file").exists()


def test_an_entry_that_cannot_be_filled_leaves_nothing_and_names_the_file(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "half"))

    with pytest.raises(CannotWrite, match="half: No space left on device"):
        Cache(tmp_path).make("abcdef", fill)
    assert drafts(tmp_path) == []
    assert Cache(tmp_path).entry("abcdef") is None


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path).make("abcdef", fill)
    assert drafts(tmp_path) == []


def test_a_cache_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(EnvironmentMissing, match="cannot write to the build cache"):
        make(tmp_path / "cache")


def test_after_an_error_nothing_more_is_begun() -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 0:
            raise ValueError("the first one")
        time.sleep(0.2)
        return number

    with pytest.raises(ValueError, match="the first one"):
        parallel_map(work, list(range(50)), jobs=2)
    assert len(begun) < 10


def test_results_come_in_the_order_of_the_items() -> None:
    assert parallel_map(lambda n: -n, [3, 1, 2], jobs=3) == [-3, -1, -2]
