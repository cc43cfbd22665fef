"""Roles that members earned. They wait in the database until `role_grants` carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from communities.ground.queue import wake
from communities.ground.statements import prepared
from xp.models import RoleGrant

GRANT_WAITING = "xp.grant_waiting_roles"
_GRANT = """
    INSERT INTO xp_rolegrant (member_id, community_id, role_id, project_id, project_name, created_at)
    SELECT id, community_id, %s::varchar, %s::bigint, %s::varchar, %s::timestamptz
    FROM communities_member WHERE id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id, role_id) WHERE carried_out_at IS NULL
    -- One that was refused is tried again, because the reason may have been mended.
    DO UPDATE SET is_asked_for = FALSE, refusal = '' WHERE xp_rolegrant.refusal <> ''
"""


def grant(*, member_id: int, role_id: str, project_id: int | None, project_name: str, at: datetime) -> None:
    """Record that a member earned a role. Does nothing if the same role already waits for the member."""
    name = project_name[: RoleGrant._meta.get_field("project_name").max_length]
    with prepared() as cursor:
        cursor.execute(_GRANT, [role_id, project_id, name, at, member_id])
    if not is_of_a_day(at):  # Roles of anonymous projects wait for the periodic task.
        wake(GRANT_WAITING)


def is_of_a_day(moment: datetime) -> bool:
    """Whether a time was rounded to its day. Times stored with anonymous answers are rounded in this way."""
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def granted_to(*, member_id: int) -> Iterator[dict[str, object]]:
    """A member's roles as JSON for their personal data: waiting and carried out, the earliest first."""
    for role_grant in RoleGrant.objects.filter(member_id=member_id).order_by("pk"):
        yield {
            "role_id": role_grant.role_id,
            "project_id": None if role_grant.project_id is None else str(role_grant.project_id),
            "project_name": role_grant.project_name or None,
            "created_at": role_grant.created_at,
            "carried_out_at": role_grant.carried_out_at,
            "state": role_grant.state,
        }


def erase(*, member_id: int) -> None:
    """Delete a member's roles, including those that wait."""
    RoleGrant.objects.filter(member_id=member_id).delete()


def merge(*, keep_id: int, drop_id: int) -> None:
    """Move the roles of a member to another member, who is the same person."""
    waiting = RoleGrant.objects.filter(member_id=keep_id, carried_out_at__isnull=True).values("role_id")
    twice = RoleGrant.objects.filter(member_id=drop_id, carried_out_at__isnull=True, role_id__in=waiting)
    twice.delete()
    RoleGrant.objects.filter(member_id=drop_id).update(member_id=keep_id)
