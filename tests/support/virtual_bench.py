"""Virtual boards in this process: the board and its control socket as they are, in a thread."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from harness.targets.board.virtual.chip import TranscriptChip, VirtualChip
from harness.targets.board.virtual.client import call
from harness.targets.board.virtual.server import Server, VirtualBoard

SERIAL = "960000001"


class ThreadDk:
    """A board that lives in a thread until it is closed."""

    def __init__(
        self, bench: Path, serial: str = SERIAL, *, chip: VirtualChip | None = None, **options: Any
    ) -> None:
        self.board = VirtualBoard(bench, serial, chip or TranscriptChip(), **options)
        self._sockets = tempfile.TemporaryDirectory(prefix="dk-")
        ours, self._parent = os.pipe()
        self._ours = ours
        server = Server(self.board, Path(self._sockets.name) / "control", ours)
        self.board.plug()
        self._thread = threading.Thread(target=server.serve, daemon=True)
        self._thread.start()

    def do(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request through the control socket."""
        return call(self.board.folder, operation, **arguments)

    def close(self) -> None:
        """What a parent's end does: the loop ends, the board leaves the bench."""
        os.close(self._parent)
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()
        os.close(self._ours)
        self.board.close()
        self._sockets.cleanup()

    def __enter__(self) -> ThreadDk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
