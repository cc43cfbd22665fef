"""First steps of a new community: its settings, and a second author."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest
from django.urls import reverse

from communities.ground.actors import Actor
from communities.models import Community, Member
from communities.services import get_settings
from communities.services.tenants import settings
from communities.staff.home import FirstStep, add_first_steps


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
        FirstStep(
            order,
            steps[name],
            f"{page}?choose={name}#id_{name}",
            is_done=settings.is_chosen(name, community, own),
        )
        for order, name in enumerate(settings.TO_CHOOSE, 5)
    ]
