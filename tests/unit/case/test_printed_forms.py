"""Forms in which applications print outputs, compared with the model: hex, percent, labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from model_builder import Op, T, build

from harness.base import paths
from harness.base.errors import UsageError
from harness.case.case import Case
from harness.case.observe import scrapers_of
from harness.case.outputs import OutputCheck, check_outputs
from harness.model import Model
from harness.reference import Interpreter
from harness.uart import Console
from harness.uart.scrapers import TensorRegex

DIGITS = paths.models() / "digits_int8.tflite"
SINE = paths.models() / "hello_world_int8.tflite"
ATAN = paths.models() / "atan_float32.tflite"
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: Three inputs of the digits, of which the model's largest outputs are, as quantized and real:
#: eight 125 (0.988) before zero, six, nine -127 (0.0039); nine 90 (0.852) before eight -92 (0.141)
#: and zero, six; eight 127 (0.996) before nine -127.
IMAGES = np.random.default_rng(1).integers(-128, 128, (3, 1, 8, 8, 1)).astype(np.int8)
ROWS = (
    (-127, -128, -128, -128, -128, -128, -127, -128, 125, -127),
    (-127, -128, -128, -128, -128, -128, -127, -128, -92, 90),
    (-128, -128, -128, -128, -128, -128, -128, -128, 127, -127),
)


def check(
    console: str, *outputs: TensorRegex, model: Path = DIGITS, known=IMAGES, **keys
) -> tuple[OutputCheck, list[str]]:
    """The comparison, and the messages of findings."""
    case = Case("c", elf=Path("x"), model=model, outputs=outputs, **keys)
    seen = Console(scrapers_of(case))
    seen.feed(console.encode())
    seen.finish()
    rows = [] if "inputs" in keys else [[one.tobytes()] for one in known]
    found = check_outputs(seen, case, Model.from_file(model), rows)
    return found, [finding.message for finding in seen.findings]


def printed(form) -> str:
    """The outputs of all images, each number in the form that ``form`` gives it."""
    return "".join(f"scores: {' '.join(map(form, row))}\n" for row in ROWS)


def real(q: int) -> float:
    return (q + 128) / 256


@pytest.mark.parametrize(
    ("keys", "form"),
    [
        ({}, lambda q: f"0x{q & 0xFF:02X}"),
        ({}, lambda q: f"0x{q & 0xFFFFFFFF:x}"),
        ({}, lambda q: f"{'-' if q < 0 else ''}0x{abs(q):x}"),
        ({"factor": 0.01}, lambda q: f"{100 * real(q):.0f}"),
        ({"factor": 0.01}, lambda q: f"{int(100 * real(q))}"),
        ({"factor": 0.01}, lambda q: f"{100 * real(q):.2f}"),
        ({"factor": 0.001, "form": "real"}, lambda q: f"{int(1000 * real(q))}"),
        ({"factor": -1}, lambda q: f"{-real(q):.4f}"),
        ({"form": "real"}, lambda q: f"{real(q):.3e}"),
    ],
    ids=["hex", "hex of an int", "hex with a sign", "percent", "truncated", "with decimals",
         "milli", "negative", "scientific"],
)  # fmt: skip
def test_a_number_is_read_in_the_form_in_which_it_is_printed(keys, form):
    right, _ = check(printed(form), TensorRegex("scores: (.*)", **keys))
    assert (right.compared, right.problem) == (30, "")
    wrong, _ = check(
        printed(lambda q: form(q - 4 if q == 125 else q)), TensorRegex("scores: (.*)", **keys)
    )
    assert wrong.mismatches == 1
    assert "Identity[0, 8] of inference 0 is" in wrong.problem


@pytest.mark.parametrize(("x", "right"), [(1570, True), (157, False)])
def test_a_printed_input_may_have_a_factor(x, right):
    read = (TensorRegex(r"x: (\d+)", factor=0.001),)
    output = TensorRegex(r"y: (\S+)", "real")
    found, _ = check(f"x: {x} y: 0.99\n", output, model=SINE, inputs=read, tolerance=0.05)
    assert (found.compared, found.problem == "") == (1, right)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("0x1FF", "0x1FF is not of type int8"),
        ("0xFFFFFF00", "0xFFFFFF00 is not of type int8"),
        ("0x", "'0x' is not a number"),
        ("AA", "'AA' is not a number"),
        ("0x12345678123456789", "is not a number"),
    ],
)
def test_a_hex_number_must_fit_the_tensor(word, why):
    _, (message,) = check(f"scores: {word}\n", TensorRegex("scores: (.*)"))
    assert why in message


LABEL = {"label": "argmax", "names": NAMES}
TOP = {"label": "top", "names": NAMES, "top": 2}


@pytest.mark.parametrize(
    ("keys", "regex", "lines", "compared", "told"),
    [
        (LABEL, r"^is (\w+)", "is eight|is nine|is eight", 3, ""),
        (
            LABEL, r"^is (\w+)", "is eight|is nine|is nine", 3,
            "label of inference 2 is 'nine', the model's largest is 'eight' (0.996094)",
        ),
        (
            LABEL, r"^is (\w+)", "is nine|is eight|is nine", 3,
            "label is 'nine' for 'eight', 'eight' for 'nine'; "
            "label of inference 0 is 'nine', the model's largest is 'eight' (0.988281)",
        ),
        (
            LABEL, r"^is (\w+)", "is eight|is eight|is eight", 3,
            "label is 'eight' everywhere; "
            "label of inference 1 is 'eight', the model's largest is 'nine' (0.851562)",
        ),
        (
            {**LABEL, "names": tuple("0123456789")}, r"^class (\d)", "class 8|class 9|class 8", 3,
            "",
        ),
        (
            {**LABEL, "factor": 0.01}, r"^(\w+) (?P<score>\d+)%", "eight 98%|nine 86%|eight 99%", 6,
            "",
        ),
        (
            {**LABEL, "factor": 0.01}, r"^(\w+) (?P<score>\d+)%", "eight 98%|nine 87%|eight 99%", 6,
            "score of 'nine' in inference 1 is 0.87, expected 0.851562",
        ),
        (
            LABEL, r"^(?P<score>\S+): (?P<name>\w+)", "0x7D: eight|90: nine|127: eight", 6, "",
        ),
        (
            LABEL, r"^(?P<score>\S+): (?P<name>\w+)", "125: eight|90: eight|127: eight", 6,
            "label is 'eight' everywhere; "
            "label of inference 1 is 'eight', the model's largest is 'nine' (90)",
        ),
        (TOP, r"\d\. (\w+)", "1. eight 2. six|1. nine 2. eight|1. eight|2. nine", 6, ""),
        (TOP, r"\d\. (\w+)", "1. eight 2. nine|1. nine 2. eight|1. eight|2. nine", 6, ""),
        (
            TOP, r"\d\. (\w+)", "1. eight 2. six|1. eight 2. nine|1. eight 2. nine", 6,
            "label 1 of inference 1 is 'eight', the model's largest is 'nine' (0.851562)",
        ),
        (
            TOP, r"\d\. (\w+)", "1. eight 2. one|1. nine 2. eight|1. eight 2. nine", 6,
            "label 2 of inference 0 is 'one', the model's number 2 is 'zero' (0.00390625)",
        ),
        (
            TOP, r"\d\. (\w+)", "1. eight 2. six|1. nine 2. nine|1. eight 2. nine", 6,
            "label 2 of inference 1 is 'nine', the model's number 2 is 'eight' (0.140625)",
        ),
        (
            {**TOP, "form": "real"}, r"top: (\w+) (?P<score>\S+), (\w+) (?P<score2>\S+)",
            "top: eight 0.99, six 0.00|top: nine 0.85, eight 0.14|top: eight 0.996, nine 0.003",
            12, "",
        ),
        (
            {**TOP, "form": "real"}, r"top: (\w+) (?P<score>\S+), (\w+) (?P<score2>\S+)",
            "top: eight 0.99, six 0.00|top: nine 0.85, eight 0.04|top: eight 0.996, nine 0.003",
            12, "score of 'eight' in inference 1 is 0.04, expected 0.140625",
        ),
    ],
)  # fmt: skip
def test_names_are_those_of_the_largest_elements(keys, regex, lines, compared, told):
    found, messages = check(lines.replace("|", "\n") + "\n", TensorRegex(regex, **keys))
    assert (found.compared, messages) == (compared, [])
    assert found.problem.partition("the model computes: ")[2] == told
    assert (found.problem == "") == (told == "")


def test_of_equal_largest_elements_any_name_is_right():
    outputs = Model.from_file(ATAN).outputs[0].shape
    assert outputs == (1, 8)
    equal = np.zeros((1, 8), np.float32)
    for name in "abcdefgh":
        found, _ = check(
            f"is {name}\n", TensorRegex(r"is (\w)", label="argmax", names=tuple("abcdefgh")),
            model=ATAN, known=[equal],
        )  # fmt: skip
        assert (found.compared, found.problem) == (1, "")


@pytest.mark.parametrize(
    ("second", "tolerance", "right"),
    [(0.9, None, False), (0.9, 0.1, True), (0.7, 0.01, False)],
)
def test_a_name_may_be_that_of_an_element_within_the_tolerance(second, tolerance, right):
    row = np.array([[1, second, *[-1] * 6]], np.float32)
    found, _ = check(
        "is b\n", TensorRegex(r"is (\w)", label="argmax", names=tuple("abcdefgh")),
        model=ATAN, known=[row], tolerance=tolerance,
    )  # fmt: skip
    assert (found.problem == "") == right


@pytest.mark.parametrize(("name", "right"), [("a", True), ("b", True), ("c", False)])
def test_a_name_may_be_that_of_an_element_within_the_error_of_float_sums(tmp_path, name, right):
    """Two outputs differ in their last bit, the third one is smaller."""
    w = np.stack([np.random.default_rng(3).normal(size=64).astype(np.float32)] * 3)
    tensors = [T((1, 64), "float32"), T(w.shape, "float32", data=w),
               T((3,), "float32", data=[0, -2.4e-7, -0.01]), T((1, 3), "float32")]  # fmt: skip
    dense = Op("FULLY_CONNECTED", [0, 1, 2], [3], ("FullyConnected", {}))
    path = tmp_path / "model.tflite"
    path.write_bytes(build(tensors, [dense], [0], [3]))
    ones = np.ones((1, 64), np.float32)
    (sums,) = Interpreter.from_file(path).invoke([ones])
    assert 0 < sums[0, 0] - sums[0, 1] < 1e-6
    found, _ = check(
        f"is {name}\n", TensorRegex(r"is (\w)", label="argmax", names=("a", "b", "c")),
        model=path, known=[ones],
    )  # fmt: skip
    assert (found.problem == "") == right


def test_a_name_that_is_none_of_the_names_is_a_finding():
    _, (message,) = check("is night\n", TensorRegex(r"is (\w+)", **LABEL))
    assert "'night' is none of the names" in message


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("is eight\nis nine\n", "2 inferences came, the inputs are 3"),
        ("is eight\n" * 4, "4 inferences came, the inputs are 3"),
    ],
)
def test_as_many_labels_as_inputs_must_come(lines, problem):
    found, _ = check(lines, TensorRegex(r"is (\w+)", **LABEL))
    assert found.problem.startswith(problem)


def test_a_lost_rank_makes_its_inference_incomplete():
    lines = "top: eight six\ntop: nine\ntop: eight nine\n"
    found, _ = check(lines, TensorRegex(r"top: (\w+)(?: (\w+))?", **TOP))
    assert "came incomplete or out of order: line 3: output 0 came again" in found.problem


def test_labels_are_counted_beside_elements_of_other_outputs():
    found, _ = check("is eight\nis nine\nis eight\n", TensorRegex(r"is (\w+)", **LABEL))
    assert (found.compared, found.mismatches, found.inferences) == (3, 0, 3)
    assert found.compared_with == "the NumPy reference of digits_int8.tflite"
    assert found.stated is None


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"label": "argmax"}, "output 0: a label needs names"),
        ({"label": "argmax", "names": ("a", "b")}, "2 names, and Identity has 10 elements"),
        ({"label": "argmax", "names": ("a", *NAMES[:8], "a")}, "names has 'a' twice"),
        ({**LABEL, "top": 2}, 'label = "top" and top = N go together'),
        ({"label": "top", "names": NAMES}, 'label = "top" and top = N go together'),
        ({**TOP, "top": 11}, "top = 11, and Identity has 10 elements"),
        ({**LABEL, "factor": 0.01}, "factor is of numbers, and the regex reads only names"),
        ({**LABEL, "form": "real"}, "form is of numbers, and the regex reads only names"),
        ({**LABEL, "regex": r"(?P<score>\d)"}, "its groups are not names"),
        ({**LABEL, "regex": r"(\w) (\w) (?P<score>\d)"}, "its groups are not names"),
        ({**LABEL, "regex": r"(?P<index>\d)"}, "its groups are not names"),
        ({"names": NAMES}, "names are of a label"),
        ({"top": 2}, "top is of a label"),
        ({"form": "quantized", "factor": 0.01}, "factor gives real numbers"),
    ],
)
def test_keys_that_do_not_fit_the_output_are_refused(keys, words):
    with pytest.raises(UsageError) as caught:
        check("", TensorRegex(**{"regex": r"is (\w+)", **keys}))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("outputs", "inputs", "words"),
    [
        ({"label": "argmax", "names": ("a",)}, {}, "output 0: a label is of several elements"),
        ({}, {"label": "argmax", "names": ("a",)}, "input 0: a label is of an output"),
    ],
)
def test_a_label_is_of_an_output_with_several_elements(outputs, inputs, words):
    read = (TensorRegex(r"x: (\S+)", **inputs),)
    with pytest.raises(UsageError, match=words):
        check("", TensorRegex(r"y: (\S+)", **outputs), model=SINE, inputs=read)
