"""The library keeps the files of every run: a case name that comes again gets another folder."""

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from robot.api import SkipExecution

from harness.keywords import TflmHil


@pytest.fixture
def case_file(tmp_path):
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    (tmp_path / "a.elf").write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))
    file = tmp_path / "hil.toml"
    file.write_text('[[case]]\nname = "a case"\nelf = "a.elf"\ntargets = ["board"]\n')
    return file


def test_two_runs_of_one_name_leave_two_results(case_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TFLM_HIL_LAB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TFLM_HIL_VIRTUAL_BENCH", raising=False)
    library = TflmHil()
    for _ in range(2):
        with pytest.raises(SkipExecution):
            library.run_case(case_file)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("result.json"))
    assert written == ["cases/board-2/a_case/result.json", "cases/board/a_case/result.json"]
    assert len(library.results) == 2
