"""The forms of the admin that create something, and values for them."""

from __future__ import annotations

from django.db.models import Model
from django.urls import reverse

from communities.models import ApiKey, Community, Invitation, Member, VerifiedSource
from surveys.models import Project
from tests.factories import ProjectFactory
from tests.support.staff import Staff
from webhooks.models import Webhook
from xp.models import Achievement

# Values that create something, by the name of the address.
FORMS: dict[str, tuple[type[Model], dict[str, str]]] = {
    "surveys_project_add": (
        Project,
        {"name": "Club night", "type": "convo", "privacy_mode": "semi-private", "start": "empty"},
    ),
    "communities_apikey_add": (ApiKey, {"name": "Website", "role": "creator", "lifetime": "90"}),
    "communities_member_add": (Member, {"nick": "Marit", "access": "creator"}),
    "communities_community_add": (
        Community,
        {"name": "Rowing Club", "id": "4711", "tier": "basic", "bot_credits": "0"},
    ),
    "communities_verifiedsource_add": (
        VerifiedSource,
        {"kind": "game_store.owns", "target": "286160", "label": "Owners"},
    ),
    "xp_achievement_add": (Achievement, {"name": "First survey", "number": "7"}),
    "webhooks_webhook_add": (
        Webhook,
        {"name": "Shop", "url": "https://shop.example.org/in", "which": "all", "is_active": "on"},
    ),
    "communities_member_invite_people": (Invitation, {"emails": "ada@example.org", "access": "member"}),
    "surveys_project_clone_selected": (Project, {}),
}


def address_of(name: str, staff: Staff) -> str:
    if name == "surveys_project_clone_selected":
        project = ProjectFactory.create(community=staff.community, author=staff.user)
        return f"{reverse('admin:surveys_project_clone_selected')}?id={project.pk}"
    return reverse(f"admin:{name}")


def somebody(name: str) -> Staff:
    staff = Staff()
    if name.startswith("communities_community_"):
        staff.user.is_superuser = True
        staff.user.save()
    return staff
