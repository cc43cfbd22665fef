"""The set-up wizard: for admins, saved after each step, with a record of its completion."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from django.urls import reverse

from communities.accounts.setup_forms import STEPS
from communities.models import AuditEntry, Community, CommunitySettings
from tests.factories import ApiKeyFactory, CommunityFactory
from tests.support.accounts import Person
from tests.support.staff import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ANSWERS: dict[str, dict[str, str]] = {
    "name": {"name": "Bay Rowing", "icon_url": "https://example.org/oar.png"},
    "privacy": {"default_anonymous_mode": "more_anonymous"},
    "points": {"use_xp": "on", "xp_name": "strokes"},
    "thanks": {
        "thank_you_type": "custom",
        "thank_you_custom_message": "Well rowed!",
        "allow_sign_up": "on",
    },
}


@pytest.fixture
def club() -> Community:
    community: Community = CommunityFactory.create(name="Rowing")
    return community


def send(person: Person, slug: str, **values: str) -> Any:
    return person.post("account_setup_step", person.community.pk, slug, **{**ANSWERS[slug], **values})


def complete(person: Person) -> None:
    for slug in ANSWERS:
        send(person, slug)


def test_the_wizard_fills_the_settings_and_notes_who_completed_it(club: Community) -> None:
    grace = Person("admin", club)

    complete(grace)

    club.refresh_from_db()
    settings = CommunitySettings.objects.get(pk=club.pk)
    assert (club.name, club.icon_url, club.user_setup_id) == (
        "Bay Rowing",
        "https://example.org/oar.png",
        grace.user.pk,
    )
    assert settings.default_anonymous_mode == "more_anonymous"
    assert (settings.use_xp, settings.xp_name) == (True, "strokes")
    assert (settings.thank_you_type, settings.thank_you_custom_message) == ("custom", "Well rowed!")
    assert settings.allow_sign_up


def test_each_step_leads_to_the_next_and_back(club: Community) -> None:
    grace = Person("admin", club)
    addresses = [reverse("account_setup_step", args=[club.pk, each.slug]) for each in STEPS]
    addresses.append(reverse("account_setup_done", args=[club.pk]))

    first = grace.get("account_setup", club.pk)["Location"]
    onward = [send(grace, each.slug)["Location"] for each in STEPS]
    third = grace.client.get(addresses[2])

    assert [first, *onward] == addresses
    assert "step 3 of 4" in text_of(third)
    assert f'href="{addresses[1]}">Back</a>' in third.content.decode()


def test_a_step_is_saved_as_one_goes_and_only_the_last_completes(club: Community) -> None:
    grace = Person("admin", club)

    for slug in ("name", "privacy", "points"):
        send(grace, slug)

    club.refresh_from_db()
    assert club.name == "Bay Rowing"
    assert club.user_setup_id is None
    assert CommunitySettings.objects.get(pk=club.pk).xp_name == "strokes"
    assert grace.get("account_setup_done", club.pk)["Location"].endswith("/name/")


def test_steps_begin_with_what_holds(club: Community) -> None:
    grace = Person("admin", club)
    CommunitySettings.objects.create(community=club, default_anonymous_mode="yes", use_xp=False)

    pages = {
        slug: grace.get("account_setup_step", club.pk, slug).content.decode()
        for slug in ("privacy", "points")
    }

    checked = {
        slug: re.findall(r'<input type="radio"[^>]*value="(\w+)"[^>]* checked', page)
        for slug, page in pages.items()
    }
    assert checked == {"privacy": ["yes"], "points": ["off"]}


@pytest.mark.parametrize(
    ("slug", "values", "words"),
    [
        ("name", {"name": " "}, "Name of the community: This field is required."),
        ("name", {"icon_url": "not an address"}, "Picture: Enter a valid URL."),
        (
            "privacy",
            {"default_anonymous_mode": "perhaps"},
            "Privacy of new surveys and polls: Select a valid choice.",
        ),
        ("thanks", {"thank_you_custom_message": " "}, "Write your own words, or choose ours."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_saved(
    club: Community, slug: str, values: dict[str, str], words: str
) -> None:
    grace = Person("admin", club)

    answer = send(grace, slug, **values)

    club.refresh_from_db()
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert (club.name, club.icon_url, club.user_setup_id) == ("Rowing", None, None)
    assert not CommunitySettings.objects.filter(pk=club.pk).exists()


def test_the_history_tells_of_changes_and_of_the_completion(club: Community) -> None:
    grace = Person("admin", club)

    complete(grace)

    entries = AuditEntry.objects.order_by("id").values_list("action", "actor_id")
    assert list(entries) == [
        ("community.updated", grace.user.pk),
        *[("settings.updated", grace.user.pk)] * 3,
        ("community.set_up", grace.user.pk),
    ]


def test_whoever_completes_it_last_is_told_by_the_interface(club: Community) -> None:
    grace, ada = Person("admin", club), Person("admin", club)
    secret = f"cq_live_{'k' * 43}"
    ApiKeyFactory.create(community=club, user=grace.user, secret=secret)
    path = f"/v1/communities/{club.pk}"

    told = []
    for person in (grace, ada):
        complete(person)
        told.append(grace.client.get(path, headers={"X-API-Key": secret}).json()["user_setup_id"])

    assert told == [str(grace.user.pk), str(ada.user.pk)]


@pytest.mark.parametrize(
    ("access", "status"),
    [("visitor", 302), ("stranger", 404), ("creator", 403)],
)
def test_nobody_else_sets_a_community_up(club: Community, access: str, status: int) -> None:
    person = Person("admin", CommunityFactory.create()) if access == "stranger" else Person(access, club)
    for slug, method in product([*ANSWERS, "done", ""], ["get", "post"]):
        path = reverse("account_setup", args=[club.pk]) + (f"{slug}/" if slug else "")
        is_refused = method == "post" and slug in ("done", "")  # they only read

        answer = getattr(person.client, method)(path, ANSWERS.get(slug, {}) if method == "post" else None)

        club.refresh_from_db()
        assert answer.status_code == (405 if is_refused else status), (slug, method)
        assert (club.name, club.user_setup_id) == ("Rowing", None)
        assert not CommunitySettings.objects.filter(pk=club.pk).exists()


def test_the_overview_offers_it_to_admins_until_somebody_completes_it(club: Community) -> None:
    address = reverse("account_setup", args=[club.pk])
    grace, creator = Person("admin", club), Person("creator", club)
    before = [address in each.get("account").content.decode() for each in (grace, creator)]

    complete(grace)

    assert before == [True, False]
    assert address not in grace.get("account").content.decode()
