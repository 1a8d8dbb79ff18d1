"""`run --update`: what is rewritten in a case file, and which values are not taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from results import case_result

from harness.base.errors import CannotWrite, CheckFailed, HilError
from harness.base.expected import Expected
from harness.case import update
from harness.case.plan import Plan, Request, plan
from harness.case.result import Evidence, Verdict
from harness.case.subject import Subject
from harness.case.update import Edits, applied, edits_of, update_of
from harness.uart.scrapers import TestResult
from harness.uart.scrapers.base import Listing

FILE = """\
# all of it
[[case]]
name = 'a'  # literal

elf = "a.elf"
scraper = '/(?P<y>.)/'
{expect}
tags = [ "x" ]

[case.budgets]   # none
flash = "4 KB"

[[case]]
name = "b"
elf = "a.elf"
scraper = '/(?P<y>.)/'
expect.values = [{{ y = 1 }}]
"""
Y0 = {(0, "y"): "0.50"}


def at(row: int, name: str, printed: str) -> Edits:
    return Edits({(row, name): printed})


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        # numbers as they were printed
        ("expect.values = [{ y = 1 }] # c", at(0, "y", "0.50"),
         "expect.values = [{ y = 0.50 }] # c"),
        ("expect.values = [{y=1.5}]", at(0, "y", "7"), "expect.values = [{y=7}]"),
        ("expect.values = [{y=1}]", at(0, "y", "-1.5e-3"), "expect.values = [{y=-1.5e-3}]"),
        ("expect.values = [{y=1}]", at(0, "y", "007"), "expect.values = [{y=7}]"),
        ("expect.values = [{y=1}]", at(0, "y", "1.5*2^-1"), "expect.values = [{y=0.75}]"),
        # texts in their quotes
        ("expect.values = [{y='a'}]", at(0, "y", "b"), "expect.values = [{y='b'}]"),
        ('expect.values = [{y="a"}]', at(0, "y", "b"), 'expect.values = [{y="b"}]'),
        ("expect.values = [{y='a'}]", at(0, "y", "it's"), 'expect.values = [{y="it\'s"}]'),
        ('expect.values = [{y="a"}]', at(0, "y", '"\\'), 'expect.values = [{y="\\"\\\\"}]'),
        ('expect.values = [{y="1"}]', at(0, "y", "2"), 'expect.values = [{y="2"}]'),
        # other values, rows and comments stay
        ("expect.values = [\n  {y=1, z = 2},  # one\n  # two\n  {y=3},\n]", at(1, "y", "4"),
         "expect.values = [\n  {y=1, z = 2},  # one\n  # two\n  {y=4},\n]"),
        ("[case.expect]\nvalues = [{y=1}]\nfindings = [ ]", at(0, "y", "2"),
         "[case.expect]\nvalues = [{y=2}]\nfindings = [ ]"),
        ("expect = { findings = [], values = [{y=1}] }", at(0, "y", "2"),
         "expect = { findings = [], values = [{y=2}] }"),
        # rows behind the last one, with the names that rows have
        ("expect.values = [{ y = 1 }]", Edits(rows=({"y": "2", "z": "3"},)),
         "expect.values = [{ y = 1 }, { y = 2 }]"),
        ("expect.values = [{y = 1}]", Edits(Y0, ({"y": "2"},)),
         "expect.values = [{y = 0.50}, {y = 2}]"),
        ("expect.values = [\n  {y=1},\n]", Edits(rows=({"y": "2"}, {"y": "3"})),
         "expect.values = [\n  {y=1},\n  {y = 2},\n  {y = 3},\n]"),
        ("expect.values = [{y=1}, {s='a'}]", Edits(rows=({"s": "b", "y": "2"},)),
         "expect.values = [{y=1}, {s='a'}, {y = 2, s = 'b'}]"),
        # states of tests
        ('expect.tests = { "s.a" = "fail" }  # known', Edits(tests={"s.a": "pass"}),
         'expect.tests = { "s.a" = "pass" }  # known'),
        ("expect.tests.\"s.a\" = 'fail'", Edits(tests={"s.a": "skip"}),
         "expect.tests.\"s.a\" = 'skip'"),
    ],
)  # fmt: skip
def test_only_the_expected_values_change(before, edits, after):
    text = FILE.format(expect=before)
    assert applied(text, "a", edits) == FILE.format(expect=after)


def test_a_table_for_each_row_is_rewritten_and_added():
    head = '[[case]]\nname = "a"\n\n[[case.expect.values]]\ny = 1  # c\n'
    text = f'{head}\n[[case]]\nname = "b"\n'
    new = applied(text, "a", Edits(Y0, ({"y": "2"},)))
    changed = head.replace("y = 1", "y = 0.50")
    assert new.startswith(changed)
    assert [line for line in new.splitlines() if line] == [
        *changed.replace("\n\n", "\n").splitlines(), "[[case.expect.values]]", "y = 2",
        "[[case]]", 'name = "b"',
    ]  # fmt: skip


def test_ends_of_lines_stay():
    text = FILE.format(expect="expect.values = [{y=1}]").replace("\n", "\r\n")
    assert applied(text, "a", at(0, "y", "2")) == text.replace("{y=1}", "{y=2}")


@pytest.mark.parametrize("printed", ["nan", "inf", "1e999", "idle", ""])
def test_a_text_is_not_written_in_place_of_a_number(printed):
    text = FILE.format(expect="expect.values = [{y=1}]")
    with pytest.raises(CheckFailed, match=r"y of result 1 is .*, where a number is listed"):
        applied(text, "a", at(0, "y", printed))


def test_a_result_with_no_listed_name_is_no_row():
    text = FILE.format(expect="expect.values = [{y=1}]")
    with pytest.raises(CheckFailed, match="result 2 is not listed, and has no listed name"):
        applied(text, "a", Edits(rows=({"z": "1"},)))


def suite(**states: str) -> Evidence:
    return Evidence(tests=tuple(TestResult(name, state, 1) for name, state in states.items()))


@pytest.mark.parametrize(
    ("evidence", "tests", "edits"),
    [
        (Evidence(listing=Listing(2, 2)), {}, Edits()),
        (Evidence(listing=Listing(2, 2, ((1, "y", "7"),))), {}, at(1, "y", "7")),
        (Evidence(listing=Listing(1, 2, (), ({"y": "7"},))), {}, Edits(rows=({"y": "7"},))),
        (suite(a="fail", b="pass"), {"a": "fail"}, Edits()),
        (suite(a="pass"), {"a": "fail"}, Edits(tests={"a": "pass"})),
        (suite(a="flaky"), {"a": "fail"}, Edits(tests={"a": "flaky"})),
        (suite(a="pass"), {"a": "flaky"}, Edits()),
        (suite(a="pass", b="fail"), {"a": "pass"}, Edits()),
    ],
)
def test_the_edits_are_what_differs(evidence, tests, edits):
    assert edits_of(Expected(tests=tests), evidence) == edits


@pytest.mark.parametrize(
    ("evidence", "tests", "words"),
    [
        (Evidence(listing=Listing(3, 2)), {}, "2 results came, 3 are listed: none is removed"),
        (Evidence(listing=Listing(2, 2, ((1, "y", None),))), {}, "result 2 has no y any more"),
        (suite(b="pass"), {"a": "fail"}, "a did not run: it is not removed"),
        (suite(a="unfinished"), {"a": "fail"}, "a unfinished: it is not removed"),
    ],
)
def test_what_does_not_come_is_not_removed(evidence, tests, words):
    with pytest.raises(CheckFailed, match=words):
        edits_of(Expected(tests=tests), evidence)


# What is taken from results of several targets and of two runs.


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.elf").touch()
    path = tmp_path / "hil.toml"
    path.write_text(
        FILE.format(expect='expect.values = [{y=1}]\ntargets = ["simulator", "renode"]')
    )
    return path


def planned(file: Path, *names: str) -> Plan:
    return plan(Request(Subject(str(file), case_file=file), names=names))


class Runs:
    """Gives what it is told to, run by run: for each target a printed y, or a verdict."""

    def __init__(self, *runs: dict[str, str | Verdict]) -> None:
        self.runs, self.expected = list(runs), []

    def __call__(self, made: Plan) -> list:
        self.expected.append([dict(case.expect.values[0]) for case in made.cases])
        told = self.runs.pop(0)
        return [self._result(case, told[case.target]) for case in made.cases]

    def _result(self, case, told):
        wanted = str(case.expect.values[0]["y"])
        verdict = told if isinstance(told, Verdict) else Verdict.PASS
        differing = ()
        if not isinstance(told, Verdict) and told != wanted:
            verdict, differing = Verdict.FAIL, ((0, "y", told),)
        return case_result(
            name=case.name,
            target=case.target,
            verdict=verdict,
            reason=f"y is {told}",
            listing=Listing(1, 1, differing),
        )


def test_the_case_must_pass_with_its_new_values(file):
    runs = Runs({"simulator": "2", "renode": "2"}, {"simulator": "2", "renode": "2"})
    found = update_of(planned(file, "a"), file, runs)
    assert runs.expected == [[{"y": 1}] * 2, [{"y": 2}] * 2]
    assert found.new == found.old.replace("{y=1}", "{y=2}")
    assert found.refused == ()


@pytest.mark.parametrize(
    ("runs", "verdict", "words"),
    [
        ([{"simulator": "2", "renode": "3"}], "fail", "simulator and renode give different values"),
        ([{"simulator": "2", "renode": "1"}], "fail", "simulator and renode give different values"),
        ([{"simulator": "2", "renode": Verdict.FIRMWARE}], "firmware", "firmware on renode: y is"),
        ([{"simulator": "2", "renode": Verdict.SKIPPED}], "skipped", "skipped on renode: y is"),
        ([{"simulator": "2", "renode": Verdict.FLAKY}], "flaky", "flaky on renode: y is"),
        ([{"simulator": Verdict.FAIL, "renode": Verdict.FAIL}], "fail", "y is fail"),
        ([{"simulator": "2", "renode": "2"}, {"simulator": "2", "renode": "5"}], "fail",
         "with the new values, y is 5"),
        ([{"simulator": "x", "renode": "x"}], "fail", "y of result 1 is 'x', where a number is"),
    ],
)  # fmt: skip
def test_values_of_a_run_that_proves_nothing_are_not_taken(file, runs, verdict, words):
    found = update_of(planned(file, "a"), file, Runs(*runs))
    [refused] = found.refused
    assert (refused.case, refused.verdict) == ("a", verdict)
    assert refused.reason.startswith(words)
    assert (found.new, found.expected) == (found.old, {})


def test_a_refused_case_does_not_keep_the_others_from_new_values(file):
    runs = Runs({"simulator": "2", "renode": "3"}, {"simulator": "2"})
    found = update_of(planned(file), file, runs)
    assert [one.case for one in found.refused] == ["a"]
    assert found.new == found.old.replace("[{ y = 1 }]", "[{ y = 2 }]")


# Writing.


def update_to(file: Path, value: str) -> update.Update:
    return update_of(planned(file, "b"), file, Runs(*[{"simulator": value}] * 2))


def test_the_file_is_written_and_keeps_its_mode(file):
    file.chmod(0o640)
    update_to(file, "2").write()
    assert [case.expect.values[0]["y"] for case in planned(file).cases] == [1, 1, 2]
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("4 KB", "5 KB"),
        lambda text: text.replace("{ y = 2 }", "{ y = 3 }"),
        lambda text: text + "[",
    ],
)
def test_a_file_that_would_read_otherwise_is_restored(file, damage):
    found, old = update_to(file, "2"), file.read_bytes()
    with pytest.raises(HilError, match="its old content is restored"):
        replace(found, new=damage(found.new)).write()
    assert file.read_bytes() == old


def test_a_file_that_changed_meanwhile_is_left_alone(file):
    found = update_to(file, "2")
    file.write_text(edited := found.old + "# more\n")
    with pytest.raises(CannotWrite, match="has changed while its cases ran"):
        found.write()
    assert file.read_text() == edited
