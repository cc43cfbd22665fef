"""Row 23: the feed of changes, at its beginning and half a project later, and the log of events."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial

import orjson
from django.db import connection

from surveys.models import Project
from tests.bench.client import Client
from tests.bench.rows import Bench, Result, warmed

PER_PAGE = 100
EVENTS = 100_000


def read(bench: Bench, project: Project, size: int) -> list[Result]:
    """Pages of one project and of all, and of the events."""
    client = bench.colloquy.client()
    results: list[Result] = []
    for name, path in (
        ("one project", f"/projects/{project.pk}/responses/changes"),
        ("all projects", "/responses/changes"),
    ):
        results += _pages(bench, client, name, bench.api(f"{path}?per_page={PER_PAGE}"), size)
    return [*results, _events(bench, client)]


def _pages(bench: Bench, client: Client, name: str, path: str, size: int) -> Iterator[Result]:
    first, length = _cost(bench, client, path)
    what = f"feed of {name}, {size:,} responses: {PER_PAGE} changes"
    yield Result("23", what, first, note=f"{length / 1000:.0f} kB")
    deep, _ = _cost(bench, client, f"{path}&cursor={_cursor_after(bench, client, path, size // 2)}")
    note = f"{deep:.2f} ms after {size // 2:,} changes"
    yield Result("23", "… half way, over the first", deep / first, goal=1.05, unit="times", note=note)


def _cursor_after(bench: Bench, client: Client, path: str, count: int) -> str:
    cursor = ""
    for _ in range(count // PER_PAGE):
        page = client.call("GET", f"{path}{cursor}", headers=bench.headers()).json()
        assert isinstance(page["data"], list)
        assert len(page["data"]) == PER_PAGE, "The feed is not what was loaded."
        cursor = f"&cursor={page['cursor']}"
    return cursor.removeprefix("&cursor=")


def _events(bench: Bench, client: Client) -> Result:
    """The newest events of many, each about as large as that of a response with a few answers."""
    body = orjson.dumps({"id": str(uuid.uuid4()), "type": "response.submitted", "data": {"text": "x" * 900}})
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO webhooks_event (id, community_id, type, body, created_at, is_settled)"
            " SELECT gen_random_uuid(), %s, 'response.submitted', %s,"
            " now() - n * interval '1 second', TRUE FROM generate_series(1, %s) n",
            [bench.world.community_id, body.decode(), EVENTS],
        )
        cursor.execute("ANALYZE webhooks_event")
    value, length = _cost(bench, client, bench.api(f"/events?per_page={PER_PAGE}"))
    return Result("23", f"{PER_PAGE} of {EVENTS:,} events", value, note=f"{length / 1000:.0f} kB")


def _cost(bench: Bench, client: Client, path: str) -> tuple[float, int]:
    """CPU milliseconds of one request, and the bytes of its answer."""
    times = max(50, bench.repetitions // 5)
    length = len(client.call("GET", path, headers=bench.headers()).body)
    ask = partial(_read, bench, client, path)
    return warmed(bench.colloquy, ask, times), length


def _read(bench: Bench, client: Client, path: str) -> None:
    client.call("GET", path, headers=bench.headers())
