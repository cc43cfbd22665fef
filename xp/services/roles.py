"""Roles that members earned. They wait here until a chat platform is connected that carries them out."""

from __future__ import annotations

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
