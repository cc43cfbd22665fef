"""The space that the pictures of a community take, under a lock until the transaction ends."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

_LOCK = 0x7069_6374  # The class of advisory locks.


def problem(community_id: int, size: int, *, but_id: int = 0) -> str:
    """Return why a file of `size` bytes has no room, in a sentence; empty if it has room. The file replaces
    the picture `but_id`.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashint8(%s))", [_LOCK, community_id])
        cursor.execute(
            "SELECT coalesce(sum(size), 0) FROM communities_picture WHERE community_id = %s AND id <> %s",
            [community_id, but_id],
        )
        used = int(cursor.fetchone()[0])
    most = settings.PICTURES_BYTES_PER_COMMUNITY
    return f"The community's pictures take {most / 1_048_576:g} MB already." if used + size > most else ""
