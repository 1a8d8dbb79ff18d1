import pytest

from harness.base.findings import Kind
from harness.model.schema import OPERATOR_NAMES
from harness.uart import Console


def read(text: str) -> list:
    console = Console()
    console.feed(text.encode())
    console.finish()
    return [(f.kind, f.subject, dict(f.values)) for f in console.findings]


@pytest.mark.parametrize(
    ("text", "kind", "subject", "values"),
    [
        (
            "Couldn't register custom op 'Atan', resolver size is toosmall (1)",
            Kind.RESOLVER_TOO_SMALL,
            "Atan",
            {"declared": 1},
        ),
        (
            "Couldn't register builtin op #3, resolver size is too small (2).",
            Kind.RESOLVER_TOO_SMALL,
            "CONV_2D",
            {"number": 3, "declared": 2},
        ),
        (
            "Calling AddCustom for the same op more than once \r\nis not supported (Op: Atan).",
            Kind.DUPLICATE_OPERATOR,
            "Atan",
            {},
        ),
        (
            "Failed to resize buffer. Requested: 9216, available 1024, missing: 8192",
            Kind.ARENA_TOO_SMALL,
            "",
            {"requested": 9216, "available": 1024, "missing": 8192},
        ),
        (
            "Node CONV_2D (number 3f) failed to prepare with status 1",
            Kind.PREPARE_FAILED,
            "CONV_2D",
            {"node": 3, "status": 1},
        ),
        (
            "Node Atan (number 0) failed to invoke with status 1",
            Kind.INVOKE_FAILED,
            "Atan",
            {"node": 0, "status": 1},
        ),
        (
            "Model provided is schema version 2 not equal to supported version 3.",
            Kind.SCHEMA_MISMATCH,
            "",
            {"version": 2, "supported": 3},
        ),
        (
            "[00:00:01.2,3] <err> os: >>> ZEPHYR FATAL ERROR 2: Stack overflow on CPU 0",
            Kind.STACK_OVERFLOW,
            "",
            {},
        ),
    ],
)
def test_a_known_message_is_a_typed_finding(text, kind, subject, values):
    assert read(text + "\r\n") == [(kind, subject, values)]


def test_a_message_in_two_parts_is_joined_over_an_interleaved_line():
    text = (
        "Couldn't register builtin op #25, resolver size \r\r\n"
        "printk from another thread\r\n"
        "is too small (1).\r\r\n"
    )
    assert read(text) == [(Kind.RESOLVER_TOO_SMALL, "SOFTMAX", {"number": 25, "declared": 1})]


@pytest.mark.parametrize(("between", "declared"), [(5, True), (6, False)])
def test_a_second_part_is_searched_in_a_few_lines(between, declared):
    text = "Couldn't register builtin op #25, resolver size \r\n" + "another voice\r\n" * between
    ((kind, subject, values),) = read(text + "is too small (1).\r\n")
    assert (kind, subject) == (Kind.RESOLVER_TOO_SMALL, "SOFTMAX")
    assert ("declared" in values) is declared


def test_a_first_part_without_a_second_is_a_finding():
    assert (
        read("Calling AddBuiltin with the same op more than \r\n")[0][0] == Kind.DUPLICATE_OPERATOR
    )


def test_colours_do_not_hide_a_message():
    text = "\x1b[1;31m<err> os: >>> ZEPHYR FATAL ERROR 4: Kernel panic on CPU 0\x1b[0m\r\n"
    assert read(text) == [(Kind.KERNEL_PANIC, "Kernel panic", {"reason": 4})]


def test_a_repeated_message_is_one_finding():
    said = "<err> {}: it went wrong\r\n"
    text = said.format("spi") * 3 + said.format("uart") + "Invoke failed\r\n"
    assert [(kind, subject) for kind, subject, _ in read(text)] == [
        (Kind.LOG_ERROR, "spi"),
        (Kind.LOG_ERROR, "uart"),
        (Kind.INVOKE_FAILED, ""),
    ]


def test_beyond_the_deduplication_limit_each_message_counts(monkeypatch):
    monkeypatch.setattr("harness.uart.messages._MOST_KNOWN", 2)
    text = "".join(f"<err> {name}: wrong\r\n" for name in "aabbccc")
    assert [subject for _, subject, _ in read(text)] == ["a", "b", "c", "c", "c"]


def test_a_message_is_found_at_both_ends_of_a_line():
    said = "Node ADD (number 1f) failed to invoke with status 1"
    for text in (f"Node X, {said}\r\n", f"{said}, Node X\r\n"):
        assert read(text) == [(Kind.INVOKE_FAILED, "ADD", {"node": 1, "status": 1})]


def test_a_first_half_that_another_one_follows_is_a_finding():
    half = "Couldn't register builtin op #{}, resolver size \r\n"
    found = read(half.format(3) + half.format(25) + "is too small (1).\r\n")
    assert found == [
        (Kind.RESOLVER_TOO_SMALL, "CONV_2D", {"number": 3}),
        (Kind.RESOLVER_TOO_SMALL, "SOFTMAX", {"number": 25, "declared": 1}),
    ]


@pytest.mark.parametrize(
    ("code", "name"), [(0, "ADD"), (25, "SOFTMAX"), (len(OPERATOR_NAMES), "#")]
)
def test_an_operator_is_named_by_its_code_or_by_its_number(code, name):
    text = f"Couldn't register builtin op #{code}, resolver size is too small (1)\r\n"
    assert read(text)[0][1] == (f"#{code}" if name == "#" else name)


def test_of_each_half_of_a_message_six_hundred_characters_are_kept():
    text = f"Couldn't register builtin op #{'1' * 900}, resolver size\r\nis too small (2)\r\n"
    long = f"ASSERTION FAIL [{'a' * 400}] @ {'b' * 300}"
    halves, whole = Console(), Console()
    halves.feed(text.encode())
    whole.feed(f"{long}\r\n".encode())
    whole.finish()
    assert halves.findings[0].message == f"{text[:600]} is too small (2)"
    assert whole.findings[0].message == long[:600]


def test_an_ordinary_sentence_is_not_a_finding():
    assert read("All operators registered, resolver size is 5\r\n") == []
