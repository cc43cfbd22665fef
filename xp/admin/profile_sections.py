"""Sections of a member's profile: achievements, roles and accounts. The ledger has a file of its own."""

from __future__ import annotations

from django.http import HttpRequest
from django.urls import reverse

from communities.ground.actors import Actor
from communities.identity_providers import platforms
from communities.models import Identity, Member
from communities.services.chat import overview
from communities.services.people import identities
from communities.services.pictures import copies
from communities.staff import acting
from xp.admin import profile
from xp.admin.achievements import picture_of
from xp.admin.roles import name_of_role, state_of
from xp.models import EarnedAchievement, RoleGrant

MAX_SHOWN = 100  # At most this many of each kind are shown.


@profile.add_sections
def achievements(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    earned = EarnedAchievement.objects.filter(member_id=member.pk)
    rows = list(earned.order_by("-awarded_at", "-number")[:MAX_SHOWN])
    pictures = copies.in_community(member.community_id, [each.image_url for each in rows])
    context = {
        "earned": [
            {"picture": picture_of(pictures.get(each.image_url), each.number, size=56), "row": each}
            for each in rows
        ]
    }
    return [profile.Section(10, "Achievements", "admin/communities/member/achievements.html", context)]


@profile.add_sections
def roles(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    """The roles that a member has earned, for admins only, as in the API."""
    if not actor.is_admin:
        return []
    grants = RoleGrant.objects.filter(member_id=member.pk).order_by("-pk")[:MAX_SHOWN]
    guild = overview.snapshot(community_id=actor.community_id)
    shown = [
        {"row": grant, "state": state_of(grant), "role": name_of_role(guild, grant.role_id)}
        for grant in grants
    ]
    context = {"grants": shown}
    return [profile.Section(20, "Roles", "admin/communities/member/roles.html", context)]


@profile.add_sections
def accounts(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    """The accounts that the community may know.

    Members who are not admins see only accounts on the chat platform.
    """
    known = identities.known_to(community_id=member.community_id)
    rows = Identity.objects.filter(known, user_id=member.user_id).order_by("pk")
    if not actor.is_admin:
        rows = rows.filter(provider=Identity.Provider.CHAT)
    shown = [(row, platforms.LABELS[row.provider]) for row in rows[:MAX_SHOWN]]
    security = reverse("admin:communities_user_sign_in", args=[member.user_id])
    is_superuser = acting.user_of(request).is_superuser
    context = {"accounts": shown, "security": security if is_superuser else ""}
    return [profile.Section(50, "Accounts", "admin/communities/member/accounts.html", context)]
