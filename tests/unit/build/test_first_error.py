"""The first error of a build's output: one line, with the place that the tool names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.build.first_error import first_error

#: What CMake, ninja and west print behind the message of another tool.
CMAKE_ENDS = (
    "CMake Error at /z/tools.cmake:389 (message):\n  command failed with return code: 1\n"
    "Call Stack (most recent call first):\n  CMakeLists.txt:4 (find_package)\n\n\n"
    "-- Configuring incomplete, errors occurred!\n"
    "FATAL ERROR: command exited with status 1: /usr/bin/cmake -B/b -GNinja -S/w\n"
)
KCONFIG_ENDS = f"\nerror: Aborting due to Kconfig warnings\n\n{CMAKE_ENDS}"
NINJA_ENDS = (
    "ninja: build stopped: subcommand failed.\n"
    "FATAL ERROR: command exited with status 1: /usr/bin/cmake --build /b\n"
)
MANY_FILES = ", ".join(f"soc/maker/chip{number}/Kconfig:{number}" for number in range(90))

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
        "/w/a.h:26: 'oops' was not declared (macro N)",
    ),
    "a macro in a macro": (
        "/z/assert.h:87:9: error: static assertion failed: too small\n   87 | #define CHECK\n"
        "/z/more.h:9:3: note: in expansion of macro 'CHECK'\n"
        "/w/a.cpp:4:1: note: in expansion of macro 'CHECK_ALL'\n    4 | CHECK_ALL(x);\n"
        "/w/b.cpp:6:1: error: no\n/w/b.cpp:9:1: note: in expansion of macro 'OTHER'\n",
        "/w/a.cpp:4: static assertion failed: too small (macro CHECK_ALL)",
    ),
    "a template": (
        "/w/a.h: In instantiation of 'bool less(T) [with T = S]':\n"
        "/w/a.cpp:7:20:   required from here\n/w/a.h:3:40: error: no match for 'operator<'\n",
        "/w/a.h:3: no match for 'operator<' (required from /w/a.cpp:7)",
    ),
    "assembler": (
        "/tmp/x.s: Assembler messages:\n/w/start.S:12: Error: bad instruction `movv r0'\n",
        "/w/start.S:12: bad instruction `movv r0'",
    ),
    "inline assembly": (
        "[1/2] Building\nFAILED: [code=1] app.dir/src/main.cpp.obj \ng++ -c /w/src/main.cpp\n"
        f"/tmp/ccA1b2C3.s: Assembler messages:\n/tmp/ccA1b2C3.s:9: Error: bad `movv'\n{NINJA_ENDS}",
        "app.dir/src/main.cpp.obj: bad `movv'",
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
    "a library that is not there": (
        "/usr/bin/ld: skipping incompatible /usr/lib/libx.a when searching for -lx\n"
        "/usr/bin/ld: cannot find -lx: No such file or directory\n"
        "collect2: error: ld returned 1 exit status\n",
        "cannot find -lx: No such file or directory",
    ),
    "a linker script": (
        "/usr/bin/ld.bfd:zephyr/linker.cmd:298: undefined symbol `nowhere' referenced\n",
        "zephyr/linker.cmd:298: undefined symbol `nowhere' referenced",
    ),
    "an assertion of the linker script": (
        "/usr/bin/arm-none-eabi-ld: the partition is too small\n",
        "the partition is too small",
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
    "CMake, in a function of Zephyr": (
        "CMake Error at /z/extensions.cmake:428 (target_sources):\n  Cannot specify sources.\n\n"
        "  The target is not known.\nCall Stack (most recent call first):\n"
        "  /z/extensions.cmake:99 (zephyr_sources)\n  sub/CMakeLists.txt:7 (zephyr_library)\n\n\n"
        "-- Configuring incomplete, errors occurred!\n",
        "sub/CMakeLists.txt:7: Cannot specify sources.",
    ),
    "CMake, in Zephyr": (
        "CMake Error at /z/kconfig.cmake:321 (message):\n  File not found:\n  /w/gone.conf\n"
        "Call Stack (most recent call first):\n  /z/zephyr.cmake:132 (include)\n"
        "  CMakeLists.txt:4 (find_package)\n\n\n-- Configuring incomplete, errors occurred!\n",
        "/z/kconfig.cmake:321: File not found: /w/gone.conf",
    ),
    "Kconfig, an unknown symbol": (
        "Parsing /w/Kconfig\n/w/prj.conf:3: warning: attempt to assign the value 'y' to the\n"
        f"undefined symbol NOT_THERE\n{KCONFIG_ENDS}",
        "/w/prj.conf:3: attempt to assign the value 'y' to the undefined symbol NOT_THERE",
    ),
    "Kconfig, values that were not taken do not end it": (
        "warning: FPU (defined at arch/Kconfig:1) was assigned the value 'y' but got the\n"
        "value 'n'. Check these unsatisfied dependencies: CPU_HAS_FPU (=n).\n\n\n"
        "warning: The choice symbol FAST (defined at arch/Kconfig:7) was\nselected (set =y), but"
        " SMALL ended up as the choice selection.\n\n\n"
        "warning: Experimental symbol BT is enabled.\n\n\n"
        "/w/prj.conf:9: warning: attempt to assign the value 'y' to the undefined symbol B\n"
        f"{KCONFIG_ENDS}",
        "/w/prj.conf:9: attempt to assign the value 'y' to the undefined symbol B",
    ),
    "Kconfig, behind a warning of the devicetree": (
        "warning: unit address and first address in 'reg' (0x2) don't match for /x@1\n"
        "-- Generated zephyr.dts: /b/zephyr.dts\n"
        f"/w/prj.conf:9: warning: ignoring malformed line 'A B'\n{KCONFIG_ENDS}",
        "/w/prj.conf:9: ignoring malformed line 'A B'",
    ),
    "Kconfig, a symbol defined in many files": (
        f"warning: the value 'x' is invalid for STACK (defined at {MANY_FILES}), which has type int"
        f" -- assignment ignored\n{KCONFIG_ENDS}",
        "the value 'x' is invalid for STACK, which has type int -- assignment ignored",
    ),
    "Kconfig, a symbol defined in Zephyr and in the application": (
        f"warning: STACK (defined at /w/Kconfig:2, {MANY_FILES}) defined with multiple types\n"
        f"{KCONFIG_ENDS}",
        "STACK (defined at /w/Kconfig:2) defined with multiple types",
    ),
    "Kconfig, a symbol without a prompt": (
        "\nerror: SERIES (defined at soc/Kconfig:7) is assigned in a file, but is not user-\n"
        "configurable. See\nhttp://docs.zephyrproject.org/latest/kconfig.html#CONFIG_SERIES and/or"
        f"\nlook up SERIES in the menu.\n\n{CMAKE_ENDS}",
        "SERIES (defined at soc/Kconfig:7) is assigned in a file, but is not user-configurable.",
    ),
    "Kconfig, syntax": (
        "Parsing /w/Kconfig\n/z/scripts/kconfig/kconfig.py: /w/Kconfig:5: error: couldn't parse"
        f" 'konfig A': extra tokens\n{CMAKE_ENDS}",
        "/w/Kconfig:5: couldn't parse 'konfig A': extra tokens",
    ),
    "Kconfig, a file that is not there": (
        "/z/scripts/kconfig/kconfig.py: /w/Kconfig:1: 'Kconfig.gone' not found (in 'source"
        ' "Kconfig.gone"\'). Check that environment variables are set correctly (e.g. $srctree).\n'
        f"{CMAKE_ENDS}",
        "/w/Kconfig:1: 'Kconfig.gone' not found (in 'source \"Kconfig.gone\"').",
    ),
    "Kconfig, a loop": (
        "/z/scripts/kconfig/kconfig.py: Dependency loop\n===============\n\n"
        f"A (defined at /w/Kconfig:1), with definition...\n\nconfig A\n\n{CMAKE_ENDS}",
        "Dependency loop A (defined at /w/Kconfig:1), with definition...",
    ),
    "Kconfig, an exception": (
        'Traceback (most recent call last):\n  File "/z/scripts/kconfig/kconfig.py", line 64\n'
        "    load()\nUnicodeDecodeError: can't decode byte 0xff\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/z/scripts/kconfig/kconfig.py", line 99\n'
        f"    fail()\nkconfiglib.KconfigError: \nMalformed utf-8 in '/w/prj.conf'\n{CMAKE_ENDS}",
        "kconfiglib.KconfigError: Malformed utf-8 in '/w/prj.conf'",
    ),
    "devicetree, syntax": (
        "devicetree error: /w/app.overlay:5 (column 2): parse error: expected ';'\n" + CMAKE_ENDS,
        "/w/app.overlay:5: parse error: expected ';'",
    ),
    "devicetree, an overlay that is not closed": (
        "-- Found devicetree overlay: /z/board.overlay\n"
        "-- Found devicetree overlay: /w/app.overlay\n"
        "devicetree error: /z/misc/empty_file.c:1 (column 1): parse error: expected '}'\n"
        f"{CMAKE_ENDS}",
        "/w/app.overlay: parse error: expected '}'",
    ),
    "devicetree, a property": (
        f"devicetree error: 'speed' appears in /soc/uart@8000 in /b/zephyr.dts.pre, but is not"
        f" declared in /z/uart.yaml\n{CMAKE_ENDS}",
        "'speed' appears in /soc/uart@8000, but is not declared in /z/uart.yaml",
    ),
    "devicetree, behind which Zephyr 4.3 says less": (
        "devicetree error: /w/app.overlay:3 (column 1): parse error: expected ';'\n"
        "CMake Error at /z/dts.cmake:306 (execute_process):\n  execute_process failed command"
        ' indexes:\n\n    1: "Child return code: 1"\n\n-- Configuring incomplete\n',
        "/w/app.overlay:3: parse error: expected ';'",
    ),
    "devicetree, an include": (
        "-- Found Dtc: /usr/bin/dtc\n/w/app.overlay:1:10: fatal error: gone.dtsi: No such file\n"
        f"    1 | #include <gone.dtsi>\n{CMAKE_ENDS}",
        "/w/app.overlay:1: gone.dtsi: No such file",
    ),
    "dtc": (
        "Error: /w/a.dts:12.3-7 syntax error\nFATAL ERROR: Unable to parse input tree\n",
        "/w/a.dts:12: syntax error",
    ),
    "dtc, a check": (
        "/w/a.dts:2.3-7: Warning (unit_address): /x: no\n"
        "/w/a.dts:4.7-11: ERROR (duplicate_label): /y: Duplicate label 'a' on /y and /x\n",
        "/w/a.dts:4: /y: Duplicate label 'a' on /y and /x",
    ),
    "a generator of the samples": (
        "FAILED: [code=1] tflm_hil/tflm_hil_config.h\ncd /b && python resolver_header.py\n"
        f"error: sample 'atan' has no resolver configuration 'al'\n{NINJA_ENDS}",
        "sample 'atan' has no resolver configuration 'al'",
    ),
    "a script, an exception": (
        "FAILED: [code=1] gen.c\ncd /b && python /w/gen.py\nTraceback (most recent call last):\n"
        '  File "/w/gen.py", line 2, in <module>\n    json.load(open("gone"))\n'
        '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n'
        f"json.decoder.JSONDecodeError: Expecting value: line 1\n{NINJA_ENDS}",
        "/w/gen.py:2: json.decoder.JSONDecodeError: Expecting value: line 1",
    ),
    "a script, syntax": (
        'FAILED: gen.c\ncd /b && python gen.py\n  File "/w/gen.py", line 1\n    def f(:\n'
        f"          ^\nSyntaxError: invalid syntax\n{NINJA_ENDS}",
        "/w/gen.py:1: SyntaxError: invalid syntax",
    ),
    "a script, its own message": (
        "[1/2] Generating gen.c\nFAILED: gen.c\ncd /b && python gen.py\n"
        f"labels.txt has 11 rows\nthe model has 10\n{NINJA_ENDS}",
        "labels.txt has 11 rows",
    ),
    "a script, its arguments": (
        "FAILED: gen.c\ncd /b && python gen.py\nusage: gen.py [-h]\n"
        f"gen.py: error: argument --level: invalid int value: 'x'\n{NINJA_ENDS}",
        "argument --level: invalid int value: 'x'",
    ),
    "a command that is not there": (
        f"FAILED: gen.c\ncd /b && xgen --in a\n/bin/sh: 1: xgen: not found\n{NINJA_ENDS}",
        "/bin/sh: 1: xgen: not found",
    ),
    "a command that prints nothing": (
        f"FAILED: [code=1] gen.c\ncd /b && check --quiet\n{NINJA_ENDS}",
        "gen.c: check --quiet failed",
    ),
    "an unknown board": (
        f"No board named 'dk9' found. Did you mean:\n\ndk1\n\nRun 'west boards' for all.\n"
        f"CMake Error at /z/boards.cmake:225 (message):\n  Invalid BOARD; see above.\n{CMAKE_ENDS}",
        "No board named 'dk9' found",
    ),
    "CMake, behind a message of no form": (
        f"-- Found Python3\nthe table has no row for this chip\n{CMAKE_ENDS}",
        "the table has no row for this chip",
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


@pytest.mark.parametrize(
    "output",
    ["/w/a b:" * 100_000, ": " * 100_000, "x:(" * 100_000, "a-" * 100_000, "/a.py" * 100_000,
     "warning: a\n" * 2_000, '  File "a", line 1\n' * 2_000],
    ids=lambda output: output[:10].strip(),
)  # fmt: skip
def test_a_long_output_takes_linear_time(output: str) -> None:
    assert len(first_error(output)) <= 400
