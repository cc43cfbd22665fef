"""Files that are made while they are sent."""

from __future__ import annotations

import unicodedata
from collections.abc import Generator, Iterator
from threading import BoundedSemaphore
from urllib.parse import quote

import structlog
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework.request import Request

from communities.errors import Unavailable
from communities.faults import log_fault

Chunks = Generator[bytes, None, None]
log = structlog.get_logger("colloquy.requests")
# Of one process. Each keeps a thread for as long as its reader likes, and the rest of the site needs some.
AT_ONE_TIME = 2
SECONDS_TO_WAIT = 1.0  # most are sent in less
SECONDS_UNTIL_ONE_MAY_BE_DONE = 10
_places = BoundedSemaphore(AT_ONE_TIME)
_IN_PLAIN_NAMES = frozenset("()-._ ")


class BrokenOff(Exception):
    """Ends a connection in the middle of a file, so that nobody takes it for the whole."""


def download(
    request: HttpRequest | Request, *, content_type: str, file_name: str, chunks: Chunks
) -> StreamingHttpResponse:
    """A file, to be saved under this name; for HEAD its headers alone.

    Its first chunk is made at once: what fails until then can still be told in place of the file. So is
    that there are `AT_ONE_TIME` already.
    """
    body = iter(()) if request.method == "HEAD" else _Begun(chunks)
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = attachment(file_name)
    return response


def attachment(file_name: str) -> str:
    """Content-Disposition with the name in full (RFC 6266), and in ASCII for who reads no more."""
    stem, dot, extension = file_name.rpartition(".") if "." in file_name else (file_name, "", "")
    known = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    kept = "".join(sign for sign in known if sign.isalnum() or sign in _IN_PLAIN_NAMES)
    plain = " ".join(kept.split()).strip(". ") or "download"
    return f"attachment; filename=\"{plain}{dot}{extension}\"; filename*=UTF-8''{quote(file_name, safe='')}"


class _Begun(Iterator[bytes]):
    """Chunks, the first of them made. Closed with the response, also when the client has gone."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = _in_a_place(chunks)
        self._first: bytes | None = next(self._chunks, b"")

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return next(self._chunks)
        except StopIteration:
            raise
        except Exception as fault:
            log_fault(log, "request.failed", fault)
            raise BrokenOff("The file broke off; the log says where.") from None  # not its words: see there

    def close(self) -> None:
        self._chunks.close()


def _in_a_place(chunks: Chunks) -> Chunks:
    """The chunks, from the first to the last of which one of the places is taken.

    It is given back once, however they end: taken, broken, closed, or lost with their response.
    """
    places = _places
    if not places.acquire(timeout=SECONDS_TO_WAIT):
        raise Unavailable(
            "As many files as this site sends at one time are on their way. Please try again shortly.",
            retry_after=SECONDS_UNTIL_ONE_MAY_BE_DONE,
        )
    try:
        yield from chunks
    finally:
        places.release()
