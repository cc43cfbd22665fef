"""The page of a community in the admin, the list of all of them, and new ones."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from communities.admin.home import first_steps
from communities.ground.actors import Actor
from communities.models import AuditEntry, Community, CommunitySettings
from communities.services.tenants import communities, settings
from communities.staff.home import FirstStep
from tests.factories import CommunityFactory
from tests.support.staff import Staff, row_titles, text_of

pytestmark = pytest.mark.django_db

PAGE = "communities_communitysettings_change"


def form_in(response: Any) -> dict[str, str]:
    """The values that a browser would send for a form: inputs, text areas, selections and choices."""
    found, page = {}, response.content.decode()
    page = page[page.index("community-form") :]
    for tag in re.findall(r"<input [^>]*>", page):
        field = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        is_off = field.get("type") in ("radio", "checkbox") and " checked" not in tag
        if "name" in field and not is_off:
            default = "on" if field.get("type") == "checkbox" else ""
            found[field["name"]] = html.unescape(field.get("value", default))
    for name, text in re.findall(r'(?s)<textarea name="(\w+)"[^>]*>\s?(.*?)</textarea>', page):
        found[name] = html.unescape(text)
    for name, options in re.findall(r'(?s)<select name="(\w+)".*?>(.*?)</select>', page):
        found[name] = re.findall(r'value="([^"]*)" selected', options)[0]
    return found


def save(staff: Staff, **values: str | None) -> Any:
    """Send the form with these values changed; None clears a check box."""
    form = {**form_in(staff.get(PAGE, staff.community.pk)), **values}
    return staff.post(
        PAGE,
        staff.community.pk,
        follow=True,
        **{name: each for name, each in form.items() if each is not None},
    )


def settings_of(staff: Staff) -> CommunitySettings:
    return CommunitySettings.objects.get(pk=staff.community.pk)


def test_the_side_bar_leads_to_the_page_of_the_current_community() -> None:
    staff = Staff()

    answer = staff.get("communities_communitysettings_changelist")

    assert answer["Location"] == reverse(f"admin:{PAGE}", args=[staff.community.pk])
    page = staff.client.get(answer["Location"]).content.decode()
    assert "Harbour Chess Club" in page
    contents = re.findall(r'<a href="#(part-\d+)">', page)
    assert contents == re.findall(r'<h2 id="(part-\d+)">', page) != []


def step_of(staff: Staff, setting: str) -> FirstStep:
    """The first step that asks for a setting."""
    actor = Actor(staff.user.pk, "admin", staff.community.pk, "basic")
    steps = first_steps(RequestFactory().get("/admin/"), actor)
    return next(each for each in steps if each.address.endswith(f"#id_{setting}"))


def test_saving_the_page_as_it_is_chooses_the_settings_that_it_suggests() -> None:
    staff = Staff()

    saved = [text_of(save(staff)) for _ in range(2)]

    assert "Saved as it is." in saved[0]
    assert "Nothing was changed." in saved[1]
    assert all(step_of(staff, setting).is_done for setting in settings.TO_CHOOSE)


def test_an_admin_describes_the_community() -> None:
    staff = Staff()

    answer = save(
        staff,
        name="Harbour Chess",
        topics="chess,  blitz , chess,",
        time_zone="Europe/Oslo",
        locale="nb-NO",
        default_anonymous_mode="yes",
        use_xp=None,
        xp_name="Tempi",
        thank_you_type="custom",
        thank_you_custom_message="See you on Tuesday!",
    )

    assert "Saved." in text_of(answer)
    community, own = Community.objects.get(pk=staff.community.pk), settings_of(staff)
    assert (community.name, community.topics) == ("Harbour Chess", ["chess", "blitz"])
    assert (own.time_zone, own.locale, own.default_anonymous_mode) == ("Europe/Oslo", "nb-NO", "yes")
    assert (own.use_xp, own.xp_name, own.thank_you_custom_message) == (False, "Tempi", "See you on Tuesday!")


def test_where_anybody_may_join_the_address_to_hand_out_is_shown() -> None:
    staff = Staff()
    page = reverse(f"admin:{PAGE}", args=[staff.community.pk])
    address = f"{reverse('account_signup')}?community={staff.community.pk}"

    before = staff.read(page)
    save(staff, allow_sign_up="on")

    assert address not in before
    assert address in staff.read(page)
    assert "Make an account" in Client().get(address).content.decode()


def test_only_what_was_changed_is_saved() -> None:
    staff = Staff()
    seen = form_in(staff.get(PAGE, staff.community.pk))
    save(staff, xp_name="Tempi", topics="chess")  # somebody else, meanwhile

    staff.post(PAGE, staff.community.pk, **{**seen, "name": "Harbour Chess"})

    assert settings_of(staff).xp_name == "Tempi"
    community = Community.objects.get(pk=staff.community.pk)
    assert (community.name, community.topics) == ("Harbour Chess", ["chess"])
    changed = [set(entry.after or {}) for entry in AuditEntry.objects.order_by("happened_at")]
    assert changed[2:] == [{"name"}]
    assert sorted(map(list, changed[:2])) == [["topics"], ["xp_name"]]  # at one moment, in either order


def test_a_community_that_saved_no_settings_has_a_page_and_saves_some() -> None:
    staff = Staff(community=CommunityFactory.create())

    assert 'value="UTC"' in staff.get(PAGE, staff.community.pk).content.decode()
    save(staff, time_zone="Asia/Tokyo")

    assert settings_of(staff).time_zone == "Asia/Tokyo"
    save(staff, time_zone="buenos aires")

    assert settings_of(staff).time_zone == "America/Argentina/Buenos_Aires"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"time_zone": "../../etc/passwd"}, "This is not a time zone."),
        ({"topics": ",".join(map(str, range(21)))}, "at most 20 topics"),
        ({"icon_url": "javascript:alert(1)"}, "Enter a valid URL."),
    ],
)
def test_faults_are_said_at_the_form(values: dict[str, str], said: str) -> None:
    staff = Staff()

    assert said in text_of(save(staff, **values))
    assert not AuditEntry.objects.exists()


def test_tier_and_credits_are_shown_to_admins_and_changed_by_superusers() -> None:
    admin = Staff()

    page = admin.get(PAGE, admin.community.pk)
    save(admin, tier="vip", bot_credits="500")

    assert "Credits for AI 0" in text_of(page)
    assert 'name="tier"' not in page.content.decode()
    community = Community.objects.get(pk=admin.community.pk)
    assert (community.tier, community.bot_credits) == ("basic", 0)

    save(admin.beside("superuser"), tier="vip", bot_credits="500")

    community.refresh_from_db()
    assert (community.tier, community.bot_credits) == ("vip", 500)


def test_credits_spent_meanwhile_are_not_given_back() -> None:
    staff = Staff("superuser")
    Community.objects.update(bot_credits=100)
    seen = form_in(staff.get(PAGE, staff.community.pk))
    Community.objects.update(bot_credits=70)

    staff.post(PAGE, staff.community.pk, **{**seen, "bot_credits": "150"})

    assert Community.objects.get().bot_credits == 120


# --- All communities ----------------------------------------------------------------------------------


def names(response: Any) -> list[str]:
    return row_titles(response.content.decode())


def test_superusers_find_communities_by_words_and_id() -> None:
    staff = Staff("superuser")
    other = CommunityFactory.create(name="Reading Room", tier="vip")

    def found(**query: str) -> list[str]:
        return names(staff.get("communities_community_changelist", **query))

    assert set(found()) == {"Harbour Chess Club", "Reading Room"}
    assert found(q="read") == ["Reading Room"]
    assert found(q="chess harb") == ["Harbour Chess Club"]
    assert found(q=str(other.pk)) == ["Reading Room"]
    assert found(q="';") == []
    assert found(tier="vip") == ["Reading Room"]


def test_a_superuser_makes_a_community_with_the_proposed_id() -> None:
    staff = Staff("superuser")
    page = staff.get("communities_community_add").content.decode()
    proposed = re.findall(r'name="id" value="(\d+)"', page)[0]

    answer = staff.post(
        "communities_community_add", follow=True, name="New", id=proposed, tier="premium", bot_credits=5
    )

    made = Community.objects.get(pk=int(proposed))
    assert (made.name, made.tier, made.bot_credits) == ("New", "premium", 5)
    assert CommunitySettings.objects.filter(pk=made.pk).exists()
    assert "“New” is made, and you are its first admin." in text_of(answer)
    assert made.members.values_list("user", "access").get() == (staff.user.pk, "admin")
    assert AuditEntry.objects.get(action="community.created").actor_id == staff.user.pk


def test_the_id_of_another_community_is_refused() -> None:
    staff = Staff("superuser")

    answer = staff.post(
        "communities_community_add", name="New", id=staff.community.pk, tier="basic", bot_credits=0
    )

    assert "This is the id of another community." in text_of(answer)
    assert Community.objects.get(pk=staff.community.pk).name == "Harbour Chess Club"


def test_a_proposed_id_is_a_snowflake_of_the_moment() -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)

    proposed = communities.propose_id(at=at)

    assert (proposed >> 22) == int((at - datetime(2015, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    assert proposed < 2**63


@pytest.mark.parametrize("access", ["admin", "creator"])
def test_others_find_no_list_of_communities(access: str) -> None:
    staff = Staff(access)

    for page in ("changelist", "add"):
        assert staff.get(f"communities_community_{page}").status_code == 404
    assert staff.get("communities_community_change", staff.community.pk).status_code == 404


@pytest.mark.parametrize(
    "name", [PAGE, "communities_community_change", "communities_chatinstallation_change"]
)
def test_an_id_of_any_length_is_that_of_no_community(name: str) -> None:
    client = Staff("superuser", community=CommunityFactory.create()).client

    assert client.get(reverse(f"admin:{name}", args=["9" * 5_000])).status_code == 404
