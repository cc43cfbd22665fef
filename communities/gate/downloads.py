"""Files that are streamed to the client while they are produced."""

from __future__ import annotations

import unicodedata
from collections.abc import Generator, Iterator
from typing import NamedTuple
from urllib.parse import quote

import structlog
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework.request import Request

from communities.ground.faults import log_fault
from communities.ground.slots import large_jobs

Chunks = Generator[bytes, None, None]
log = structlog.get_logger("colloquy.requests")
SECONDS_TO_WAIT = 1.0  # A download waits this long for a slot. Most downloads take less time.
RETRY_AFTER = 10  # seconds
_slots = large_jobs
_IN_PLAIN_NAMES = frozenset("()-._ ")


class File(NamedTuple):
    """A file to send. Nothing is read or prepared before the first chunk is requested.

    Close `chunks` if you do not consume all of them. Any chunk may raise; the file is then incomplete.
    """

    content_type: str
    file_name: str
    chunks: Chunks


class DownloadAborted(Exception):
    """Closes the connection in the middle of a file, so that no client takes the file for complete."""


def download(request: HttpRequest | Request, file: File, *, owner: str) -> StreamingHttpResponse:
    """Return a response that streams a file to be saved under its name; for HEAD, only its headers.

    The first chunk is produced immediately, so that an error response can still replace the file. Raises
    Unavailable if LARGE_JOBS jobs are running, or one job of this owner (`slots.of_community`, `of_user`).
    """
    body = iter(()) if request.method == "HEAD" else _StartedDownload(owner, file.chunks)
    response = StreamingHttpResponse(body, content_type=file.content_type)
    response["Content-Disposition"] = attachment(file.file_name)
    response["Accept-Ranges"] = "none"  # The file is made while it is sent.
    return response


def attachment(file_name: str) -> str:
    """Return a Content-Disposition with the full name (RFC 6266), and an ASCII name for older clients."""
    stem, dot, extension = file_name.rpartition(".") if "." in file_name else (file_name, "", "")
    in_ascii = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    allowed = "".join(sign for sign in in_ascii if sign.isalnum() or sign in _IN_PLAIN_NAMES)
    plain = " ".join(allowed.split()).strip(". ") or "download"
    return f"attachment; filename=\"{plain}{dot}{extension}\"; filename*=UTF-8''{quote(file_name, safe='')}"


class _StartedDownload(Iterator[bytes]):
    """The chunks of a file; the first one is already produced.

    Django closes the iterator with the response, even if the client has disconnected.
    """

    def __init__(self, owner: str, chunks: Chunks) -> None:
        self._chunks = _in_a_slot(owner, chunks)
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
            # The cause is hidden, because its message may repeat an answer.
            raise DownloadAborted("The download was aborted; the log says where.") from None

    def close(self) -> None:
        self._chunks.close()


def _in_a_slot(owner: str, chunks: Chunks) -> Chunks:
    """Yield the chunks while the owner has one of the slots.

    The slot is released once, when the chunks are exhausted, fail, are closed, or are garbage collected.
    """
    busy = "Too many downloads and imports are running. Please retry shortly."
    with _slots.held(owner, timeout=SECONDS_TO_WAIT, busy=busy, retry_after=RETRY_AFTER):
        yield from chunks
