"""The moment at which a resolver is worth reading: operators registered, nothing run yet."""

from __future__ import annotations

from harness.errors import FirmwareFailed, UsageError
from harness.firmware.demangle import qualified
from harness.firmware.elf import Firmware
from harness.targets.base import Elapsed, Session, Stop, SymbolReached

#: Functions that run after the registration, in the order in which one is looked for.
_AFTER = ("tflite::MicroInterpreter::AllocateTensors", "tflite::MicroInterpreter::Invoke")


def after_registration(firmware: Firmware) -> str:
    """The (mangled) symbol at which every operator is registered, "" where the image has none."""
    for wanted in _AFTER:
        for symbol in firmware.symbols:
            named = symbol.kind == "func" and "MicroInterpreter" in symbol.name
            if named and qualified(symbol.name) == wanted:
                return symbol.name
    return ""


def run_past_registration(
    session: Session, firmware: Firmware, *, symbol: str = "", seconds: float = 5.0
) -> bool:
    """Run until ``symbol`` (by default AllocateTensors), at the latest for ``seconds``.

    True where the symbol was reached (an image that gives up before may have a table all the
    same). Raises :class:`UsageError` for an unknown symbol, :class:`FirmwareFailed` where the
    image stopped for good (lockup, reset loop) before.
    """
    if symbol and firmware.symbol(symbol) is None:
        raise UsageError(f"{firmware.path} has no symbol {symbol!r}")
    chosen = symbol or after_registration(firmware)
    until = SymbolReached(chosen) if chosen else Elapsed(seconds)
    stop = session.run(until, session.deadline(seconds))
    if stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        raise FirmwareFailed(f"{firmware.path.name} stopped before its registration: {stop}")
    return stop is Stop.CONDITION and bool(chosen)
