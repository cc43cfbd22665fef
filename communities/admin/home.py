"""First steps of a new community: its settings, and a second author."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.urls import reverse

from communities.actors import Actor
from communities.admin_site.home import FirstStep, add_first_steps
from communities.audit_actions import Action
from communities.models import AuditEntry, Community, Member


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
        FirstStep(
            5,
            "Choose the community's language, time zone and default privacy",
            reverse("admin:communities_communitysettings_change", args=[actor.community_id]),
            is_done=_are_settings_chosen(community),
        ),
        FirstStep(
            50,
            "Add a colleague who may write surveys",
            reverse("admin:communities_member_add"),
            is_done=colleagues > 1,
        ),
    ]


def _are_settings_chosen(community: Community) -> bool:
    """Whether somebody has chosen settings: in the set-up, or later. A new community has defaults."""
    if community.user_setup_id is not None:
        return True
    return AuditEntry.objects.filter(community_id=community.pk, action=Action.SETTINGS_UPDATED).exists()
