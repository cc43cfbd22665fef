"""Whether our bot is in a community's server: services below `chat` need only this fact from it."""

from __future__ import annotations

from django.conf import settings

from communities.ground.statements import prepared
from communities.models import ChatInstallation


def is_configured() -> bool:
    """Whether this installation has an application on the chat platform."""
    return settings.CHAT is not None


def is_in_server(*, community_id: int) -> bool:
    """Whether our bot is in the server of a community, as far as we know."""
    if settings.CHAT is None:
        return False
    with prepared() as cursor:
        cursor.execute(
            "SELECT status FROM communities_chatinstallation WHERE community_id = %s", [community_id]
        )
        row = cursor.fetchone()
    return row is not None and row[0] == ChatInstallation.Status.CONNECTED
