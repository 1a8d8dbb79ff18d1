"""Records of what a build read and looked for: when they hold, and when they do not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from harness.build.inputs import Contents, Includes, InputRecord, Inputs, Roots


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two folders of headers and one of sources; nothing in them is younger than a minute."""
    for name in ("first", "second", "src"):
        (tmp_path / name).mkdir()
    return tmp_path


def settle(path: Path) -> None:
    """Wait until a change of ``path`` must get another time stamp."""
    while time.time_ns() - path.stat().st_ctime_ns < 1_100_000_000:
        time.sleep(0.05)


def record(*files: Path, absent: tuple[Path, ...] = ()) -> InputRecord:
    inputs = Inputs(frozenset(map(str, files)), frozenset(map(str, absent)))
    return InputRecord.of(inputs, Roots({}), Contents())


def holds(kept: InputRecord) -> bool:
    return kept.current(Roots({}), Contents()) is not None


def test_a_record_holds_as_long_as_the_contents_are_the_same(tree: Path) -> None:
    header = tree / "first" / "a.h"
    header.write_text("1")
    kept = record(header)
    assert holds(kept)
    header.write_text("2")
    assert not holds(kept)
    header.write_text("1")
    assert holds(kept)
    header.unlink()
    assert not holds(kept)


def test_a_file_of_the_same_size_and_time_is_another_one(tree: Path) -> None:
    header = tree / "first" / "a.h"
    header.write_text("1")
    settle(header)
    kept = record(header)
    (status,) = (one[1] for one in kept.files.values())
    assert status  # which is what the record relies on
    before = header.stat()
    header.write_text("2")
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not holds(kept)


def test_a_touched_file_is_read_again_and_its_new_status_is_kept(tree: Path) -> None:
    header = tree / "first" / "a.h"
    header.write_text("1")
    kept = record(header)
    settle(header)
    now = kept.current(Roots({}), Contents())
    assert now is not None
    assert now.digest == kept.digest
    assert now.files != kept.files


def test_a_link_that_leads_elsewhere_is_another_file(tree: Path) -> None:
    (tree / "first" / "a.h").write_text("1")
    (tree / "second" / "a.h").write_text("2")
    link = tree / "a.h"
    link.symlink_to(tree / "first" / "a.h")
    kept = record(link)
    assert holds(kept)
    link.unlink()
    link.symlink_to(tree / "second" / "a.h")
    assert not holds(kept)


@pytest.mark.parametrize("name", ["a.h", "sub/a.h", "sub/deeper/a.h"])
def test_a_file_that_appears_where_it_was_looked_for_is_an_input(tree: Path, name: str) -> None:
    path = tree / "first" / name
    kept = record(absent=(path,))
    assert holds(kept)
    (tree / "first" / "b.h").touch()
    assert holds(kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert not holds(kept)


def test_a_folder_is_not_a_file_until_it_becomes_one(tree: Path) -> None:
    path = tree / "first" / "a"
    path.mkdir()
    kept = record(absent=(path,))
    assert holds(kept)
    path.rmdir()
    path.touch()
    assert not holds(kept)


def test_many_names_in_one_folder_are_distinct(tree: Path) -> None:
    kept = record(absent=tuple(tree / "first" / f"{number}.h" for number in range(40)))
    (tree / "first" / "40.h").touch()
    assert holds(kept)
    (tree / "first" / "39.h").touch()
    assert not holds(kept)


def test_named_folders_may_lie_elsewhere_and_own_ones_do_not_count(tree: Path) -> None:
    for name in ("first", "second"):
        (tree / name / "a.h").write_text("1")
    inputs = Inputs(
        frozenset([f"{tree}/first/a.h", f"{tree}/src/a.o"]), frozenset([f"{tree}/first/b.h"])
    )
    kept = InputRecord.of(inputs, Roots({"x": tree / "first"}, [tree / "src"]), Contents())
    assert set(kept.files) == {"x:/a.h"}
    moved = Roots({"x": tree / "second"})
    assert kept.current(moved, Contents()) is not None
    (tree / "second" / "b.h").touch()
    assert kept.current(moved, Contents()) is None


def searched(tree: Path, *headers: str) -> Inputs:
    """The inputs of a compiler that read src/main.cc and ``headers``."""
    folders = [f"{tree}/first", f"{tree}/second"]
    read = [f"{tree}/{name}" for name in headers]
    return Includes(Contents()).inputs([f"{tree}/src/main.cc"], read, folders)


def relative(tree: Path, paths: frozenset[str]) -> set[str]:
    return {os.path.relpath(path, tree) for path in paths if not path.endswith(".gch")}


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("#include <a.h>", {"first/a.h"}),
        ('#include "a.h"', {"src/a.h", "first/a.h"}),
        ('  #  include\t"a.h"  // why', {"src/a.h", "first/a.h"}),
        ("#import <a.h>", {"first/a.h"}),
        ("%:include <a.h>", {"first/a.h"}),
        ("#if __has_include(<a.h>)\n#include <a.h>\n#endif", {"first/a.h"}),
    ],
)
def test_the_folders_before_the_one_that_has_a_header_were_searched(
    tree: Path, statement: str, absent: set[str]
) -> None:
    (tree / "src" / "main.cc").write_text(f"{statement}\n")
    (tree / "second" / "a.h").touch()
    found = searched(tree, "second/a.h")
    assert relative(tree, found.absent) == absent
    assert relative(tree, found.files) == {"src/main.cc", "second/a.h"}


def test_include_next_goes_on_behind_the_header_that_has_it(tree: Path) -> None:
    (tree / "src" / "main.cc").write_text("#include <a.h>\n")
    (tree / "first" / "a.h").write_text("#include_next <a.h>\n#include_next <b.h>\n")
    (tree / "second" / "a.h").touch()
    found = searched(tree, "first/a.h", "second/a.h")
    assert {"first/a.h", "second/a.h"} < relative(tree, found.files)
    assert {"first/b.h", "second/b.h"} <= relative(tree, found.absent)


def test_a_header_that_is_only_tested_for_is_an_input(tree: Path) -> None:
    (tree / "src" / "main.cc").write_text("#if __has_include(<a.h>) && __has_include(<b.h>)\n")
    (tree / "second" / "a.h").touch()
    found = searched(tree)
    assert "second/a.h" in relative(tree, found.files)
    assert relative(tree, found.absent) == {"first/a.h", "first/b.h", "second/b.h"}


def test_a_header_that_a_macro_names_was_looked_for_everywhere(tree: Path) -> None:
    (tree / "src" / "main.cc").write_text("#define A <a.h>\n#include A\n")
    (tree / "second" / "a.h").touch()
    found = searched(tree, "second/a.h")
    assert {"src/a.h", "first/a.h"} <= relative(tree, found.absent)


def test_a_precompiled_header_would_come_first(tree: Path) -> None:
    (tree / "src" / "main.cc").write_text("#include <a.h>\n")
    (tree / "second" / "a.h").touch()
    found = searched(tree, "second/a.h")
    assert {f"{tree}/first/a.h.gch", f"{tree}/second/a.h.gch"} <= found.absent
