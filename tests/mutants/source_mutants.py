"""Source mutants as data: what is replaced in which file, and what that spoils."""

from __future__ import annotations

from dataclasses import dataclass

RUNNER, RECORD = "common/src/runner.cc", "common/src/record.cc"


@dataclass(frozen=True)
class SourceMutant:
    """``edits`` are pairs of text to find (it must stand there once) and its replacement."""

    spoils: str
    edits: tuple[tuple[str, str], ...]
    file: str = RUNNER
    sample: str = "hello_world"
    resolver: str = "exact"
    ways: tuple[str, ...] = ("sample", "elf")  # as a sample; as an ELF with --model


def _m(spoils: str, *edits: tuple[str, str], **more) -> SourceMutant:
    return SourceMutant(spoils, edits, **more)


_CONSOLE = {"resolver": "console", "ways": ("sample",)}

_INVOKE = "const TfLiteStatus status = interpreter.Invoke();\n"
_OUTPUT = 'PrintTensorBytes("output", inference, i, output->data.data, output->bytes);'
_INPUT = 'PrintTensorBytes("input", inference, i, input->data.data, input->bytes);'
_USED = "allocation.used_bytes"
_END = 'Record("end").Count("inferences", inferences_).Number("status", status_);'
_FAKE_RUN = "if (!Infer(inference, interpreter)) break;\n        Record"
_FLIP = "reinterpret_cast<volatile uint8_t*>(output->data.data)[0] ^= 0x40;"
_RESET = "*reinterpret_cast<volatile uint32_t*>(0xE000ED0C) = 0x05FA0004; for (;;) {}"
# Far above what the image uses: a reset by the image itself keeps it.
_FLAG = "(*reinterpret_cast<volatile uint32_t*>(0x2003FF00))"
_FIRST_BOOT = f"({_FLAG} != 0x600DB007u)"
_SPOIL_FIRST = (_OUTPUT, f"if {_FIRST_BOOT} {_FLIP} {_OUTPUT}")
_FAULT = "*reinterpret_cast<volatile uint32_t*>(0x60000000) = 1;"
_HANG = 'for (;;) { asm volatile("nop"); }'


def _extra(inference: str, index: str = "i") -> str:
    """The right output, then a wrong one that nobody asked for."""
    return (
        f'{{ {_OUTPUT} {_FLIP} PrintTensorBytes("output", {inference}, {index},'
        f" output->data.data, output->bytes); {_FLIP} }}"
    )


SOURCE_MUTANTS: tuple[SourceMutant, ...] = (
    # claims against memory, and what happens after the end
    _m("more bytes used by each allocation", (_USED, "allocation.used_bytes + 4")),
    _m(
        "more bytes used by one allocation",
        (_USED, "allocation.used_bytes + (type == Type::kOpData ? 4 : 0)"),
    ),
    _m(
        "more allocations of operators' data",
        ('"count", allocation.count', '"count", allocation.count + (type == Type::kOpData)'),
    ),
    _m(
        "a fault half a second after the end record",
        (_END, f"{_END} for (volatile int i = 0; i < 4000000; i = i + 1) {{}} {_FAULT}"),
    ),
    # inputs
    _m(
        "fed rows are acknowledged, overwritten, and others printed as if they had been fed",
        (
            _FAKE_RUN,
            "for (size_t i = 0; i < interpreter.inputs_size(); ++i) {"
            " const TfLiteTensor* input = interpreter.input(i);"
            " std::memset(input->data.data, static_cast<int>(inference), input->bytes);"
            f" {_INPUT} }}\n{_FAKE_RUN}",
        ),
        **_CONSOLE,
    ),
    _m(
        "fed rows are overwritten in silence",
        (
            _FAKE_RUN,
            "std::memset(interpreter.input(0)->data.data, 3, interpreter.input(0)->bytes);\n"
            + _FAKE_RUN,
        ),
        **_CONSOLE,
    ),
    _m(
        "outputs come for the first ten of all rows that were fed",
        (_OUTPUT, f"if (inference < 10) {_OUTPUT}"),
        **_CONSOLE,
    ),
    _m(
        "only the first ten rows are run, all are acknowledged",
        (_FAKE_RUN, "if (inference < 10 && !Infer(inference, interpreter)) break;\n Record"),
        **_CONSOLE,
    ),
    _m(
        "the outputs of a fed row are those of the row before",
        (
            _OUTPUT,
            'PrintTensorBytes("output", inference ^ 1u, i, output->data.data, output->bytes);',
        ),
        **_CONSOLE,
    ),
    _m(
        "only inference 0 has an input record, and the outputs after it are wrong",
        (_INPUT, f"if (inference == 0) {_INPUT}"),
        (_OUTPUT, f"if (inference != 0) {_FLIP} {_OUTPUT}"),
    ),
    _m(
        "the same built-in input every time, where the table says which inputs there are",
        ("(inference % image_.input_rows) * image_.input_bytes", "0"),
        sample="digits",
        ways=("sample",),
    ),
    _m(
        "inputs in another order than the table's",
        (
            "(inference % image_.input_rows) * image_.input_bytes",
            "((inference + 1) % image_.input_rows) * image_.input_bytes",
        ),
        sample="digits",
        ways=("sample",),
    ),
    _m(
        "the input record lies about what was run",
        (
            _INPUT,
            f"reinterpret_cast<volatile uint8_t*>(input->data.data)[0] ^= 0x10; {_INPUT}"
            " reinterpret_cast<volatile uint8_t*>(input->data.data)[0] ^= 0x10;",
        ),
    ),
    _m("no input records at all", (_INPUT, "(void)input;")),
    _m("every input is printed twice", (_INPUT, f"{{ {_INPUT} {_INPUT} }}")),
    # outputs
    _m("a wrong output", (_OUTPUT, f"{_FLIP} {_OUTPUT}")),
    _m("a wrong last output", (_OUTPUT, f"if (inference == 19) {_FLIP} {_OUTPUT}")),
    _m(
        "a wrong output, then the right one under the same name",
        (_OUTPUT, f"{_FLIP} {_OUTPUT} {_FLIP} {_OUTPUT}"),
    ),
    _m("every output twice", (_OUTPUT, f"{_OUTPUT} {_OUTPUT}")),
    _m(
        "the right output, then a wrong one under the same name",
        (_OUTPUT, _extra("inference")),
    ),
    _m("wrong outputs of inference 100 + n", (_OUTPUT, _extra("100 + inference"))),
    _m("wrong outputs of inference 900 + n", (_OUTPUT, _extra("900 + inference"))),
    _m("wrong outputs of an index that the model has not", (_OUTPUT, _extra("inference", "i + 1"))),
    _m("no output for the last inference", (_OUTPUT, f"if (inference != 19) {_OUTPUT}")),
    _m(
        "the model is not run: outputs are what lay there",
        ("interpreter.Invoke();\n", "inference == 0 ? interpreter.Invoke() : kTfLiteOk;\n"),
    ),
    _m(
        "outputs are one byte longer than the tensor",
        (_OUTPUT, _OUTPUT.replace("output->bytes", "output->bytes + 1")),
    ),
    # boots
    _m(
        "a first boot with wrong outputs, a reset by the image, a right second boot",
        _SPOIL_FIRST,
        (_END, f"{_END} if {_FIRST_BOOT} {{ {_FLAG} = 0x600DB007u; {_RESET} }}"),
    ),
    _m(
        "a reset in the middle of the first boot, then all is right",
        (
            _INVOKE,
            f"if (inference == 5 && {_FIRST_BOOT}) {{ {_FLAG} = 0x600DB007u; {_RESET} }} {_INVOKE}",
        ),
    ),
    _m(
        "a second boot with wrong outputs after a right one",
        (_OUTPUT, f"if (!{_FIRST_BOOT}) {_FLIP} {_OUTPUT}"),
        (_END, f"{_END} if {_FIRST_BOOT} {{ {_FLAG} = 0x600DB007u; {_RESET} }}"),
    ),
    _m("no boot record", ("StartTicks();", "StartTicks(); return;")),
    _m(
        "the boot record names another model",
        ("Crc32(g_model, image_.model_bytes)", "0x12345678u"),
    ),
    _m(
        "the boot record tells another size of the model",
        ('.Count("model_bytes", image_.model_bytes)', '.Count("model_bytes", 7u)'),
    ),
    _m(
        "the boot record names another sample",
        ('.Text("sample", image_.sample)', '.Text("sample", "nobody")'),
        ways=("sample",),
    ),
    # what a streaming model remembers
    _m(
        "what earlier frames left is forgotten before each inference",
        (_INVOKE, "interpreter.Reset();\n  " + _INVOKE),
        sample="chime",
    ),
    _m(
        "each frame is heard twice",
        (_INVOKE, "interpreter.Invoke();\n  " + _INVOKE),
        sample="chime",
    ),
    # what records say of themselves
    _m(
        "every inference has status 1",
        ('.Number("status", status);\n  return', '.Number("status", 1);\n  return'),
    ),
    _m(
        "the end has status 1",
        (
            '.Number("status", status_);\n}\n\n}  // namespace',
            '.Number("status", 1);\n}\n\n}  // namespace',
        ),
    ),
    _m(
        "the end tells 3 inferences",
        ('Count("inferences", inferences_)', 'Count("inferences", 3)'),
    ),
    _m(
        "a failed record of stage input, then all goes on",
        (
            "  infer(interpreter);",
            '  Record("failed").Text("stage", "input").Number("status", 1);\n  infer(interpreter);',
        ),
    ),
    _m(
        "a failed record of stage register, then all goes on",
        (
            "  infer(interpreter);",
            '  Record("failed").Text("stage", "register").Number("status", 1);\n'
            "  infer(interpreter);",
        ),
    ),
    _m(
        "tensors are said to have another shape",
        ("static_cast<size_t>(tensor.dims->size))", "static_cast<size_t>(1))"),
    ),
    _m(
        "tensors are said to have another scale",
        ('.Float("scale", tensor.params.scale)', '.Float("scale", tensor.params.scale * 2)'),
    ),
    _m(
        "tensors are said to have another zero point",
        ('.Number("zero_point", tensor.params.zero_point)', '.Number("zero_point", 5)'),
    ),
    _m("tensors are said to have another type", ("TypeName(tensor.type)", '"int16"')),
    _m(
        "the arena uses more than it has",
        (
            '.Count("used", interpreter.arena_used_bytes())',
            '.Count("used", image_.arena_bytes + 1)',
        ),
    ),
    _m(
        "the arena uses nothing",
        ('.Count("used", interpreter.arena_used_bytes())', '.Count("used", 0u)'),
    ),
    _m("inferences take 0 ticks", ('.Count("ticks", ticks)', '.Count("ticks", 0u * ticks)')),
    _m(
        "inferences take more ticks than the run",
        ('.Count("ticks", ticks)', '.Count("ticks", ticks + 3000000000u)'),
    ),
    _m(
        "inferences take half their ticks", ('.Count("ticks", ticks)', '.Count("ticks", ticks / 2)')
    ),
    _m(
        "inferences take twice their ticks",
        ('.Count("ticks", ticks)', '.Count("ticks", ticks * 2)'),
    ),
    _m("every inference takes 5,000 ticks", ('.Count("ticks", ticks)', '.Count("ticks", 5000u)')),
    _m(
        "ticks of a 16-bit counter",
        ('.Count("ticks", ticks)', '.Count("ticks", ticks & 0xFFFFu)'),
        sample="digits",
        ways=("sample",),
    ),
    _m(
        "a quarter of the stack is used",
        ('.Count("used", size - unused)', '.Count("used", (size - unused) / 4)'),
        file="common/src/stack.cc",
    ),
    _m(
        "half of the arena is used",
        (
            '.Count("used", interpreter.arena_used_bytes())',
            '.Count("used", interpreter.arena_used_bytes() / 2)',
        ),
    ),
    _m(
        "the arena uses 16 bytes less than it does",
        (
            '.Count("used", interpreter.arena_used_bytes())',
            '.Count("used", interpreter.arena_used_bytes() - 16)',
        ),
    ),
    _m(
        "an inference writes to the free part of the arena",
        (
            _OUTPUT,
            "reinterpret_cast<volatile uint8_t*>(output->data.data)[1000] ^= 1;" + _OUTPUT,
        ),
    ),
    _m("the clock runs at 0 Hz", ('.Count("hz", kTicksPerSecond)', '.Count("hz", 0u)')),
    _m(
        "inferences are counted from 1",
        (
            'Record("inference")\n      .Count("index", inference)',
            'Record("inference")\n      .Count("index", inference + 1)',
        ),
    ),
    _m(
        "no inference records",
        ('Record("inference")\n', 'if (inference > 99) Record("inference")\n'),
    ),
    _m(
        "the resolver registered more than it declared",
        ('.Count("registered", registration.registered)', '.Count("registered", 5u)'),
    ),
    _m(
        "the resolver refused something",
        ('.Count("refused", registration.refused)', '.Count("refused", 1u)'),
    ),
    # ends
    _m("no end record", (_END, "")),
    _m("a hang instead of the end", (_END, _HANG)),
    _m("a fault instead of the end", (_END, _FAULT)),
    _m("a fault just after the end", (_END, _END + _FAULT)),
    _m(
        "a wrong output after the end",
        (_END, _END + 'PrintTensorBytes("output", 0, 0, "\\x55", 1);'),
    ),
    _m("a second end", (_END, _END + _END)),
    _m("a reset after each end, for ever", (_END, _END + _RESET)),
    # the operator's own calls
    _m(
        "the custom operator says that it was invoked once more than it was",
        ('.Count("invoke", one->invoke_)', '.Count("invoke", one->invoke_ + 1)'),
        file="common/src/lifecycle.cc",
        sample="atan",
    ),
    # numbers and sums
    _m("every record has number 0", ("PutDecimal(next_sequence++)", "PutDecimal(0)"), file=RECORD),
    _m(
        "every second number is left out",
        ("PutDecimal(next_sequence++)", "PutDecimal(next_sequence += 2)"),
        file=RECORD,
    ),
    _m(
        "a wrong CRC",
        (
            "const uint32_t crc = Crc32(line_, size_);",
            "const uint32_t crc = Crc32(line_, size_) ^ 1u;",
        ),
        file=RECORD,
    ),
)

_LOOP = "for (uint32_t i = 0; i < sizeof results_text / sizeof *results_text; i++) {"
_SAY = "Print(results_text[i]);"
_WRONG = "x_value: 2.827433, y_value: 0.500000\\r\\n"
_SPIN = 'for (;;) __asm volatile("nop");'
_WAIT = "for (volatile uint32_t i = 0; i < 8000000; i++) {}"
_DONE = "  // The network has said what it had to say."

_Y_STAYS = (
    "static char text[64]; uint32_t n = 0;"
    " for (; results_text[i][n] != 'y'; n++) text[n] = results_text[i][n];"
    ' for (const char *end = "y_value: 0.000000\\r\\n"; *end; end++) text[n++] = *end;'
    " text[n] = 0; Print(text);"
)

#: Mutants of tests/firmware/sine.c, read by the scraper hello_world.
SCRAPED_MUTANTS: tuple[SourceMutant, ...] = tuple(
    SourceMutant(spoils, edits, file="sine.c")
    for spoils, edits in (
        ("zeros, twenty times", ((_SAY, 'Print("x_value: 0.000000, y_value: 0.000000\\r\\n");'),)),
        ("the first result, twenty times", ((_SAY, "Print(results_text[1]);"),)),
        ("the last result is missing", ((_LOOP, _LOOP.replace("i <", "i + 1 <")),)),
        ("a result in the middle is missing", ((_SAY, f"if (i != 9) {_SAY}"),)),
        ("a result twice", ((_SAY, f"{_SAY} if (i == 9) {_SAY}"),)),
        ("results from the last to the first", ((_SAY, "Print(results_text[19 - i]);"),)),
        ("a wrong value in the middle", ((_SAY, f'if (i == 9) Print("{_WRONG}"); else {_SAY}'),)),
        ("a wrong result, then the right one", ((_SAY, f'if (i == 9) Print("{_WRONG}"); {_SAY}'),)),
        (
            "a wrong result after the right ones",
            ((_DONE, 'Print("x_value: 0.000000, y_value: 0.700000\\r\\n");'),),
        ),
        (
            "a thousand wrong results after the right ones, a while later",
            (
                (
                    _DONE,
                    _WAIT
                    + ' for (int i = 0; i < 1000; i++) Print("x_value: 1, y_value: 9\\r\\n");',
                ),
            ),
        ),
        (
            "a fault dump after the right results",
            (
                (
                    _DONE,
                    'Print("[00:00:00.010,000] <err> os: ***** BUS FAULT *****\\r\\n");'
                    ' Print(">>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\\r\\n");',
                ),
            ),
        ),
        ("a fault after the right results", ((_DONE, "REG(0x60000000) = 1;"),)),
        ("a fault, long after the right results", ((_DONE, f"{_WAIT} REG(0x60000000) = 1;"),)),
        ("a hang after the right results", ((_DONE, 'for (;;) __asm volatile("nop");'),)),
        ("a hang after each result", ((_SAY, f"{_SAY} if (i == 19) {_SPIN}"),)),
        ("a reset after the results, for ever", ((_DONE, "SCB_AIRCR = 0x05FA0004; for (;;) {}"),)),
        (
            "a message of a failed allocation among the results",
            ((_SAY, f'{_SAY} if (i == 3) Print("AllocateTensors() failed\\r\\n");'),),
        ),
        ("half a result at the end", ((_DONE, 'Print("x_value: 6.283185, y_v");'),)),
        ("nothing where the numbers should be", ((_SAY, 'Print("x_value: , y_value: \\r\\n");'),)),
        ("x goes on, y does not", ((_SAY, _Y_STAYS),)),
    )
)
