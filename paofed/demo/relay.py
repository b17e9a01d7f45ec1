"""Links that can be cut: each device reaches the broker over one of its own."""

import asyncio
import threading
from contextlib import suppress
from typing import Self

from paofed.live.fleet.mosquitto import LOCAL


class RelayPort:
    """A port that leads to the broker, unless it is cut."""

    def __init__(self) -> None:
        self.port = 0
        self.cut = False
        self.writers: set[asyncio.StreamWriter] = set()


class Relay:
    """Several links, in a thread of their own."""

    def __init__(self, broker: int, count: int) -> None:
        self.links = [RelayPort() for _ in range(count)]
        self._broker = broker
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._open = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._open.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def cut(self, number: int) -> None:
        """Cut a link: close its connections, and let nothing pass any more."""
        self._loop.call_soon_threadsafe(self._cut, self.links[number])

    def mend(self, number: int) -> None:
        """Let a link pass bytes again."""
        self.links[number].cut = False

    def _run(self) -> None:
        servers = [self._loop.run_until_complete(self._listen(link)) for link in self.links]
        self._open.set()
        self._loop.run_forever()
        for server in servers:
            server.close()
        for link in self.links:
            self._cut(link)
        self._loop.run_until_complete(_finish())
        self._loop.close()

    async def _listen(self, link: RelayPort) -> asyncio.Server:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._pass(link, reader, writer)

        server = await asyncio.start_server(accept, LOCAL, 0)
        link.port = server.sockets[0].getsockname()[1]
        return server

    async def _pass(
        self, link: RelayPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carry bytes both ways until one end closes."""
        link.writers.add(writer)
        try:
            if not link.cut:
                far_reader, far_writer = await asyncio.open_connection(LOCAL, self._broker)
                link.writers.add(far_writer)
                try:
                    await asyncio.gather(_carry(reader, far_writer), _carry(far_reader, writer))
                finally:
                    link.writers.discard(far_writer)
                    far_writer.close()
        except OSError:
            pass  # the broker cannot be reached
        finally:
            link.writers.discard(writer)
            writer.close()

    def _cut(self, link: RelayPort) -> None:
        link.cut = True
        for writer in list(link.writers):
            writer.transport.abort()


async def _finish() -> None:
    """Let all tasks that are under way end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(tasks, timeout=1.0) if tasks else None
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
