"""A check of the connection that an admin requests, with the result in words."""

from __future__ import annotations

from datetime import datetime

from communities.chat_platform.client import PlatformError
from communities.models import ChatInstallation
from communities.services.chat import access, installations

AGAIN_AFTER = 5  # In seconds. One button asks the platform only once in this time.


def check_by_hand(*, community_id: int, at: datetime) -> tuple[str, bool]:
    """Check the connection now. Returns the result in words, and whether everything works.

    Never call this inside a transaction.
    """
    if not installations.is_configured():
        return "This installation has no application on Discord yet.", False
    row = installations.find(community_id=community_id)
    if row and row.checked_at and (at - row.checked_at).total_seconds() < AGAIN_AFTER:
        return _words(row)
    access.expect(community_id=community_id)
    try:
        return _words(installations.check(community_id=community_id, at=at))
    except PlatformError as failure:
        return f"Discord could not be asked just now. {failure.message}", False


def _words(row: ChatInstallation | None) -> tuple[str, bool]:
    if row is None or row.status != ChatInstallation.Status.CONNECTED:
        return "Checked: the bot is not in your server.", False
    if row.problems:
        return "Checked: the bot is in your server, but lacks something.", False
    return "Checked: the bot is in your server and has all that it needs.", True
