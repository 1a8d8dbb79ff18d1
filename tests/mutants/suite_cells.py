"""Cells of Robot, pytest and the action."""

from __future__ import annotations

import numpy as np
from cells import (
    Call,
    Cell,
    action,
    arrays,
    listing,
    lose,
    other_database,
    put,
    pytest_,
    robot,
    write,
)
from stage import Stage

RUN_ROBOT = "Run Case    hil.toml"
LAYERS = "Layers Should Equal Reference    ${ELF}    hello.tflite"
START = "Start Target    ${ELF}    model=hello.tflite"
LIVE = START + "\nWait For Inference    3\nOutputs Should Match Reference\nStop Target"
ATAN = "${r} =    Run Sample Case    atan    exact"
DOCUMENTED = "Lifecycle Should Be As Documented    ${r}"
COMPARE = "Outputs Should Equal Reference    hello.tflite    x.npy    y.npy"
RUN = "assert hil.run('hello.elf', model='hello.tflite')"
SESSION = "live = hil.session('hello.elf', model='hello.tflite')"
CHECK = "assert hil.check_resolver('hello.elf', 'hello.tflite')"
NO_INFERENCE = "[[case]]\nname = 'sine'\nelf = 'refused.elf'\nmodel = 'hello.tflite'\n"
SAME_NAME = (
    "[[case]]\nname = 'hello_world-exact'\nsample = 'hello_world'\nbudgets = { flash = 10 }\n"
)
SILENT = "${{pathlib.Path('silent.elf')}}"
X = np.zeros((3, 1, 1), np.int8)
Y = np.full((3, 1, 1), -2, np.int8)
NONE = np.zeros((0, 1, 1), np.int8)
TWICE = "import shutil\nassert hil.run('hello.elf', model='hello.tflite')\n"

#: What is green on the stage as it is: otherwise a red cell would prove nothing.
GOOD: dict[str, Call] = {
    "robot cases": robot(RUN_ROBOT),
    "robot image": robot("Flash Should Not Exceed    ${ELF}    64 KB"),
    "robot layers": robot(LAYERS),
    "robot lifecycle": robot(
        ATAN + "\nLifecycle Should Be As Documented    ${r}    Atan    atan_float32.tflite"
    ),
    "robot live": robot(LIVE),
    "pytest cases": pytest_(""),
    "pytest runs": pytest_(RUN),
    "pytest images": pytest_("assert hil.check_resolver('hello.elf', 'hello.tflite')"),
    "pytest live": pytest_(f"{SESSION}\nlive.wait_for_inferences(3)\nlive.check_outputs()"),
    "action": action(),
    "robot reference": robot(COMPARE, spoil=(arrays(x=X, y=Y),)),
}


def _ran(stage: Stage) -> None:
    """A run before, which left its results where the next one's go."""
    assert stage.cli("run hil.toml").green


def _left_results(stage: Stage) -> None:
    """Results of an earlier job of the same output folder."""
    (stage.folder / "hil-results").mkdir()
    stage.put("hil-results/results-1.json", "night-1.json")


CELLS = (
    # Robot: cases
    Cell("robot cases", "filter", robot("Run Case    hil.toml    nobody"), "has no case 'nobody'"),
    Cell("robot cases", "filter", lambda stage: stage.robot_command("--test", "Nobody"),
         "contains no tests matching name 'Nobody'"),
    Cell("robot cases", "name", robot("Run Sample Case    hallo"), "no sample 'hallo'"),
    Cell("robot cases", "name", robot("Run Sample Case    hello_world    exact", "TARGET:moon"),
         "no target 'moon'"),
    Cell("robot cases", "name", robot("Case Should End As    hil.toml    nobody    fail"),
         "has no case 'nobody'"),
    Cell("robot cases", "name",
         robot("${r} =    Run Sample Case    digits\n"
               "Accuracy Should Equal The Card    ${r}    digits_cnn_int8.tflite"),
         "not with digits_cnn_int8.tflite"),
    Cell("robot cases", "option", robot("Run Sample Case    hello_world", "TARGT:renode"),
         "the unknown variable TARGT"),
    Cell("robot cases", "option", robot("Run Sampel Case    hello_world"), "No keyword with name"),
    Cell("robot cases", "swapped", robot(RUN_ROBOT, spoil=(put("hello.elf", "digits.elf"),)),
         "the image runs"),
    Cell("robot cases", "content",
         robot(f"{RUN_ROBOT}\nCopy File    refused.elf    hello.elf\n{RUN_ROBOT}"),
         "Didn't find op"),
    Cell("robot cases", "stale",
         robot(f"Run Sample Case    hello_world    exact\n{RUN_ROBOT}",
               setup="Run All Sample Cases", spoil=(write("hil.toml", SAME_NAME),)),
         "flash"),
    Cell("robot cases", "lost", robot(RUN_ROBOT, spoil=(lose,)), "the board was unplugged"),
    Cell("robot cases", "absent", robot("Run Sample Case    hello_world", "TARGET:renode"),
         "renode was asked for by name"),
    Cell("robot cases", "absent", robot(RUN_ROBOT, "TARGET:renode"),
         "renode was asked for by name"),
    Cell("robot cases", "skipped", robot(RUN_ROBOT, spoil=(listing("renode", "board"),)),
         "did not run on any of its targets"),
    Cell("robot cases", "zero", robot(RUN_ROBOT, spoil=(write("hil.toml", NO_INFERENCE),)),
         "Didn't find op"),
    Cell("robot cases", "database",
         robot(RUN_ROBOT, "HISTORY:other.db", spoil=(other_database,)), "other.db"),
    # Robot: images, layers, lifecycle, reference
    Cell("robot image", "name", robot("Flash Should Not Exceed    ${ELF}    64 XB"), "64 XB"),
    Cell("robot image", "name",
         robot("Resolver Check Should Say    ${ELF}    hello.tflite    okay"), "not okay"),
    Cell("robot image", "option", robot("Flash Should Not Exced    ${ELF}    64 KB"), "No keyword"),
    Cell("robot image", "swapped",
         robot("Resolver Check Should Say    ${ELF}    digits.tflite    ok"), "not ok"),
    Cell("robot image", "zero",
         robot(f"Resolver Check Should Say    {SILENT}    hello.tflite    ok"), "not ok"),
    Cell("robot layers", "filter", robot(LAYERS + "    inference=999"), "did not come to"),
    Cell("robot layers", "name", robot(LAYERS.replace("hello.tflite", "hallo")), "no model"),
    Cell("robot layers", "option", robot(LAYERS, "TARGTE:renode"), "the unknown variable"),
    Cell("robot layers", "swapped", robot(LAYERS.replace("hello.t", "digits.t")), "did not come"),
    Cell("robot layers", "lost", robot(LAYERS, spoil=(lose,)), "the board was unplugged"),
    Cell("robot layers", "absent", robot(LAYERS, "TARGET:renode"), "/no/such/renode"),
    Cell("robot layers", "absent", robot(LAYERS, "TARGET:board"), "skipped, so nothing was"),
    Cell("robot layers", "zero", robot(LAYERS, spoil=(put("hello.elf", "refused.elf"),)),
         "did not come to"),
    Cell("robot lifecycle", "name", robot(f"{ATAN}\n{DOCUMENTED}    Atn    atan_float32.tflite"),
         "0 lifecycle records of Atn"),
    Cell("robot lifecycle", "name",
         robot(f"{ATAN}\nLifecycle Should Count    ${{r}}    Atn    init=0"), "0 lifecycle"),
    Cell("robot lifecycle", "option",
         robot(f"{ATAN}\nLifecycle Should Count    ${{r}}    Atan    inti=1"), "no method inti"),
    Cell("robot lifecycle", "swapped", robot(f"{ATAN}\n{DOCUMENTED}    Atan    hello.tflite"),
         "not with hello.tflite"),
    Cell("robot lifecycle", "zero", robot(f"{ATAN}\nLifecycle Should Count    ${{r}}    Atan"),
         "neither a method nor an order is given"),
    Cell("robot reference", "name", robot(COMPARE.replace("y.npy", "z.npy"),
                                          spoil=(arrays(x=X, y=Y),)), "z.npy"),
    Cell("robot reference", "option", robot(COMPARE + "    tolerence=1",
                                            spoil=(arrays(x=X, y=Y),)), "tolerence"),
    Cell("robot reference", "swapped", robot(COMPARE, spoil=(arrays(x=Y, y=X),)), "mismatched"),
    Cell("robot reference", "zero", robot(COMPARE, spoil=(arrays(x=NONE, y=NONE),)), "no rows"),
    Cell("robot reference", "zero", robot(COMPARE, spoil=(arrays(x=X, y=NONE),)), "nothing to"),
    # Robot: sessions
    Cell("robot live", "filter", robot(START + "\nWait For Inference    999"), "of 999 inferences"),
    Cell("robot live", "name", robot(START + "\nTarget Should Report    falut"), "falut"),
    Cell("robot live", "option", robot(LIVE, "TRAGET:renode"), "the unknown variable"),
    Cell("robot live", "swapped", robot(LIVE.replace("hello.t", "digits.t")), "cannot be compared"),
    Cell("robot live", "lost", robot(LIVE, spoil=(lose,)), "the board was unplugged"),
    Cell("robot live", "absent", robot(LIVE, "TARGET:renode"), "/no/such/renode"),
    Cell("robot live", "zero", robot(START + "\nOutputs Should Match Reference"),
         "nothing has run yet"),
    Cell("robot live", "zero", robot(START + "\nTarget Should Report Nothing"),
         "nothing has run yet"),
    Cell("robot live", "zero", robot(START + "\nWait For Inference    0"),
         "0 inferences are not a check"),
    # pytest: case files
    Cell("pytest cases", "filter", pytest_("", "-k", "nobody"), "1 deselected"),
    Cell("pytest cases", "name", pytest_("", "--hil-target=simulatr"), "no target 'simulatr'"),
    Cell("pytest cases", "name", pytest_("", "nightly.toml"), "nightly.toml"),
    Cell("pytest cases", "option", pytest_("", "--hil-taget=simulator"), "unrecognized arguments"),
    Cell("pytest cases", "swapped", pytest_("", spoil=(put("hello.elf", "digits.elf"),)),
         "the image runs"),
    Cell("pytest cases", "content", pytest_("", spoil=(
        _ran, put("hello.elf", "refused.elf"))),
        "missing_operator"),
    Cell("pytest cases", "stale", pytest_("", spoil=(
        _ran, put("hello.elf", "silent.elf"))), "silent"),
    Cell("pytest cases", "lost", pytest_("", spoil=(lose,)), "the board was unplugged"),
    Cell("pytest cases", "absent", pytest_("", "--hil-target=renode"), "was asked for by name"),
    Cell("pytest cases", "skipped", pytest_("", spoil=(listing("renode", "board"),)),
         "did not run on any of its targets"),
    Cell("pytest cases", "empty", pytest_("", spoil=(write("hil.toml"),)), "has no [[case]]"),
    Cell("pytest cases", "zero", pytest_("", spoil=(write("hil.toml", NO_INFERENCE),)),
         "missing_operator"),
    Cell("pytest cases", "database", pytest_("", "--hil-history=other.db",
                                             spoil=(other_database,)), "other.db"),
    # pytest: the fixture
    Cell("pytest runs", "filter", pytest_(RUN, "-k", "nobody"), "1 deselected"),
    Cell("pytest runs", "name", pytest_("assert hil.run('hallo.elf')"), "no file hallo.elf"),
    Cell("pytest runs", "name", pytest_("assert hil.run('hello.elf', target='')"), "no target"),
    Cell("pytest runs", "swapped", pytest_(RUN, spoil=(put("hello.elf", "digits.elf"),)),
         "the image runs"),
    Cell("pytest runs", "content",
         pytest_(f"{TWICE}shutil.copy('refused.elf', 'hello.elf')\n{RUN}"), "Didn't find op"),
    Cell("pytest runs", "stale",
         pytest_(f"{TWICE}shutil.copy('silent.elf', 'hello.elf')\n{RUN}"), "silent"),
    Cell("pytest runs", "lost", pytest_(RUN, spoil=(lose,)), "the board was unplugged"),
    Cell("pytest runs", "absent", pytest_(RUN, "--hil-target=renode"), "was asked for by name"),
    Cell("pytest runs", "skipped", pytest_(RUN.replace("')", "', target='renode')")),
         "did not run on any of its targets"),
    Cell("pytest runs", "empty", pytest_(RUN, spoil=(write("hello.tflite"),)), "hello.tflite"),
    Cell("pytest runs", "zero", pytest_("hil.run('refused.elf', model='hello.tflite')"),
         "a failure was not checked"),
    Cell("pytest runs", "zero", pytest_("assert hil.run('silent.elf')"), "silent"),
    Cell("pytest images", "name", pytest_("assert hil.footprint('hallo.elf')"), "hallo.elf"),
    Cell("pytest images", "name", pytest_("assert hil.footprint('hello.elf').region('FLSH').used"),
         "FLSH"),
    Cell("pytest images", "swapped", pytest_(CHECK.replace("hello.t", "digits.t")), "1 failed"),
    Cell("pytest images", "empty", pytest_(CHECK, spoil=(write("hello.elf"),)), "hello.elf"),
    Cell("pytest images", "zero", pytest_(CHECK.replace("hello.e", "silent.e")), "1 failed"),
    Cell("pytest live", "filter", pytest_(f"{SESSION}\nlive.wait_for('no such line')"),
         "no line matched"),
    Cell("pytest live", "name", pytest_("hil.session('hello.elf', scraper='hallo_world')"),
         "hallo_world"),
    Cell("pytest live", "swapped",
         pytest_(f"{SESSION.replace('hello.t', 'digits.t')}\nlive.wait_for_inferences(3)\n"
                 "live.check_outputs()"), "Check"),
    Cell("pytest live", "lost", pytest_(SESSION, spoil=(lose,)), "the board was unplugged"),
    Cell("pytest live", "absent", pytest_(SESSION, "--hil-target=renode"), "was asked for by name"),
    Cell("pytest live", "empty", pytest_(SESSION, spoil=(write("hello.elf"),)), "hello.elf"),
    Cell("pytest live", "zero", pytest_(f"{SESSION}\nlive.check_outputs()"), "nothing"),
    Cell("pytest live", "zero", pytest_(f"{SESSION}\nassert not live.findings"),
         "nothing has run yet"),
    Cell("pytest live", "zero", pytest_(f"{SESSION}\nlive.wait_for_inferences(0)"),
         "0 inferences are not a check"),
    # the action
    Cell("action", "filter", action(cases="nothing/*.toml"), "no file nothing/*.toml"),
    Cell("action", "name", action(targets="simulatr"), "no target 'simulatr'"),
    Cell("action", "name", action(cases="hill.toml"), "no file hill.toml"),
    Cell("action", "swapped", action((put("hello.elf", "digits.elf"),)), "the image runs"),
    Cell("action", "content", action((_ran, put("hello.elf", "refused.elf"))),
         "missing_operator"),
    Cell("action", "stale", action((_left_results,), history="lab.db", cases="hill.toml"),
         "no file hill.toml"),
    Cell("action", "absent", action(targets="board"), "was asked for by name"),
    Cell("action", "skipped", action((listing("renode", "board"),)), "did not run on any"),
    Cell("action", "empty", action(cases=" \r\n"), "is empty, so nothing would be tested"),
    Cell("action", "empty", action((write("hil.toml"),)), "has no [[case]]"),
    Cell("action", "zero", action((write("hil.toml", NO_INFERENCE),)), "missing_operator"),
    Cell("action", "database", action((other_database,), history="other.db"), "other.db"),
)  # fmt: skip
