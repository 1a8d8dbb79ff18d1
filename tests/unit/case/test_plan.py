"""What a request runs: layers, targets that were asked for, tags, repeated cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from results import case_result

from harness.base.errors import UsageError
from harness.case.overlay import door_layer
from harness.case.plan import Plan, Request, execute, one_case, plan
from harness.case.result import Verdict
from harness.case.subject import Subject
from harness.targets.opening import Targets

FILE = """
[defaults]
timeout = 10
options = { power_on = "both", timing = "branches" }

[[case]]
name = "a"
elf = "a.elf"
tags = ["nightly"]
targets = ["simulator", "renode"]
options = { power_on = "3" }

[[case]]
name = "b"
elf = "a.elf"
"""


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RENODE", "TFLM_HIL_LAB"):
        monkeypatch.delenv(name, raising=False)
    Path("a.elf").write_bytes(b"")
    Path("hil.toml").write_text(FILE)

    def planned(*, names=(), tags=(), **keys: object) -> Plan:
        layer = door_layer("the door", keys, spelled={"timeout": "--timeout"})
        subject = Subject.find("hil.toml", case_files=True)
        return plan(Request(subject, (layer,), names, tags))

    return planned


def test_a_file_says_on_which_targets_its_cases_run(planned):
    made = planned()
    assert [(case.name, case.target) for case in made.cases] == [
        ("a", "simulator"), ("a", "renode"), ("b", "simulator"),
    ]  # fmt: skip
    assert (made.named, made.notes) == (frozenset(), ())


def test_options_are_merged_by_name_and_survive_another_target(planned):
    a, b = planned(target="renode").cases
    assert (a.target_options, b.target_options) == ({"power_on": "3"}, {"power_on": "both"})
    assert a.on("simulator").target_options == {"power_on": "3", "timing": "branches"}


def test_a_target_that_replaces_those_of_the_file_was_asked_for_by_name(planned):
    made = planned(target="renode", names=("a",))
    assert made.named == {"renode"}
    assert made.notes == (
        "the door replaces targets = ['simulator', 'renode'] of hil.toml, case 'a'",
    )


def test_a_value_that_is_replaced_is_told_once_with_its_place(planned):
    made = planned(timeout=5)
    assert {case.timeout for case in made.cases} == {5}
    assert made.notes == ("--timeout replaces timeout = 10 of hil.toml, [defaults]",)
    assert "  timeout = 5   (--timeout)" in str(made)


def test_an_entry_that_is_replaced_in_a_table_is_told(planned):
    Path("hil.toml").write_text(
        FILE.replace('elf = "a.elf"\n', 'elf = "a.elf"\nbudgets = { flash = 9 }\n', 1)
    )
    assert planned(names=("a",), **{"budgets.flash": 5, "budgets.ram": 5}).notes == (
        "the door replaces budgets.flash = 9 of hil.toml, case 'a'",
    )


def test_the_environment_stands_above_the_file_and_below_the_door(planned, monkeypatch):
    monkeypatch.setenv("RENODE", "/of/environment")
    (case,) = planned(target="renode", names=("b",)).cases
    assert case.target_options["renode"] == "/of/environment"
    (case,) = planned(target="renode", names=("b",), options={"renode": "/of/door"}).cases
    assert case.target_options["renode"] == "/of/door"


def test_a_board_is_for_whichever_target_takes_it_and_is_told_if_replaced(planned):
    file = Path("hil.toml")
    file.write_text('[board]\nconsole = "txd=1 rxd=0"\n[[case]]\nname = "a"\nelf = "a.elf"\n')
    assert planned(target="board").cases[0].target_options == {}
    assert planned().cases[0].target_options == {"console": "txd=1 rxd=0"}
    (note,) = planned(options={"console": "txd=2 rxd=3"}).notes
    assert note.endswith("replaces options.console = 'txd=1 rxd=0' of hil.toml, [board]")


def test_tags_select_cases(planned):
    assert {case.name for case in planned(tags=("nightly",)).cases} == {"a"}
    with pytest.raises(UsageError, match="no case has the tag 'nigthly'") as refused:
        planned(tags=("nigthly",))
    assert refused.value.hint == "tags: nightly"


def test_an_option_that_no_target_takes_is_refused(planned):
    with pytest.raises(UsageError, match="nothing runs on board"):
        planned(options={"board": "dk1"})


@pytest.mark.parametrize(
    ("verdicts", "verdict", "reason"),
    [
        ([Verdict.PASS] * 3, Verdict.PASS, "why in each of 3 runs"),
        ([Verdict.FIRMWARE] * 3, Verdict.FIRMWARE, "why"),
        ([Verdict.ERROR], Verdict.ERROR, "why"),
        (
            [Verdict.PASS, Verdict.FIRMWARE, Verdict.PASS],
            Verdict.FLAKY,
            "passed 2 of 3 runs; their consoles are equal, one is pass and another firmware: why",
        ),
    ],
)
def test_each_run_of_a_repeated_case_must_pass(planned, monkeypatch, verdicts, verdict, reason):
    left = iter(verdicts)
    monkeypatch.setattr(
        "harness.case.run.run_case",
        lambda case, folder, **how: case_result(name=case.name, verdict=next(left), reason="why"),
    )
    made = planned(names=("b",), repeat=3)
    (result,) = execute(made, lambda case: Path(), Targets())
    assert (result.verdict, result.reason) == (verdict, reason)
    assert next(left, None) is None


@pytest.fixture
def image(tmp_path: Path) -> Subject:
    (tmp_path / "own.elf").write_bytes(b"")
    return Subject.find("own.elf", tmp_path)


SAMPLE = Subject("hello_world", sample="hello_world")


@pytest.mark.parametrize("subject", [SAMPLE, Subject("a.elf", elf=Path("a.elf"))])
def test_each_value_of_a_dry_run_has_an_origin(planned, subject):
    assert "()" not in str(plan(Request(subject)))


def test_the_case_of_an_image_is_called_after_it(image):
    case = one_case(image)
    assert (case.name, case.elf, case.sample) == ("own", image.elf, "")


@pytest.mark.parametrize(
    "keys", [{"resolver": "exact"}, {"resolver": "all-configurations"}, {"builder": "zephyr"}]
)
def test_an_image_takes_no_options_of_builds(image, keys):
    with pytest.raises(
        UsageError, match=r"cannot be used here: .*own\.elf is an image already bui"
    ):
        one_case(image, door_layer("the door", keys))


def test_an_image_of_a_file_that_takes_none_is_named_by_its_case(planned):
    with pytest.raises(UsageError, match="the door cannot be used here: a is an image already bui"):
        planned(resolver="exact")


def test_the_case_of_a_sample_is_the_exact_standalone_one_by_default():
    case = one_case(SAMPLE)
    assert (case.name, case.resolver, case.builder) == (
        "hello_world-exact", "exact", "standalone",
    )  # fmt: skip
    other = one_case(SAMPLE, door_layer("the door", {"resolver": "all", "builder": "zephyr"}))
    assert (other.name, other.builder) == ("hello_world-all", "zephyr")


def test_several_configurations_are_not_one_case():
    with pytest.raises(UsageError, match="hello_world has 16 cases, and only one can"):
        one_case(SAMPLE, door_layer("the door", {"resolver": "all-configurations"}))
