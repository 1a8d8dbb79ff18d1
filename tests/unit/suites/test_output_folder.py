"""What suites write below the output folder is new in each execution."""

from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "suites"


@pytest.mark.parametrize("suite", sorted(SUITES.glob("*.robot")), ids=lambda path: path.name)
def test_a_suite_takes_its_folders_from_the_keyword_that_removes_old_files(suite):
    text = suite.read_text(encoding="utf-8").upper()
    assert "OUTPUT DIR" not in text and "OUTPUT_DIR" not in text, "see New Output Folder"
