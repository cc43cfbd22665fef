"""No request leaves anything in a web process that depends on what its caller chose (rules 11.27 and 11.28).

The tests count the blocks of Python's allocator, one for each object of up to 512 bytes. A leak adds blocks
in every round of requests. Objects that are loaded or compiled only once do not count in later rounds.
"""

from __future__ import annotations

import functools
import gc
import logging
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, product
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import cachetools
import orjson
import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection, transaction
from django.test import Client, RequestFactory
from pytest_django import Settings

from communities.ground.tiers import TIERS, Tier
from tests.support.access import api_rows
from tests.support.access.addresses import spelled
from tests.support.access.scene import FilledCommunity, filled_community
from tests.support.accounts import sign_in
from tests.support.api_requests import new_address
from tests.support.effort import IS_THOROUGH
from tests.support.openapi import component, described
from tests.support.routes import Routed, routed_actions

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.thorough, pytest.mark.usefixtures("redis")]
application: Any = get_wsgi_application()
numbers = count(1)  # no two requests have the same
REQUESTS = 4  # in a round: one of each kind
ROUNDS = 20  # at most; the first one without growth ends them
PAGES = (
    "s/<slug:slug>",
    "r/<uuid:token>",
    "account/responses/",
    "admin/communities/member/",
    "admin/surveys/project/",
    "admin/surveys/project/<int:project_id>/responses/",
)
FILTERS_OF_PAGES = ("q", "status", "before", "after", "page", "next")
NOT_TOGETHER = {
    "after",
    "cursor",
    "page",
    "field.name",
    "rows",
    "columns",
    "segment_by",
    "values",
}  # valid with some others only


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> Iterator[FilledCommunity]:
    """A community, in a process where nothing that belongs to the tests keeps a part of a request."""
    monkeypatch.setitem(TIERS, "custom", Tier(requests_per_minute=10_000_000, has_premium_features=True))
    filled = filled_community("quokkavale", number=731_000_000_000_001)
    monkeypatch.setattr(connection.connection, "prepare_threshold", None)  # psycopg keeps 100 statements
    for number in range(50_000):  # orjson keeps about 2,000 names of properties; from here on it is full
        orjson.loads(f'{{"name {number}":0}}')
    logging.disable(logging.CRITICAL)  # pytest keeps every record
    for signal in (request_started, request_finished):  # the connection has the test's transaction
        signal.disconnect(close_old_connections)
    yield filled
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    logging.disable(logging.NOTSET)


@functools.cache
def bounded_caches() -> list[Callable[[], None]]:
    """Functions that empty the caches with a bound. Later collections leave out all present objects."""
    gc.unfreeze()
    gc.collect()
    objects = gc.get_objects()
    gc.freeze()
    memoized = [each for each in objects if issubclass(type(each), functools._lru_cache_wrapper)]
    return [
        *(each.cache_clear for each in memoized if each.cache_parameters()["maxsize"] is not None),
        *(each.clear for each in objects if issubclass(type(each), cachetools.Cache)),
        sys._clear_type_cache,
    ]


def blocks() -> int:
    """Count what remains when caches with a bound are empty."""
    for clear in bounded_caches():
        clear()
    gc.collect()
    return sys.getallocatedblocks()


def growth(send: Callable[[int], None], *, requests: int = REQUESTS) -> int:
    """The least number of blocks that a round of requests leaves."""
    before, least = blocks(), sys.maxsize
    for _ in range(ROUNDS):
        before = blocks()
        for _ in range(requests):
            send(next(numbers))
        least = min(least, blocks() - before)
        if least <= 0:
            break
    return least


def ask(method: str, address: str, number: int, body: str = "", **headers: str) -> None:
    """Send a request with headers that no other one has. The database keeps nothing of it."""
    for name in ("X-Request-Id", "Accept-Language", "User-Agent", *(["Idempotency-Key"] * (method != "get"))):
        headers[name] = f"x-{number}"
    # Django's client connects signals for each request, each of which leaves something.
    request = RequestFactory(REMOTE_ADDR=new_address()).generic(
        method.upper(), address, body, "application/json", headers=headers
    )
    statuses: list[str] = []
    with transaction.atomic():  # whose end drops what waits for its commit
        answer = application(request.environ, lambda status, *_: statuses.append(status))
        b"".join(answer)
        answer.close()
        transaction.set_rollback(True)
    # An answer about results waits for a worker, and none is here.
    waits = "/analysis/questions" in address and statuses[0].startswith("503")
    assert waits or statuses[0] < "429", (address, statuses)


def ask_operation(filled: FilledCommunity, routed: Routed, number: int) -> None:
    """Send requests with new texts, invalid texts, unknown names, or ids of missing objects."""
    operation, row = described()["paths"][routed.path][routed.method], api_rows.TABLE[routed.permission]
    known = {
        each["name"]: each["schema"] for each in operation.get("parameters", ()) if each["in"] == "query"
    }
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    bodies = [row.body, *(each["value"] for each in content.get("examples", {}).values())]
    sent = bodies[number // 4 % len(bodies)]
    ids, query, body = filled.ids, {}, "" if sent is None else orjson.dumps(sent).decode()
    match number % 4:
        case 0:
            query = {name: valid(known[name], number) for name in known if name not in NOT_TOGETHER}
            body = re.sub('"(name|nick|text|prompt)":"', rf"\g<0>{number} ", body)
        case 1:
            query = dict.fromkeys(list(known)[number // 4 % (len(known) or 1) :][:2], f"v{number}")
            body = re.sub('":"', f'":"{number} ', body)
        case 2:
            query = {f"field.f{number}_{each}": "v" for each in range(20)} | {f"unknown{number}": "v"}
            body = f'{{"unknown{number}":{{"name{number}":[{number}]}}}}'
        case _:
            ids = {name: absent(value, number) for name, value in ids.items()}
            ids["community_id"] = filled.ids["community_id"]
    body = re.sub(r'"{(\w+)}"', lambda found: f'"{ids[found[1]]}"', body)
    path = re.sub(r"{(\w+)}", lambda found: str(ids[row.of.get(found[1], found[1])]), routed.path)
    secret = filled.callers["admin"].secret
    ask(routed.method, f"{path}?{urlencode(query)}", number, body, **{"X-API-Key": secret})


def valid(schema: dict[str, Any], number: int) -> Any:
    schema = component(schema)
    if "enum" in schema:
        return schema["enum"][number // 4 % len(schema["enum"])]
    values = {"integer": number, "boolean": "true", "date-time": f"2026-01-01T00:00:00.{number:06}Z"}
    return values.get(str(schema.get("format")), values.get(schema["type"], f"v{number}"))


def absent(value: Any, number: int) -> Any:
    if isinstance(value, UUID):
        return UUID(int=number)
    return 1_000_000_000 + number if isinstance(value, int) else f"{value}{number}"


def ask_page(filled: FilledCommunity, route: str, cookie: str, number: int) -> None:
    """Ask for a page with another filter each time, and with a field that nobody knows."""
    query = {FILTERS_OF_PAGES[number % len(FILTERS_OF_PAGES)]: f"v{number}", f"field.f{number}": "v"}
    ask("get", f"{spelled(route, filled)}?{urlencode(query)}", number, Cookie=cookie)


def test_no_request_leaves_anything_behind(filled: FilledCommunity, settings: Settings) -> None:
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 0
    browser = Client()
    sign_in(browser, filled.callers["admin"].user)
    cookie = browser.cookies.output(attrs=[], header="", sep=";")
    senders = {each.permission: partial(ask_operation, filled, each) for each in routed_actions()}
    senders |= {route: partial(ask_page, filled, route, cookie) for route in PAGES}

    for _, send in product(range(REQUESTS), senders.values()):  # loads and compiles nearly everything
        send(next(numbers))
    left = {name: growth(send) for name, send in senders.items()}
    for name in left if IS_THOROUGH else ():
        if name.endswith(("list", "changes")) and left[name] <= 0:
            left[name] = growth(senders[name], requests=100)

    assert {name: number for name, number in left.items() if number > 0} == {}


def test_one_object_for_each_request_is_found() -> None:
    kept = functools.cache(lambda text: text)

    # Threads that other tests have left take and free some blocks at the same time.
    assert growth(lambda number: kept(f"text {number}"), requests=1_000) > 500
