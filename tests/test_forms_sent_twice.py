"""Every form of the admin that makes something makes it once, also if it is sent twice."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.urls import reverse

from communities.forms.once import CHANGED_SINCE
from tests.support.accounts import Person
from tests.support.creation_forms import FORMS, address_of, somebody
from tests.support.staff import Staff, hidden, text_of

pytestmark = pytest.mark.django_db

ONE_BY_NAME = {"communities_user_add", "auth_group_add"}  # the database refuses a second of the same name
GIVES_TICKETS_BACK = "account/tickets.js"  # after the browser's Back
NO_FORM = {403, 404}  # of models to which nobody adds by a form


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_sent_twice_makes_one_thing_and_leads_there(name: str) -> None:
    model, values = FORMS[name]
    staff = somebody(name)
    address = address_of(name, staff)
    page = staff.client.get(address)
    assert GIVES_TICKETS_BACK in page.content.decode()
    form = {**values, "ticket": hidden(page, "ticket")}
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


# Another value that the sender of each form may give; a copy is made of what its address names.
CHANGED = {
    "surveys_project_add": {"name": "Club morning"},
    "communities_apikey_add": {"name": "Shop"},
    "communities_member_add": {"nick": "Marita"},
    "communities_community_add": {"name": "Rowing"},
    "communities_verifiedsource_add": {"label": "Players"},
    "xp_achievement_add": {"name": "Second survey"},
    "webhooks_webhook_add": {"name": "Till"},
    "communities_member_invite_people": {"emails": "bea@example.org"},
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_form_that_was_changed_after_it_was_sent_says_that_the_change_was_not_saved(name: str) -> None:
    model, values = FORMS[name]
    staff = somebody(name)
    address = address_of(name, staff)
    form = {**values, "ticket": hidden(staff.client.get(address), "ticket")}
    before = model._default_manager.count()

    staff.client.post(address, form)
    again = text_of(staff.client.post(address, form, follow=True))
    changed = text_of(staff.client.post(address, {**form, **CHANGED[name]}, follow=True))

    assert ("sent before" in again, CHANGED_SINCE in again) == (True, False)
    assert CHANGED_SINCE in changed
    assert model._default_manager.count() == before + 1


@pytest.mark.parametrize("name", ["account_key_new", "account_webhook_new"])
def test_forms_of_the_account_area_keep_their_ticket_too(name: str) -> None:
    community = Staff().community

    page = Person("admin", community).client.get(f"{reverse(name)}?community={community.pk}")

    assert hidden(page, "ticket")
    assert GIVES_TICKETS_BACK in page.content.decode()


def test_the_list_has_all_forms_that_add_something() -> None:
    staff = Staff()
    staff.user.is_superuser = True
    staff.user.save()
    names = [f"{model._meta.app_label}_{model._meta.model_name}_add" for model in admin.site._registry]

    adding = [name for name in names if staff.get(name).status_code not in NO_FORM]

    assert set(adding) <= set(FORMS) | ONE_BY_NAME
    assert {name for name in FORMS if FORMS[name][1]} == set(CHANGED)
    assert len(adding) >= 7
