"""Roles that members earned. They wait here until a chat platform is connected that carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from communities.statements import prepared
from xp.models import RoleGrant

_GRANT = """
    INSERT INTO xp_rolegrant (member_id, role_id, project_id, project_name, created_at)
    SELECT id, %s::varchar, %s::bigint, %s::varchar, %s::timestamptz
    FROM communities_member WHERE id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id, role_id) WHERE carried_out_at IS NULL DO NOTHING
"""


def grant(*, member_id: int, role_id: str, project_id: int | None, project_name: str, at: datetime) -> None:
    """Have a role wait for a member; one that waits already is not doubled."""
    name = project_name[: RoleGrant._meta.get_field("project_name").max_length]
    with prepared() as cursor:
        cursor.execute(_GRANT, [role_id, project_id, name, at, member_id])


def granted_to(*, member_id: int) -> Iterator[dict[str, object]]:
    """A member's roles, waiting and carried out, as their data tell them; the first earned first."""
    for given in RoleGrant.objects.filter(member_id=member_id).order_by("pk"):
        yield {
            "role_id": given.role_id,
            "project_id": None if given.project_id is None else str(given.project_id),
            "project_name": given.project_name or None,
            "created_at": given.created_at,
            "carried_out_at": given.carried_out_at,
        }


def erase(*, member_id: int) -> None:
    """Delete a member's roles, those that wait too."""
    RoleGrant.objects.filter(member_id=member_id).delete()
