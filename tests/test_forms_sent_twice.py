"""Every form of the admin that makes something makes it once, also if it is sent twice."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.db.models import Model
from django.urls import reverse

from communities.models import ApiKey, Community, Invitation, Member, VerifiedSource
from surveys.models import Project
from tests.factories import ProjectFactory
from tests.support.staff import Staff, hidden
from webhooks.models import Webhook
from xp.models import Achievement

pytestmark = pytest.mark.django_db

ONE_BY_NAME = {"communities_user_add", "auth_group_add"}  # the database refuses a second of the same name
NO_FORM = {403, 404}  # of models to which nobody adds by a form

# What to send to make something, by the name of the address.
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


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_sent_twice_makes_one_thing_and_leads_there(name: str) -> None:
    model, values = FORMS[name]
    staff = somebody(name)
    address = address_of(name, staff)
    form = {**values, "ticket": hidden(staff.client.get(address), "ticket")}
    before = model._default_manager.count()

    first = staff.client.post(address, form)
    second = staff.client.post(address, form)

    assert model._default_manager.count() == before + 1, first.content.decode()
    assert second.status_code == 302
    made = str(model._default_manager.order_by("-pk")[0].pk)
    if first.status_code == 302:
        assert second["Location"] == first["Location"]
    else:
        assert made in second["Location"]


def test_the_list_has_all_forms_that_add_something() -> None:
    staff = Staff()
    staff.user.is_superuser = True
    staff.user.save()
    names = [f"{model._meta.app_label}_{model._meta.model_name}_add" for model in admin.site._registry]

    adding = [name for name in names if staff.get(name).status_code not in NO_FORM]

    assert set(adding) <= set(FORMS) | ONE_BY_NAME
    assert len(adding) >= 7
