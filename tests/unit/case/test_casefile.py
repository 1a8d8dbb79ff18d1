import pytest

from harness.case.casefile import load_cases, size
from harness.errors import UsageError


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


def test_one_case_on_two_targets_is_two_cases(case_file):
    text = '[[case]]\nname = "mine"\nelf = "zephyr.elf"\ntargets = ["simulator", "renode"]\n'
    assert [case.target for case in load_cases(case_file(text))] == ["simulator", "renode"]


def test_defaults_hold_for_every_case_that_says_nothing_else(case_file):
    text = (
        "[defaults]\ntimeout = 3\n"
        '[[case]]\nname = "a"\nelf = "zephyr.elf"\n'
        '[[case]]\nname = "b"\nelf = "zephyr.elf"\ntimeout = 4.5\n'
    )
    assert [case.timeout for case in load_cases(case_file(text))] == [3, 4.5]


def test_a_sample_brings_its_model_and_what_the_table_expects(case_file):
    text = '[[case]]\nname = "m"\nsample = "hello_world"\nresolver = "missing"\n'
    (case,) = load_cases(case_file(text))
    assert case.model.name == "hello_world_int8.tflite"
    assert ("missing_operator", "FULLY_CONNECTED") in case.expected.findings


def test_expectations_and_budgets_are_read(case_file):
    text = (
        '[[case]]\nname = "mine"\nelf = "zephyr.elf"\nscraper = "person_detection"\n'
        'expect = { findings = ["arena_too_small"], outputs = true, values = [{ person = 113 }] }\n'
        'budgets = { flash = "400 KB", instructions = "3 M" }\n'
    )
    (case,) = load_cases(case_file(text))
    assert case.expected.findings == (("arena_too_small", ""),)
    assert case.values == ({"person": 113},)
    limits = {limit.name: limit.bytes for limit in case.budgets.limits}
    assert limits == {"flash": 409600, "instructions": 3_000_000}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no [[case]]"),
        ("[[case]]\n", "no name"),
        ('[[case]]\nname = "m"\n', "either elf or sample"),
        ('[[case]]\nname = "m"\nelf = "nowhere.elf"\n', "does not exist"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nscrapper = "x"\n', "did you mean 'scraper'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nscraper = "x"\n', "no scraper 'x'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntargets = []\n', "nothing would run"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntargets = ["qemu"]\n', "no target 'qemu'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntimeout = "long"\n', "must be float"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\ntimeout = 0\n', "above zero"),
        ('[[case]]\nname = "m"\nsample = "nothing"\n', "no sample 'nothing'"),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\nbudgets = { flash = "much" }\n', "no limit"),
        (
            '[[case]]\nname = "m"\nelf = "zephyr.elf"\nexpect = { findings = ["oops"] }\n',
            "no finding 'oops'",
        ),
        ('[[case]]\nname = "m"\nelf = "zephyr.elf"\n' * 2, "two cases are called"),
        ("[[case]\n", "hil.toml"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(case_file, text, word):
    with pytest.raises(UsageError) as refused:
        load_cases(case_file(text))
    assert word in str(refused.value)
    assert "\n" not in refused.value.message.replace("\nhint", "")


@pytest.mark.parametrize(
    ("text", "value"), [(5, 5), ("5", 5), ("2 KB", 2048), ("1.5 KiB", 1536), ("3 M", 3_000_000)]
)
def test_sizes(text, value):
    assert size(text, "here") == value


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
    file.write_text(f'[[case]]\nname = "{"x" * 300}"\nelf = "a.elf"\n')
    with pytest.raises(UsageError, match="too long"):
        load_cases(file)
