"""An export as gunicorn serves it: a real connection, a real database, and both may go."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from surveys.services.exports.xlsx import FOLDER
from tests.bench.processes import family
from tests.support.installation import Installation, installed

pytestmark = pytest.mark.long

LIMIT = 60  # seconds
THREADS = 4  # of the web server
RESPONSES = 10_000
ALL_RESPONSES = 30_000  # an export of so many is still being written when its database goes
_FILL = """
    WITH made AS (
        INSERT INTO surveys_conversation (id, project_id, provider, seed, state, is_listed, started_at,
            updated_at, completed_at)
        SELECT (lpad(to_hex(n), 12, '0') || '7000a000000000000000')::uuid, %(project)s, 'web', n, '{}', true,
            now(), now(), now()
        FROM generate_series(%(first)s::int, %(last)s::int) n
        RETURNING id
    )
    INSERT INTO surveys_answer (conversation_id, block_id, ordinal, value)
    SELECT id, %(block)s, 0, repeat('Because of the sea. ', 50) FROM made
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Installation, Any, str, Callable[[int, int], None]]]:
    """A site with a survey whose export is larger than what sockets hold, the export's path, and what adds
    responses.

    Its readers may pause for as long as a busy machine needs for all the other exports.
    """
    with installed(tmp_path, SECONDS_TO_READ_A_RESPONSE="600") as (here, running):
        script = {"blocks": [{"type": "open_text", "prompt": "Why?"}]}
        _, _, made, _ = here.ask("POST", {"name": "Opening moves", "type": "convo", "script": script})
        ids = {"project": made["id"], "block": made["script"]["blocks"][0]["id"]}

        def fill(first: int, last: int) -> None:
            with psycopg.connect(here.environment["DATABASE_URL"], autocommit=True) as connection:
                connection.execute(_FILL, {**ids, "first": first, "last": last})

        fill(1, RESPONSES)
        community = here.environment["COMMUNITY"]
        yield here, running, f"/v1/communities/{community}/projects/{made['id']}/responses/export", fill


@contextmanager
def asked(here: Installation, method: str, path: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", here.port, timeout=LIMIT)
    with closing(connection):
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.request(method, path, headers={"X-API-Key": here.key})
        with connection.getresponse() as answer:
            yield answer


def statements(here: Installation, condition: str) -> int:
    """The number of the site's connections to the database that match this condition."""
    with psycopg.connect(here.environment["DATABASE_URL"], autocommit=True) as connection:
        row = connection.execute(
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'colloquy' AND {condition}"
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_an_export_is_whole_or_its_connection_breaks(
    place: tuple[Installation, Any, str, Callable[[int, int], None]],
) -> None:
    here, running, path, fill = place

    with asked(here, "GET", f"{path}?format=ndjson") as answer:
        whole = answer.read()
        assert answer.headers["Transfer-Encoding"] == "chunked"
    assert len(whole.splitlines()) == RESPONSES
    assert len(whole) > 10_000_000

    # HEAD: headers alone.
    for format in ("csv", "xlsx", "json", "ndjson"):
        with asked(here, "HEAD", f"{path}?format={format}") as answer:
            assert (answer.status, answer.read()) == (200, b"")
            assert "attachment" in answer.headers["Content-Disposition"]
            assert answer.headers["X-RateLimit-Limit"] == "60"

    # A client that goes away: nobody reads on for it, and its file is gone.
    for format in ("csv", "xlsx"):
        with asked(here, "GET", f"{path}?format={format}") as answer:
            assert answer.read(1)
    _wait_until(lambda: not _exports_open() and not statements(here, "state = 'active'"))

    # Readers who take their time hold neither a thread nor the place of their community.
    with ExitStack() as readers:
        slow = []
        for _ in range(THREADS + 1):
            slow.append(readers.enter_context(_begun(here, path)))
            assert slow[-1].read(1) == b"i"
        with _begun(here, f"{path}?format=ndjson") as quick:
            assert len(quick.read()) == len(whole)
        assert here.ask()[0] == 200
        assert all(each.read().endswith(b"\r\n") for each in slow)
    _wait_until(lambda: not statements(here, "state = 'active'"))

    fill(RESPONSES + 1, ALL_RESPONSES)
    with asked(here, "GET", f"{path}?format=json") as answer:
        assert answer.read(1) == b"{"

        # The database goes: what has come cannot be taken for the whole.
        running.pop("postgres").stop()
        with pytest.raises(http.client.IncompleteRead) as broken:
            answer.read()
        with pytest.raises(json.JSONDecodeError):
            json.loads(b"{" + broken.value.partial)

    # And where no file has begun the refusal comes in its place.
    with asked(here, "GET", path) as answer:
        assert (answer.status, json.load(answer)["error"]) == (503, "unavailable")


@contextmanager
def _begun(here: Installation, path: str) -> Iterator[http.client.HTTPResponse]:
    """A download, requested again until the previous file has been written."""
    for _ in range(20):
        with asked(here, "GET", path) as answer:
            if answer.status == 200:
                yield answer
                return
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
        time.sleep(1)  # A minute has 60 requests.
    pytest.fail("A download of this community is still running.")


def _exports_open() -> list[str]:
    """Files of exports that this process or one below it has open."""
    found = []
    for pid in family([os.getpid()]):
        for each in _links(Path(f"/proc/{pid}/fd")):
            found += [each] if FOLDER in each else []
    return found


def _links(folder: Path) -> list[str]:
    links = []
    with suppress(OSError):  # the process ended meanwhile
        for each in folder.iterdir():
            with suppress(OSError):
                links.append(os.readlink(each))
    return links


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
