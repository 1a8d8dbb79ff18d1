"""The first error of a build's output: one line, with the place that the tool names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.build.first_error import first_error

ERRORS = {
    "compiler": (
        "[3/9] Building C object posix/perror.c.obj\n"
        "In file included from /w/a.h:3,\n                 from /w/a.c:1:\n"
        "/w/b.h:7:12: error: unknown type name 'u8'\n    7 | u8 x;\n",
        "/w/b.h:7: unknown type name 'u8'",
    ),
    "a warning that is an error": (
        "/w/a.c:3:5: warning: unused variable 'x'\n"
        "cc1: some warnings being treated as errors\n"
        "/w/a.c:4:5: error: unused variable 'y' [-Werror=unused-variable]\n",
        "/w/a.c:4: unused variable 'y' [-Werror=unused-variable]",
    ),
    "a command with -Werror in it": (
        "FAILED: a.o\n/usr/bin/arm-none-eabi-gcc -Werror=implicit-int -o a.o -c /w/a.c\n"
        "/w/a.c:1:10: fatal error: gone.h: No such file or directory\ncompilation terminated.\n",
        "/w/a.c:1: gone.h: No such file or directory",
    ),
    "driver": (
        "arm-none-eabi-g++: error: unrecognized command-line option '-fno'\n",
        "unrecognized command-line option '-fno'",
    ),
    "a macro of the command line": (
        "/w/a.h: In function 'int f()':\n<command-line>: error: 'oops' was not declared\n"
        "/w/a.h:26:8: note: in expansion of macro 'N'\n"
        "/w/a.h:24:17: error: no matching function for call to 'g()'\n",
        "<command-line>: 'oops' was not declared",
    ),
    "assembler": (
        "/tmp/x.s: Assembler messages:\n/w/start.S:12: Error: bad instruction `movv r0'\n",
        "/w/start.S:12: bad instruction `movv r0'",
    ),
    "undefined, with debug information": (
        "/usr/lib/bin/ld: app/libapp.a(main.cpp.obj): in function `main':\n"
        "/w/main.cpp:31: undefined reference to `setup()'\n"
        "collect2: error: ld returned 1 exit status\n",
        "/w/main.cpp:31: undefined reference to `setup()'",
    ),
    "undefined, without": (
        "/usr/lib/bin/ld.bfd: app/libapp.a(main.cpp.obj):(.text.main+0x4):"
        " undefined reference to `setup()'\ncollect2: error: ld returned 1 exit status\n",
        "app/libapp.a(main.cpp.obj): undefined reference to `setup()'",
    ),
    "defined twice": (
        "/usr/bin/ld: b.o:/w/b.c:2: multiple definition of `x'; a.o:/w/a.c:1: first defined here\n",
        "/w/b.c:2: multiple definition of `x'; a.o:/w/a.c:1: first defined here",
    ),
    "no room": (
        "/usr/bin/ld: warning: zephyr_pre0.elf has a LOAD segment with RWX permissions\n"
        "/usr/bin/ld: zephyr/zephyr_pre0.elf section `noinit' will not fit in region `RAM'\n"
        "/usr/bin/ld: region `RAM' overflowed by 4408 bytes\n"
        "collect2: error: ld returned 1 exit status\n",
        "region `RAM' overflowed by 4408 bytes",
    ),
    "float ABI": (
        "/usr/bin/ld: error: a.o uses VFP register arguments, b.elf does not\n",
        "a.o uses VFP register arguments, b.elf does not",
    ),
    "CMake": (
        "-- west build: generating\nCMake Error at /w/CMakeLists.txt:4 (target_sources):\n"
        "  Cannot find source file:\n\n    src/main.cpp\n\n  Tried extensions .c\n\n\n"
        "CMake Error: No SOURCES given to target: app\n-- Configuring incomplete, errors!\n"
        "FATAL ERROR: command exited with status 1: /usr/bin/cmake\n",
        "/w/CMakeLists.txt:4: Cannot find source file: src/main.cpp",
    ),
    "CMake, a message": (
        "CMake Error at /w/common.cmake:7 (message):\n  the module is not\n  there\n"
        "Call Stack (most recent call first):\n  CMakeLists.txt:8 (include)\n\n\n",
        "/w/common.cmake:7: the module is not there",
    ),
    "Kconfig, an unknown symbol": (
        "Parsing /w/Kconfig\n/w/prj.conf:3: warning: attempt to assign the value 'y' to the\n"
        "undefined symbol NOT_THERE\n\nerror: Aborting due to Kconfig warnings\n\n"
        "CMake Error at /w/kconfig.cmake:358 (message):\n  command failed with return code: 1\n",
        "/w/prj.conf:3: attempt to assign the value 'y' to the undefined symbol NOT_THERE",
    ),
    "Kconfig, behind a value that was not taken": (
        "warning: FPU (defined at arch/Kconfig:1) was assigned the value 'y' but got the\n"
        "value 'n'. Check these unsatisfied dependencies: CPU_HAS_FPU (=n).\n\n"
        "/w/prj.conf:9: warning: attempt to assign the value 'y' to the undefined symbol B\n\n"
        "error: Aborting due to Kconfig warnings\n",
        "/w/prj.conf:9: attempt to assign the value 'y' to the undefined symbol B",
    ),
    "Kconfig, syntax": (
        "Traceback (most recent call last):\n  File \"kconfig.py\", line 1, in <module>\n"
        "kconfiglib.KconfigError: /w/Kconfig:5: error: couldn't parse 'konfig A': extra tokens\n",
        "kconfiglib.KconfigError: /w/Kconfig:5: error: couldn't parse 'konfig A': extra tokens",
    ),
    "devicetree": (
        "devicetree error: /w/app.overlay:5 (column 2): parse error: expected ';'\n"
        "CMake Error at /w/dts.cmake:285 (message):\n  gen_defines.py failed with return code: 1\n",
        "/w/app.overlay:5 (column 2): parse error: expected ';'",
    ),
    "dtc": ("Error: /w/a.dts:12.3-7 syntax error\n", "/w/a.dts:12: syntax error"),
    "a generator of the samples": (
        "FAILED: tflm_hil/tflm_hil_config.h\n"
        "error: sample 'atan' has no resolver configuration 'al'\n"
        "ninja: build stopped: subcommand failed.\nFATAL ERROR: status 1: cmake\n",
        "sample 'atan' has no resolver configuration 'al'",
    ),
    "ninja": (
        "ninja: error: '/w/gone.c', needed by 'a.o', missing and no known rule to make it\n"
        "FATAL ERROR: command exited with status 1: /usr/bin/cmake --build /b\n",
        "'/w/gone.c', needed by 'a.o', missing and no known rule to make it",
    ),
    "west": (
        "FATAL ERROR: source directory /w/nothing does not contain a CMakeLists.txt\n",
        "source directory /w/nothing does not contain a CMakeLists.txt",
    ),
    "nothing known": ("a\nKilled\n\n", "Killed"),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize(("output", "line"), ERRORS.values(), ids=ERRORS)
def test_the_first_error_is_told_with_its_place(output: str, line: str) -> None:
    assert first_error(output) == line


@pytest.mark.parametrize("name", ["compiler", "undefined, without", "no room", "west"])
def test_progress_and_warnings_before_it_change_nothing(name: str) -> None:
    output, line = ERRORS[name]
    noise = "-- Found Python3\n[1/2] Building error.c\n/w/z.h:1:2: warning: an error is near\n"
    assert first_error(noise + output) == line


@given(st.text(max_size=400))
def test_any_output_gives_one_line_of_bounded_length(output: str) -> None:
    line = first_error(output)
    assert len(line.splitlines()) <= 1
    assert len(line) <= 400


def test_a_long_output_takes_linear_time() -> None:
    assert first_error("/w/a b:" * 100_000 + "\n" + ": " * 100_000).endswith("...")
