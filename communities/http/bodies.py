"""JSON in, read with care, because it was written by anybody. How it goes out is in `communities.wire`.

Refused by name of the field where there is one: what PostgreSQL or other readers of JSON cannot keep (null
characters, halves of surrogate pairs, NaN, infinities, integers beyond 64 bits) and what is nested too deep.
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

from communities.errors import InvalidRequest, Refusal, refuse_all
from communities.http.shapes import Violation, complaint

MAX_BODY = 1_048_576  # bytes
MAX_DEPTH = 200  # of objects and lists in each other: conditions may be 50 deep, two levels each
MEDIA_TYPE = "application/json"
_MEDIA_TYPES = re.compile(r'application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?', re.IGNORECASE)
# What orjson takes although it may be at fault: null characters, and digits that it would round to a float.
_SUSPICIOUS = re.compile(rb"\\u0000|[0-9]{19}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class TooLarge(Refusal):
    """A body over one MiB."""


class NotJson(Refusal):
    """A body of another media type, or a compressed one."""


def received(request: HttpRequest) -> bytes:
    """The raw body, empty where there is none. Never reads more than a byte over the limit."""
    meta = request.META
    if "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower():
        raw = _received_in_chunks(request)
    elif _declared_length(meta.get("CONTENT_LENGTH", "")) > MAX_BODY:
        raise TooLarge("The body is larger than 1 MiB.")
    else:
        try:
            raw = request.body
        except UnreadablePostError:
            raise InvalidRequest("The body broke off.") from None
    if len(raw) > MAX_BODY:
        raise TooLarge("The body is larger than 1 MiB.")
    if raw:
        _require_json(meta.get("CONTENT_TYPE", ""), meta.get("HTTP_CONTENT_ENCODING", ""))
    return raw


def _declared_length(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest("Content-Length must be a number.")
    return int(text[:20])


def _received_in_chunks(request: HttpRequest) -> bytes:
    """Django takes a body without a length for an empty one, so it is read past Django."""
    known: bytes | None = request.__dict__.get("_body")
    if known is None:
        try:
            known = request.META["wsgi.input"].read(MAX_BODY + 1)
        except (ParseException, OSError):  # chunks that do not add up, or a connection that broke off
            raise InvalidRequest("The body could not be read.") from None
        request._body = known
    return known


def _require_json(content_type: str, content_encoding: str) -> None:
    if not _MEDIA_TYPES.fullmatch(content_type.strip()):
        raise NotJson("Content-Type must be application/json in UTF-8.")
    if content_encoding.strip().lower() not in {"", "identity"}:
        raise NotJson("Content-Encoding is not supported: send the body as it is.")


def parse(raw: bytes) -> dict[str, Any]:
    """The object in a body; no body is an empty object."""
    if not raw:
        return {}
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        _refuse_what_has_a_name(raw)
        raise InvalidRequest(
            f"The body is not valid JSON: {error.msg}, at line {error.lineno} column {error.colno}."
        ) from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _require_shallow(value)
    if _SUSPICIOUS.search(raw):
        _refuse_what_has_a_name(raw)
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


def _refuse_what_has_a_name(raw: bytes) -> None:
    """Read again with Python's own lenient reader, to name the fields that hold what nobody can keep."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return
    _require_shallow(value)
    violations = list(_unkeepable(value, ""))
    if violations:
        refuse_all(violations)


def _unkeepable(value: object, path: str) -> Iterator[Violation]:
    if isinstance(value, dict):
        for name, part in value.items():
            inner = f"{path}.{name}" if path else str(name)
            if _UNSTORABLE.search(name):
                yield complaint(
                    _UNSTORABLE.sub("?", inner), "invalid", "must be a name without null characters."
                )
            else:
                yield from _unkeepable(part, inner)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _unkeepable(part, f"{path}[{index}]")
    elif isinstance(value, str) and _UNSTORABLE.search(value):
        yield complaint(path, "invalid", "must not contain null characters or halves of characters.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield complaint(path, "invalid", "must be a finite number.")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        code = "too_large" if value > 0 else "too_small"
        yield complaint(path, code, "must be an integer of at most 64 bits.")
