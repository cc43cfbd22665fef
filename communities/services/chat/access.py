"""Tasks that the platform refused because the bot lacks access, and their retries.

A refused task is blocked: it has no due time, so it costs no requests while the bot is absent. Each task and
each check of the connection that succeeds makes blocked tasks due again. They are due at once if the platform
or an admin reports a change, else after 30 seconds, 1, 2, 4 minutes and so on up to an hour. The platform
counts refused requests against the bot, so a channel that stays closed must cost few requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from communities.models import ChatInstallation, ChatTask

SHORTEST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
_WAITS: Mapping[str, Any] = {"shortest": SHORTEST_WAIT, "longest": LONGEST_WAIT}

_READY_AT = """
    CASE WHEN attempt_count = 0 THEN last_attempt_at
        ELSE last_attempt_at + least(%(longest)s, %(shortest)s * power(2, least(attempt_count, 20) - 1)) END
"""
_UNBLOCK = f"""
    UPDATE communities_chattask SET status = 'pending', due_at = %(at)s, created_at = %(at)s
    WHERE community_id = %(community_id)s AND status = 'blocked' AND {_READY_AT} <= %(at)s
"""
_PLAN = f"""
    UPDATE communities_chatinstallation chat SET check_at = least(check_at, (
        SELECT min({_READY_AT}) FROM communities_chattask task
        WHERE task.community_id = chat.community_id AND task.status = 'blocked'
    ))
    WHERE community_id = %(community_id)s AND status = 'connected'
"""
_NEXT = f"""
    SELECT min({_READY_AT}) FROM communities_chattask
    WHERE community_id = %(community_id)s AND status = 'blocked'
"""


def note_refused(*, community_id: int, at: datetime) -> None:
    """Request a check of a community's connection: the platform refused a call as if the bot were not in the
    server.

    The check registers the commands again, because a server forgets them when the bot is removed.
    """
    ChatInstallation.objects.filter(
        community_id=community_id, status=ChatInstallation.Status.CONNECTED
    ).update(check_at=at, commands="")


def plan_check(*, community_id: int) -> None:
    """Schedule a check of the connection for the time when the first blocked task may be tried again."""
    with connection.cursor() as cursor:
        cursor.execute(_PLAN, {"community_id": community_id, **_WAITS})


def expect(*, community_id: int) -> None:
    """Retry blocked tasks at the next successful check, however often they were refused."""
    blocked = ChatTask.objects.filter(community_id=community_id, status=ChatTask.Status.BLOCKED)
    blocked.update(attempt_count=0)


def unblock(*, community_id: int, at: datetime) -> datetime | None:
    """Retry the blocked tasks whose waiting time is over, in the caller's transaction.

    Returns when the first of the other blocked tasks may be tried; None if there is none. The sweep wakes a
    worker.
    """
    values: dict[str, Any] = {"community_id": community_id, "at": at, **_WAITS}
    with connection.cursor() as cursor:
        cursor.execute(_UNBLOCK, values)
        cursor.execute(_NEXT, values)
        row = cursor.fetchone()
    return row[0] if row else None
