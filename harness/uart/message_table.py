"""What images print about failure: the one table for runs, live sessions and ``init``.

A row is a kind of finding, a literal, a pattern with groups for the subject and for numbers, and
for messages of two calls the second half. There are two sorts of rows:

* messages of one program, which nothing else prints: tflite-micro of 2021 to 2026, Zephyr,
  Edge Impulse's SDK, C and C++ libraries, other kernels;
* *general* rows: words with which applications say that there is no memory, that an assertion
  failed, that a stack overflowed. The whole line is the message.

``WORDS`` ("error", "failed") are no findings, as a line with them may be about anything; ``init``
expects nothing of an image that prints them.

A line may negate general words ("0 errors"), or the program may go on ("trying internal RAM"):
``HARMLESS`` and ``RECOVERED``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.base.findings import Kind

#: Most characters of a line in which a pattern is searched.
LONGEST = 2000


@dataclass(frozen=True)
class Rule:
    """One message. Groups of SUBJECTS in the patterns name the subject, others are numbers.

    ``literal`` is the beginning of the message. ``pattern`` is tried only at its first and its last
    occurrence in a line, so that a device cannot make a line expensive by repeating it. ``then``
    is the second half; unless ``alone``, the first half without it is not a finding.

    If ``line`` is true, the whole line is the message: the literal is any part of it, and the
    pattern is searched. Literal and pattern of a ``general`` rule are in lower case.
    """

    kind: Kind
    literal: str
    pattern: re.Pattern[str]
    then: re.Pattern[str] | None = None
    alone: bool = True
    line: bool = False
    general: bool = False

    def match(self, text: str) -> re.Match[str] | None:
        """The match of the message, or of its first half, in a line.

        For a general rule ``text`` is the line in lower case, without what is harmless in it.
        """
        if self.literal not in text:
            return None
        if self.line:
            return self.pattern.search(text[:LONGEST])
        first, last = text.find(self.literal), text.rfind(self.literal)
        return self.pattern.match(text, first) or self.pattern.match(text, last)


_NODE = (
    r"(?P<operator>\S{1,80}) \(number (?P<node>\d{1,20})f?\) failed to (?P<step>prepare|invoke)"
    r" with status (?P<status>\d{1,20})"
)


def _rule(kind: Kind, literal: str, rest: str = "", then: str | None = None) -> Rule:
    pattern = re.compile(re.escape(literal) + rest)
    return Rule(kind, literal, pattern, re.compile(then) if then else None)


def _general(kind: Kind, literal: str, pattern: str) -> Rule:
    return Rule(kind, literal, re.compile(pattern), line=True, general=True)


def _reason(literal: str, pattern: str) -> Rule:
    """The reason of a kernel, before the line that names its node.

    tflite-micro's own tests make kernels print it, too, without that line.
    """
    then = re.compile(rf"Node {_NODE}")
    return Rule(Kind.PREPARE_FAILED, literal, re.compile(pattern), then, alone=False, line=True)


#: Groups of a pattern that name the subject.
SUBJECTS = ("operator", "custom", "stage", "what")
#: The group ``step`` of a pattern says what failed: Prepare or Invoke of an operator.
STEPS = {"prepare": Kind.PREPARE_FAILED, "invoke": Kind.INVOKE_FAILED}

THREAD = r"Current thread: 0x[0-9a-fA-F]{1,8}(?: \([^)]{0,80}\))?"
_NUMBERS = (
    r" Requested: (?P<requested>\d+), available:? (?P<available>\d+), missing: (?P<missing>\d+)"
)
#: TfLiteTypeGetName.
_TYPE = (
    r"(?:NOTYPE|FLOAT16|FLOAT32|FLOAT64|BFLOAT16|INT4|INT8|INT16|INT32|INT64|UINT8|UINT16|UINT32"
    r"|UINT64|BOOL|STRING|COMPLEX64|COMPLEX128|RESOURCE|VARIANT)\b"
)

_TFLM: tuple[Rule, ...] = (
    # resolver
    _rule(
        Kind.MISSING_OPERATOR,
        "Didn't find op for builtin opcode '",
        r"(?P<operator>\w{1,80})'",
    ),
    _rule(
        Kind.MISSING_CUSTOM_OPERATOR,
        "Failed to get registration from op code ",
        r"(?:CUSTOM\b|(?=\s{0,80}$))",
    ),
    _rule(
        Kind.MISSING_OPERATOR,
        "Failed to get registration from op code ",
        r"(?P<operator>[A-Z]\w{1,80})",
    ),
    _rule(
        Kind.MISSING_CUSTOM_OPERATOR,
        "Encountered unresolved custom op: ",
        r"(?P<custom>\w{1,80})",
    ),
    _rule(Kind.MISSING_OPERATOR, "Did not find a parser for ", r"(?P<operator>[A-Z]\w{1,80})"),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        "Couldn't register builtin op #",
        r"(?P<number>\d+), resolver size",
        r"is too small \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.RESOLVER_TOO_SMALL,
        "Couldn't register custom op '",
        r"(?P<custom>[^']{0,80})', resolver size is too\s?small \((?P<declared>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        "Calling AddBuiltin with the same op more than",
        then=r"once is not supported \(Op: #(?P<number>\d+)\)",
    ),
    _rule(
        Kind.DUPLICATE_OPERATOR,
        "Calling AddCustom for the same op more than once",
        then=r"is not supported \(Op: (?P<custom>[^)]{0,80})\)",
    ),
    # arena
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate ",
        rf"(?:tail |temp |non-persistent )?memory\.{_NUMBERS}",
    ),
    _rule(Kind.ARENA_TOO_SMALL, "Failed to resize buffer.", _NUMBERS),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate memory for ",
        r"(?:context->\w{1,40}|memory planning|compression \w{1,20} \w{1,20}|\w{1,40})"
        r", (?P<requested>\d{1,20}) bytes required",
    ),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate ",
        r"(?:memory for (?:model metadata|node_and_registrations|persistent TfLiteTensor)"
        r"|temp\. memory for tensor \d{1,20}|variable tensor of size (?P<requested>\d{1,20})"
        r"|resource buffer\.)",
    ),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Unable to allocate ",
        r"(?:TfLiteAffineQuantization|quantization->zero_point)",
    ),
    _rule(Kind.ARENA_TOO_SMALL, "Arena size is too small for all buffers"),
    _rule(Kind.ARENA_TOO_SMALL, "Too many buffers (max is ", r"(?P<max>\d+)\)"),
    # interpreter
    _rule(
        Kind.ALLOCATION_FAILED,
        "Failed to allocate resource variable. Maximum resource variable count (",
        r"(?P<max>\d{1,20})\) reached",
    ),
    _rule(Kind.ALLOCATION_FAILED, "Scratch buffer request ", r"exceeds? limit per operator"),
    _rule(Kind.ALLOCATION_FAILED, "Scratch buffer request ", r"exeeds limit per operator"),
    _rule(Kind.ALLOCATION_FAILED, "AllocateTensors", r"(?:\(\))? failed"),
    _rule(Kind.ALLOCATION_FAILED, "Failed starting model allocation"),
    _rule(
        Kind.ALLOCATION_FAILED,
        "Failed to initialize ",
        r"(?:(?:input|output) )?tensor (?P<tensor>\d{1,20})",
    ),
    _rule(Kind.ALLOCATION_FAILED, "Failed to populate a ", r"\w{1,20} TfLiteTensor struct"),
    _rule(Kind.ALLOCATION_FAILED, "Unsupported data type ", r"(?P<type>\d{1,20}) in tensor"),
    _rule(Kind.PREPARE_FAILED, "Op#", r"\d{1,9} \((?P<operator>\w{1,80})\) of subgraph \d{1,9} has "
          r"dynamic tensor #(?P<tensor>\d{1,9})", r"Dynamic tensors are not supported"),
    # the reasons of kernels
    _reason("Hybrid models are not supported", r"Hybrid models are not supported on TFLite Micro"),
    _reason("Dynamic tensors are unsupported", r"Dynamic tensors are unsupported in tfmicro"),
    _reason("DynamicTensor is not yet supported", r"DynamicTensor is not yet supported by"),
    _reason("supported", rf"\b[Tt]ype:? '?{_TYPE}.{{0,60}}\bnot (?:currently )?supported"),
    _reason("supported", rf"\bInput {_TYPE}, output {_TYPE} not supported"),
    _reason("nsupported", rf"\b[Uu]nsupported (?:tensor )?type {_TYPE}"),
    _reason("upport", rf"\b[Oo]nly .{{0,60}}\bsupport.{{0,80}}, got (?:type )?(?:{_TYPE}|\d)"),
    _reason("does not currently support", r"\bOp \w{1,40} does not currently support\b"),
    _reason("not broadcastable", r"\bGiven shapes\b.{0,200} are not broadcastable"),
    # TF_LITE_ENSURE: FILE:LINE CONDITION was not true.
    _reason("was not true.", r"\.(?:cc|cpp|h):\d{1,6} .{1,200} was not true\."),
    _reason(" != ", r"\.(?:cc|cpp|h):\d{1,6} \S.{0,100} != \S.{0,100} \(\S{1,40} != \S{1,40}\)"),
    _rule(Kind.PREPARE_FAILED, "Node ", _NODE),
    _rule(Kind.INVOKE_FAILED, "Invoke", r"(?:\(\))? (?:failed|called after initialization failed)"),
    _rule(
        Kind.SCHEMA_MISMATCH,
        "Model provided is schema version ",
        r"(?P<version>-?\d+),? (?:which is )?not equal to supported"
        r"(?: version)? (?P<supported>\d+)",
    ),
)  # fmt: skip

_ZEPHYR: tuple[Rule, ...] = (
    _rule(
        Kind.ASSERTION,
        "ASSERTION FAIL [",
        r"(?P<what>.{0,400}?)\] @ \S{1,300}",
        r"^\t\S.{0,400}",
    ),
    _rule(Kind.STACK_OVERFLOW, ">>> ZEPHYR FATAL ERROR 2: Stack overflow", then=THREAD),
    _rule(
        Kind.KERNEL_PANIC,
        ">>> ZEPHYR FATAL ERROR ",
        r"(?P<reason>-?\d+): (?P<what>.{0,100}?) on CPU(?: \d{1,3})?",
        THREAD,
    ),
    # before Zephyr 2.2 without the CPU
    _rule(
        Kind.KERNEL_PANIC,
        ">>> ZEPHYR FATAL ERROR ",
        r"(?P<reason>-?\d{1,10}): (?P<what>\w.{0,60})$",
        THREAD,
    ),
    _rule(Kind.LOG_ERROR, "<err> ", r"(?!os:)(?P<what>\w{1,80}): .{0,400}"),
)

#: EI_IMPULSE_ERROR, returntypes.h of Edge Impulse's inferencing SDK.
IMPULSE_ERRORS = {
    -1: "EI_IMPULSE_ERROR_SHAPES_DONT_MATCH",
    -2: "EI_IMPULSE_CANCELED",
    -3: "EI_IMPULSE_TFLITE_ERROR",
    -5: "EI_IMPULSE_DSP_ERROR",
    -6: "EI_IMPULSE_TFLITE_ARENA_ALLOC_FAILED",
    -7: "EI_IMPULSE_CUBEAI_ERROR",
    -8: "EI_IMPULSE_ALLOC_FAILED",
    -9: "EI_IMPULSE_ONLY_SUPPORTED_FOR_IMAGES",
    -10: "EI_IMPULSE_UNSUPPORTED_INFERENCING_ENGINE",
    -11: "EI_IMPULSE_OUT_OF_MEMORY",
    -13: "EI_IMPULSE_INPUT_TENSOR_WAS_NULL",
    -14: "EI_IMPULSE_OUTPUT_TENSOR_WAS_NULL",
    -20: "EI_IMPULSE_DEPRECATED_MODEL",
    -22: "EI_IMPULSE_INFERENCE_ERROR",
    -24: "EI_IMPULSE_INVALID_SIZE",
    -27: "EI_IMPULSE_DEVICE_INIT_ERROR",
    -29: "EI_IMPULSE_POSTPROCESSING_ERROR",
    -30: "EI_IMPULSE_DATA_NORMALIZATION_ERROR",
    -36: "EI_IMPULSE_NORDIC_AXON_ERROR",
}
_NO_MEMORY = r"(?P<impulse>-(?:6|8|11))\b"

_EDGE_IMPULSE: tuple[Rule, ...] = (
    _rule(
        Kind.ALLOCATION_FAILED,
        "Failed to allocate TFLite arena (",
        r"(?P<requested>\d{1,20}) bytes\)",
    ),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate persistent buffer of size ",
        r"(?P<requested>\d{1,20})[^.]{0,120}",
    ),
    _rule(
        Kind.ARENA_TOO_SMALL,
        "Failed to allocate scratch buffer of size ",
        r"(?P<requested>\d{1,20})[^.]{0,120}",
    ),
    _rule(Kind.ALLOCATION_FAILED, "ERR: Out of memory, ", r"can't allocate .{1,80}"),
    *(
        _rule(kind, f"ERR: Failed to run {word} ", rf"[\w ]{{0,40}}\({status}\)")
        for word in ("classifier", "impulse", "DSP", "Data")
        for kind, status in (
            (Kind.ALLOCATION_FAILED, _NO_MEMORY),
            (Kind.INVOKE_FAILED, r"(?P<impulse>-\d{1,3})"),
        )
    ),
    _rule(Kind.ALLOCATION_FAILED, "run_classifier returned: ", _NO_MEMORY),
    _rule(Kind.INVOKE_FAILED, "run_classifier returned: ", r"(?P<impulse>-\d{1,3})"),
)

_LIBRARIES: tuple[Rule, ...] = (
    # newlib and picolibc, glibc's form, Arm's and musl's
    _rule(Kind.ASSERTION, 'ssertion "', r'(?P<what>.{1,400}?)" failed: file ".{1,300}", line \d.*'),
    _rule(Kind.ASSERTION, "Assertion `", r"(?P<what>.{1,400}?)' failed"),
    _rule(Kind.ASSERTION, "ssertion failed: ", r"(?P<what>.{1,400}?)(?:, file .{1,300}|$)"),
    _rule(Kind.ASSERTION, "assert failed: ", r"(?P<what>.{1,400}?)$"),
    _rule(Kind.ABORTED, "terminate called ", r"(?:without|recursively|after).{0,200}",
          r"what\(\):\s{1,4}.{0,200}"),
    _rule(Kind.ABORTED, "pure virtual method called"),
    _rule(Kind.ABORTED, "abort() was called"),
    _rule(Kind.STACK_OVERFLOW, "*** stack smashing detected ***"),
    # RIOT
    _rule(Kind.ASSERTION, "FAILED ASSERTION"),
    _rule(Kind.KERNEL_PANIC, "*** RIOT kernel panic:", then=r"^(?P<what>\S.{0,200})"),
    # NuttX
    _rule(Kind.ASSERTION, "Assertion failed ", r"(?:.{0,80}: )?at file: ?\S{1,300}.{0,200}"),
    _rule(Kind.KERNEL_PANIC, "PANIC!!!", r"(?: (?P<what>\w.{0,80}))?"),
    # Mbed OS
    _rule(Kind.KERNEL_PANIC, "++ MbedOS Error Info ++", then=r"Error Message: (?P<what>.{1,200})"),
    # ESP-IDF
    _rule(Kind.FAULT, "Guru Meditation Error: ", r".{0,200}"),
)  # fmt: skip

_MEMORY = r"(?:arena|tensors?|heap|memory|\bram\b|\bpsram\b|bytes|\d ?[km]?i?b\b)"
_ALLOCATE = r"(?:m|re|c)?alloc(?:ate|ating|ation)?"

#: Rules for the line in lower case, without what is harmless in it.
GENERAL_RULES: tuple[Rule, ...] = (
    _general(Kind.ARENA_TOO_SMALL, "arena", r"\barena(?: size)?(?: is| was)? too small"),
    _general(
        Kind.ALLOCATION_FAILED, "alloc",
        r"(?:fail(?:ed|ure|s)? (?:to|in|while|when|during) "
        r"|(?:could|can|did) ?n[o'`]t |could not |cannot |can't |unable to )"
        rf"(?:be )?{_ALLOCATE}\w{{0,4}}\b.{{0,60}}?{_MEMORY}",
    ),
    _general(
        Kind.ALLOCATION_FAILED, "alloc",
        rf"{_MEMORY}.{{0,40}}?(?:{_ALLOCATE}(?: has| was)?[ :_]{{1,3}}(?:fail(?:ed|ure|s)?|error)"
        r"|(?:could not|couldn't|cannot|can't|not) be allocated)",
    ),
    _general(Kind.ALLOCATION_FAILED, "alloc", r"(?:m|c|re)alloc(?:\(\))?:? fail(?:ed|ure|s)?\b"),
    _general(Kind.ALLOCATION_FAILED, "mallocfailed", r"vapplicationmallocfailedhook"),
    _general(
        Kind.ALLOCATION_FAILED, "memory",
        r"\b(?:out of|not enough|insufficient|no more) (?:free )?memory\b",
    ),
    _general(
        Kind.ALLOCATION_FAILED, "heap",
        r"\b(?:out of|not enough|insufficient|no more) (?:free )?heap\b|\bheap (?:is )?exhausted",
    ),
    # ztest prints "Assertion failed at FILE:LINE: ", which its reader takes
    _general(
        Kind.ASSERTION, "assert",
        r"\bassert(?:ion)?(?: has)? failed\b(?! at \S{1,300}:\d)|\bassert failure\b",
    ),
    _general(Kind.STACK_OVERFLOW, "stack", r"\bstack (?:has )?over(?:flow(?:ed)?|ran|run)\b"),
)  # fmt: skip

#: Words of failure, in lower case.
WORDS = re.compile(
    r"(?<![a-z])(?:fail(?:ed|s|ures?)?|errors?|assert(?:ion|ed)?|fatal|panic|abort(?:ed)?|"
    r"exception|fault|mismatch(?:es)?)(?![a-z])"
)

RULES: tuple[Rule, ...] = (*_TFLM, *_ZEPHYR, *_EDGE_IMPULSE, *_LIBRARIES)

#: A line with a message, or with the first half of one, has one of these in lower case.
TRIGGERS = (
    "fail", "error", "alloc", "support", "memory", "arena", "assert", "overflow", "fatal", "panic",
    "abort", "regist", "op code", "opcode", "parser", "custom op", "calling add", "schema",
    "too many", "too small", "dynamic", "!=", "not true", "broadcast", "<err> ", "terminate",
    "pure virtual", "run_classifier", "smashing", "heap", "data type", "buffer request", "overr",
)  # fmt: skip

_COUNTED = r"(?:fail(?:ed|s|ures?)?|errors?|assertions?|mismatch(?:es)?|faults?|exceptions?)"
#: Words of failure, in lower case, that say that there is none: counts of 0, negations, measures of
#: accuracy, names.
HARMLESS = re.compile(
    r"^\s?(?:pass|skip|start) - .*"  # ztest's
    rf"|\b(?:0|no|without|zero)[ -]\w{{0,20}} ?{_COUNTED}\b"
    rf"|\b{_COUNTED}(?: count| rate)?\s?[:=]?\s?0(?![.\dx])"
    r"|\b(?:0|no|never|without|not?) (?:stack overflow|out of memory|memory error|leak)\w*"
    r"|\bstack overflows?\s?[:=]\s?(?:0|no(?:ne)?)\b"
    r"|\b(?:max(?:imum)?|mean|avg|average|rms|abs(?:olute)?|relative|squared|quantization|"
    r"prediction|reconstruction|training)(?: \w{1,20})? error\b"
    r"|\berror(?: rate| bar)?\s{0,3}[:=]?\s{0,3}-?\d{0,9}\.\d"
    r"|\b(?:stack overflow|assert(?:ion)?s?|overflow|exception|error|fault)s? "
    r"(?:check(?:s|ing|er)?|detection|protection|correction|level|hook|guard)\b"
    r"|\b(?:crc|parity|framing|checksum|bit|rx|tx|link|bus) errors?\b(?!\s?[:=]?\s?[1-9])"
    r"|\bfail[- ]?(?:safe|over)\b|\berror[- ]free\b|\bassert(?:ion)?s? (?:are |is )?"
    r"(?:on|off|enabled|disabled)\b|\bpass(?:ed)? ?/ ?fail(?:ed)?\b"
    r"|\b(?:expect|simulat|inject|provok)(?:ed|ing|s|es?)? (?:\w{1,12} ){0,3}?"
    rf"(?:{_COUNTED}|stack overflow|out of memory|allocation)\b"
)
#: A program goes on after a failure, in lower case: the finding is taken back.
RECOVERED = re.compile(
    r"\bas expected\b|\bretry\w*|\btry(?:ing)? again|\btrying\b|\bfall(?:ing|s|en)?[- ]?back"
    r"|\binstead\b"
    r"|\busing (?:the |a )?(?:default|internal|external|static|smaller|heap|ram|psram|sram|dram)\b"
    r"|\b(?:arena|tensors?|memory|buffers?|heap)\b.{0,40}(?<!not be )(?<!n't be )\ballocated\b"
    r"|\ballocated\b.{0,40}\b(?:arena|tensors?|memory|buffers?|heap|bytes)\b"
)
