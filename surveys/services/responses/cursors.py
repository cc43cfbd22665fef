"""The cursor of the feed of changes: the position up to which a reader has read.

Cursors are signed, so that nobody can forge one.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.core import signing

from communities.ground.errors import refuse
from surveys.services.ground import feed_order

LIFETIME = timedelta(days=31)
"""The time for which a cursor is valid. The interface promises 30 days; deletions are remembered
for as long.
"""
_SIGNER = signing.Signer(salt="colloquy.responses.changes")
_NO_ID = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in one feed.

    `feed` is the project or the community whose changes are read. `position` and `response_id` belong to the
    last returned change. The feed returns deletions from `begun_at` on, because this reader has never seen
    the responses of earlier deletions. `database` is the database in which these numbers are valid.
    """

    feed: str
    database: int
    begun_at: int
    position: int = 0
    response_id: uuid.UUID = _NO_ID

    def written(self, *, at: datetime) -> str:
        """The cursor as text for the reader, issued now."""
        parts = [
            self.feed,
            self.database,
            self.begun_at,
            self.position,
            self.response_id.hex,
            int(at.timestamp()),
        ]
        return _SIGNER.sign_object(parts, compress=False)


def read(text: str, *, feed: str, order: feed_order.Order, at: datetime) -> Cursor:
    """The cursor in a text. Refuses a cursor that is forged, of another feed or database, or too old."""
    try:
        stored_feed, database, begun_at, position, response_id, issued = _SIGNER.unsign_object(text)
    except (signing.BadSignature, ValueError, TypeError):
        refuse("cursor", "invalid", "`cursor` must be one that an earlier answer gave, unchanged.")
    if stored_feed != feed:
        refuse(
            "cursor",
            "invalid",
            "`cursor` belongs to another feed: each project, and all together, has its own.",
        )
    is_old = at - datetime.fromtimestamp(issued, UTC) > LIFETIME
    if is_old or database != order.database or position >= order.next:
        refuse(
            "cursor",
            "cursor_expired",
            "`cursor` is no longer good: it was given over 30 days ago, or before the database was replaced. "
            "Begin again without a cursor, and drop what the feed does not tell any more.",
        )
    return Cursor(feed, database, begun_at, position, uuid.UUID(response_id))
