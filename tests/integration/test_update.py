"""`tflm-hil run --update` with images: what it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from bare_images import BareImages

from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

REST = 'for (;;) __asm__ volatile("wfi");'
SAYS = 'say("state=idle y=0.50\\n"); say("state=run y=0.99609\\n");'
SCRAPER = "scraper = '/state=(?P<state>\\w+) y=(?P<y>\\S+)( z=(?P<z>\\S+))?/'\n"
CASE = f'[[case]]\nname = "own"   # mine\nelf = "own.elf"\n{SCRAPER}'
OLD = """expect.values = [
  { state = "idle", y = 0.5 },  # it begins
  { state = 'stop', y = 1 },
]
"""
NEW = OLD.replace("'stop', y = 1", "'run', y = 0.99609")
LAST = 'end = { line = "^done$" }\n'
DONE = 'say("done\\n");'


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def run(build, tmp_path, monkeypatch, capsys):
    """Runs the case file with ``--update``; the exit code, both outputs, and what the file is."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *options: str, body: str = SAYS + REST, mode: int = 0o644):
        Path("own.elf").write_bytes(build(body).read_bytes())
        Path("hil.toml").write_text(text)
        Path("hil.toml").chmod(mode)
        code = main(["run", "hil.toml", "--update", *options])
        said = capsys.readouterr()
        return code, said.out, said.err, Path("hil.toml").read_text()

    return run


DIFF = """\
--- hil.toml
+++ hil.toml (new)
@@ -4,5 +4,5 @@
 scraper = '/state=(?P<state>\\w+) y=(?P<y>\\S+)( z=(?P<z>\\S+))?/'
 expect.values = [
   { state = "idle", y = 0.5 },  # it begins
-  { state = 'stop', y = 1 },
+  { state = 'run', y = 0.99609 },
 ]
"""


def test_the_values_that_came_are_shown_and_written(run):
    assert run(CASE + OLD) == (0, f"{DIFF}hil.toml: 1 case updated\n", "", CASE + NEW)
    assert main(["run", "hil.toml"]) == 0


def test_a_dry_run_shows_them_and_writes_nothing(run):
    code, out, err, file = run(CASE + OLD, "--dry-run", mode=0o444)
    assert (code, out) == (0, f"{DIFF}hil.toml: 1 case updated, not written (--dry-run)\n")
    assert (err, file) == ("", CASE + OLD)


def test_right_values_leave_nothing_to_update(run):
    assert run(CASE + NEW) == (0, "hil.toml: nothing to update\n", "", CASE + NEW)


def test_states_of_tests_are_written(run):
    case = '[[case]]\nname = "own"\nelf = "own.elf"\nscraper = "unity"\n'
    body = 'say("t.c:1:test_a:FAIL: no\\n"); say("-----------------------\\n");'
    body += 'say("1 Tests 1 Failures 0 Ignored\\n"); say("FAIL\\n");'
    tests = 'expect.tests = { test_a = "skip" }  # known\n'
    code, _, _, file = run(case + tests, body=body + REST)
    assert (code, file) == (0, case + tests.replace("skip", "fail"))


def test_a_case_with_a_model_is_told_and_left_out(run):
    model = CASE.replace("own", "net", 1) + 'model = "hello_world_int8"\n'
    code, _, err, file = run(model + "\n" + CASE + OLD)
    assert (code, file) == (0, model + "\n" + CASE + NEW)
    assert err.splitlines()[0] == (
        "tflm-hil: net: nothing to update: its outputs are compared with the model"
    )


REFUSED = "say(\"Didn't find op for builtin opcode 'CONV_2D'\\n\");"
FIRST = 'say("state=idle y=0.50\\n");'


@pytest.mark.parametrize(
    ("body", "text", "code", "words"),
    [
        (f"{SAYS} *(volatile int *)0x60000000 = 1;", OLD, 4,
         "own: not updated: firmware on simulator: HardFault"),
        (FIRST + REST, OLD, 4,
         "own: not updated: firmware on simulator: 1 line and 1 of 2 results came"),
        (REST, OLD, 4, "own: not updated: firmware on simulator: the console stayed silent"),
        (REFUSED + SAYS + REST, OLD, 1, "own: not updated: missing_operator: Didn't find op"),
        (FIRST + DONE + REST, OLD + LAST, 1,
         "own: not updated: 1 result came, 2 are listed: none is removed"),
        (SAYS + REST, OLD.replace("{ ", "{ z = 1, ", 1), 1,
         "own: not updated: result 1 has no z any more: it is not removed"),
        (SAYS.replace("0.99609", "nan") + REST, OLD, 1,
         "own: not updated: y of result 2 is 'nan', where a number is listed"),
        (SAYS + REST, OLD + "budgets = { flash = 9 }\n", 1,
         "own: not updated: with the new values, flash: "),
        (SAYS + REST, "", 2, "own: nothing to update: it has neither expect.values nor"),
        (SAYS + REST, 'model = "hello_world_int8"\n', 2,
         "own: nothing to update: its outputs are compared with the model"),
    ],
)  # fmt: skip
def test_values_that_prove_nothing_are_refused_in_one_line(run, body, text, code, words):
    ended, out, err, file = run(CASE + text, body=body)
    assert (ended, out, file) == (code, "", CASE + text)
    [line] = err.splitlines()
    assert words in line


def test_values_of_defaults_are_refused_with_their_place(run):
    text = f"[defaults]\n{OLD}\n{CASE}"
    code, _, err, file = run(text)
    assert (code, file) == (2, text)
    assert "own: its expected values stand in hil.toml, [defaults]: only those in the" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "expect.values=[{y=1}]"], "its expected values stand in --set expect.values"),
        (["--json", "x.json"], "--json cannot stand beside --update"),
        (["--rerun"], "--rerun cannot stand beside --update"),
    ],
)
def test_options_that_contradict_it_are_refused(run, options, words):
    code, _, err, file = run(CASE + OLD, *options)
    assert (code, file) == (2, CASE + OLD)
    assert words in err


def test_a_read_only_file_is_refused_before_anything_runs(run):
    code, out, err, file = run(CASE + OLD, mode=0o444)
    assert (code, out, file) == (3, "", CASE + OLD)
    assert err.startswith("tflm-hil: hil.toml is read-only\n")
    assert not Path("hil-results").exists()


def test_an_image_has_no_case_file_to_write(run, capsys):
    run(CASE + NEW)
    assert main(["run", "own.elf", "--update"]) == 2
    assert "--update rewrites a case file, and own.elf is none" in capsys.readouterr().err
