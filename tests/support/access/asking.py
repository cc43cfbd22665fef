"""Requests of the sweep: each is rolled back, and returns its response and the rows that it changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection
from django.test import Client

from tests.support.access.scene import TwoCommunities
from tests.support.api_requests import new_address
from tests.support.database import taken_back
from tests.support.dumps import dump

WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b(?! OF)", re.IGNORECASE)
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is `raw` in lower case, with the address that a redirect leads to. `changes`: rows, by table.

    `policy` is the Content-Security-Policy of a page; None if the answer is no page.
    """

    status: int
    raw: str
    body: str
    changes: Mapping[str, set[str]]
    policy: str | None = None

    def says(self, word: str) -> bool:
        return word in self.body


def ask(
    here: TwoCommunities,
    role: str,
    method: str,
    path: str,
    body: object = None,
    *,
    with_key: bool = False,
    content_type: str = JSON,
) -> Answer:
    """Send a request with a role's browser or API key. Returns its changes, and rolls them back."""
    browser = Client(REMOTE_ADDR=new_address()) if with_key else here.browsers[role]
    cookies = copy(browser.cookies)
    headers = {"X-API-Key": here.keys[role]} if with_key and role in here.keys else {}
    sent = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
    wrote = _Writes()
    with taken_back(), connection.execute_wrapper(wrote):
        answer = browser.generic(
            method.upper(), path, sent, content_type, headers=headers, REMOTE_ADDR=new_address()
        )
        content = b"".join(answer) if answer.streaming else answer.content
        changes = changed(here.all_rows) if wrote.any else {}
    browser.cookies = cookies
    raw = content.decode(errors="replace")
    text = f"{raw} {answer.get('Location', '')}".lower()
    is_page = answer.get("Content-Type", "").startswith("text/html")
    policy = answer.get("Content-Security-Policy", "") if is_page else None
    return Answer(answer.status_code, raw, text, changes, policy)


class _Writes:
    """Notes whether a statement could have written rows."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
        self.any = self.any or (WRITES.search(str(sql)) is not None and "django_session" not in str(sql))
        return execute(sql, *rest)


def changed(before: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The rows that were deleted or inserted since; a changed row counts as both."""
    return {table: before[table] ^ rows for table, rows in dump().items() if before[table] != rows}
