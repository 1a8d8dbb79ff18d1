"""How a run ended that did not come to the image's own end, in words."""

from __future__ import annotations

from harness.targets.base import Stop

HOW_IT_ENDED = {
    Stop.CONDITION: "it had said its last words",
    Stop.DEADLINE: "it ran on to the deadline",
    Stop.GUARD: "the wall-clock guard stopped it",
    Stop.IDLE: "it sleeps and nothing can wake it",
    Stop.LOCKUP: "the core locked up",
    Stop.RESET_LOOP: "it resets itself again and again",
}
