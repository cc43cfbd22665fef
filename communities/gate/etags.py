"""Entity tags. That of a script is its revision: `"7"` is revision 7 (rule 3.33).

Other tags are digests. The tag of an object with figures that change by themselves has two parts: a digest of
what writes change, and one of the whole. `If-Match` compares the first part (rule 11.81).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

from communities.ground import wire
from communities.ground.errors import InvalidRequest

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*{_TAG}(?:\s*,\s*{_TAG})*\s*")
_QUOTED = re.compile('"([^"]*)"')
_BARE_REVISION = re.compile(r"[0-9]{1,9}")
_BETWEEN_PARTS = "-"
BYTES_OF_DIGEST = 16


def etag_of(version: int | str) -> str:
    """The entity tag of a revision, or of a digest of a response."""
    return f'"{version}"'


def digest_tag(data: Any, content: bytes, *, figures: Collection[str] = ()) -> str:
    """The entity tag of an object. `content` is the object as JSON; `figures` are the paths of the fields
    that change by themselves, such as `info.response_count`.
    """
    if not figures:
        return etag_of(_digest(content))
    return etag_of(f"{_digest(wire.render(_without(data, figures)))}{_BETWEEN_PARTS}{_digest(content)}")


def state_of(tag: str) -> str:
    """The part of an entity tag that `If-Match` compares, without quotation marks."""
    return tag.removeprefix("W/").strip('"').partition(_BETWEEN_PARTS)[0]


def parse_if_match(header: str) -> frozenset[str] | None:
    """Return the states (`state_of`) that a write with this If-Match header may change; None if it may
    change any.

    A weak tag counts like a strong tag, because our own compression and that of proxies weaken the tags of
    responses. The bare number from a script's `revision` field is accepted, too. Raises InvalidRequest for
    any other text.
    """
    if header.strip() == "*":
        return None
    if _BARE_REVISION.fullmatch(header):
        return frozenset({header})
    if not _TAGS.fullmatch(header):
        raise InvalidRequest('If-Match must be `*` or a list of entity tags like "7".')
    return frozenset(state_of(tag) for tag in _QUOTED.findall(header))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=BYTES_OF_DIGEST).hexdigest()


def _without(data: Mapping[str, Any], paths: Collection[str]) -> dict[str, Any]:
    rest = dict(data)
    for path in paths:
        group, _, name = path.rpartition(".")
        if group:
            rest[group] = {key: value for key, value in rest[group].items() if key != name}
        else:
            del rest[name]
    return rest
