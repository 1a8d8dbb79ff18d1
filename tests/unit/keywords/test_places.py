"""The library keeps the files of every run: a case name that comes again gets another folder."""

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from results import case_result

from harness.base.errors import BadElf, CheckFailed, EnvironmentMissing
from harness.case import Verdict
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
        with pytest.raises(EnvironmentMissing, match="no board is attached"):
            library.run_case(case_file)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("result.json"))
    assert written == ["cases/board-2/a_case/result.json", "cases/board/a_case/result.json"]
    assert len(library.results) == 2


def test_all_cases_of_a_file_run_and_all_that_fail_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verdicts = {"a": Verdict.FAIL, "b": Verdict.PASS, "c": Verdict.FIRMWARE, "d": Verdict.SKIPPED}
    for name in (*verdicts, "e"):
        (tmp_path / f"{name}.elf").write_bytes(b"")
    rows = [f'[[case]]\nname = "{name}"\nelf = "{name}.elf"\n' for name in ("e", *verdicts)]
    (tmp_path / "hil.toml").write_text("".join(rows))

    def run_case(case, output, how, calibrate):
        if case.name == "e":
            raise BadElf("e.elf is not an ELF file")
        return case_result(name=case.name, verdict=verdicts[case.name], reason=f"why {case.name}")

    monkeypatch.setattr("harness.case.run._run_case", run_case)
    library = TflmHil()
    with pytest.raises(CheckFailed) as caught:
        library.run_case(tmp_path / "hil.toml")
    assert caught.value.message.splitlines() == [
        "3 of 5 cases failed:",
        "e on simulator: e.elf is not an ELF file",
        "a on simulator: why a",
        "c on simulator: why c",
    ]
    assert len(library.results) == 5
    with pytest.raises(CheckFailed, match=r"^why a$"):
        library.run_case(tmp_path / "hil.toml", "a")
    with pytest.raises(EnvironmentMissing, match="why d"):
        library.run_case(tmp_path / "hil.toml", "d")
    assert [one.name for one in library.run_case(tmp_path / "hil.toml", "b")] == ["b"]
