"""What tests/firmware/clocks.c prints on every target (nRF9160 PS v2.1, "RTC" and "TIMER")."""

from __future__ import annotations

ANSWERS = (
    ("changes of COUNTER by one, of eight in a loop", 8),
    ("COUNTER after TRIGOVRFLW, without its low byte", 0xFFFF),
    ("COUNTER is small after OVRFLW", 1),
    ("COMPARE[1] without EVTEN and INTEN", 0),
    ("COMPARE[1] with EVTEN", 1),
    ("stopped by its shortcut at", 50),
    ("COMPARE[0] then", 1),
    ("stopped and cleared by its shortcuts at", 0),
    ("cleared by its shortcut, below CC[0]", 1),
    ("capture after SHUTDOWN", 0),
    ("capture a while after SHUTDOWN", 0),
    ("CC[0] after SHUTDOWN", 50),
    ("capture of 8 bits, what is above", 0),
    ("capture of three tasks COUNT", 3),
    ("overflows within 1,302 s", 2),
    ("COUNTER is as far as the sleep was long", 1),
)


def answers(console: bytes) -> list[tuple[str, int]]:
    """What the image printed, by name."""
    *numbers, end = console.decode().split()
    assert end == "end"
    return [(name, int(text)) for (name, _), text in zip(ANSWERS, numbers, strict=True)]
