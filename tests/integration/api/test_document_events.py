import asyncio
import json
from uuid import uuid4

from app.bootstrap import Services
from tests.support.api import Caller
from tests.support.document_calls import process, upload
from tests.support.documents import prose

STREAMS = 30
PATIENCE = 60
"""Seconds after which something is taken never to happen, on a busy machine too."""

Events = list[tuple[str, dict[str, object]]]


async def events(caller: Caller, path: str, begun: asyncio.Semaphore | None = None) -> Events:
    """Read a stream to its end; `begun` is released at its first event."""
    found: Events = []
    async with caller.client.stream("GET", path, headers=caller.headers()) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
                if begun is not None and len(found) == 1:
                    begun.release()
    return found


async def follow(caller: Caller, path: str, streams: int) -> list[asyncio.Task[Events]]:
    """Begin to read so many streams, and return when each has had its first event."""
    begun = asyncio.Semaphore(0)
    following = [asyncio.create_task(events(caller, path, begun)) for _ in range(streams)]
    async with asyncio.timeout(PATIENCE):
        for _ in range(streams):
            await begun.acquire()
    return following


async def test_events_end_with_the_final_state(live: Caller, services: Services) -> None:
    data = prose("a")
    path = f"/v1/documents/{(await upload(live, 'a.txt', data)).json()['document_id']}"
    (following,) = await follow(live, f"{path}/events", 1)
    await process(services, live, data)
    seen = await asyncio.wait_for(following, PATIENCE)
    assert {name for name, _ in seen} == {"status"}
    assert seen[0][1]["status"] == "queued"
    assert seen[-1][1] == (await live.call("GET", path)).json()
    assert seen[-1][1]["status"] == "ready"
    assert await events(live, f"{path}/events") == [seen[-1]]


async def test_events_of_a_document_that_is_deleted_end_with_the_problem(live: Caller) -> None:
    path = f"/v1/documents/{(await upload(live, 'a.txt', prose('a'))).json()['document_id']}"
    (following,) = await follow(live, f"{path}/events", 1)
    await live.call("DELETE", path)
    (first, _), (last, problem) = await asyncio.wait_for(following, PATIENCE)
    assert (first, last, problem["status"], problem["code"]) == ("status", "error", 404, "not_found")


async def test_events_of_an_unknown_document_are_a_404_and_no_stream(live: Caller) -> None:
    response = await live.call("GET", f"/v1/documents/{uuid4()}/events")
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")


async def test_open_streams_hold_no_database_connection(live: Caller, services: Services) -> None:
    data = prose("a")
    path = f"/v1/documents/{(await upload(live, 'a.txt', data)).json()['document_id']}"
    following = await follow(live, f"{path}/events", STREAMS)
    async with asyncio.timeout(PATIENCE):
        for number in range(10):
            assert (await live.call("GET", "/v1/documents")).status_code == 200
            assert (await upload(live, f"{number}.txt", prose("b"))).status_code == 202
    assert not any(stream.done() for stream in following)
    await process(services, live, data)
    for stream in following:
        assert (await asyncio.wait_for(stream, PATIENCE))[-1][1]["status"] == "ready"


async def test_clients_that_leave_their_streams_leave_nothing_behind(live: Caller) -> None:
    path = f"/v1/documents/{(await upload(live, 'a.txt', prose('a'))).json()['document_id']}"
    following = await follow(live, f"{path}/events", STREAMS)
    for stream in following:
        stream.cancel()
    await asyncio.wait(following)
    async with asyncio.timeout(PATIENCE):  # a task for each stream, none of them ours
        # The tasks are the server's and tell nobody of their end.
        while any(getattr(task.get_coro(), "__qualname__", "") == "_pump" for task in asyncio.all_tasks()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await live.call("GET", path)).status_code == 200
