import pytest

from harness.base import paths
from harness.base.errors import UsageError
from harness.case.case import LastLine
from harness.case.plan import load_cases
from harness.case.subject import find_model
from harness.footprint.budget import size_limit
from harness.uart.scrapers import TensorRegex


@pytest.fixture
def case_file(tmp_path):
    (tmp_path / "zephyr.elf").write_bytes(b"")

    def write(text: str):
        path = tmp_path / "hil.toml"
        path.write_text(text)
        return path

    return write


def test_a_case_names_an_elf_relative_to_the_file(case_file):
    path = case_file('[[case]]\nname = "mine"\nelf = "zephyr.elf"\nscraper = "hello_world"\n')
    (case,) = load_cases(path)
    assert case.elf == path.parent / "zephyr.elf"
    assert case.target == "simulator"


def test_cases_are_chosen_by_name_in_the_order_of_the_file(case_file):
    rows = [f'[[case]]\nname = "{name}"\nsample = "hello_world"\n' for name in "abc"]
    assert [case.name for case in load_cases(case_file("".join(rows)), ["c", "a"])] == ["a", "c"]


def test_a_name_that_no_case_has_is_refused(case_file):
    with pytest.raises(UsageError, match="has no case 'b'") as caught:
        load_cases(case_file('[[case]]\nname = "a"\nsample = "hello_world"\n'), ["b"])
    assert caught.value.hint == "it has a"


def test_one_case_on_two_targets_is_two_cases(case_file):
    text = '[[case]]\nname = "mine"\nelf = "zephyr.elf"\ntargets = ["simulator", "renode"]\n'
    assert [case.target for case in load_cases(case_file(text))] == ["simulator", "renode"]


def test_defaults_apply_to_cases_without_the_key(case_file):
    text = (
        "[defaults]\ntimeout = 3\n"
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\n'
        '[[case]]\nname = "b"\nelf = "zephyr.elf"\ntimeout = 4.5\n'
    )
    assert [case.timeout for case in load_cases(case_file(text))] == [3, 4.5]


def test_a_sample_has_the_model_and_expectations_of_the_table(case_file):
    text = '[[case]]\nname = "m"\nsample = "hello_world"\nresolver = "missing"\n'
    (case,) = load_cases(case_file(text))
    assert case.model.name == "hello_world_int8.tflite"
    assert ("missing_operator", "FULLY_CONNECTED") in case.expect.findings


def test_expectations_and_budgets_are_read(case_file):
    text = (
        '[[case]]\nname = "mine"\nelf = "zephyr.elf"\nscraper = "person_detection"\n'
        'expect = { findings = ["arena_too_small"], outputs = true, values = [{ person = 113 }] }\n'
        'budgets = { flash = "400 KB", instructions = "3 M" }\n'
    )
    (case,) = load_cases(case_file(text))
    assert case.expect.findings == (("arena_too_small", ""),)
    assert case.expect.values == ({"person": 113},)
    limits = {limit.name: limit.bytes for limit in case.budgets.limits}
    assert limits == {"flash": 409600, "instructions": 3_000_000}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no [[case]]"),
        ("[[case]]\n", "no name"),
        ('[[case]]\nname = "m"\n', "either elf or sample"),
        ('[[case]]\nname = "m"\nelf = "nowhere.elf"\n', "there is no file"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nscrapper = "x"\n', "did you mean 'scraper'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nscraper = "x"\n', "no scraper 'x'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntargets = []\n', "nothing would run"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntargets = ["qemu"]\n', "no target 'qemu'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntimeout = "long"\n', "timeout is a number"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntimeout = 0\n', "above zero"),
        ('[[case]]\nname = "m"\nsample = "nothing"\n', "no sample 'nothing'"),
        ('[[case]]\nname = "m"\nsample = "digits"\nbuilder = "x"\n', "case 'm': no builder 'x'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nbudgets = { flash = "much" }\n', "not a limit"),
        (
            '[[case]]\nname = "m"\nelf = "zephyr.elf"\nexpect = { findings = ["oops"] }\n',
            "no finding 'oops'",
        ),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\n' * 2, "two cases are called"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\npress = ["lever"]\n', "press: "),
        ("[[case]\n", "hil.toml"),
    ],
)
def test_invalid_keys_are_refused_in_one_line(case_file, text, word):
    with pytest.raises(UsageError) as refused:
        load_cases(case_file(text))
    assert word in str(refused.value)
    assert "\n" not in refused.value.message.replace("\nhint", "")


@pytest.mark.parametrize(
    ("text", "value"), [(5, 5), ("5", 5), ("2 KB", 2048), ("1.5 KiB", 1536), ("3 M", 3_000_000)]
)
def test_sizes(text, value):
    assert size_limit(text, "here") == value


@pytest.mark.parametrize("text", ["+5", "+1 %", 0, "0 KB"])
def test_a_step_or_zero_is_not_a_size_limit(text):
    with pytest.raises(UsageError, match=f"here: {text!r} is not a size".replace("+", r"\+")):
        size_limit(text, "here")


@pytest.mark.parametrize("names", [("a b", "a_b"), ("CASE", "case"), ("é!", "é?")])
def test_two_cases_do_not_share_a_folder(tmp_path, names):
    (tmp_path / "a.elf").write_bytes(b"")
    file = tmp_path / "hil.toml"
    file.write_text("".join(f'[[case]]\nname = "{name}"\nelf = "a.elf"\n' for name in names))
    with pytest.raises(UsageError, match="one folder"):
        load_cases(file)


def test_a_name_too_long_for_a_folder_is_refused(tmp_path):
    (tmp_path / "a.elf").write_bytes(b"")
    file = tmp_path / "hil.toml"
    file.write_text(f'[[case]]\nname = "{"x" * 201}"\nelf = "a.elf"\n')
    with pytest.raises(UsageError, match=f"the name of case '{'x' * 40}'... is too long"):
        load_cases(file)
    file.write_text(f'[[case]]\nname = "{"x" * 200}"\nelf = "a.elf"\n')
    assert len(load_cases(file)) == 1


MINE = '[[case]]\nname = "mine"\nelf = "zephyr.elf"\n'


def test_text_and_numbers_may_be_expected_of_results_and_states_of_tests(case_file):
    values = 'scraper = "/(?P<state>a+)/"\nexpect.values = [{ state = "idle" }, { n = 1.5 }]\n'
    (case,) = load_cases(case_file(MINE + values))
    assert case.expect.values == ({"state": "idle"}, {"n": 1.5})
    assert case.least_results == 2
    tests = 'scraper = "ztest"\nexpect.tests = { "suite.test_a" = "fail" }\n'
    (case,) = load_cases(case_file(MINE + tests))
    assert case.expect.tests == {"suite.test_a": "fail"}


def test_lines_that_may_not_come_are_regexes(case_file):
    (case,) = load_cases(case_file(MINE + 'expect.lines_absent = ["FAIL", "^E: "]\n'))
    assert case.expect.lines_absent == ("FAIL", "^E: ")
    assert case.expect.wants_outputs


@pytest.mark.parametrize(("value", "words"), [
    ('["("]', "the regex of expect.lines_absent '\\(' is broken"), ('"FAIL"', "lines_absent"),
    ("[3]", "lines_absent"), ('["x*"]', "matches an empty line"),
])  # fmt: skip
def test_a_regex_of_absent_lines_that_cannot_be_used_is_refused(case_file, value, words):
    with pytest.raises(UsageError, match=words):
        load_cases(case_file(MINE + f"expect.lines_absent = {value}\n"))


def test_a_broken_regex_of_ignored_text_is_refused_before_the_run(case_file):
    with pytest.raises(UsageError, match=r"the regex of expect\.ignored '\(' is broken"):
        load_cases(case_file(MINE + 'expect.ignored = ["("]\n'))


def test_listed_values_and_tests_must_come_beside_expected_findings(case_file):
    findings = 'scraper = "ztest"\nexpect.findings = ["assertion"]\n'
    (alone,) = load_cases(case_file(MINE + findings))
    (both,) = load_cases(case_file(MINE + findings + 'expect.tests = { "s.a" = "fail" }\n'))
    assert (alone.expect.wants_outputs, both.expect.wants_outputs) == (False, True)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", "idle"),
        ('end = "never"\n', "never"),
        ('end = "system_off"\n', "system_off"),
        ('end = { line = "^done$" }\n', LastLine("^done$")),
        ('end.line = "^done$"\n', LastLine("^done$")),
    ],
)
def test_the_end_is_a_word_or_a_last_line(case_file, text, end):
    (case,) = load_cases(case_file(MINE + 'scraper = "hello_world"\nobserve_after = 3\n' + text))
    assert (case.end, case.observe_after) == (end, 3)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("ends = false", 'end = "never"', "ends is now called end"),
        ("ends = true", 'end = "idle"', "ends is now called end"),
        ('ends = "system_off"', 'end = "system_off"', "ends is now called end"),
        ('ends_at = "^x$"', 'end = { line = "^x$" }', "ends_at is now called end = { line = ... }"),
        ("watch = 3", "observe_after = 3", "watch is now called observe_after"),
        ('beside = ["zephyr.elf"]', 'also_load = ["zephyr.elf"]', "beside is now called also_load"),
    ],
)
def test_keys_of_the_last_release_work_with_a_note(case_file, caplog, old, new, note):
    text = MINE + 'scraper = "hello_world"\n'
    (case,) = load_cases(case_file(f"{text}{old}\n"))
    assert caplog.messages == [f"{case_file('').parent}/hil.toml, case 'mine': {note}"]
    assert [case] == load_cases(case_file(f"{text}{new}\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('end = "never"\n', "end needs a scraper"),
        ('observe_after = 2\nend = "never"\n', "end needs a scraper"),
        ('scraper = "ztest"\nobserve_after = 0\n', "observe_after: 0 is not a time"),
        ('scraper = "ztest"\nend = { line = "(" }\n', "is broken"),
        ('scraper = "ztest"\nend = { line = "x*" }\n', "matches an empty line"),
        ('scraper = "hello_world"\nends = false\nends_at = "x"\n', "ends excludes it"),
        ('scraper = "hello_world"\nends = 3\n', "ends: 3 is neither true nor false nor"),
        (
            'scraper = "hello_world"\nend = "nver"\n',
            "'never' or 'system_off', not 'nver'",
        ),
        ("end = 3\n", "end is"),
        ('scraper = "ztest"\nend = "never"\n', "has a last line of its own"),
        ('scraper = "ztest"\nexpect.tests = { "s.a" = "broken" }\n', "not 'broken'"),
        (
            'scraper = "ztest"\nexpect.values = [{ a = true }]\n',
            "neither a number nor a text|an empty row",
        ),
        (
            'scraper = "ztest"\nexpect.values = [{}]\n',
            "neither a number nor a text|an empty row",
        ),
        (
            'scraper = "ztest"\nexpect.values = [{ a = nan }]\n',
            "neither a number nor a text|an empty row",
        ),
        (
            'scraper = "ztest"\nexpect.values = [{ a = -inf }]\n',
            "neither a number nor a text|an empty row",
        ),
        (
            f'scraper = "ztest"\nexpect.values = [{{ a = {"9" * 400} }}]\n',
            "neither a number nor a text|an empty row",
        ),
    ],
)
def test_contradicting_ends_and_expectations_are_refused(case_file, text, words):
    with pytest.raises(UsageError, match=words):
        load_cases(case_file(MINE + text))


def test_options_reach_the_targets_that_take_them(case_file):
    given = 'targets = ["simulator", "renode"]\noptions = { timing = "branches" }\n'
    one, other = load_cases(case_file(MINE + given))
    assert (one.target_options, other.target_options) == ({"timing": "branches"}, {})


def test_an_option_that_no_target_of_the_case_takes_is_refused(case_file):
    with pytest.raises(UsageError, match="no option 'board' of simulator"):
        load_cases(case_file(MINE + 'options = { board = "dk1" }\n'))


def test_a_model_is_named_by_its_path_or_as_one_of_the_projects(tmp_path):
    own = tmp_path / "own.tflite"
    own.write_bytes(b"")
    assert find_model("own.tflite", tmp_path) == own
    for name in ("digits_int8", "digits_int8.tflite"):
        assert find_model(name, tmp_path) == paths.models() / "digits_int8.tflite"
    with pytest.raises(UsageError, match="no model 'digits'") as refused:
        find_model("digits", tmp_path)
    assert "atan_float32.tflite, chime_int8.tflite" in refused.value.hint


def test_a_file_of_inputs_that_there_is_not_is_refused(case_file):
    text = '[[case]]\nname = "mine"\nelf = "zephyr.elf"\ninputs = "rows.npy"\n'
    with pytest.raises(UsageError, match=r"there is no file .*rows\.npy"):
        load_cases(case_file(text))


def test_further_images_are_loaded_beside_an_elf(case_file):
    (case,) = load_cases(case_file(MINE + 'also_load = ["zephyr.elf"]\n'))
    assert case.also_load == (case.elf,)
    with pytest.raises(UsageError, match="there is no file"):
        load_cases(case_file(MINE + 'also_load = ["nowhere.elf"]\n'))


def test_nothing_is_loaded_beside_a_sample(case_file):
    text = '[[case]]\nname = "m"\nsample = "hello_world"\nalso_load = ["zephyr.elf"]\n'
    with pytest.raises(UsageError, match="also_load goes with elf"):
        load_cases(case_file(text))


@pytest.mark.parametrize(("said", "held"), [("", True), ("numpy", True), ("none", False)])
def test_outputs_are_compared_with_the_reference_by_default(case_file, said, held):
    (case,) = load_cases(case_file(MINE + (f'reference = "{said}"\n' if said else "")))
    assert (case.reference == "numpy") is held


def test_a_target_that_is_listed_twice_counts_once(case_file):
    cases = load_cases(case_file(MINE + 'targets = ["renode", "simulator", "renode"]\n'))
    assert [case.target for case in cases] == ["renode", "simulator"]


NOTHING = "expect.outputs = false\n"


@pytest.mark.parametrize("scraper", ["", 'scraper = "/(?P<y>a+)/"\n'])
def test_a_case_without_outputs_names_something_that_must_be_seen(case_file, scraper):
    with pytest.raises(UsageError, match="without outputs needs a last line") as refused:
        load_cases(case_file(MINE + scraper + NOTHING))
    assert "line" in refused.value.hint
    assert "expect.findings" in refused.value.hint
    for named in ('end.line = "^done$"\n', 'expect.findings = ["fault"]\n'):
        (case,) = load_cases(case_file(MINE + scraper + NOTHING + named))
        assert not case.expect.wants_outputs


def test_the_last_line_needs_a_scraper_only_if_there_are_results_to_read(case_file):
    with pytest.raises(UsageError, match="end needs a scraper"):
        load_cases(case_file(MINE + 'end = { line = "^done$" }\n'))


PRINTED = '[[case]]\nname = "a"\nelf = "zephyr.elf"\nmodel = "hello_world_int8"\n'


def test_regexes_of_inputs_and_outputs_are_read(case_file):
    text = "inputs = ['x: (.)']\noutputs = [{ regex = 'y: (.)', form = \"real\" }]\n"
    (case,) = load_cases(case_file(PRINTED + text))
    assert case.printed.inputs == (TensorRegex("x: (.)"),)
    assert case.printed.outputs == (TensorRegex("y: (.)", "real"),)
    assert (case.input_file, case.reads_text) == (None, True)


def test_outputs_may_be_printed_alone_if_a_file_has_the_inputs(case_file):
    path = case_file(PRINTED + "inputs = 'x.npy'\noutputs = ['y: (.)']\n")
    (path.parent / "x.npy").write_bytes(b"")
    (case,) = load_cases(path)
    assert case.printed.inputs == ()
    assert case.input_file == path.parent / "x.npy"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("outputs = ['y: (.)']", "outputs needs inputs to compute the right answers from"),
        ("inputs = ['x: (.)']", "inputs that are regexes need outputs"),
        ("inputs = ['x: (.)']\noutputs = ['y: .']", "has no group that holds a value"),
        ("inputs = ['x: (.)']\noutputs = ['y: (?P<index>.)']", "has no group that holds a value"),
        ("inputs = ['x: (.)']\noutputs = ['y: (']", "is broken"),
        ("inputs = ['x: (.)']\noutputs = ['a(.)', 'b(.)']", "outputs: the model has 1 output"),
        ("inputs = ['(.)x', '(.)y']\noutputs = ['a(.)']", "inputs: the model has 1 input"),
        (
            "inputs = ['x: (.)']\noutputs = ['y(.)']\nscraper = 'ztest'",
            "cannot stand beside scraper",
        ),
        (
            "inputs = ['x: (.)']\noutputs = ['y(.)']\nreference = 'none'",
            "cannot stand beside refer",
        ),
        (
            "inputs = ['x: (.)']\noutputs = ['y(.)']\nexpect.values = [{ y = 1 }]",
            "a scraper's regex and expect.values go together",
        ),
        ("inputs = ['x: (.)']\noutputs = [{ regex = 'y(.)', form = 'rael' }]", "form is"),
    ],
)
def test_regexes_that_cannot_be_compared_are_refused(case_file, text, words):
    with pytest.raises(UsageError) as caught:
        load_cases(case_file(f"{PRINTED}{text}\n"))
    assert words in str(caught.value)


def test_regexes_without_a_model_are_refused(case_file):
    text = "inputs = ['x: (.)']\noutputs = ['y: (.)']\n"
    with pytest.raises(UsageError, match="need a model to compare with"):
        load_cases(case_file('[[case]]\nname = "a"\nelf = "zephyr.elf"\n' + text))
