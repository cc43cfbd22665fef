"""API keys over the interface (rules 1.20, 1.21, 1.24 and 1.25)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from communities.models import ApiKey, Member, User
from communities.services.api_keys import keys
from tests.factories import ApiKeyFactory, StaffFactory
from tests.support.api_requests import ask, clear_caller_cache, key_of
from tests.support.caller import Caller, faults, refusal
from tests.support.instruments.respondent import opened


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


def use(secret: str) -> int:
    return ask("GET", "/v1/communities", key=secret).status_code


def test_a_key_is_created_and_its_secret_is_shown_once(caller: Caller) -> None:
    before = timezone.now().replace(microsecond=0)

    answer = caller.post("/api_keys", {"name": "Website", "description": "For the front page."})

    made = answer.json()
    secret = made.pop("key")
    assert answer.status_code == 201
    assert secret.startswith("cq_live_")
    assert len(secret) >= 40
    assert before <= datetime.fromisoformat(made.pop("created_at")) <= timezone.now()
    assert made == {
        "id": made["id"],
        "community_id": str(caller.community.pk),
        "user_id": str(caller.user.pk),
        "name": "Website",
        "description": "For the front page.",
        "key_prefix": secret[:14],
        "role": "admin",
        "scope": "all",
        "mode": "live",
        "is_active": True,
        "last_used_at": None,
        "expires_at": None,
        "rotated_at": None,
        "rotated_by": None,
        "rotated_by_name": None,
    }
    assert use(secret) == 200
    assert "key" not in caller.get("/api_keys").json()["data"][0]


def test_only_a_digest_is_stored(caller: Caller) -> None:
    secret = caller.post("/api_keys", {"name": "Website"}).json()["key"]

    row = ApiKey.objects.filter(name="Website").values().get()

    assert secret[8:] not in str(row)
    assert row["digest"] == keys.digest_of(secret)


def test_keys_are_listed_newest_first(caller: Caller) -> None:
    for name in ("one", "two"):
        caller.post("/api_keys", {"name": name})
    Caller()

    listed = caller.get("/api_keys?per_page=2").json()

    assert [key["name"] for key in listed["data"]] == ["two", "one"]
    assert listed["pagination"] == {"page": 1, "per_page": 2, "total": 3, "has_more": True}


def test_a_key_may_be_restricted_to_creator(caller: Caller) -> None:
    secret = caller.post("/api_keys", {"name": "Website", "role": "creator"}).json()["key"]

    answer = ask("GET", f"/v1/communities/{caller.community.pk}/api_keys", key=secret)

    assert refusal(answer) == (403, "forbidden")


def _send(secret: str, method: str, path: str, body: object = None) -> int:
    """The status of a request in the caller's community with this key."""
    return ask(method, path, body=b"" if body is None else body, key=secret).status_code


def test_a_scope_allows_some_requests_only(caller: Caller) -> None:
    """A key reads only, or leads conversations only (rule 1.49)."""
    script = {"blocks": [{"type": "open_text", "prompt": "Why?"}]}
    project = caller.post("/projects", {"name": "Boats", "type": "convo", "script": script}).json()
    opened(caller, project)
    community = f"/v1/communities/{caller.community.pk}"
    one = f"{community}/projects/{project['id']}"
    secrets = {
        scope: caller.post("/api_keys", {"name": scope, "scope": scope}).json()["key"]
        for scope in ("all", "read", "conversations")
    }
    begun = ask("POST", f"{one}/conversations", body={"external_id": "dora"}, key=secrets["conversations"])
    talk = f"{community}/conversations/{begun.json()['id']}"
    # For each request: its status with the scopes all, read and conversations.
    requests = [
        ("GET", f"{community}/projects", None, (200, 200, 200)),
        ("GET", one, None, (200, 200, 200)),
        ("GET", f"{one}/script", None, (200, 200, 200)),
        ("POST", f"{one}/conversations", {}, (201, 403, 201)),
        ("GET", talk, None, (200, 200, 200)),
        ("POST", f"{talk}/continue", {}, (409, 403, 409)),  # the step is a question
        ("POST", f"{talk}/back", {}, (409, 403, 409)),
        ("POST", f"{talk}/answers", {}, (400, 403, 400)),
        ("GET", f"{one}/responses", None, (200, 200, 403)),
        ("GET", f"{community}/members", None, (200, 200, 403)),
        ("PATCH", one, {"name": "Renamed"}, (200, 403, 403)),
        ("POST", f"{community}/api_keys", {"name": "More"}, (201, 403, 403)),
    ]

    statuses = [
        tuple(_send(secret, method, path, body) for secret in secrets.values())
        for method, path, body, _ in requests
    ]

    assert begun.status_code == 201
    assert statuses == [expected for *_, expected in requests]
    assert [key["scope"] for key in caller.get("/api_keys?per_page=4").json()["data"]] == [
        "all",
        "conversations",
        "read",
        "all",
    ]


def test_a_scope_is_shown_and_refused_in_words(caller: Caller) -> None:
    made = caller.post("/api_keys", {"name": "Mirror", "scope": "read"}).json()

    answer = ask("POST", f"/v1/communities/{caller.community.pk}/projects", body={}, key=made["key"])

    assert made["scope"] == "read"
    assert refusal(answer) == (403, "forbidden")
    assert answer.json()["message"] == ("The scope of this key is `read`, so it sends GET requests only.")


def test_a_key_may_expire(caller: Caller) -> None:
    ends = (timezone.now() + timedelta(hours=1)).replace(microsecond=0)

    made = caller.post("/api_keys", {"name": "Website", "expires_at": ends.isoformat()}).json()

    assert datetime.fromisoformat(made["expires_at"]) == ends
    ApiKey.objects.filter(pk=made["id"]).update(expires_at=timezone.now())
    assert use(made["key"]) == 401
    assert caller.get("/api_keys").json()["data"][0]["is_active"] is False


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, ("name", "required")),
        ({"name": ""}, ("name", "blank")),
        ({"name": None}, ("name", "null")),
        ({"name": "x" * 201}, ("name", "too_long")),
        ({"name": 5}, ("name", "invalid_type")),
        ({"description": "x" * 1001}, ("description", "too_long")),
        ({"role": "admin"}, ("role", "invalid_choice")),
        ({"role": "member"}, ("role", "invalid_choice")),
        ({"scope": "write"}, ("scope", "invalid_choice")),
        ({"scope": None}, ("scope", "null")),
        ({"expires_at": "2020-01-01T00:00:00Z"}, ("expires_at", "in_past")),
        ({"expires_at": "2099-01-01T00:00:00"}, ("expires_at", "invalid")),
        ({"expires_at": "soon"}, ("expires_at", "invalid")),
        ({"expires_at": 5}, ("expires_at", "invalid")),
    ],
)
def test_fields_that_are_refused(caller: Caller, fields: dict[str, object], fault: tuple[str, str]) -> None:
    body = fields if "name" in fields or not fields else {"name": "Website", **fields}

    answer = caller.post("/api_keys", body)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}
    assert ApiKey.objects.count() == 1


def test_a_community_has_at_most_50_keys(caller: Caller) -> None:
    ApiKeyFactory.create_batch(48, community=caller.community, user=caller.user)
    answers = [caller.post("/api_keys", {"name": f"{number}"}) for number in range(2)]
    assert [answer.status_code for answer in answers] == [201, 409]

    caller.delete(f"/api_keys/{answers[0].json()['id']}")

    assert caller.post("/api_keys", {"name": "Another"}).status_code == 201


def test_a_rotated_key_goes_on_under_a_new_secret(caller: Caller) -> None:
    made = caller.post("/api_keys", {"name": "Website"}).json()

    answer = caller.post(f"/api_keys/{made['id']}/rotate")

    rotated = answer.json()
    assert answer.status_code == 200
    assert rotated["key"] != made["key"]
    assert rotated["key_prefix"] == rotated["key"][:14]
    changed = dict.fromkeys(("key", "key_prefix", "rotated_at", "rotated_by", "rotated_by_name"))
    assert made | changed == rotated | changed
    assert [use(made["key"]), use(rotated["key"])] == [200, 200]
    ApiKey.objects.filter(pk=made["id"]).update(previous_expires_at=timezone.now())
    clear_caller_cache()
    assert [use(made["key"]), use(rotated["key"])] == [401, 200]


def test_a_key_may_rotate_itself(caller: Caller) -> None:
    rotated = caller.post(f"/api_keys/{key_of(caller).pk}/rotate").json()

    assert [use(caller.secret), use(rotated["key"])] == [200, 200]


def test_a_key_tells_who_rotated_it_last(
    caller: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    owner, other = caller.beside("admin"), caller.beside("admin")
    User.objects.filter(pk=other.user.pk).update(name="Marit")
    made = owner.post("/api_keys", {"name": "Website"}).json()
    before = timezone.now().replace(microsecond=0)

    own = owner.post(f"/api_keys/{made['id']}/rotate").json()
    answer = other.post(f"/api_keys/{made['id']}/rotate").json()

    with django_assert_num_queries(
        6
    ):  # the key, the count, the page, whose they are, their names, their access
        told = owner.get("/api_keys").json()["data"]
    assert [own[name] for name in ("rotated_by", "user_id")] == [str(owner.user.pk)] * 2
    assert told[0] == {name: value for name, value in answer.items() if name != "key"}
    assert (told[0]["user_id"], told[0]["rotated_by"]) == (str(owner.user.pk), str(other.user.pk))
    assert told[0]["rotated_by_name"] == "Marit"
    assert before <= datetime.fromisoformat(told[0]["rotated_at"]) <= timezone.now()
    assert {each["rotated_by"] for each in told[1:]} == {None}
    staff = Client()
    staff.force_login(StaffFactory.create())
    for page, args in (("change", [made["id"]]), ("changelist", [])):
        shown = staff.get(reverse(f"admin:communities_apikey_{page}", args=args)).content.decode()
        assert "Marit" in shown, page
    data = caller.get(f"/members/{Member.objects.get(user=owner.user).pk}/data").json()
    assert data["api_keys"][-1]["rotated_by"] == str(other.user.pk)


@pytest.mark.django_db(transaction=True)
def test_a_key_forgets_who_rotated_it_when_they_are_erased() -> None:
    caller = Caller()
    other = caller.beside("admin")
    mine, theirs = key_of(caller), key_of(other)
    for key in (mine, theirs):
        other.post(f"/api_keys/{key.pk}/rotate")

    erased = caller.delete(f"/members/{Member.objects.get(user=other.user).pk}/data")

    (told,) = caller.get("/api_keys").json()["data"]
    assert erased.status_code == 204
    assert (told["id"], told["rotated_by"], told["rotated_by_name"]) == (str(mine.pk), None, None)
    assert told["rotated_at"] is not None
    assert not User.objects.filter(pk=other.user.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_revoked_key_works_no_more() -> None:
    caller = Caller()
    made = caller.post("/api_keys", {"name": "Website"}).json()
    assert use(made["key"]) == 200

    answers = [caller.delete(f"/api_keys/{made['id']}") for _ in range(2)]

    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 2
    assert use(made["key"]) == 401
    assert caller.get("/api_keys").json()["data"][0]["is_active"] is False


def test_a_revoked_key_cannot_be_rotated(caller: Caller) -> None:
    made = caller.post("/api_keys", {"name": "Website"}).json()
    caller.delete(f"/api_keys/{made['id']}")

    assert refusal(caller.post(f"/api_keys/{made['id']}/rotate")) == (409, "conflict")


@pytest.mark.parametrize("key_id", ["1", "9" * 18, "x", "0"])
def test_a_key_that_is_not_there(caller: Caller, key_id: str) -> None:
    answers: list[Any] = [
        caller.delete(f"/api_keys/{key_id}"),
        caller.post(f"/api_keys/{key_id}/rotate"),
    ]

    assert [refusal(answer) for answer in answers] == [(404, "not_found")] * 2


def test_another_communitys_key_is_not_there(caller: Caller) -> None:
    theirs = key_of(Caller())

    assert refusal(caller.delete(f"/api_keys/{theirs.pk}")) == (404, "not_found")
    assert refusal(caller.post(f"/api_keys/{theirs.pk}/rotate")) == (404, "not_found")
