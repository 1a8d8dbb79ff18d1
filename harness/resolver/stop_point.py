"""Running an image to the point after its registration, at which its resolver is complete."""

from __future__ import annotations

from dataclasses import dataclass

from harness.base.errors import FirmwareFailed, Unsupported, UsageError
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.targets.base import Elapsed, Stop, SymbolReached
from harness.targets.session import Session

#: Seconds by which the deadline of a run for a given time exceeds that time.
_SLACK = 1.0
#: Functions that are called after the registration, the preferred one first.
_AFTER = ("tflite::MicroInterpreter::AllocateTensors", "tflite::MicroInterpreter::Invoke")


def after_registration(image: Image) -> str:
    """The mangled symbol at which all operators are registered, "" if the image has none."""
    for wanted in _AFTER:
        for symbol in image.symbols:
            named = symbol.kind == "func" and "MicroInterpreter" in symbol.name
            if named and qualified(symbol.name) == wanted:
                return symbol.name
    return ""


def _symbol(image: Image, name: str) -> str:
    """The symbol for ``name``, which is one or a qualified C++ name (``tflite::Model::Get``)."""
    if image.symbol(name) is not None:
        return name
    found = {s.name for s in image.symbols if s.kind == "func" and qualified(s.name) == name}
    if len(found) != 1:
        several = f"{len(found)} functions called" if found else "no symbol"
        raise UsageError(f"{image.path} has {several} {name!r}", hint=image.symbols_hint())
    return found.pop()


@dataclass(frozen=True)
class StopPoint:
    """The point at which a session stopped: ``symbol`` if ``reached``, else ``why`` not."""

    reached: bool
    symbol: str
    why: str = ""


def run_past_registration(
    session: Session, image: Image, *, symbol: str = "", seconds: float = 5.0
) -> StopPoint:
    """Run to ``symbol`` (default: AllocateTensors), at most for ``seconds`` of target time.

    A target that cannot stop at a symbol (a board) runs for ``seconds``. An image that fails
    earlier may still have a table. Raises :class:`UsageError` for an unknown symbol, and
    :class:`FirmwareFailed` for an image that stopped in a lockup or a reset loop.
    """
    chosen = _symbol(image, symbol) if symbol else after_registration(image)
    name = qualified(chosen)
    why = "" if chosen else f"the image does not show AllocateTensors: read after {seconds:g} s"
    stop = None
    if chosen:
        try:
            stop = session.run(SymbolReached(chosen), session.deadline(seconds))
        except Unsupported:
            why = f"target {session.target!r} cannot stop at {name}: read after {seconds:g} s"
    if stop is None:
        stop = session.run(Elapsed(seconds), session.deadline(seconds + _SLACK))
    if stop in (Stop.LOCKUP, Stop.RESET_LOOP):
        raise FirmwareFailed(f"{image.path.name} stopped before its registration: {stop}")
    reached = stop is Stop.CONDITION and not why
    if not reached and not why:
        why = f"{name} was not reached ({stop}): the table is as it stands now"
    return StopPoint(reached, name, why)
