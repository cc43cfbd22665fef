"""Entity tags. That of a script is its revision: `"7"` is revision 7 (rule 3.33)."""

from __future__ import annotations

import re

from communities.ground.errors import InvalidRequest

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*{_TAG}(?:\s*,\s*{_TAG})*\s*")
_REVISION = re.compile(r'(?:W/)?"([0-9]{1,9})"')
_BARE_REVISION = re.compile(r"[0-9]{1,9}")


def etag_of(version: int | str) -> str:
    """The entity tag of a revision, or of a digest of a response."""
    return f'"{version}"'


def parse_if_match(header: str | None) -> frozenset[int] | None:
    """Return the revisions that a write with this If-Match header may change; None if it may change any.

    A weak tag counts like a strong tag, because proxies that compress responses weaken their tags. A tag that
    is no revision of ours matches nothing. The bare number from a script's `revision` field is accepted, too.
    Raises InvalidRequest for any other text.
    """
    if header is None or header.strip() == "*":
        return None
    if _BARE_REVISION.fullmatch(header):
        return frozenset({int(header)})
    if not _TAGS.fullmatch(header):
        raise InvalidRequest('If-Match must be `*` or a list of entity tags like "7".')
    return frozenset(int(revision) for revision in _REVISION.findall(header))
