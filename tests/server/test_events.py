"""Events, as a client sees them that listens to the server's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from jupyter_events import EventLogger
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_skills.server import events
from tests.server.jupyter import TOKEN, USER, archive_of, client, environment_in, form_of, jupyter
from tests.server.test_access import TWO_PEOPLE

API = "/jupyter-skills/api"
Next = Callable[[], Awaitable[dict[str, Any]]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    with jupyter("server", home, environment_in(home)) as url:
        yield url


@pytest.fixture
async def served(url: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"token {TOKEN}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30) as served:
        yield served


@pytest.fixture
async def heard(url: str) -> AsyncIterator[Next]:
    """Waits for the next event of ours."""
    async with listening(url, TOKEN) as heard:
        yield heard


@asynccontextmanager
async def listening(url: str, token: str) -> AsyncIterator[Next]:
    """Listens to a server's events; gives what waits for the next one of ours."""
    address = f"{url}/api/events/subscribe".replace("http:", "ws:")
    request = HTTPRequest(address, headers={"Authorization": f"token {token}"})
    connection = await websocket_connect(request)

    async def following() -> dict[str, Any]:
        while True:
            message = await asyncio.wait_for(connection.read_message(), 20)
            event: dict[str, Any] = json.loads(message or "{}")
            if event["schema_id"] == events.SCHEMA_ID:
                return {key: value for key, value in event.items() if not key.startswith("__") and key != "schema_id"}

    try:
        yield following
    finally:
        connection.close()


async def test_every_change_is_told(served: httpx.AsyncClient, heard: Next) -> None:
    skill_id = (await served.post(f"{API}/skills", files=form_of(archive_of("told")))).json()["id"]
    at = f"{API}/skills/{skill_id}"
    await served.patch(at, json={"title": "Told"})
    await served.post(f"{at}/versions", files=form_of(archive_of("told", body="More.")))
    await served.delete(f"{at}/versions/1")
    await served.delete(at)
    await served.post(f"{at}/restore")
    told = [await heard() for _ in range(6)]
    assert told == [
        {"action": "create", "skill_id": skill_id, "version": "1"},
        {"action": "update", "skill_id": skill_id},
        {"action": "create_version", "skill_id": skill_id, "version": "2"},
        {"action": "delete_version", "skill_id": skill_id, "version": "1"},
        {"action": "delete", "skill_id": skill_id},
        {"action": "restore", "skill_id": skill_id},
    ]


async def test_what_did_not_happen_is_not_told(served: httpx.AsyncClient, heard: Next) -> None:
    await served.delete(f"{API}/skills/skill_none")
    await served.post(f"{API}/skills", content=b"no zip", headers={"Content-Type": "application/zip"})
    skill_id = (await served.post(f"{API}/skills", files=form_of(archive_of("only")))).json()["id"]
    assert (await heard())["skill_id"] == skill_id


async def test_what_others_do_is_told_without_what_it_was_done_to(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(TWO_PEOPLE)
    with (
        jupyter("server", tmp_path, environment_in(tmp_path), f"--config={tmp_path / 'config.py'}") as url,
        client(url, "bob") as bob,
        client(url, USER) as the_servers_own,
    ):
        async with listening(url, USER) as heard:
            bob.post(f"{API}/skills", files=form_of(archive_of("bobs"))).raise_for_status()
            sent = the_servers_own.post(f"{API}/skills", files=form_of(archive_of("own")))
            assert await heard() == {"action": "create"}
            assert await heard() == {"action": "create", "skill_id": sent.json()["id"], "version": "1"}


def test_an_event_says_neither_whose_a_skill_is_nor_what_it_is_called() -> None:
    logger = EventLogger()
    heard: list[dict[str, Any]] = []

    async def listener(logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        heard.append(data)

    async def emit() -> None:
        events.register(logger)
        events.register(logger)  # a second time does no harm
        logger.add_listener(schema_id=events.SCHEMA_ID, listener=listener)
        events.emitted(logger, {"action": "create", "skill_id": "skill_x", "user": "ann", "name": "secret"})
        await logger.gather_listeners()

    asyncio.run(emit())
    assert heard == [{"action": "create", "skill_id": "skill_x"}]
