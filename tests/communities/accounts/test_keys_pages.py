"""API keys in the account area: for admins alone, after re-authentication, each secret shown once."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from communities.gate import throttling
from communities.ground import redis_connection
from communities.models import ApiKey, AuditEntry, Community, IdempotentRequest, Member
from communities.services.api_keys import keys
from tests.factories import ApiKeyFactory, CommunityFactory, MemberFactory
from tests.support import mails
from tests.support.accounts import Person, sign_in
from tests.support.redis import without_redis
from tests.support.staff import hidden, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

SECRET = re.compile(r"cq_live_[\w-]{43}")


@pytest.fixture
def club() -> Community:
    community: Community = CommunityFactory.create(name="Harbour Chess Club")
    return community


def address(community: Community, name: str = "account_key_new") -> str:
    return f"{reverse(name)}?community={community.pk}"


def make(person: Person, **values: str) -> Any:
    path = address(person.community)
    form = {"name": "Website", "role": "creator", "lifetime": "90", **values}
    form.setdefault("ticket", hidden(person.client.get(path), "ticket"))
    return person.client.post(path, form)


def rotate(person: Person, key: ApiKey, **values: str) -> Any:
    ticket = hidden(person.get("account_key_rotate", key.pk), "ticket")
    return person.post("account_key_rotate", key.pk, **{"ticket": ticket, **values})


def secret_in(response: Any) -> str:
    found = set(SECRET.findall(response.content.decode()))
    assert len(found) == 1, found
    return found.pop()


def status_with(person: Person, secret: str) -> int:
    path = f"/v1/communities/{person.community.pk}"
    return person.client.get(path, headers={"X-API-Key": secret}).status_code


# --- Making -------------------------------------------------------------------------------------------


def test_a_new_key_works_at_once_and_belongs_to_its_maker(club: Community) -> None:
    grace = Person("admin", club)

    answer = make(grace, description="The club's site", scope="conversations")

    key, secret = ApiKey.objects.get(), secret_in(answer)
    assert key.scope == "conversations"
    assert (key.name, key.description, key.restricted_to) == ("Website", "The club's site", "creator")
    assert (key.user_id, key.community_id) == (grace.user.pk, club.pk)
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert status_with(grace, secret) == 403  # not a request of conversations


def test_the_page_with_the_secret_has_a_first_request_that_works(club: Community, settings: Any) -> None:
    grace = Person("admin", club)

    page = html.unescape(make(grace).content.decode())

    command = re.search(r"curl -H 'X-API-Key: (\S+)' \\\n\s+([^\s<]+)<", page)
    assert command is not None
    assert command[2] == f"{settings.BASE_URL}/v1/communities/{club.pk}"
    assert status_with(grace, command[1]) == 200


def test_a_secret_is_shown_once_and_stored_nowhere(club: Community) -> None:
    grace = Person("admin", club)
    EmailAddress.objects.create(user=grace.user, email="grace@example.org", verified=True, primary=True)

    answer = make(grace)
    secret = secret_in(answer)

    assert answer["Cache-Control"] == "no-store"
    later = [grace.client.get(address(club, "account_keys")), grace.client.get(reverse("account"))]
    assert not any(secret in page.content.decode() for page in later)
    rows = [*ApiKey.objects.values(), *AuditEntry.objects.values(), *IdempotentRequest.objects.values()]
    sessions = [session.get_decoded() for session in Session.objects.all()]
    assert secret not in str([rows, sessions, mails.written()])


def test_a_form_that_is_sent_twice_makes_one_key(club: Community) -> None:
    grace = Person("admin", club)
    ticket = hidden(grace.client.get(address(club)), "ticket")
    make(grace, ticket=ticket)

    again = make(grace, ticket=ticket)

    assert again["Location"] == address(club, "account_keys")
    assert ApiKey.objects.count() == 1
    assert "was sent before" in text_of(grace.client.get(again["Location"]))


def test_what_is_wrong_with_the_form_is_said_beside_what_was_typed(club: Community) -> None:
    grace = Person("admin", club)

    answer = make(grace, name="", description="For the site", lifetime="date", last_day="2020-01-01")

    page = text_of(answer)
    assert answer.status_code == 422
    assert "Name: This field is required." in page
    assert "This day is over already." in page
    assert "For the site" in page
    assert not ApiKey.objects.exists()


def test_one_key_more_than_a_community_may_have_is_refused_in_words(
    club: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = Person("admin", club)
    monkeypatch.setattr(keys, "MAX_KEYS", 1)
    make(grace)

    answer = make(grace)

    assert "A community has at most 1 API keys: revoke one first." in text_of(answer)
    assert ApiKey.objects.count() == 1


# --- Rotating and revoking ----------------------------------------------------------------------------


def test_a_rotated_key_has_a_new_secret_beside_the_earlier_one(club: Community) -> None:
    grace = Person("admin", club)
    first = secret_in(make(grace))
    key = ApiKey.objects.get()

    answer = rotate(grace, key)

    second = secret_in(answer)
    assert first != second
    assert "The earlier secret works until" in text_of(answer)
    assert [status_with(grace, each) for each in (first, second)] == [200, 200]


def test_a_key_is_rotated_once_if_the_form_is_sent_twice(club: Community) -> None:
    grace = Person("admin", club)
    key: ApiKey = ApiKeyFactory.create(community=club, user=grace.user)
    ticket = hidden(grace.get("account_key_rotate", key.pk), "ticket")
    rotate(grace, key, ticket=ticket)
    key.refresh_from_db()
    once = key.digest

    again = rotate(grace, key, ticket=ticket)

    key.refresh_from_db()
    assert again.status_code == 302
    assert key.digest == once


def test_a_key_that_is_revoked_meanwhile_cannot_be_rotated(club: Community) -> None:
    grace = Person("admin", club)
    key: ApiKey = ApiKeyFactory.create(community=club, user=grace.user, revoked_at=timezone.now())

    answer = rotate(grace, key)

    assert answer.status_code == 409
    assert "This API key is revoked or expired." in text_of(answer)


@pytest.mark.django_db(
    transaction=True
)  # the keys that this process remembers are forgotten after the commit
def test_a_revoked_key_is_refused_at_once(club: Community) -> None:
    grace = Person("admin", club)
    secret = secret_in(make(grace))
    key = ApiKey.objects.get()
    before = status_with(grace, secret)

    answer = grace.post("account_key_revoke", key.pk)

    assert answer["Location"] == address(club, "account_keys")
    assert (before, status_with(grace, secret)) == (200, 401)
    page = text_of(grace.client.get(answer["Location"]))
    assert "“Website” is revoked." in page
    assert "Keys that do not work any more (1)" in page


# --- Who may ------------------------------------------------------------------------------------------

ACTIONS = ("account_key_new", "account_key_rotate", "account_key_revoke")


def act(person: Person, action: str, key: ApiKey, method: str) -> Any:
    path = address(person.community) if action == "account_key_new" else reverse(action, args=[key.pk])
    values = {"name": "Mine", "lifetime": "never", "role": "", "ticket": "a-ticket"}
    return getattr(person.client, method)(path, values if method == "post" else None)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("access", "status"), [("visitor", 302), ("none", 404), ("creator", 403), ("admin", 200)]
)
def test_only_admins_make_rotate_and_revoke(
    club: Community, access: str, status: int, action: str, method: str
) -> None:
    owner = MemberFactory.create(community=club, access="admin")
    key: ApiKey = ApiKeyFactory.create(community=club, user=owner.user)
    person = Person(access, club)

    answer = act(person, action, key, method)

    is_revoked = (access, action, method) == ("admin", "account_key_revoke", "post")
    assert answer.status_code == (302 if is_revoked else status)
    if access == "visitor":
        assert answer["Location"].startswith(reverse("account_login"))
    unchanged = ApiKey.objects.filter(digest=key.digest, revoked_at=None)
    if access != "admin" or method == "get":
        assert list(ApiKey.objects.all()) == list(unchanged) == [key]


@pytest.mark.parametrize("action", ACTIONS)
def test_an_admin_of_another_community_finds_nothing_here(club: Community, action: str) -> None:
    owner = MemberFactory.create(community=club, access="admin")
    key: ApiKey = ApiKeyFactory.create(community=club, user=owner.user)
    stranger = Person("admin", CommunityFactory.create())
    stranger.community = club

    found = [act(stranger, action, key, method).status_code for method in ("get", "post")]

    assert found == [404, 404]
    assert stranger.client.get(address(club, "account_keys")).status_code == 404
    assert list(ApiKey.objects.filter(digest=key.digest, revoked_at=None)) == [key]


@pytest.mark.parametrize("action", ACTIONS)
def test_whoever_has_not_just_shown_who_they_are_does_so_first(club: Community, action: str) -> None:
    grace = Person("admin", club, is_fresh=False)
    key: ApiKey = ApiKeyFactory.create(community=club, user=grace.user)

    answers = [act(grace, action, key, method) for method in ("get", "post")]

    assert {each.status_code for each in answers} == {302}
    assert all(each["Location"].startswith(reverse("account_reauthenticate")) for each in answers)
    assert list(ApiKey.objects.filter(digest=key.digest, revoked_at=None)) == [key]


def test_what_was_asked_for_is_done_once_they_have_shown_who_they_are(club: Community) -> None:
    grace = Person("admin", club, is_fresh=False)
    grace.user.set_password("a calm purple teapot")
    grace.user.save()
    sign_in(grace.client, grace.user, is_fresh=False)
    key: ApiKey = ApiKeyFactory.create(community=club, user=grace.user)

    asked = grace.post("account_key_revoke", key.pk)
    key.refresh_from_db()
    before = key.revoked_at
    done = grace.client.post(asked["Location"], {"password": "a calm purple teapot"})

    key.refresh_from_db()
    assert before is None
    assert key.revoked_at is not None
    assert done["Location"] == address(club, "account_keys")


@pytest.mark.parametrize("access", ["member", "creator"])
def test_others_read_who_can_make_one(club: Community, access: str) -> None:
    Person("admin", club, name="Ada")
    person = Person(access, club)

    answer = person.client.get(address(club, "account_keys"))

    assert answer.status_code == 200
    assert "are made by its admins" in text_of(answer)
    assert "That is Ada." in text_of(answer)


def test_people_without_a_community_read_where_keys_are(club: Community) -> None:
    person = Person("none", club)

    page = text_of(person.get("account_keys"))

    assert "You belong to none yet." in page


def test_the_section_is_for_creators_and_admins(club: Community) -> None:
    shown = {
        access: reverse("account_keys") in Person(access, club).get("account").content.decode()
        for access in ("none", "member", "creator", "admin")
    }

    assert shown == {"none": False, "member": False, "creator": True, "admin": True}


# --- Reading ------------------------------------------------------------------------------------------


def test_the_list_tells_what_each_key_is_and_how_it_stands(club: Community) -> None:
    grace = Person("admin", club, name="Grace Hopper")
    gone = MemberFactory.create(community=club, left_at=timezone.now()).user
    ApiKeyFactory.create(community=club, user=grace.user, name="Website", restricted_to="creator")
    ApiKeyFactory.create(community=club, user=grace.user, name="Old", revoked_at=timezone.now())
    ApiKeyFactory.create(community=club, user=grace.user, name="Past", expires_at=timezone.now())
    ApiKeyFactory.create(community=club, user=gone, name="Orphan")
    rotated: ApiKey = ApiKeyFactory.create(community=club, user=grace.user, name="Turned")
    rotate(grace, rotated)

    page = text_of(grace.client.get(address(club, "account_keys")))

    assert re.search(
        r"Website In use .* Role Creator May send Everything that its role may "
        r"Last used Never Works until No end Made .* Grace Hopper",
        page,
    )
    assert re.search(r"Turned In use .* Rotated .* by Grace Hopper", page)
    for words in ("Old Revoked", "Past Expired", "Orphan Refused: its maker has left"):
        assert words in page


def test_an_admin_of_two_communities_chooses_one(club: Community) -> None:
    grace = Person("admin", club)
    other = CommunityFactory.create(name="Bay Rowing")
    MemberFactory.create(community=other, user=grace.user, access="admin")
    ApiKeyFactory.create(community=club, user=grace.user, name="Chess site")
    ApiKeyFactory.create(community=other, user=grace.user, name="Rowing site")

    here, there = (text_of(grace.client.get(address(each, "account_keys"))) for each in (club, other))

    assert "Chess site" in here
    assert "Rowing site" not in here
    assert "Rowing site" in there
    assert "Chess site" not in there
    assert "Community Bay Rowing Harbour Chess Club Show" in here


def test_the_list_tells_how_much_of_the_limit_is_used_and_counts_nothing(club: Community) -> None:
    grace = Person("admin", club)
    key: ApiKey = ApiKeyFactory.create(community=club, user=grace.user)
    for _ in range(3):
        throttling.take_for_key(key.pk, 60, community_id=club.pk)

    grace.client.get(address(club, "account_keys"))
    page = text_of(grace.client.get(address(club, "account_keys")))

    assert "3 of 60 requests in the last minute" in page
    assert throttling.take_for_key(key.pk, 60, community_id=club.pk).remaining == 56


def test_requests_that_have_left_the_window_are_not_told(club: Community) -> None:
    key: ApiKey = ApiKeyFactory.create(community=club)
    throttling.take_for_key(key.pk, 60, community_id=club.pk)
    client = redis_connection.client()
    name = f"colloquy:rate:key:{key.pk}"
    newest = int(client.lindex(name, 0) or 0)
    client.lpush(name, *(newest - 60_000_000 - each for each in range(5)))

    used = throttling.used_by_keys([key.pk, key.pk + 1])

    assert used == {key.pk: 1, key.pk + 1: 0}


def test_the_page_says_so_while_redis_is_down(club: Community) -> None:
    grace = Person("admin", club)
    ApiKeyFactory.create(community=club, user=grace.user, name="Website")

    with without_redis():
        page = text_of(grace.client.get(address(club, "account_keys")))

    assert "The requests of this minute are not known right now" in page
    assert "Website" in page
    assert "requests in the last minute" not in page


def test_the_page_tells_what_is_left(club: Community) -> None:
    Community.objects.filter(pk=club.pk).update(
        tier="premium", bot_credits=1234, active_project_count=2, total_project_count=17
    )

    page = text_of(Person("admin", club).client.get(address(club, "account_keys")))

    assert "Tier Premium Requests a minute 300 with each key Credits for AI left 1,234" in page
    assert "Projects open or planned 2 Projects ever made 17" in page


# --- Telling the owner --------------------------------------------------------------------------------


def test_the_owner_hears_of_a_new_key_and_of_a_rotation_by_somebody_else(club: Community) -> None:
    grace, ada = Person("admin", club), Person("admin", club, name="Ada")
    EmailAddress.objects.create(user=grace.user, email="grace@example.org", verified=True, primary=True)
    EmailAddress.objects.create(user=ada.user, email="ada@example.org", verified=True, primary=True)
    make(grace)

    rotate(ada, ApiKey.objects.get())

    told, turned = mails.written()
    assert {told["to"], turned["to"]} == {"grace@example.org"}
    assert (told["subject"], turned["subject"]) == ("New API key: Website", "API key rotated: Website")
    assert "Ada" in turned["text"]
    assert mails.path_in(told) == address(club, "account_keys")


def test_the_owner_hears_of_a_key_that_a_program_made(club: Community) -> None:
    grace = Person("admin", club)
    EmailAddress.objects.create(user=grace.user, email="grace@example.org", verified=True, primary=True)
    secret = secret_in(make(grace, role=""))

    made = grace.client.post(
        f"/v1/communities/{club.pk}/api_keys",
        {"name": "Made by a program"},
        content_type="application/json",
        headers={"X-API-Key": secret},
    )

    assert made.status_code == 201
    assert mails.subjects("grace@example.org")[-1] == "New API key: Made by a program"


def test_an_address_that_is_not_proven_gets_no_mail(club: Community) -> None:
    grace = Person("admin", club)
    EmailAddress.objects.create(user=grace.user, email="grace@example.org", verified=False, primary=True)

    make(grace)

    assert mails.written() == []


def test_the_history_tells_of_each_change(club: Community) -> None:
    grace = Person("admin", club)
    make(grace)
    key = ApiKey.objects.get()
    rotate(grace, key)

    grace.post("account_key_revoke", key.pk)

    entries = AuditEntry.objects.order_by("id").values_list("action", "actor_id", "source")
    assert [each[0] for each in entries] == ["api_key.created", "api_key.rotated", "api_key.revoked"]
    assert {each[1] for each in entries} == {grace.user.pk}
    assert Member.objects.get(user=grace.user).left_at is None
