"""Decides when a request has arrived completely.

All else is left to gunicorn's parser, which reads and interprets the request. A header ends with an empty
line. The header contains the length of a body, or a body is sent in chunks with their lengths. A malformed
request counts as complete, so that the parser refuses it at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from gunicorn.util import split_request_uri

HEADER_END = b"\r\n\r\n"
# The line with a chunk's size and extensions has at most this many bytes, and so have all trailers together.
MAX_CHUNK_LINE = 8_192
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*+0*+([0-9]{0,18}+)[ \t]*+\r\n")
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked")
_CONTINUE = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n")
_HEX = re.compile(rb"(?=[0-9a-fA-F])0*+[0-9a-fA-F]{0,12}")


@dataclass(slots=True)
class Arrival:
    """The header's information about the length of one request."""

    header_size: int
    path: bytes
    length: int | None  # The length of the body; None if the body is sent in chunks.
    # The request has the header Expect: 100-continue, so the client sends the body after `100 Continue`.
    waits_to_continue: bool
    chunks: Chunks | None = None

    def end(self, received: bytearray, limit: int) -> int:
        """The end of the request; 0 while a part is missing.

        This method does not wait for a body over the limit; `is_over(limit)` reports such a body.
        """
        if self.chunks is not None:
            return self.chunks.end(received, limit)
        end = self.header_size + (self.length or 0)
        return end if len(received) >= end or self.is_over(limit) else 0

    def is_over(self, limit: int) -> bool:
        """Whether the body is larger than the limit, as far as is known."""
        return (self.chunks.size if self.chunks is not None else self.length or 0) > limit


@dataclass(slots=True)
class Chunks:
    """The part of a chunked body that has arrived. Each byte is read once."""

    start: int
    size: int = 0  # The size of the content that has arrived so far.
    _position: int = field(default=0, init=False)
    # The bytes of the current chunk, and of the line break behind it, that were not read yet.
    _to_skip: int = field(default=0, init=False)
    _has_ended: bool = field(default=False, init=False)  # Only trailers follow.

    def __post_init__(self) -> None:
        self._position = self.start

    def end(self, received: bytearray, limit: int) -> int:
        """The end of the body; 0 while a part is missing.

        If the body is too large or malformed, the result is the end of the received bytes.
        """
        while self.size <= limit:
            skipped = min(self._to_skip, len(received) - self._position)
            self._position += skipped
            self._to_skip -= skipped
            if self._to_skip:
                return 0
            if self._has_ended:
                return self._end_of_trailers(received)
            line_end = received.find(b"\r\n", self._position)
            if line_end < 0:
                return self._incomplete(received)
            number = _HEX.match(received, self._position, line_end)
            # The body is malformed, or has hardly any content.
            if number is None or line_end - self.start > 2 * limit:
                return len(received)
            chunk = int(number[0], 16)
            self._position = line_end + 2
            self._has_ended = chunk == 0
            self._to_skip = chunk + 2 if chunk else 0
            self.size += chunk
        return len(received)

    def _end_of_trailers(self, received: bytearray) -> int:
        if received[self._position : self._position + 2] == b"\r\n":
            return self._position + 2
        end = received.find(HEADER_END, self._position)
        return end + len(HEADER_END) if end >= 0 else self._incomplete(received)

    def _incomplete(self, received: bytearray) -> int:
        return len(received) if len(received) - self._position > MAX_CHUNK_LINE else 0


def arrival(received: bytearray) -> Arrival | None:
    """The information in the header; None before it has arrived."""
    end = received.find(HEADER_END)
    if end < 0:
        return None
    size = end + len(HEADER_END)
    header = bytes(received[:size]).lower()
    request_line = bytes(received[: received.find(b"\r\n")])
    length = _LENGTH.search(header)
    chunks = Chunks(size) if _CHUNKED.search(header) else None
    return Arrival(
        header_size=size,
        path=_path(request_line),
        length=None if chunks else int(length[1] or 0) if length else 0,
        waits_to_continue=_CONTINUE.search(header) is not None and not request_line.endswith(b"HTTP/1.0"),
        chunks=chunks,
    )


def _path(request_line: bytes) -> bytes:
    """The path in the request line, without its query, as the application will see it."""
    target = request_line.partition(b" ")[2].partition(b" ")[0].decode("latin-1")
    try:
        return unquote_to_bytes(split_request_uri(target).path.encode("latin-1"))
    except ValueError:  # gunicorn's parser refuses the request.
        return b""
