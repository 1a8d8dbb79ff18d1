"""What the simulator costs, as ratios of one run on one machine; nothing is asserted.

``python tests/benchmarks/bench_simulator.py``: counted execution against bare Unicorn, exceptions,
the console, snapshots, the way from ``import`` to the tenth inference, and Renode where there is
one. ``... bench_simulator.py BEFORE``: first the rows of another checkout (with its counting core
built), in the same run.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import unicorn
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from harness.base.errors import EnvironmentMissing
from harness.build.standalone import build_standalone
from harness.elf import Image
from harness.simulator import snapshot
from harness.simulator.machine import End, Machine
from harness.targets.renode.find import find

FIRMWARE = Path(__file__).resolve().parents[1] / "firmware"
FLAGS = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding"
FLAGS += " -fno-tree-loop-distribute-patterns -nostdlib"
HZ = 64_000_000
_CALLS = 20_000  # in speed.c
SAMPLES = ("hello_world", "hello_world_float", "digits", "digits_cnn", "residual", "atan")
_CORE = [*range(arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R0 + 13), arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR]


def main(before: Path | None = None) -> None:
    if before is not None:
        print(f"before ({before.name}):", flush=True)
        environment = os.environ | {"PYTHONPATH": str(before)}
        subprocess.run([sys.executable, __file__, "--rows"], env=environment, check=True)
        print("now:")
    _rows()
    _against_renode()


def _rows() -> None:
    with tempfile.TemporaryDirectory() as folder:
        speed = _compile("speed", Path(folder))
        digits = Image.from_elf(build_standalone("digits", "exact").elf)
        print("counted execution against bare Unicorn, the same stretch of instructions:")
        for sample in ("digits", "digits_cnn", "residual"):
            network = Image.from_elf(build_standalone(sample, "exact").elf)
            invoke = _function(network, "MicroInterpreter::Invoke")
            _against_unicorn(f"inference of {sample}", network, invoke)
        _against_unicorn("int8 products with SMLAD, two by two", speed, "MultiplyTuned")
        _against_unicorn("float products with VFMA, four rows", speed, "MultiplyFloats")
        # A callback a block costs most where blocks are shortest and touch no memory.
        _against_unicorn("int8 products, blocks of six instructions", speed, "Multiply")
        _against_unicorn("a loop of six instructions in registers", speed, "Mix")
        _exceptions(speed)
        _console(_compile("chatter", Path(folder)))
        _userspace(_compile("userspace", Path(folder)))
        _idle(_compile("idle", Path(folder)))
    _snapshots(digits)
    _first_inferences()


def _compile(name: str, folder: Path) -> Image:
    elf = folder / f"{name}.elf"
    command = ["arm-none-eabi-gcc", *FLAGS.split(), "-T", str(FIRMWARE / "machine.ld")]
    subprocess.run([*command, str(FIRMWARE / f"{name}.c"), "-o", str(elf)], check=True)
    return Image.from_elf(elf)


def _function(firmware: Image, part: str) -> str:
    """The symbol of the function whose demangled name ends in ``part``."""
    mangled = "".join(f"{len(word)}{word}" for word in part.split("::"))
    return next(symbol.name for symbol in firmware.symbols if mangled in symbol.name)


def _median(measure: Callable[[], float], times: int = 5) -> float:
    measure()  # translated, cached
    return statistics.median(measure() for _ in range(times))


def _timed(action: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    action()
    return clock() - started


def _calls(machine: Machine, function: str) -> Callable[[], float]:
    """Seconds of the next call of ``function``, from its first instruction to its return."""
    symbol = machine.firmware.symbol(function)
    assert symbol is not None, function

    def stop_at(address: int) -> None:
        machine.hook(address, lambda _: True)
        assert machine.run(until_tick=machine.now + 60 * HZ) is End.CONDITION
        machine.unhook(address)

    def call() -> float:
        stop_at(symbol.address)
        back = machine.registers["lr"] & ~1
        return _timed(lambda: stop_at(back))

    stop_at(symbol.address)
    return call


def _against_unicorn(title: str, firmware: Image, function: str) -> None:
    """One call of ``function``, with all that the simulator does and without any of it."""
    machine = Machine(firmware)
    counted = _calls(machine, function)
    bare, called = _bare(machine), _bare(machine)
    _call_back(called)
    entry, back = machine.registers["pc"], machine.registers["lr"] & ~1
    state = {register: bare.reg_read(register) for register in _CORE}
    ram = bytes(machine.read_memory(0x2000_0000, 0x4_0000))

    def uncounted(engine: unicorn.Uc = bare) -> float:
        engine.mem_write(0x2000_0000, ram)
        for register, value in state.items():
            engine.reg_write(register, value)
        return _timed(lambda: engine.emu_start(entry | 1, back))

    before = machine.core.executed
    machine.hook(back, lambda _: True)
    machine.run(until_tick=machine.now + 60 * HZ)
    machine.unhook(back)
    count = (machine.core.executed - before) / 1e6
    uncounted()
    uncounted(called)
    same = machine.registers["r0"] == bare.reg_read(arm.UC_ARM_REG_R0)
    # In turn: the machine may be busy.
    rows = [(counted(), uncounted(), uncounted(called)) for _ in range(7)]
    ours, theirs, empty = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"  {title}: {count / ours:.0f} of {count / theirs:.0f} MIPS, {theirs / ours:.0%}"
        f" (with a callback a block that does nothing: {theirs / empty:.0%};"
        f" {count:.2f} million instructions; {'equal' if same else 'DIFFERENT'} results)"
    )
    machine.close()


def _call_back(engine: unicorn.Uc) -> None:
    """Let Unicorn call a function that does nothing before each block, as it calls the core's."""
    nothing = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)
    hook, everywhere = ctypes.c_size_t(), (ctypes.c_uint64(1), ctypes.c_uint64(0))
    uclib.uc_hook_add(
        engine._uch, ctypes.byref(hook), unicorn.UC_HOOK_BLOCK, nothing, None, *everywhere
    )


def _bare(machine: Machine) -> unicorn.Uc:
    """Unicorn with the machine's memory and registers; devices are plain memory."""
    bare = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    bare.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M33)
    for origin, size in ((0, 0x10_0000), (0x2000_0000, 0x4_0000)):
        bare.mem_map(origin, size)
        bare.mem_write(origin, bytes(machine.read_memory(origin, size)))
    for origin in (0x4000_0000, 0x5000_0000, 0xE000_0000):
        bare.mem_map(origin, 0x10_0000)
    for register, value in zip(_CORE, machine.registers.values(), strict=False):
        bare.reg_write(register, value)
    return bare


def _exceptions(firmware: Image) -> None:
    machine = Machine(firmware)
    for what, function in (
        ("SVC", "Call"),
        (
            "an interrupt pended by NVIC_ISPR, with two more accesses to the NVIC",
            "Interrupt",
        ),
    ):
        seconds = _median(_calls(machine, function))
        print(f"exception entry and return ({what}): {1e6 * seconds / _CALLS:.1f} us")
    machine.close()


def _console(firmware: Image) -> None:
    """A console of single bytes: what accesses to a peripheral's registers cost."""
    machine = Machine(firmware)

    def print_on() -> float:
        sent = len(machine.console)
        seconds = _timed(lambda: machine.run(until_executed=machine.core.executed + 400_000))
        return seconds / (len(machine.console) - sent)

    print(f"a byte on the console, polled: {1e6 * _median(print_on):.1f} us")
    machine.close()


def _userspace(firmware: Image) -> None:
    """System calls, changes of MPU regions and a console of single bytes, as user threads make."""
    machine = Machine(firmware)

    def go_on() -> float:
        return _timed(lambda: machine.run(until_executed=machine.core.executed + 2_000_000))

    print(f"user threads that print: {2 / _median(go_on):.0f} MIPS")
    machine.close()


def _idle(firmware: Image) -> None:
    machine = Machine(firmware)
    machine.run(
        until_tick=HZ // 10
    )  # waits in an endless loop, with an interrupt 1,600 times a second
    seconds = _median(lambda: _timed(lambda: machine.run(until_tick=machine.now + HZ // 10)))
    print(f"a busy loop between interrupts: {0.1 / seconds:.1f} virtual seconds a CPU second")
    machine.close()


def _snapshots(firmware: Image) -> None:
    machine = Machine(firmware)
    machine.run(until_tick=HZ // 10)
    kept = snapshot.take(machine)

    def used() -> float:
        machine.run(until_tick=machine.now + HZ // 100)
        return _timed(lambda: snapshot.restore(machine, kept))

    print(f"restoring a snapshot after 10 ms of running: {1e3 * _median(used, 20):.2f} ms")
    machine.close()


_TENTH = """
import time
started = time.perf_counter()
from harness.elf import Image
from harness.simulator.machine import Machine
import sys
machine = Machine(Image.from_elf(sys.argv[1]))
machine.run(until_tick=64_000_000, pattern=rb"~HIL \\d+ inference index=9 ")
print(time.perf_counter() - started)
"""


def _first_inferences() -> None:
    elf = build_standalone("hello_world", "exact").elf
    command = [sys.executable, "-P", "-c", _TENTH, str(elf)]

    def fresh() -> float:
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    print(f"hello_world from import to its tenth inference: {_median(fresh):.3f} s")


def _against_renode() -> None:
    try:
        version = ".".join(map(str, find(None).version))
    except EnvironmentMissing as missing:
        print(f"against Renode: skipped, {missing.message}")
        return
    print(f"whole cases, start-up included, against Renode {version}:")
    tool = shutil.which("tflm-hil") or "tflm-hil"
    for sample in SAMPLES:
        ours, theirs = (
            _median(partial(_case, tool, sample, target), 3) for target in ("simulator", "renode")
        )
        print(f"  {sample}: {ours:.2f} s against {theirs:.2f} s, {theirs / ours:.1f} times as fast")


def _case(tool: str, sample: str, target: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, "run", sample, "--target", target, "--output", folder]
        return _timed(
            partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True),
            time.perf_counter,
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--rows"]:
        _rows()
    else:
        main(Path(sys.argv[1]).resolve() if sys.argv[1:] else None)
