"""The two clients. They differ in how they wait; everything else is in `calls`."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, Self

import httpx2

from colloquy_client.calls import ApiError, Call, Download, Item, Page, Pages, T, pause

TIMEOUT = httpx2.Timeout(10, read=120)  # In seconds. Operations that use AI may take more than one minute.


class _Client:
    """What both clients know: the address, the key and the community."""

    def __init__(self, url: str, key: str, community: str, attempts: int) -> None:
        self._base = httpx2.URL(f"{url.rstrip('/')}/v1/communities/{community}/")
        self._key = key
        self._attempts = attempts

    def _options(self, call: Call[Any], idempotency_key: str | None = None) -> dict[str, Any]:
        """The arguments of a request. A write has an Idempotency-Key, the same in each attempt."""
        headers = {"X-API-Key": self._key}
        options: dict[str, Any] = {
            "method": call.method,
            "url": self._base.join(call.path),
            "headers": headers,
        }
        if call.method != "GET":
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        if call.if_match is not None:
            headers["If-Match"] = call.if_match
        if query := {name: value for name, value in call.query.items() if value is not None}:
            options["params"] = query
        if isinstance(call.body, bytes):
            headers["Content-Type"] = "application/x-ndjson"
            options["content"] = call.body
        elif call.body is not None:
            options["json"] = call.body
        return options

    def _pause(self, failure: ApiError | httpx2.TransportError, attempt: int) -> float:
        if attempt + 1 >= self._attempts:
            raise failure
        return pause(failure, attempt)


class Colloquy(_Client):
    """A client for one community.

    A call raises `ApiError` if it is refused, and `httpx2.TransportError` if no attempt gets a response.
    `http` brings time-outs and proxies of your choice; the client closes it.
    """

    def __init__(
        self, *, url: str, key: str, community: str, attempts: int = 5, http: httpx2.Client | None = None
    ) -> None:
        super().__init__(url, key, community, attempts)
        self._http = http or httpx2.Client(timeout=TIMEOUT)

    def send(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Send a call and return its answer. A write with a key of your own can be repeated after a crash."""
        return call.read(self._response(self._options(call, idempotency_key)))

    @contextmanager
    def download(self, call: Download) -> Iterator[httpx2.Response]:
        """Open a file; `iter_bytes` of the response reads the file piece by piece."""
        response = self._response(self._options(call), stream=True)
        try:
            yield response
        finally:
            response.close()

    def pages(self, call: Pages[Page, Item]) -> Iterator[Page]:
        """All pages of a list or feed."""
        rest: Pages[Page, Item] | None = call.first()
        while rest:
            page = self.send(rest)
            yield page
            rest = rest.following(page)

    def each(self, call: Pages[Page, Item]) -> Iterator[Item]:
        """All objects of a list or feed."""
        for page in self.pages(call):
            yield from page["data"]

    def _response(self, options: dict[str, Any], *, stream: bool = False) -> httpx2.Response:
        request = self._http.build_request(**options)
        for attempt in count():
            failure: ApiError | httpx2.TransportError
            try:
                response = self._http.send(request, stream=stream)
                if response.is_success:
                    return response
                response.read()
                failure = ApiError(response)
            except httpx2.TransportError as error:
                failure = error
            time.sleep(self._pause(failure, attempt))
        raise AssertionError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()


class AsyncColloquy(_Client):
    """The same for coroutines."""

    def __init__(
        self, *, url: str, key: str, community: str, attempts: int = 5, http: httpx2.AsyncClient | None = None
    ) -> None:
        super().__init__(url, key, community, attempts)
        self._http = http or httpx2.AsyncClient(timeout=TIMEOUT)

    async def send(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        """Send a call and return its answer. A write with a key of your own can be repeated after a crash."""
        return call.read(await self._response(self._options(call, idempotency_key)))

    @asynccontextmanager
    async def download(self, call: Download) -> AsyncIterator[httpx2.Response]:
        """Open a file; `aiter_bytes` of the response reads the file piece by piece."""
        response = await self._response(self._options(call), stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def pages(self, call: Pages[Page, Item]) -> AsyncIterator[Page]:
        """All pages of a list or feed."""
        rest: Pages[Page, Item] | None = call.first()
        while rest:
            page = await self.send(rest)
            yield page
            rest = rest.following(page)

    async def each(self, call: Pages[Page, Item]) -> AsyncIterator[Item]:
        """All objects of a list or feed."""
        async for page in self.pages(call):
            for item in page["data"]:
                yield item

    async def _response(self, options: dict[str, Any], *, stream: bool = False) -> httpx2.Response:
        request = self._http.build_request(**options)
        for attempt in count():
            failure: ApiError | httpx2.TransportError
            try:
                response = await self._http.send(request, stream=stream)
                if response.is_success:
                    return response
                await response.aread()
                failure = ApiError(response)
            except httpx2.TransportError as error:
                failure = error
            await asyncio.sleep(self._pause(failure, attempt))
        raise AssertionError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()
