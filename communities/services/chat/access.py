"""What the platform refused for want of access, and does once the bot has access again.

A task that meets such a refusal is blocked: it has no time at which it is due, so it costs no requests while
the bot is away. Each task and each check of the connection that succeeds has it tried again: at once if the
platform or an admin says that something has changed, else after 30 seconds, 1, 2, 4 minutes and so on up to
an hour. The platform counts refused requests against the bot: a channel that stays closed must cost few.
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
    """Have the connection of a community checked: the platform refused a call as if the bot were not there.

    The commands are registered again then, because a server forgets them with the bot.
    """
    ChatInstallation.objects.filter(
        community_id=community_id, status=ChatInstallation.Status.CONNECTED
    ).update(check_at=at, commands="")


def plan_check(*, community_id: int) -> None:
    """Have the connection checked when the first of what is blocked may be tried again."""
    with connection.cursor() as cursor:
        cursor.execute(_PLAN, {"community_id": community_id, **_WAITS})


def expect(*, community_id: int) -> None:
    """Have what is blocked tried at the next check that succeeds, however often it was refused."""
    blocked = ChatTask.objects.filter(community_id=community_id, status=ChatTask.Status.BLOCKED)
    blocked.update(attempt_count=0)


def unblock(*, community_id: int, at: datetime) -> datetime | None:
    """Have what is blocked tried again whose time has come, in the caller's transaction.

    Returns when the first of the others may be tried; None if there is none. The sweep wakes a worker.
    """
    values: dict[str, Any] = {"community_id": community_id, "at": at, **_WAITS}
    with connection.cursor() as cursor:
        cursor.execute(_UNBLOCK, values)
        cursor.execute(_NEXT, values)
        row = cursor.fetchone()
    return row[0] if row else None
