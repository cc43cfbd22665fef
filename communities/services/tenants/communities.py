"""Communities: created by superusers, described by their admins."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from communities.models import Community, CommunitySettings
from communities.services.people import memberships
from communities.services.pictures import copies
from communities.services.trail import audit

# Snowflakes count milliseconds since this moment. The count is followed by 22 bits, which distinguish
# snowflakes of the same millisecond.
SNOWFLAKE_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
SNOWFLAKE_BITS = 22
OF_BOTH_SIDES = ("name", "platform", "tier", "locale", "icon_url", "topics")
MAX_CREDITS = 2**31 - 1  # The database column allows no larger number.


def propose_id(*, at: datetime) -> int:
    """A snowflake of this moment that is not the id of any community."""
    milliseconds = int((at - SNOWFLAKE_EPOCH).total_seconds() * 1000)
    while True:
        proposed = (milliseconds << SNOWFLAKE_BITS) | secrets.randbits(SNOWFLAKE_BITS)
        if not Community.objects.filter(pk=proposed).exists():
            return proposed


@in_transaction
def create_community(
    *, by_user_id: int | None, community_id: int, name: str, tier: str, bot_credits: int, at: datetime
) -> Community:
    """Create a community with default settings and its creator as an admin.

    Without a creator, as by a command that names nobody, it has no member yet. Raises Conflict if another
    community has this id.
    """
    fields = {"name": name, "tier": tier, "bot_credits": bot_credits}
    community, is_new = Community.objects.get_or_create(
        pk=community_id, defaults={**fields, "created_date": at}
    )
    if not is_new:
        raise Conflict("This is the id of another community.")
    CommunitySettings.objects.create(community=community)
    actor = None if by_user_id is None else Actor(by_user_id, "admin", community.pk, tier)
    audit.record(
        actor=actor,
        action=Action.COMMUNITY_CREATED,
        on=audit.Subject(community.pk, "community", community.pk, name),
        at=at,
        after=fields,
    )
    if actor is not None:
        memberships.add_founder(actor=actor, at=at)
    return community


def make_test_side(community: Community, *, at: datetime) -> None:
    """Make the community in which the test keys of a locked community act, unless it has one (rule 1.760).

    All that separates communities separates the two. Nobody is a member of it, and it has no credits.
    """
    values = {name: getattr(community, name) for name in OF_BOTH_SIDES}
    test, is_new = Community.objects.get_or_create(
        test_of=community, defaults={**values, "id": propose_id(at=at), "created_date": at}
    )
    if is_new:
        own: Mapping[str, Any] = CommunitySettings.objects.filter(pk=community.pk).values().first() or {}
        CommunitySettings.objects.create(**{**own, "community_id": test.pk, "allow_sign_up": False})
        copies.want(community_id=test.pk, addresses=[test.icon_url])


@in_transaction
def change_community(
    *, actor: Actor, changes: Mapping[str, Any], credits_change: int = 0, at: datetime
) -> Community:
    """Change parts of a community: `name`, `icon_url`, `topics`, `tier`. The caller checks the permissions.

    `credits_change` is added to the current credits, because some may have been spent since the caller read
    them. The result stays between 0 and MAX_CREDITS.
    """
    row = Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    credits_after = min(max(row.bot_credits + credits_change, 0), MAX_CREDITS)
    after = {**changes, **({"bot_credits": credits_after} if credits_change else {})}
    before = {name: getattr(row, name) for name in after}
    for name, value in after.items():
        setattr(row, name, value)
    if after:
        row.save(update_fields=list(after))
    tests = Community.objects.filter(test_of=row)
    if changes:
        tests.update(**changes)
    for community_id in (row.pk, *tests.values_list("pk", flat=True)):
        copies.want(community_id=community_id, addresses=[changes.get("icon_url")])
    audit.record_change(
        actor=actor,
        action=Action.COMMUNITY_UPDATED,
        on=audit.Subject(row.pk, "community", row.pk, row.name),
        at=at,
        before=before,
        after=after,
    )
    return row
