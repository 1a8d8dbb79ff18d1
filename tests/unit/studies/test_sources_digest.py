"""The digest of a sweep changes with the sources of its images and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.studies.sweep.study import sources_digest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.cc").write_text("int main() {}\n")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["__pycache__/generate.cpython-311.pyc", ".main.cc.swp", "main.cc~"]
)
def test_leftovers_do_not_make_a_sweep_another(tree: Path, name: str) -> None:
    before = sources_digest([tree])
    path = tree / "src" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"leftover")
    assert sources_digest([tree]) == before


def test_a_changed_added_or_renamed_source_makes_a_sweep_another(tree: Path) -> None:
    seen = {sources_digest([tree])}
    (tree / "src" / "main.cc").write_text("int main() { return 1; }\n")
    seen.add(sources_digest([tree]))
    (tree / "src" / "more.h").write_text("")
    seen.add(sources_digest([tree]))
    (tree / "src" / "more.h").rename(tree / "src" / "other.h")
    seen.add(sources_digest([tree]))
    assert len(seen) == 4
