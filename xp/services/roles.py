"""Roles that members earned. They wait in the database until a connected chat platform carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from communities.statements import prepared
from xp.models import RoleGrant

_GRANT = """
    INSERT INTO xp_rolegrant (member_id, community_id, role_id, project_id, project_name, created_at)
    SELECT id, community_id, %s::varchar, %s::bigint, %s::varchar, %s::timestamptz
    FROM communities_member WHERE id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id, role_id) WHERE carried_out_at IS NULL DO NOTHING
"""


def grant(*, member_id: int, role_id: str, project_id: int | None, project_name: str, at: datetime) -> None:
    """Record that a member is to get a role. Does nothing if that role already waits for the member."""
    name = project_name[: RoleGrant._meta.get_field("project_name").max_length]
    with prepared() as cursor:
        cursor.execute(_GRANT, [role_id, project_id, name, at, member_id])


def granted_to(*, member_id: int) -> Iterator[dict[str, object]]:
    """A member's roles as JSON for their personal data: waiting and carried out, the earliest first."""
    for role_grant in RoleGrant.objects.filter(member_id=member_id).order_by("pk"):
        yield {
            "role_id": role_grant.role_id,
            "project_id": None if role_grant.project_id is None else str(role_grant.project_id),
            "project_name": role_grant.project_name or None,
            "created_at": role_grant.created_at,
            "carried_out_at": role_grant.carried_out_at,
        }


def erase(*, member_id: int) -> None:
    """Delete a member's roles, including those that wait."""
    RoleGrant.objects.filter(member_id=member_id).delete()


def merge(*, keep_id: int, drop_id: int) -> None:
    """Give a member the roles of another, who turned out to be the same person."""
    waiting = RoleGrant.objects.filter(member_id=keep_id, carried_out_at__isnull=True).values("role_id")
    twice = RoleGrant.objects.filter(member_id=drop_id, carried_out_at__isnull=True, role_id__in=waiting)
    twice.delete()
    RoleGrant.objects.filter(member_id=drop_id).update(member_id=keep_id)
