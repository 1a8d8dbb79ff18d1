"""The golden corpus: how a difference is named, what is left out, what the corpus holds."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import consoles
import entries
from compare import FIELD_RULES, TEXT_RULES, differences, report
from entries import CannotCompare, Entry
from sides import Result, Side

HERE = Path(__file__).parent
PLACES = {"here": "/a/1/here", "checkout": "/a/checkout", "cache": "/a/cache", "folder": "/a"}
CASE = {
    "name": "sine",
    "elf": "/a/cache/build/46/46e1-5e99/hello_world-exact.elf",
    "verdict": "pass",
    "reason": "20 values equal",
    "findings": [],
    "flash": 29208,
    "virtual_seconds": 0.5,
    "wall_seconds": 1.25,
    "details": "one\ntwo\nthree\n",
}


def result(stdout: str = "", exit_code: int = 0, **case: object) -> Result:
    """A run of one case; ``case`` replaces fields of its document."""
    document = {"run": {"started": 1.0}, "cases": [{**CASE, **case}]}
    files = {"run.json": json.dumps(document)}
    return Result(exit_code, stdout, "", files, PLACES, cpu_seconds=1.0)


def named(before: Result, after: Result) -> list[str]:
    """The report on one entry, ``a/run``."""
    return list(report(list(differences("a/run", before, after))))


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (result(verdict="fail"), "run.json cases[sine].verdict: pass -> fail"),
        (result(flash=29212), "run.json cases[sine].flash: 29208 -> 29212"),
        (result(reason="none equal"), "run.json cases[sine].reason: 20 values equal -> none equal"),
        (result(exit_code=1), "exit code: 0 -> 1"),
        (result(stdout="1 failed"), "stdout: (empty) -> 1 failed"),
        (result(details="one\n2\nthree\n"), "run.json cases[sine].details: \n    -two\n    +2"),
        (result(hint="look"), "run.json cases[sine].hint: (absent) -> look"),
        (result(virtual_seconds=0.6), "run.json cases[sine].virtual_seconds: 0.5 -> 0.6"),
    ],
)
def test_difference_is_named(after, line):
    assert named(result(), after) == [f"a/run: {line}"]


def test_of_a_long_value_is_shown_where_it_differs():
    before, after = (result(reason=f"{'a' * 1000}{word}{'b' * 1000}") for word in ("1", "22"))
    [line] = named(before, after)
    assert "a1b" in line and "a22b" in line and len(line) < 450


def test_new_item_of_a_list_is_named():
    after = result(findings=[{"kind": "fault"}])
    assert "a/run: run.json cases[sine].findings[0].kind: (absent) -> fault" in named(
        result(), after
    )


@pytest.mark.parametrize("files", [{}, {"run.json": "Traceback"}, {"run.json": '{"cases": []}'}])
def test_document_that_is_not_written_any_more_is_named(files):
    after = replace(result(), files=files)
    assert "a/run: run.json cases[sine].verdict: pass -> (absent)" in named(result(), after)


# ------------------------------------------------------------------------------------ many entries


def flash_of(values: list[int]) -> list[str]:
    """The report on entries whose figure was 0 and is now one of ``values``."""
    pairs = ((result(flash=0), result(flash=value)) for value in values)
    found = [one for number, pair in enumerate(pairs) for one in differences(f"e/{number}", *pair)]
    return list(report(found))


def test_equal_changes_are_one_line():
    assert flash_of([7] * 130) == [
        "130 entries (e/0, e/1, e/2, ...): run.json cases[].flash: 0 -> 7"
    ]


def test_many_changes_of_one_field_are_one_line_and_three_examples():
    head, *examples = flash_of([*range(1, 12), 11])
    assert head == "run.json cases[].flash: 11 different changes in 12 entries, such as"
    assert examples[0] == "  2 entries (e/10, e/11): run.json cases[].flash: 0 -> 11"
    assert len(examples) == 3


# ------------------------------------------------------------------------------ what is left out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (result(wall_seconds=1), result(wall_seconds=2)),
        (
            result(elf="/a/cache/build/46/46e1-5e99/x.elf"),
            result(elf="/a/cache/build/99/99-1/x.elf"),
        ),
        (result("[1/2] a on b: pass (0.5 s)\n"), result("[1/2] a on b: pass (12.0 s)\n")),
        (
            result("at /a/checkout/x.c"),
            replace(result("at /other/x.c"), places={**PLACES, "checkout": "/other"}),
        ),
    ],
)
def test_what_varies_from_run_to_run_is_no_difference(before, after):
    assert named(before, after) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            result(elf="/a/cache/build/46/46e1-5e99/x.elf"),
            result(elf="/a/cache/build/99/99-1/y.elf"),
        ),
        (result("[1/2] a on b: pass (0.5 s)\n"), result("[1/2] a on b: fail (0.5 s)\n")),
        (result("took 0.5 s\n"), result("took 0.6 s\n")),
        (result("slept (0.5 s)\n"), result("slept (0.6 s)\n")),
    ],
)
def test_a_rule_leaves_out_nothing_else(before, after):
    assert len(named(before, after)) == 1


def test_every_rule_has_a_reason():
    assert all(reason for _, _, reason in TEXT_RULES)
    assert all(FIELD_RULES.values())


# ------------------------------------------------------------------------------------- the corpus


@pytest.fixture(scope="module")
def corpus() -> dict[str, Entry]:
    found = list(entries.corpus())
    named = {one.name: one for one in found}
    assert len(named) == len(found), "two entries have the same name"
    return named


def test_corpus_has_each_part(corpus):
    parts = [name.partition("/")[0] for name in corpus]
    assert parts.count("standalone") == 2 * 125
    assert parts.count("standalone-ns") == 2 * 7
    assert parts.count("captures") == 2 * len(list(consoles.TRANSCRIPTS.rglob("*.log")))
    assert parts.count("strangers") >= 2 * 40
    assert parts.count("spoilt") == (parts.count("captures") + parts.count("strangers")) // 2


def test_corpus_is_the_same_each_time(corpus):
    assert {one.name: one for one in entries.corpus()} == corpus


@pytest.mark.parametrize("rule", consoles.SPOILERS)
def test_each_way_to_spoil_a_console_changes_most_of_them(rule):
    found = [*consoles.captures(), *consoles.strangers()]
    spoil = consoles.SPOILERS[rule]
    changed = [one for one in found if spoil(one.text, consoles.seeded(one, rule)) != one.text]
    assert len(changed) >= 0.9 * len(found)


def test_spoilt_consoles_are_the_cases_of_one_file(corpus):
    files = corpus["spoilt/strangers/windows"].files
    cases = tomllib.loads(files["hil.toml"].decode())["case"]
    assert [case["name"] for case in cases] == list(consoles.SPOILERS)
    assert {case["elf"] for case in cases} <= files.keys()


def test_clone_without_the_frozen_commit_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(entries, "FROZEN", "0" * 40)
    with pytest.raises(CannotCompare, match="git fetch --unshallow"):
        list(entries.corpus())


# -------------------------------------------------------------------------------------- both sides


@pytest.fixture
def side(tmp_path) -> Side:
    """A side in the present environment."""
    return Side(tmp_path / "side", entries.ROOT, Path(sys.executable).parent)


def run(side: Side, *entries: Entry, again: bool = False) -> list[Result]:
    return list(side.results(entries, jobs=2, again=again))


def test_result_is_kept_for_the_same_entry_alone(side):
    clock = Entry("clock", "date +%N")
    [first] = run(side, clock)
    assert run(side, clock) == [first]
    assert run(side, replace(clock, files={"hil.toml": b""})) != [first]
    assert run(side, clock, again=True) != [first]


@pytest.mark.parametrize("end", ["exit 3", "kill -9 $$", "sh -c 'kill -9 $$'"])
def test_result_of_the_environment_or_a_signal_is_not_kept(side, end):
    entry = Entry("clock", f"date +%N; {end}")
    assert run(side, entry) != run(side, entry)


def test_result_is_what_the_command_gave(side):
    command = "cat given; echo wrong >&2; echo new > new; echo other > other; exit 3"
    [found] = run(side, Entry("any", command, {"given": b"text\xff"}, keep=("new", "absent")))
    assert (found.exit_code, found.stdout, found.stderr) == (3, "text\\xff", "wrong\n")
    assert found.files == {"new": "new\n"}


def test_variables_of_the_caller_are_not_seen(side, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_HISTORY", "mine.db")
    [found] = run(side, Entry("variables", "env"))
    assert "TFLM_HIL_HISTORY" not in found.stdout


@pytest.mark.slow
def test_two_runs_of_one_commit_do_not_differ(side, corpus):
    chosen = [
        corpus[name]
        for name in ("strangers/windows/run", "strangers/windows/init", "spoilt/strangers/unity")
    ]
    before, after = (run(side, *chosen, again=True) for _ in range(2))
    for entry, *both in zip(chosen, before, after, strict=True):
        assert named(*both) == [], entry.name
    document = json.loads(before[0].files["run.json"])
    assert [case["verdict"] for case in document["cases"]] == ["pass"]
    assert "wrote hil.toml" in before[1].stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-commit", "--only", "wrong/*"], "'no-such-commit' is not a commit"),
        (["HEAD", "--only", "nothing*"], "no entry matches 'nothing*'"),
        ([], "BASE is missing"),
    ],
)
def test_wrong_calls_end_with_2(arguments, message):
    command = [sys.executable, str(HERE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
