"""Fetches pictures for stored addresses that lack them, and deletes pictures without an address.

The `wanted_at` of an upload is renewed while it is in use, because a deleted upload cannot be fetched again.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection

from communities.ground.queue import wake
from communities.models import Picture
from communities.services.pictures import places
from communities.services.pictures.copies import FETCH

# A picture is kept for this time after its address was last written, because the script may be restored, by
# undo or by hand.
KEPT = timedelta(days=1)
KEPT_UPLOADS = timedelta(days=30)  # An upload is kept for this time after it was last in use (rule 1.52).
_USED = "used.community_id = picture.community_id AND used.address = picture.address"


def tidy(*, at: datetime) -> None:
    """Request pictures whose addresses were written without `want`, and delete pictures without an
    address.
    """
    in_use = places.addresses_in_use()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO communities_picture (community_id, address, name, wanted_at, due_at) "
            "SELECT community_id, address, replace(gen_random_uuid()::text, '-', ''), %s, %s "
            f"FROM ({in_use} EXCEPT SELECT community_id, address FROM communities_picture) missing "
            "ON CONFLICT DO NOTHING",
            [at, at],
        )
        if cursor.rowcount:
            wake(FETCH)
        cursor.execute(
            f"UPDATE communities_picture picture SET wanted_at = %s FROM ({in_use}) used "
            f"WHERE is_uploaded AND wanted_at < %s AND {_USED}",
            [at, at - KEPT],
        )
        cursor.execute(
            "SELECT id FROM communities_picture picture "
            "WHERE wanted_at < CASE WHEN is_uploaded THEN %s ELSE %s END "
            f"AND NOT EXISTS (SELECT FROM ({in_use}) used WHERE {_USED})",
            [at - KEPT_UPLOADS, at - KEPT],
        )
        unused = [row[0] for row in cursor.fetchall()]
    Picture.objects.filter(pk__in=unused, wanted_at__lt=at - KEPT).delete()
