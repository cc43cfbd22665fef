"""API keys in the admin: the secret is shown once, and the limits are those of the interface."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from communities.models import ApiKey, AuditEntry
from communities.services.api_keys.keys import digest_of
from tests.factories import ApiKeyFactory, MemberFactory
from tests.support.staff import Staff, hidden, text_of

pytestmark = pytest.mark.django_db

SECRET = re.compile(r"cq_live_[\w-]{43}")


def make(staff: Staff, **values: str) -> Any:
    ticket = hidden(staff.get("communities_apikey_add"), "ticket")
    form = {"name": "Website", "role": "creator", "lifetime": "90", "ticket": ticket, **values}
    return staff.post("communities_apikey_add", **form)


def secret_in(response: Any) -> str:
    found = SECRET.findall(response.content.decode())
    assert len(set(found)) == 1, found
    return found[0]


def works(secret: str, community_id: int, staff: Staff) -> int:
    path = f"/v1/communities/{community_id}"
    return staff.client.get(path, headers={"X-API-Key": secret}).status_code


def test_a_new_key_works_and_belongs_to_its_maker() -> None:
    staff = Staff()

    answer = make(staff, description="The club's site", scope="read")

    key, secret = ApiKey.objects.get(), secret_in(answer)
    assert answer.status_code == 200
    assert (key.name, key.description, key.restricted_to) == ("Website", "The club's site", "creator")
    assert key.scope == "read"
    assert (key.user_id, key.community_id) == (staff.user.pk, staff.community.pk)
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert works(secret, staff.community.pk, staff) == 200


def test_the_secret_is_shown_once_and_kept_nowhere() -> None:
    staff = Staff()

    answer = make(staff)

    secret = secret_in(answer)
    assert "you will not see it again" in text_of(answer)
    assert "no-store" in answer["Cache-Control"]
    key = ApiKey.objects.get()
    pages = [staff.get("communities_apikey_changelist"), staff.get("communities_apikey_change", key.pk)]
    kept: list[Any] = [Session.objects.get(pk=staff.client.session.session_key).get_decoded()]
    kept += list(AuditEntry.objects.values("before", "after", "object_name"))
    for shown in [*(page.content.decode() for page in pages), *map(str, kept)]:
        assert secret not in shown
        assert digest_of(secret) not in shown


def test_a_form_that_is_sent_again_makes_no_second_key() -> None:
    staff = Staff()
    ticket = hidden(staff.get("communities_apikey_add"), "ticket")

    make(staff, ticket=ticket)
    again = make(staff, ticket=ticket)

    assert again.status_code == 302
    assert ApiKey.objects.count() == 1
    assert "This form was sent before" in text_of(staff.client.get(again["Location"]))


@pytest.mark.parametrize(("lifetime", "has_end"), [("never", False), ("365", True)])
def test_a_key_without_an_end_is_a_choice(lifetime: str, has_end: bool) -> None:
    make(Staff(), lifetime=lifetime)

    assert (ApiKey.objects.get().expires_at is not None) is has_end


def test_the_last_day_counts_in_the_communitys_time_zone() -> None:
    staff = Staff()
    staff.community.settings.time_zone = "Pacific/Auckland"
    staff.community.settings.save()
    day = (timezone.now() + timedelta(days=40)).date()

    make(staff, lifetime="date", last_day=day.isoformat())

    end = ApiKey.objects.get().expires_at
    assert end is not None
    assert end.astimezone(ZoneInfo("Pacific/Auckland")).isoformat()[:19] == (
        f"{day + timedelta(days=1)}T00:00:00"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"lifetime": "date", "last_day": "2020-01-31"}, "This day is over already."),
        ({"lifetime": "date", "last_day": "9999-12-31"}, "Choose a day between the years 1970 and 2999."),
    ],
)
def test_faults_are_said_at_the_form(values: dict[str, str], said: str) -> None:
    answer = make(Staff(), **values)

    assert answer.status_code == 200
    assert said in text_of(answer)
    assert not ApiKey.objects.exists()


def test_who_is_no_member_is_told_why_they_can_make_no_key() -> None:
    staff = Staff("superuser")
    staff.get("communities_apikey_changelist")

    answer = staff.get("communities_apikey_add")

    assert "You are not a member of Harbour Chess Club" in text_of(answer)
    assert 'name="name"' not in answer.content.decode()
    staff.post("communities_apikey_add", name="Website", lifetime="90", role="", ticket="one")
    assert not ApiKey.objects.exists()


def test_the_key_of_a_superuser_has_the_role_that_they_have_as_a_member() -> None:
    staff = Staff("superuser")
    MemberFactory.create(community=staff.community, user=staff.user, access="creator")

    make(staff, role="")

    assert "Creator" in text_of(staff.get("communities_apikey_changelist"))


def test_rotating_asks_first_and_keeps_the_earlier_secret_for_a_day() -> None:
    staff, maker = Staff(), Staff()
    key = ApiKeyFactory.create(community=staff.community, user=maker.user, secret="cq_live_" + "e" * 43)
    MemberFactory.create(community=staff.community, user=maker.user, access="admin", nick="Marit")

    question = staff.get("communities_apikey_rotate", key.pk)
    answer = staff.post("communities_apikey_rotate", key.pk, ticket=hidden(question, "ticket"))
    again = staff.post("communities_apikey_rotate", key.pk, ticket=hidden(question, "ticket"))

    assert "works for another 24 hours" in text_of(question)
    assert "in the name of Marit" in text_of(question)
    secret = secret_in(answer)
    assert "The earlier secret works until" in text_of(answer)
    assert [works(each, staff.community.pk, staff) for each in (secret, "cq_live_" + "e" * 43)] == [200, 200]
    assert again.status_code == 302
    key.refresh_from_db()
    assert key.rotated_by_id == staff.user.pk


def test_revoking_asks_first_and_holds_at_once(redis: object) -> None:
    staff = Staff()
    secret = secret_in(make(staff))
    key = ApiKey.objects.get()
    assert works(secret, staff.community.pk, staff) == 200

    question = staff.get("communities_apikey_revoke", key.pk)
    assert works(secret, staff.community.pk, staff) == 200
    answer = staff.post("communities_apikey_revoke", key.pk, follow=True)

    assert "From now on, requests with this key are refused" in text_of(question)
    assert "is revoked" in text_of(answer)
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert "Rotate" not in text_of(answer)


def test_the_list_says_what_state_each_key_is_in() -> None:
    staff, now = Staff(), timezone.now()
    gone = MemberFactory.create(community=staff.community, left_at=now)
    states: dict[str, dict[str, Any]] = {
        "Live": {},
        "Old": {"expires_at": now - timedelta(days=1)},
        "Gone": {"revoked_at": now},
        "Orphan": {"user": gone.user},
    }
    for name, fields in states.items():
        ApiKeyFactory.create(community=staff.community, name=name, **{"user": staff.user, **fields})

    page = text_of(staff.get("communities_apikey_changelist"))

    for name, state in (("Live", "In use"), ("Old", "Expired"), ("Gone", "Revoked"), ("Orphan", "Refused")):
        may = "Everything that its role may"
        assert re.search(rf"{name} \S+ {may} cq_live_\S+ ?… {state}", page), page
    live = text_of(staff.get("communities_apikey_changelist", state="revoked"))
    assert "Gone" in live
    assert "Orphan" not in live
