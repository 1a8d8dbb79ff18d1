"""What images print about failure, and lines that look alike and say that nothing is wrong."""

from __future__ import annotations

import pytest

from harness.base.findings import Finding, Kind
from harness.uart import Console
from harness.uart.message_table import GENERAL_RULES, RULES
from harness.uart.messages import names_failure

NODE = "Node CONV_2D (number 3) failed to prepare with status 1"


def findings(*lines: str) -> list[Finding]:
    console = Console()
    console.feed("".join(f"{line}\r\n" for line in lines).encode())
    console.finish()
    return console.findings


#: Lines (``|`` between two), the kind, the subject.
MESSAGES: tuple[tuple[str, Kind, str], ...] = (
    # tflite-micro: resolver
    ("Didn't find op for builtin opcode 'SOFTMAX'", Kind.MISSING_OPERATOR, "SOFTMAX"),
    ("Failed to get registration from op code CUSTOM", Kind.MISSING_CUSTOM_OPERATOR, ""),
    ("Failed to get registration from op code ADD", Kind.MISSING_OPERATOR, "ADD"),
    ("Encountered unresolved custom op: Atan.", Kind.MISSING_CUSTOM_OPERATOR, "Atan"),
    ("Did not find a parser for ADD", Kind.MISSING_OPERATOR, "ADD"),
    ("Couldn't register builtin op #3, resolver size |is too small (2).",
     Kind.RESOLVER_TOO_SMALL, "CONV_2D"),
    ("Couldn't register custom op 'Atan', resolver size is toosmall (1)",
     Kind.RESOLVER_TOO_SMALL, "Atan"),
    ("Calling AddBuiltin with the same op more than |once is not supported (Op: #0).",
     Kind.DUPLICATE_OPERATOR, "ADD"),
    ("Calling AddCustom for the same op more than once |is not supported (Op: Atan).",
     Kind.DUPLICATE_OPERATOR, "Atan"),
    # arena and interpreter
    ("Failed to allocate tail memory. Requested: 512, available 12, missing: 500",
     Kind.ARENA_TOO_SMALL, ""),
    ("Failed to resize buffer. Requested: 512, available 12, missing: 500",
     Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate memory for context->eval_tensors, 96 bytes required",
     Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate memory for memory planning, 960 bytes required", Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate memory for node_and_registrations.", Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate temp. memory for tensor 3, subgraph 0", Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate variable tensor of size 64", Kind.ARENA_TOO_SMALL, ""),
    ("Unable to allocate TfLiteAffineQuantization.", Kind.ARENA_TOO_SMALL, ""),
    ("Arena size is too small for all buffers. Needed 9 but only 8 was available.",
     Kind.ARENA_TOO_SMALL, ""),
    ("Too many buffers (max is 12)", Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate resource variable. Maximum resource variable count (0) reached.",
     Kind.ALLOCATION_FAILED, ""),
    ("Scratch buffer request exceeds limit per operator (12)", Kind.ALLOCATION_FAILED, ""),
    ("Scratch buffer request exeeds limit per operator (12)", Kind.ALLOCATION_FAILED, ""),
    ("AllocateTensors() failed", Kind.ALLOCATION_FAILED, ""),
    ("AllocateTensors failed. Try increasing kTensorArenaSize.", Kind.ALLOCATION_FAILED, ""),
    ("Failed starting model allocation.", Kind.ALLOCATION_FAILED, ""),
    ("Failed to initialize input tensor 0", Kind.ALLOCATION_FAILED, ""),
    ("Failed to populate a temp TfLiteTensor struct from flatbuffer data!",
     Kind.ALLOCATION_FAILED, ""),
    ("Unsupported data type 19 in tensor", Kind.ALLOCATION_FAILED, ""),
    ("Op#3 (RESHAPE) of subgraph 0 has dynamic tensor #1|Dynamic tensors are not supported",
     Kind.PREPARE_FAILED, "RESHAPE"),
    # the reasons of kernels
    (f"Hybrid models are not supported on TFLite Micro.|{NODE}", Kind.PREPARE_FAILED, "CONV_2D"),
    (f"Dynamic tensors are unsupported in tfmicro.|{NODE}", Kind.PREPARE_FAILED, "CONV_2D"),
    (f"DynamicTensor is not yet supported by Expand_Dims.|{NODE}", Kind.PREPARE_FAILED, "CONV_2D"),
    (f"Input INT32, output INT32 not supported.|{NODE}", Kind.PREPARE_FAILED, "CONV_2D"),
    (f"Input type: FLOAT32 with filter type: INT8 not supported.|{NODE}",
     Kind.PREPARE_FAILED, "CONV_2D"),
    (f"Input type: FLOAT32 with filter type : INT8 not supported.|{NODE}",
     Kind.PREPARE_FAILED, "CONV_2D"),
    *(
        (f"{said}|{NODE}", Kind.PREPARE_FAILED, "CONV_2D")
        for said in (
            "Input tensor type FLOAT16 (10) not supported.",
            "Output tensor type INT32 (2) not supported.",
            "Begin tensor type INT16 (7) not supported.",
            "Input data type INT32 (2) is not supported.",
            "Current data type INT32 is not supported.",
            "Input type INT32 is not currently supported",
            "Output type 'INT32' (2) is not supported.",
            "Filter type INT4 (18) for input type INT16 not supported.",
            "Weight type INT4 (18) not supported.",
            "Bias type INT16 (7) not supported.",
            "Cell state type INT8 (9) not supported. The quantized Unidirectional Sequence LSTM Op",
            "Quantized type UINT8 not currently supported.",
            "Axis type INT64 (4) not supported by Expand_Dims.",
            "unsupported tensor type INT64",
            "Type UINT8 (3) not supported.",
            "Type UINT8 currently not supported.",
            "Type UINT8 not currently supported.",
            "Type 'INT64' is not supported by gather.",
            "Type INT32 is currently not supported by Transpose. Only float32 is supported",
            "Unsupported type INT16",
            "Op Concatenation does not currently support Type 'UINT8'.",
            "Only float32, int8 are supported by LEAKY_RELU, got UINT8.",
            "Only float32/int8/int16 is supported currently, got UINT8",
            "ADD_N only supports FLOAT32 and INT8, got UINT8.",
            "Fill only currently supports float32 for input 1, got 7.",
            "ELU only supports float32 and int8 currently, got UINT8.",
            "Expand_Dims only currently supports int8, int16 and float32, got 3.",
            "DynamicUpdateSlice currently only supports int32 or int64 indices type, got 7.",
            "Given shapes are not broadcastable.",
            "tensorflow/lite/micro/kernels/pad.cc:97 IsConstantTensor(paddings) was not true.",
            "src/tensorflow/lite/micro/kernels/pad.cpp:97 IsConstant(paddings) was not true.",
            "kernels/conv_common.cc:83 input->type != filter->type (FLOAT32 != INT8)",
            "kernels/conv_common.cpp:83 input->type != filter->type (FLOAT32 != INT8)",
        )
    ),
    (NODE, Kind.PREPARE_FAILED, "CONV_2D"),
    ("Node CONV_2D (number 3f) failed to invoke with status 1", Kind.INVOKE_FAILED, "CONV_2D"),
    ("Type INT16 (7) not supported.|Node ADD (number 3) failed to invoke with status 1",
     Kind.INVOKE_FAILED, "ADD"),
    ("Invoke failed on index 3", Kind.INVOKE_FAILED, ""),
    ("Invoke() failed", Kind.INVOKE_FAILED, ""),
    ("Invoke() called after initialization failed", Kind.INVOKE_FAILED, ""),
    ("Model provided is schema version 2 not equal to supported version 3.",
     Kind.SCHEMA_MISMATCH, ""),
    ("Model provided is schema version -1 not equal to supported version 3.",
     Kind.SCHEMA_MISMATCH, ""),
    # Zephyr
    ("ASSERTION FAIL [n > 0] @ src/main.cpp:12|\tn is 0", Kind.ASSERTION, "n > 0"),
    ("E: >>> ZEPHYR FATAL ERROR 2: Stack overflow on CPU 0", Kind.STACK_OVERFLOW, ""),
    ("E: >>> ZEPHYR FATAL ERROR 3: Kernel oops on CPU 0", Kind.KERNEL_PANIC, "Kernel oops"),
    ("FATAL: >>> ZEPHYR FATAL ERROR 4: Kernel panic", Kind.KERNEL_PANIC, "Kernel panic"),
    ("[00:00:01.000,000] <err> spi: it went wrong", Kind.LOG_ERROR, "spi"),
    # Edge Impulse
    ("Failed to allocate TFLite arena (81920 bytes)", Kind.ALLOCATION_FAILED, ""),
    ("Failed to allocate persistent buffer of size 2048, does not fit in tensor arena and reached "
     "EI_MAX_OVERFLOW_BUFFER_COUNT", Kind.ARENA_TOO_SMALL, ""),
    ("Failed to allocate scratch buffer of size 2048, does not fit in tensor arena",
     Kind.ARENA_TOO_SMALL, ""),
    ("ERR: Out of memory, can't allocate features", Kind.ALLOCATION_FAILED, ""),
    ("ERR: Failed to run classifier (-6)", Kind.ALLOCATION_FAILED, ""),
    ("ERR: Failed to run classifier (-3)", Kind.INVOKE_FAILED, ""),
    ("ERR: Failed to run impulse (-8)", Kind.ALLOCATION_FAILED, ""),
    ("ERR: Failed to run impulse (-22)", Kind.INVOKE_FAILED, ""),
    ("ERR: Failed to run DSP process (-11)", Kind.ALLOCATION_FAILED, ""),
    ("ERR: Failed to run DSP process (-5)", Kind.INVOKE_FAILED, ""),
    ("ERR: Failed to run Data Normalization process (-8)", Kind.ALLOCATION_FAILED, ""),
    ("ERR: Failed to run Data Normalization process (-30)", Kind.INVOKE_FAILED, ""),
    ("run_classifier returned: -6", Kind.ALLOCATION_FAILED, ""),
    ("run_classifier returned: -5", Kind.INVOKE_FAILED, ""),
    # libraries and kernels
    ('assertion "n > 0" failed: file "main.c", line 12, function: main', Kind.ASSERTION, "n > 0"),
    ("app: main.c:12: main: Assertion `n > 0' failed.", Kind.ASSERTION, "n > 0"),
    ("*** assertion failed: n > 0, file main.c, line 12", Kind.ASSERTION, "n > 0"),
    ("assert failed: xQueueSemaphoreTake queue.c:1545 (( pxQueue ))", Kind.ASSERTION,
     "xQueueSemaphoreTake queue.c:1545 (( pxQueue ))"),
    ("terminate called after throwing an instance of 'std::bad_alloc'|  what():  std::bad_alloc",
     Kind.ABORTED, ""),
    ("terminate called without an active exception", Kind.ABORTED, ""),
    ("pure virtual method called", Kind.ABORTED, ""),
    ("abort() was called at PC 0x400d1234 on core 0", Kind.ABORTED, ""),
    ("*** stack smashing detected ***: terminated", Kind.STACK_OVERFLOW, ""),
    ("main.c:12 => FAILED ASSERTION.", Kind.ASSERTION, ""),
    ("*** RIOT kernel panic:|HARD FAULT HANDLER", Kind.KERNEL_PANIC, "HARD FAULT HANDLER"),
    ("dump_assert_info: Assertion failed n > 0: at file: main.c:12 task: init 0x1234",
     Kind.ASSERTION, ""),
    ("up_assert: Assertion failed at file:main.c line: 12 task: init", Kind.ASSERTION, ""),
    ("arm_hardfault: PANIC!!! Hard Fault:", Kind.KERNEL_PANIC, "Hard Fault:"),
    ("++ MbedOS Error Info ++|Error Status: 0x80FF013D Code: 317 Module: 255|"
     "Error Message: Fault exception", Kind.KERNEL_PANIC, "Fault exception"),
    ("Guru Meditation Error: Core  0 panic'ed (LoadProhibited).", Kind.FAULT, ""),
    # applications
    ("Couldn't allocate memory for tensor arena", Kind.ALLOCATION_FAILED, ""),
    ("Failed to allocate tensor arena!", Kind.ALLOCATION_FAILED, ""),
    ("E (312) main: Couldn't allocate memory of 81920 bytes", Kind.ALLOCATION_FAILED, ""),
    ("[ERROR] could not allocate 64 KB for the model", Kind.ALLOCATION_FAILED, ""),
    ("unable to allocate the heap", Kind.ALLOCATION_FAILED, ""),
    ("Tensor arena allocation failed!", Kind.ALLOCATION_FAILED, ""),
    ("tensor_arena: malloc failed", Kind.ALLOCATION_FAILED, ""),
    ("k_malloc() failed", Kind.ALLOCATION_FAILED, ""),
    ("the arena could not be allocated", Kind.ALLOCATION_FAILED, ""),
    ("vApplicationMallocFailedHook", Kind.ALLOCATION_FAILED, ""),
    ("error: out of memory", Kind.ALLOCATION_FAILED, ""),
    ("Not enough memory for 3 tensors", Kind.ALLOCATION_FAILED, ""),
    ("heap exhausted", Kind.ALLOCATION_FAILED, ""),
    ("Tensor arena too small", Kind.ARENA_TOO_SMALL, ""),
    ("FreeRTOS assert failed at tasks.c", Kind.ASSERTION, ""),
    ("[FATAL] Stack Overflow in Task: [sensor]!", Kind.STACK_OVERFLOW, ""),
    ("***ERROR*** A stack overflow in task main has been detected.", Kind.STACK_OVERFLOW, ""),
)  # fmt: skip

#: Lines of images that work.
LOOK_ALIKES = (
    "0 failed",
    "no errors",
    "errors: 0, failed: 0",
    "3 Tests 0 Failures 0 Ignored",
    "SUITE PASS - 100.00% [arena]: pass = 3, fail = 0, skip = 0, total = 3 duration = 0.1 seconds",
    " PASS - test_alloc_failure in 0.001 seconds",
    "Failed to find calibration, using default",
    "Failed to allocate tensor arena in PSRAM, trying internal RAM",
    "Internal tensor arena allocation failed (4096 bytes). Trying 8192-byte PSRAM arena.",
    "PSRAM alloc failed, falling back to DRAM",
    "Tensor arena allocated: 81920 bytes",
    "failed to allocate 4 GB, as expected",
    "Allocated memory for Tensor Arena",
    "Memory region         Used Size  Region Size  %age Used",
    "heap: 4096 bytes free, no stack overflow",
    "stack overflows: 0",
    "stack overflow detection enabled",
    "assertions enabled",
    "max error: 0.0021",
    "mean absolute error = 0.013",
    "error: 0.25",
    "test 3 of 7: expected failure",
    "fail-safe mode off",
    "out[0] = -12, out of 3",
    "Only 3 of 4 sensors are used",
    "Input 3, output 4",
    "Type 3 sensor found",
    "Node 7 (number 3) is up",
    "resolver size is 5",
    "terminated by user",
    "run_classifier returned: 0",
    "[RecordingMicroAllocator] Arena allocation total 1024 bytes",
    "default 3",
)


@pytest.mark.parametrize(("lines", "kind", "subject"), MESSAGES)
def test_a_message_is_one_finding(lines: str, kind: Kind, subject: str) -> None:
    (finding,) = findings("hello", *lines.split("|"))
    assert (finding.kind, finding.subject, finding.line) == (kind, subject, 2)


def test_every_rule_has_a_message() -> None:
    used = set()
    for lines, _, _ in MESSAGES:
        first = lines.split("|")[0]
        rule = next((rule for rule in RULES if rule.match(first)), None)
        used.add(rule or next(rule for rule in GENERAL_RULES if rule.match(first.lower())))
    assert [rule.pattern.pattern for rule in (*RULES, *GENERAL_RULES) if rule not in used] == []


@pytest.mark.parametrize("line", LOOK_ALIKES)
def test_a_look_alike_is_not_a_finding(line: str) -> None:
    assert findings("hello", line, "bye") == []


@pytest.mark.parametrize("line", LOOK_ALIKES)
def test_a_look_alike_does_not_name_a_failure(line: str) -> None:
    assert not names_failure(line)


IN_GENERAL_WORDS = [
    line
    for line, _, _ in MESSAGES
    if not any(rule.match(line.split("|", maxsplit=1)[0]) for rule in RULES)
]


@pytest.mark.parametrize("line", IN_GENERAL_WORDS)
def test_a_message_in_general_words_is_their_whole_line(line: str) -> None:
    (finding,) = findings(f"[00:00:01] app: {line}")
    assert finding.message == f"[00:00:01] app: {line}"


def test_the_reason_of_a_kernel_stands_before_its_node() -> None:
    (finding,) = findings("Hybrid models are not supported on TFLite Micro.", NODE)
    assert finding.message == f"Hybrid models are not supported on TFLite Micro. {NODE}"
    assert (finding.value("node"), finding.value("status")) == (3, 1)


def test_a_reason_without_a_node_is_not_a_finding() -> None:
    """Tests of kernels print it."""
    assert findings("Type INT16 (7) not supported.", "bye") == []


def test_general_words_in_a_fault_dump_are_part_of_it() -> None:
    dump = ("<err> os: ***** USAGE FAULT *****", "<err> os:   Stack overflow (context area not ok)",
            "<err> os: >>> ZEPHYR FATAL ERROR 2: Stack overflow on CPU 0")  # fmt: skip
    assert [(one.kind, one.line) for one in findings(*dump)] == [
        (Kind.FAULT, 1), (Kind.STACK_OVERFLOW, 3),
    ]  # fmt: skip


def test_an_error_of_an_impulse_has_its_name() -> None:
    (finding,) = findings("ERR: Failed to run classifier (-6)")
    assert finding.message.endswith("(-6) (EI_IMPULSE_TFLITE_ARENA_ALLOC_FAILED)")


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("Tensor arena allocated in DRAM", False),
        ("falling back to 32 KB", False),
        ("retrying", False),
        ("halted", True),
        ("idle: 0.99", True),
    ],
)
@pytest.mark.parametrize(("between", "reached"), [(0, True), (5, True), (6, True), (7, False)])
def test_a_program_that_goes_on_takes_a_failure_back(
    after: str, kept: bool, between: int, reached: bool
) -> None:
    found = findings("Failed to allocate tensor arena", *["hello"] * between, after)
    assert bool(found) == (kept or not reached)


def test_a_failure_in_general_words_is_seen_before_the_console_ends() -> None:
    console = Console()
    console.feed(b"Failed to allocate tensor arena\r\n")
    assert [finding.kind for finding in console.findings] == [Kind.ALLOCATION_FAILED]
    console.feed(b"Tensor arena allocated in DRAM\r\n")
    assert console.findings == []


def test_the_first_of_two_failures_to_allocate_is_kept() -> None:
    (finding,) = findings("Couldn't allocate memory for tensor arena", "AllocateTensors() failed")
    assert finding.message == "Couldn't allocate memory for tensor arena"


@pytest.mark.parametrize(
    "line",
    [
        "ERROR at pos 4",
        "self test failed",
        "error: -5",
        "panic!",
        "Error handler called",
        "net_pkt alloc failed",
        "failed to allocate a socket",
    ],
)
def test_other_words_of_failure_are_named_and_no_finding(line: str) -> None:
    assert names_failure(line)
    assert findings(line) == []
