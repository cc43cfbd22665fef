"""First steps of a new community: its settings, and a second author."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.urls import reverse

from communities.actors import Actor
from communities.admin_site.home import FirstStep, add_first_steps
from communities.audit_actions import Action
from communities.models import AuditEntry, Community, CommunitySettings, Member
from communities.services import get_settings


@add_first_steps
def first_steps(request: HttpRequest, actor: Actor) -> Sequence[FirstStep]:
    """The set-up wizard, for members; settings, and a second person who may write surveys."""
    if not actor.is_admin:
        return []
    own = Member.objects.filter(community_id=actor.community_id, left_at__isnull=True)
    colleagues = own.exclude(access=Member.Access.MEMBER)[:2].count()
    community = Community.objects.get(pk=actor.community_id)
    is_member = own.filter(user_id=actor.user_id, access=Member.Access.ADMIN).exists()
    wizard = FirstStep(
        1,
        "Set the community up in four short steps",
        reverse("account_setup", args=[actor.community_id]),
        is_done=community.user_setup_id is not None,
    )
    return [
        *([wizard] if is_member else []),
        *_settings_to_choose(community),
        FirstStep(
            50,
            "Add a colleague who may write surveys",
            reverse("admin:communities_member_add"),
            is_done=colleagues > 1,
        ),
    ]


def _settings_to_choose(community: Community) -> list[FirstStep]:
    """A step for each setting that the community's projects depend on. A new community has defaults."""
    page = reverse("admin:communities_communitysettings_change", args=[community.pk])
    own = get_settings(community_id=community.pk)
    steps = {
        "locale": "Choose the community's language",
        "time_zone": f"Choose the community's time zone; it is {own.time_zone} now",
        "default_anonymous_mode": "Choose the privacy of new surveys and polls",
    }
    return [
        FirstStep(order, text, f"{page}#id_{name}", is_done=_is_chosen(name, community, own))
        for order, (name, text) in enumerate(steps.items(), 5)
    ]


def _is_chosen(name: str, community: Community, own: CommunitySettings) -> bool:
    """Whether somebody has chosen this setting: it differs from the default, or did so before.

    The set-up asks for the privacy of new projects, and for no language or time zone.
    """
    if name == "default_anonymous_mode" and community.user_setup_id is not None:
        return True
    if getattr(own, name) != getattr(CommunitySettings(), name):
        return True
    changes = AuditEntry.objects.filter(community_id=community.pk, action=Action.SETTINGS_UPDATED)
    return changes.filter(after__has_key=name).exists()
