"""Revisions as ETags: `"7"` is revision 7 (decisions 6.14)."""

from __future__ import annotations

import re

from communities.errors import InvalidRequest

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*{_TAG}(?:\s*,\s*{_TAG})*\s*")
_REVISION = re.compile(r'(?:W/)?"([0-9]{1,9})"')
_BARE_REVISION = re.compile(r"[0-9]{1,9}")


def etag_of(revision: int) -> str:
    return f'"{revision}"'


def revisions_in(if_match: str | None) -> frozenset[int] | None:
    """The revisions that a write with this If-Match may change; None where any will do.

    A weak tag counts like a strong one, because proxies that compress weaken what they pass on. A tag that is
    no revision of ours matches nothing. The bare number that a script's `revision` tells is taken too.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    if _BARE_REVISION.fullmatch(if_match):
        return frozenset({int(if_match)})
    if not _TAGS.fullmatch(if_match):
        raise InvalidRequest('If-Match must be `*` or a list of entity tags like "7".')
    return frozenset(int(revision) for revision in _REVISION.findall(if_match))
