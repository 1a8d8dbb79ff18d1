"""Cells of the subcommands."""

from __future__ import annotations

import replay_nights as lab
from cells import (
    Call,
    Cell,
    cli,
    green,
    header_of_a_sample,
    kept,
    listing,
    little,
    lose,
    night,
    other_database,
    put,
    write,
)
from stage import CASES

RUN = "run hil.toml"
BUDGET = "footprint hello.elf --budget b.toml"
CHECK = "history check --history lab.db --results now.json"
CAMPAIGN = "campaign hello.elf --model hello.tflite --count 4 --workers 1"
NO_INFERENCE = "[[case]]\nname = 'sine'\nelf = 'refused.elf'\nmodel = 'hello.tflite'\n"

#: What is green on the stage as it is: otherwise a red cell would prove nothing.
GOOD: dict[str, Call] = {
    "run": cli(RUN),
    "crosscheck": cli("run hil.toml --target simulator,virtual-board"),
    "footprint": cli(BUDGET, write("b.toml", "flash = 60000\n")),
    "resolver check": cli("resolver check hello.elf hello.tflite"),
    "arena": cli("arena hello.elf"),
    "layers": cli("layers hello.elf --model hello.tflite"),
    "sweep": cli("sweep sweep.toml --workers 1"),
    "campaign": cli(CAMPAIGN + " --budget critical=1"),
    "history record": cli("history record night-0.json --history lab.db"),
    "history check": cli(CHECK, kept(0, 1, 2, 3), night(4, lab.case(), lab.case("b"))),
}
#: Subcommands without a good call on every machine.
NOT_HERE = {
    "calibrate": "needs results of a board: tests/integration/board/test_calibration.py",
    "doctor": "is green only where everything is installed",
    "boards flash": "needs a board: tests/integration/board/test_boards_cli.py",
}

CELLS = (
    # run
    Cell("run", "filter", cli(RUN + " --case nobody"), "has no case 'nobody'"),
    Cell("run", "name", cli(RUN + " --target simulatr"), "no target 'simulatr'"),
    Cell("run", "name", cli("run hallo_world"), "no sample 'hallo_world'"),
    Cell("run", "name", cli("run hello.elf --model hallo"), "no model 'hallo'"),
    Cell("run", "option", cli(RUN + " --taget simulator"), "No such option"),
    Cell("run", "option", cli(RUN, write("hil.toml", f"{CASES}inferance = 3\n")), "inferance"),
    Cell("run", "swapped", cli(RUN, put("hello.tflite", "digits.tflite")), "the image runs"),
    Cell("run", "swapped", cli(RUN, put("hello.elf", "digits.elf")), "the image runs"),
    Cell("run", "content", cli(RUN, green(RUN), put("hello.elf", "refused.elf")), "missing_oper"),
    Cell("run", "stale", cli(RUN, green(RUN), put("hello.elf", "silent.elf")), "silent"),
    Cell("run", "stale", cli("run hello_world", header_of_a_sample),
         "#error spoilt"),
    Cell("run", "lost", cli(RUN, lose), "the board was unplugged"),
    Cell("run", "absent", cli(RUN + " --target renode"), "renode was asked for by name"),
    Cell("run", "absent", cli(RUN + " --target simulator,renode"), "asked for by name"),
    Cell("run", "skipped", cli(RUN, listing("renode", "board")), "did not run on any"),
    Cell("run", "empty", cli(RUN, write("hil.toml")), "has no [[case]]"),
    Cell("run", "empty", cli(RUN, write("hello.elf")), "hello.elf"),
    Cell("run", "empty", cli(RUN, write("hello.tflite")), "hello.tflite"),
    Cell("run", "zero", cli(RUN, write("hil.toml", NO_INFERENCE)), "missing_operator"),
    Cell("run", "zero", cli(RUN + " --inferences 0"), "--inferences"),
    Cell("run", "zero", cli(RUN, put("hello.elf", "silent.elf")), "the console stayed silent"),
    Cell(
        "run", "zero",
        cli(RUN, write("hil.toml", '[[case]]\nname = "a"\nelf = "silent.elf"\n'
                                   "expect = { outputs = false }\n")),
        "a case without outputs needs a last line",
    ),
    Cell(
        "run", "table",
        cli("run hello_world --resolver all-configurations",
            lambda stage: stage.samples_without(lambda text: "")),
        "resolvers.toml",
    ),
    Cell("run", "database", cli(RUN + " --history other.db", other_database), "other.db"),
    # run on several targets
    Cell("crosscheck", "name", cli("run hil.toml --target simulator,moon"), "no target 'moon'"),
    Cell("crosscheck", "name",
         cli("run hil.toml --target simulator,virtual-board --symbol arenna"),
         "has no object 'arenna'"),
    Cell("crosscheck", "lost", cli("run hil.toml --target simulator,virtual-board", lose),
         "the board was unplugged"),
    Cell("crosscheck", "absent", cli("run hil.toml --target simulator,renode"),
         "simulator and renode not compared"),
    Cell("crosscheck", "skipped", cli(RUN, listing("renode", "board")), "did not run on any"),
    Cell("crosscheck", "zero",
         cli(RUN + " --symbol tensor_arena", listing("simulator", "renode")), "not compared"),
    Cell("crosscheck", "zero", cli(RUN + " --symbol tensor_arena"), "no case runs on two"),
    # footprint
    Cell("footprint", "filter", cli("footprint hello.elf --region FLSH"), "FLSH"),
    Cell("footprint", "name", cli(BUDGET, write("b.toml", "[operators]\nCONV_22D = 9\n")),
         "CONV_22D"),
    Cell("footprint", "zero", cli("footprint silent.elf --budget b.toml",
                                  write("b.toml", "[operators]\nCONV_2D = 6000\n")),
         "no operator CONV_2D"),
    Cell("footprint", "name", cli(BUDGET, write("b.toml", "flsh = 9\n")), "flsh"),
    Cell("footprint", "option", cli("footprint hello.elf --bugdet b.toml"), "No such option"),
    Cell("footprint", "empty", cli(BUDGET, write("b.toml")), "no budget"),
    Cell("footprint", "empty", cli("footprint hello.elf", write("hello.elf")), "hello.elf"),
    Cell("footprint", "zero", cli(BUDGET, write("b.toml", 'flash = "+0"\n')), "baseline"),
    # resolver check
    Cell("resolver check", "filter",
         cli("resolver check hello.elf hello.tflite --timeout 0.000001"), "cannot tell"),
    Cell("resolver check", "name", cli("resolver check hello.elf hallo.tflite"), "no model"),
    Cell("resolver check", "option", cli("resolver check hello.elf hello.tflite --liv"), "option"),
    Cell("resolver check", "swapped", cli("resolver check hello.elf digits.tflite"), "missing"),
    Cell("resolver check", "swapped", cli("resolver check refused.elf hello.tflite"), "missing"),
    Cell("resolver check", "swapped", cli("resolver check little.elf little.tflite",
        little("if (*(volatile int*)0x20000100 == 7) resolver.AddSoftmax();")), "SOFTMAX"),
    Cell("resolver check", "swapped", cli("resolver check little.elf little.tflite",
        little("static tflite::MicroMutableOpResolver<1> other; other.AddSoftmax();")),
        "missing"),
    Cell("resolver check", "empty", cli("resolver check hello.elf hello.tflite",
                                        write("hello.tflite")), "hello.tflite"),
    Cell("resolver check", "zero", cli("resolver check silent.elf hello.tflite"), "cannot tell"),
    # arena
    Cell("arena", "name", cli("arena hallo"), "no sample 'hallo'"),
    Cell("arena", "option", cli("arena hello.elf --timout 3"), "No such option"),
    Cell("arena", "empty", cli("arena hello.elf", write("hello.elf")), "hello.elf"),
    # layers
    Cell("layers", "filter", cli("layers hello.elf --model hello.tflite --inference 999"),
         "did not come to"),
    Cell("layers", "name", cli("layers hello.elf --model hallo"), "no model 'hallo'"),
    Cell("layers", "option", cli("layers hello.elf --modl hello.tflite"), "No such option"),
    Cell("layers", "swapped", cli("layers hello.elf --model digits.tflite"), "the image holds "),
    Cell("layers", "lost", cli("layers hello.elf --model hello.tflite", lose), "unplugged"),
    Cell("layers", "absent", cli("layers hello.elf --model hello.tflite --target renode"),
         "/no/such/renode"),
    Cell("layers", "empty", cli("layers hello.elf --model hello.tflite", write("hello.tflite")),
         "hello.tflite"),
    Cell("layers", "zero", cli("layers refused.elf --model hello.tflite"), "did not come to"),
    # sweep
    Cell("sweep", "filter", cli("sweep sweep.toml", write(
        "sweep.toml", 'samples = ["hello_world"]\n[[skip]]\nsample = "hello_world"\n')),
        "spans 0 points"),
    Cell("sweep", "filter", cli("sweep sweep.toml", write(
        "sweep.toml", 'samples = ["hello_world"]\nresolvers = ["exact", "all"]\n[[only]]\n'
                      'resolver = ["exact", "al"]\n')), "'al', which its axis does not have"),
    Cell("sweep", "name", cli("sweep sweep.toml --budget flsh=9"), "is not a budget"),
    Cell("sweep", "name", cli("sweep sweep.toml", write("sweep.toml", 'samples = ["hallo"]\n')),
         "hallo"),
    Cell("sweep", "option", cli("sweep sweep.toml", write(
        "sweep.toml", 'samples = ["hello_world"]\nresolver = ["all"]\n')), "resolver"),
    Cell("sweep", "swapped", cli("sweep sweep.toml --workers 1", write(
        "sweep.toml", 'samples = ["hello_world"]\nmodels = ["digits.tflite"]\n')), "no point of"),
    Cell("sweep", "content", cli("sweep sweep.toml --workers 1 --store s.db", write(
        "sweep.toml", 'samples = ["hello_world"]\nmodels = ["hello.tflite"]\n'),
        green("sweep sweep.toml --workers 1 --store s.db"), put("hello.tflite", "digits.tflite")),
        "s.db"),
    Cell("sweep", "stale", cli("sweep sweep.toml --workers 1 --store s.db",
        green("sweep sweep.toml --workers 1 --store s.db"),
        write("sweep.toml", 'samples = ["hello_world"]\narena = [16]\n')), "s.db"),
    Cell("sweep", "absent", cli("sweep sweep.toml --workers 1", write(
        "sweep.toml", 'samples = ["hello_world"]\ntargets = ["renode"]\n')), "renode"),
    Cell("sweep", "empty", cli("sweep sweep.toml", write("sweep.toml")), "samples"),
    Cell("sweep", "zero", cli("sweep sweep.toml --workers 1", write(
        "sweep.toml", 'samples = ["hello_world"]\narena = [16, 32]\n')), "no point of hello_world"),
    Cell("sweep", "table", cli("sweep sweep.toml", lambda stage: stage.samples_without(
        lambda text: "")), "resolvers.toml"),
    Cell("sweep", "database", cli(
        "sweep sweep.toml --workers 1 --history other.db", other_database), "other.db"),
    # campaign
    Cell("campaign", "filter", cli(CAMPAIGN + " --inference 999"), "inference"),
    Cell("campaign", "name", cli(CAMPAIGN + " --faults wieghts"), "wieghts"),
    Cell("campaign", "name", cli(CAMPAIGN + " --budget critcal=0.1"), "is not a budget"),
    Cell("campaign", "option", cli(CAMPAIGN + " --bugdet critical=1"), "No such option"),
    Cell("campaign", "swapped", cli(CAMPAIGN.replace("hello.tflite", "digits.tflite")),
         "the image holds "),
    Cell("campaign", "content", cli(CAMPAIGN + " --store s.db",
         green(CAMPAIGN + " --store s.db"), put("hello.elf", "other.elf")), "s.db"),
    Cell("campaign", "empty", cli(CAMPAIGN, write("hello.tflite")), "hello.tflite"),
    Cell("campaign", "zero", cli(CAMPAIGN.replace("--count 4", "--count 0")), "--count"),
    Cell("campaign", "zero", cli(CAMPAIGN + " --budget critical=0.01"), "is over 1.000%"),
    # history
    Cell("history record", "name", cli("history record nigth-0.json --history lab.db"), "no file"),
    Cell("history record", "option", cli("history record night-0.json --histroy lab.db"), "option"),
    Cell("history record", "empty", cli("history record now.json --history lab.db",
                                        write("now.json")), "is not JSON"),
    Cell("history record", "database", cli("history record night-0.json --history other.db",
                                           other_database), "other.db"),
    Cell("history check", "filter", cli(CHECK + " --base mian", kept(0), night(1)), "no run of"),
    Cell("history check", "name", cli("history check --history lab.db --results nwo.json"),
         "no file nwo.json"),
    Cell("history check", "option", cli(CHECK + " --bas main", kept(0), night(1)), "No such opt"),
    Cell("history check", "swapped",
         cli(CHECK, kept(0, 1), night(2, lab.case("another"))), "does not any more"),
    Cell("history check", "content",
         cli(CHECK, kept(0, 1), night(2, lab.case(flash=90_000), lab.case("b"))), "1 worse"),
    Cell("history check", "skipped",
         cli(CHECK, kept(0, 1), night(2, lab.case(verdict="skipped"), lab.case("b"))),
         "1 worse"),
    Cell("history check", "empty", cli(CHECK, kept(0, 1), write("now.json", '{"cases": []}')),
         "holds no case"),
    Cell("history check", "zero", cli(CHECK, kept(0, 1), night(2, lab.case(
        flash=None, ram=None, instructions=None, arena_used=None, stack_used=None,
        total_instructions=None, operators=[]), lab.case("b"))),
        "is not measured now"),
    Cell("history check", "stale", cli(CHECK, kept(0, 1), night(
        2, lab.case(), command="tflm-hil run hil.toml --json 2026-11-22.json")),
        "does not any more"),
    Cell("history check", "clock", cli("history check --history lab.db", kept(1, 2, 3),
        night(-20, lab.case(verdict="fail"), lab.case("b")),
        green("history record now.json --history lab.db")),
        "these are old results"),
    Cell("history check", "database", cli("history check --history other.db", other_database),
         "other.db"),
    # calibrate
    Cell("calibrate", "name", cli("calibrate both.json"), "both.json"),
    Cell("calibrate", "option", cli("calibrate night-0.json --ouput lab.toml"), "No such option"),
    Cell("calibrate", "swapped", cli("calibrate hil.toml"), "not JSON"),
    Cell("calibrate", "stale", cli("calibrate night-0.json --output lab.toml"), "board"),
    Cell("calibrate", "empty", cli("calibrate now.json", write("now.json", '{"cases": []}')),
         "board"),
    Cell("calibrate", "zero", cli("calibrate night-0.json night-1.json"), "board"),
    # doctor, boards
    Cell("doctor", "absent", cli("doctor", lambda stage: stage.monkeypatch.setenv("PATH", "")),
         "missing: Arm compiler"),
    Cell("doctor", "option", cli("doctor --instal"), "No such option"),
    Cell("boards flash", "name", cli("boards flash hello.elf --board bnech"), "no board"),
    Cell("boards flash", "option", cli("boards flash hello.elf --bord x"), "No such option"),
    Cell("boards flash", "absent", cli("boards flash hello.elf"), "no board is attached"),
    Cell("boards flash", "empty", cli("boards flash hello.elf", write("hello.elf")), "hello.elf"),
)  # fmt: skip
