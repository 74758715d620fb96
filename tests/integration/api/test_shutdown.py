import asyncio
import signal
import socket
from pathlib import Path

import httpx

from tests.support.bound import bound

STREAMS = 20
PATIENCE = 60
"""Seconds: less than the server would wait for streams that go on, and plenty on a busy machine."""


async def test_each_open_stream_gets_a_last_event_and_the_process_ends_in_time() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.set_inheritable(True)
    server = await asyncio.create_subprocess_exec(
        *bound(str(Path(__file__).with_name("streaming_server.py")), str(listener.fileno())),
        pass_fds=[listener.fileno()],
    )
    opened = asyncio.Semaphore(0)

    async def listen(client: httpx.AsyncClient) -> str:
        text = ""
        async with client.stream("GET", "/stream") as response:
            async for piece in response.aiter_text():
                if not text:
                    opened.release()
                text += piece
        return text

    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:
            listening = [asyncio.create_task(listen(client)) for _ in range(STREAMS)]
            for _ in range(STREAMS):
                await opened.acquire()
            server.send_signal(signal.SIGTERM)
            texts = await asyncio.wait_for(asyncio.gather(*listening), PATIENCE)
        await asyncio.wait_for(server.wait(), PATIENCE)
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()
        listener.close()
    assert all("event: error" in text and '"code":"unavailable"' in text for text in texts)
