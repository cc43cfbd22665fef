"""Request bodies: reading them within limits, and parsing them as JSON. `communities.wire` writes JSON.

Values that PostgreSQL or other JSON readers cannot store are refused by the name of their field: null
characters, unpaired surrogates, NaN, infinities, and integers beyond 64 bits. So is deep nesting.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import orjson
from django.http import HttpRequest, UnreadablePostError
from gunicorn.http.errors import ParseException

from communities.errors import InvalidRequest, Refusal, ViolationJson, refuse_all
from communities.http.validation import field_violation

MAX_BODY = 1_048_576  # bytes
MAX_FORM = 262_144  # bytes
_PATHS_OF_LARGE_BODIES = ("/v1/", "/admin/")
MAX_DEPTH = 200  # of nested objects and lists: conditions may be nested 50 deep, with two levels each
MEDIA_TYPE = "application/json"
TOO_LARGE = "The body is larger than 1 MiB."
NOT_JSON = "Content-Type must be application/json in UTF-8."
_MEDIA_TYPES = re.compile(r'application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?', re.IGNORECASE)
# What orjson accepts and we may not: null characters, and integers that it would round to a float.
_SUSPICIOUS = re.compile(rb"\\u0000|[0-9]{19}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class TooLarge(Refusal):
    """The body is larger than `MAX_BODY`."""


class NotJson(Refusal):
    """The body has another media type, or is compressed."""


def limit(path: str) -> int:
    """The largest body in bytes that is read at this address: for the interface and the admin, or a page."""
    return MAX_BODY if path.startswith(_PATHS_OF_LARGE_BODIES) else MAX_FORM


def admit(request: HttpRequest) -> None:
    """Refuse files and what is over the limit, without reading it, and read a body that comes in chunks.

    Django would take a body without Content-Length for an empty one. Raises TooLarge, NotJson (for files, at
    any address) or InvalidRequest.
    """
    meta = request.META
    is_chunked = "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower()
    length = 0 if is_chunked else _declared_length(meta.get("CONTENT_LENGTH", ""))
    if not (is_chunked or length):
        return
    if meta.get("CONTENT_TYPE", "").strip().lower().startswith("multipart/"):
        raise NotJson(NOT_JSON)
    most = limit(request.path_info)
    if is_chunked:
        body = _read_chunks(request, most + 1)
        length = len(body)
        request._body = body
    if length > most:
        raise TooLarge(TOO_LARGE)


def read_raw(request: HttpRequest) -> bytes:
    """Return the raw body of an admitted request, empty if there is none."""
    try:
        raw = request.body
    except UnreadablePostError:
        raise InvalidRequest("The connection closed before the whole body arrived.") from None
    if raw:
        _require_json(request.META.get("CONTENT_TYPE", ""), request.META.get("HTTP_CONTENT_ENCODING", ""))
    return raw


def _declared_length(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest("Content-Length must be a number.")
    return int(text.lstrip("0")[:20] or 0)


def _read_chunks(request: HttpRequest, size: int) -> bytes:
    try:
        body: bytes = request.META["wsgi.input"].read(size)
    except (ParseException, OSError):  # gunicorn could not parse a chunk, or the connection closed
        raise InvalidRequest("The body could not be read.") from None
    return body


def _require_json(content_type: str, content_encoding: str) -> None:
    if not _MEDIA_TYPES.fullmatch(content_type.strip()):
        raise NotJson(NOT_JSON)
    if content_encoding.strip().lower() not in {"", "identity"}:
        raise NotJson("Content-Encoding is not supported: send the body uncompressed.")


def parse(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; an empty object if there is no body."""
    if not raw:
        return {}
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        _refuse_unstorable(raw)
        raise InvalidRequest(
            f"The body is not valid JSON: {error.msg}, at line {error.lineno} column {error.colno}."
        ) from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _require_shallow(value)
    if _SUSPICIOUS.search(raw):
        _refuse_unstorable(raw)
    if type(value) is not dict:
        raise InvalidRequest("The body must be a JSON object.")
    return value


def _require_shallow(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for node in level
            for part in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise InvalidRequest(f"The body is nested more than {MAX_DEPTH} deep.")


def _refuse_unstorable(raw: bytes) -> None:
    """Parse again with Python's lenient parser, to name the fields whose values cannot be stored."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return
    _require_shallow(value)
    violations = list(_unstorable(value, ""))
    if violations:
        refuse_all(violations)


def _unstorable(value: object, path: str) -> Iterator[ViolationJson]:
    if isinstance(value, dict):
        for name, part in value.items():
            inner = f"{path}.{name}" if path else str(name)
            if _UNSTORABLE.search(name):
                yield field_violation(
                    _UNSTORABLE.sub("?", inner), "invalid", "must be a name without null characters."
                )
            else:
                yield from _unstorable(part, inner)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _unstorable(part, f"{path}[{index}]")
    elif isinstance(value, str) and _UNSTORABLE.search(value):
        yield field_violation(path, "invalid", "must not contain null characters or unpaired surrogates.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield field_violation(path, "invalid", "must be a finite number.")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        code = "too_large" if value > 0 else "too_small"
        yield field_violation(path, code, "must be an integer of at most 64 bits.")
