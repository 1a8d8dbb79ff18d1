"""A TCP link with latency: each chunk of bytes arrives later than it was sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def slow_link(port: int, seconds: float) -> Iterator[int]:
    """The port of a link to ``port`` of this machine; ``seconds`` pass in each direction."""
    loop = asyncio.new_event_loop()
    made: list[asyncio.Server] = []
    ready = threading.Event()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(65_536):
                loop.call_later(seconds, writer.write, chunk)
            await asyncio.sleep(2 * seconds)  # what was read last is written by then
        finally:
            writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    async def end() -> None:
        tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run() -> None:
        made.append(loop.run_until_complete(asyncio.start_server(accept, "127.0.0.1", 0)))
        ready.set()
        loop.run_forever()
        made[0].close()
        loop.run_until_complete(end())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield made[0].sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
