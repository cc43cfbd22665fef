"""A community's settings, and its project counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from datetime import datetime
from typing import Any, Protocol

from communities import second_factors
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.statements import by_id, prepared
from communities.ground.transactions import in_transaction
from communities.models import AuditEntry, Community, CommunitySettings
from communities.services.pictures import copies
from communities.services.trail import audit


class Follow(Protocol):
    """Reacts to a change of a community's settings, in the transaction of the change."""

    def __call__(self, *, before: CommunitySettings, after: CommunitySettings, at: datetime) -> None: ...


_followers: list[Follow] = []


def follow_by(follow: Follow) -> None:
    """Register the function that reacts to changes, from the app that stores data which depends on the
    settings.
    """
    _followers[:] = [follow]


# Settings that the first steps ask an admin to choose. A new community has default values.
TO_CHOOSE = ("locale", "time_zone", "default_anonymous_mode")
PICTURES = ("logo_url", "background_url")
_COUNT_PROJECTS = """
    UPDATE communities_community SET total_project_count = total_project_count + %s,
        active_project_count = active_project_count + %s WHERE id = %s
"""


def get_settings(*, community_id: int) -> CommunitySettings:
    """Return the community's settings, or the defaults if none were ever saved."""
    own = by_id(CommunitySettings, community_id)
    return CommunitySettings(community_id=community_id) if own is None else own


def language(*, community_id: int) -> str:
    """The language in which a community asks, such as `de` for the locale `de-AT`; empty if none is set."""
    locale = get_settings(community_id=community_id).locale
    if not locale:
        community = by_id(Community, community_id)
        locale = community.locale if community else None
    return (locale or "").replace("_", "-").partition("-")[0].lower()


@in_transaction
def save_settings(*, actor: Actor, changes: Mapping[str, Any], at: datetime) -> CommunitySettings:
    """Change the given settings of the actor's community, and return all of them.

    Raises OwnFactorMissing if the actor asks the staff for a second factor and has none.
    """
    community_id = actor.community_id
    if not changes:
        return get_settings(community_id=community_id)
    row = lock(community_id=community_id)
    was = copy(row)
    before = {name: getattr(row, name) for name in changes}
    if changes.get(second_factors.FIELD) and not row.require_second_factor:
        second_factors.require_own(user_id=actor.user_id)
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(update_fields=list(changes))
    copies.want(community_id=community_id, addresses=[changes.get(name) for name in PICTURES])
    audit.record_change(
        actor=actor,
        action=Action.SETTINGS_UPDATED,
        on=audit.Subject(community_id, "settings", community_id),
        at=at,
        before=before,
        after=changes,
    )
    for follow in _followers:
        follow(before=was, after=row, at=at)
    return row


@in_transaction
def keep_settings(*, actor: Actor, names: Collection[str], at: datetime) -> Collection[str]:
    """Record that an admin chose these settings as they are, and return those that nobody had chosen
    before.
    """
    own = get_settings(community_id=actor.community_id)
    community = Community.objects.get(pk=actor.community_id)
    kept = {name: getattr(own, name) for name in names if not is_chosen(name, community, own)}
    if kept:
        audit.record(
            actor=actor,
            action=Action.SETTINGS_UPDATED,
            on=audit.Subject(community.pk, "settings", community.pk),
            at=at,
            before=kept,
            after=kept,
        )
    return kept.keys()


def is_chosen(name: str, community: Community, own: CommunitySettings) -> bool:
    """Whether an admin has chosen this setting: it differs from the default, or an entry of the audit trail
    contains it.

    The set-up asks for the privacy of new projects, and for neither language nor time zone.
    """
    if name == "default_anonymous_mode" and community.user_setup_id is not None:
        return True
    if getattr(own, name) != getattr(CommunitySettings(), name):
        return True
    changes = AuditEntry.objects.filter(community_id=community.pk, action=Action.SETTINGS_UPDATED)
    return changes.filter(after__has_key=name).exists()


def lock(*, community_id: int) -> CommunitySettings:
    """The settings under a row lock, created if none were ever saved."""
    own = CommunitySettings.objects.select_for_update(no_key=True).filter(pk=community_id)
    row = own.first()
    if row is None:
        CommunitySettings.objects.bulk_create(
            [CommunitySettings(community_id=community_id)], ignore_conflicts=True
        )
        row = own.get()
    return row


def count_projects(*, community_id: int, total: int = 0, active: int = 0) -> None:
    """Add to the numbers of all projects ever created, and of projects that are live or pending."""
    with prepared() as cursor:
        cursor.execute(_COUNT_PROJECTS, [total, active, community_id])
