"""Calls: what a client sends, how often, and how the response is read. Nothing here sends or waits."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

import httpx2

from colloquy_client.types import Violation

T = TypeVar("T")
Page = TypeVar("Page", bound=Mapping[str, Any])
Item = TypeVar("Item")
PASSING = {408, 429, 502, 503, 504}  # A later attempt may succeed.
PATIENCE = 60.0  # In seconds. A server that asks for more is not waited for.
ID = re.compile(r"[A-Za-z0-9_-]+")


class ApiError(Exception):
    """A refusal, or another response that is no success."""

    def __init__(self, response: httpx2.Response) -> None:
        body: Any = None
        if response.headers.get("content-type", "").startswith("application/json"):
            body = response.json()
        body = body if isinstance(body, dict) else {}
        self.status = response.status_code
        self.code: str = body.get("error", "unexpected_response")
        self.message: str = body.get("message", f"{self.status} {response.reason_phrase}")
        self.violations: list[Violation] = body.get("violations", [])
        self.request_id = response.headers.get("x-request-id")
        retry_after = response.headers.get("retry-after", "")
        self.retry_after = int(retry_after) if retry_after.isdecimal() else 0
        faults = [f"{each['field'] or 'body'}: {each['message']}" for each in self.violations]
        super().__init__("\n".join([f"{self.message} ({self.code})", *faults]))


@dataclass(frozen=True)
class Call(Generic[T]):
    """One operation with its arguments. The path is relative to the community unless it begins with `/`."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: object = None
    if_match: str | None = None

    def read(self, response: httpx2.Response) -> T:
        """The object in a response that has been received."""
        return cast(T, response.json() if response.content else None)


class Download(Call[bytes]):
    """A call that is answered with a file."""

    def read(self, response: httpx2.Response) -> bytes:
        return response.content


class Pages(Call[Page], Generic[Page, Item]):
    """A call that is answered with one page of several."""

    def first(self) -> Pages[Page, Item]:
        """The call that begins to read all pages: large ones, in the order of ids if the list has one."""
        return replace(self, query={**self.query, "per_page": self.query["per_page"] or 100})

    def following(self, page: Page) -> Pages[Page, Item] | None:
        """The call for the next page; None after the last one."""
        paging = page.get("pagination", page)
        if not paging["has_more"]:
            return None
        if "cursor" in page:
            place = {"cursor": page["cursor"]}
        elif self._goes_by_id():
            place = {"after": page["data"][-1]["id"]}
        else:
            place = {"page": paging["page"] + 1}
        return replace(self, query={**self.query, **place})

    def _goes_by_id(self) -> bool:
        """In an order of the caller's choice objects change their places, so `after` could leave some out."""
        return "after" in self.query and not self.query.get("page") and self.query.get("sort") in (None, "id")


def segment(identifier: str) -> str:
    """An id as a part of a path. Raises `ValueError` if the path would lead elsewhere."""
    if not ID.fullmatch(identifier):
        raise ValueError(f"{identifier!r} is not an id.")
    return identifier


def pause(failure: ApiError | httpx2.TransportError, attempt: int) -> float:
    """Seconds to wait after an attempt, counted from 0. Raises a failure that would only be repeated."""
    backoff = random.uniform(0.5, 1.0) * min(0.5 * 2.0**attempt, PATIENCE)
    if isinstance(failure, ApiError):
        if failure.status not in PASSING or failure.retry_after > PATIENCE:
            raise failure
        return max(backoff, failure.retry_after)
    return backoff
