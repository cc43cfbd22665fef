from __future__ import annotations

import base64
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from tests.surveys.calling import NOON, Caller, faults, refusal
from tests.webhooks.listening import URL, happen, listen, row
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.services import webhooks


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


@pytest.fixture
def webhook(caller: Caller) -> dict[str, Any]:
    made = listen(caller)
    del made["secret"]
    return made


def everything_stored() -> str:
    """All about webhooks and idempotent requests that somebody reads who has a copy of the database."""
    told = []
    with connection.cursor() as cursor:
        tables = ("webhooks_webhook", "webhooks_event", "webhooks_delivery", "communities_idempotentrequest")
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")
            for stored in cursor.fetchall():
                told += [bytes(each) if isinstance(each, memoryview) else each for each in stored]
    return repr(told)


def test_a_webhook_is_registered_and_its_secret_told_once(caller: Caller) -> None:
    before = timezone.now().replace(microsecond=0)

    answer = caller.post(
        "/webhooks", {"url": URL, "events": ["project.opened", "response.submitted"], "name": " Board "}
    )

    made = answer.json()
    secret = made.pop("secret")
    assert answer.status_code == 201
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert before <= datetime.fromisoformat(made["created_at"]) <= timezone.now()
    assert list(made.items()) == [
        ("id", made["id"]),
        ("community_id", str(caller.community.pk)),
        ("name", "Board"),
        ("url", URL),
        ("events", ["project.opened", "response.submitted"]),
        ("secret_prefix", secret[:10]),
        ("is_active", True),
        ("created_at", made["created_at"]),
        ("updated_at", made["created_at"]),
        ("disabled_reason", None),
    ]
    assert caller.get(f"/webhooks/{made['id']}").json() == made
    assert caller.get("/webhooks").json()["data"] == [made]


def test_what_is_not_said_has_defaults(caller: Caller) -> None:
    made = listen(caller)

    assert (made["name"], made["is_active"]) == (None, True)


def test_secrets_are_not_readable_in_the_database(caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    made = caller.post("/webhooks", {"url": URL, "events": ["*"]}, **headers).json()

    rotated = caller.post(
        f"/webhooks/{made['id']}/rotate_secret", **headers | {"Idempotency-Key": "2"}
    ).json()

    stored = everything_stored()
    for secret in (made["secret"], rotated["secret"]):
        assert secret[10:] not in stored + caplog.text
        assert repr(base64.b64decode(secret[6:]))[2:-1] not in stored
    assert webhooks.signing_secrets(row(made), at=timezone.now()) == [rotated["secret"], made["secret"]]


def test_a_registration_sent_again_answers_the_same_secret(caller: Caller) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    answers = [caller.post("/webhooks", {"url": URL, "events": ["*"]}, **headers) for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert answers[1]["Idempotency-Replayed"] == "true"
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"url": None}, ("url", "null")),
        ({"url": ""}, ("url", "blank")),
        ({"url": 5}, ("url", "invalid_type")),
        ({"url": "https://example.com/" + "x" * 2029}, ("url", "too_long")),
        ({"url": "http://example.com/"}, ("url", "not_allowed")),
        ({"url": "https://127.0.0.1/"}, ("url", "not_allowed")),
        ({"url": "https://0x7f000001/"}, ("url", "not_allowed")),
        ({"url": "https://[::ffff:10.0.0.1]/"}, ("url", "not_allowed")),
        ({"url": "https://ada:secret@example.com/"}, ("url", "not_allowed")),
        ({"url": "https://example.com:22/"}, ("url", "not_allowed")),
        ({"url": "colloquy"}, ("url", "invalid")),
        ({"events": None}, ("events", "null")),
        ({"events": []}, ("events", "too_few")),
        ({"events": "*"}, ("events", "invalid_type")),
        ({"events": ["*", "project.exploded"]}, ("events[1]", "invalid_choice")),
        ({"events": [None]}, ("events[0]", "null")),
        ({"events": [5]}, ("events[0]", "invalid_type")),
        ({"name": "x" * 201}, ("name", "too_long")),
        ({"name": 5}, ("name", "invalid_type")),
        ({"is_active": None}, ("is_active", "null")),
        ({"is_active": "true"}, ("is_active", "invalid_type")),
    ],
)
def test_fields_that_are_refused(
    caller: Caller, webhook: dict[str, Any], fields: dict[str, object], fault: tuple[str, str]
) -> None:
    whole = {"url": URL, "events": ["*"], **fields}

    for answer in (caller.post("/webhooks", whole), caller.patch(f"/webhooks/{webhook['id']}", fields)):
        assert refusal(answer) == (400, "invalid_request")
        assert faults(answer) == {fault}
    assert caller.get("/webhooks").json()["data"] == [webhook]


def test_where_and_what_of_have_to_be_said(caller: Caller) -> None:
    answer = caller.post("/webhooks", {})

    assert faults(answer) == {("url", "required"), ("events", "required")}


def test_every_fault_is_told_at_once_in_sentences(caller: Caller) -> None:
    answer = caller.post("/webhooks", {"url": "https://10.0.0.1/", "events": ["*", "no"], "name": 5})

    assert faults(answer) == {
        ("url", "not_allowed"),
        ("events[1]", "invalid_choice"),
        ("name", "invalid_type"),
    }
    [told] = [each["message"] for each in answer.json()["violations"] if each["field"] == "url"]
    assert told == "`url` must lead to a public address."


def test_an_installation_may_allow_http_and_private_networks(caller: Caller, settings: Settings) -> None:
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True

    assert listen(caller, url="http://127.0.0.1:8080/")["url"] == "http://127.0.0.1:8080/"
    refused = caller.post("/webhooks", {"url": "http://127.0.0.1:22/", "events": ["*"]})
    assert faults(refused) == {("url", "not_allowed")}


def test_fields_at_their_bounds(caller: Caller) -> None:
    url = "https://example.com/" + "x" * 2028

    made = listen(caller, url=url, name="x" * 200, events=[*EventType.values, "*"])

    assert (made["url"], made["events"]) == (url, [*EventType.values, "*"])


def test_repeated_events_are_kept_once(caller: Caller) -> None:
    made = listen(caller, events=["project.opened", "*", "project.opened"])

    assert made["events"] == ["project.opened", "*"]
    changed = caller.patch(f"/webhooks/{made['id']}", {"events": ["*", "*"]}).json()
    assert changed["events"] == ["*"]


def test_what_nobody_knows_is_named_and_what_is_read_only_ignored(
    caller: Caller, webhook: dict[str, Any]
) -> None:
    sent = {**webhook, "id": "5", "secret": "mine", "disabled_reason": "gone", "ürl": URL}

    made = caller.post("/webhooks", sent)
    changed = caller.patch(f"/webhooks/{webhook['id']}", sent)

    assert (made["X-Ignored-Fields"], changed["X-Ignored-Fields"]) == ("%C3%BCrl", "%C3%BCrl")
    assert made.json()["secret"] != "mine"
    assert changed.json()["id"] == webhook["id"]
    assert changed.json()["disabled_reason"] is None


def test_a_community_has_at_most_20_webhooks(caller: Caller) -> None:
    made = [listen(caller) for _ in range(20)]

    refused = caller.post("/webhooks", {"url": URL, "events": ["*"]})

    assert refusal(refused) == (409, "conflict")
    listen(Caller())
    caller.delete(f"/webhooks/{made[0]['id']}")
    listen(caller)


def test_webhooks_are_listed_newest_first(
    caller: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    listen(Caller())
    first = listen(caller)
    caller.get("/webhooks")  # the key is remembered from here on
    with django_assert_num_queries(2):
        assert [each["id"] for each in caller.get("/webhooks").json()["data"]] == [first["id"]]

    later = [listen(caller)["id"] for _ in range(2)]

    with django_assert_num_queries(2):
        listed = caller.get("/webhooks").json()
    assert [each["id"] for each in listed["data"]] == [*reversed(later), first["id"]]
    assert listed["pagination"] == {"page": 1, "per_page": 25, "total": 3, "has_more": False}


def test_fields_change_alone(caller: Caller, webhook: dict[str, Any]) -> None:
    Webhook.objects.update(created_at=NOON, updated_at=NOON)

    changed = caller.patch(f"/webhooks/{webhook['id']}", {"name": None, "is_active": False})

    assert changed.status_code == 200
    expected = webhook | {"name": None, "is_active": False, "created_at": "2026-01-31T12:00:00Z"}
    assert changed.json() | {"updated_at": 0} == expected | {"updated_at": 0}
    assert datetime.fromisoformat(changed.json()["updated_at"]) > NOON
    assert caller.get(f"/webhooks/{webhook['id']}").json() == changed.json()


def test_nothing_sent_changes_nothing(caller: Caller, webhook: dict[str, Any]) -> None:
    Webhook.objects.update(updated_at=NOON)

    assert caller.patch(f"/webhooks/{webhook['id']}", {}).json()["updated_at"] == "2026-01-31T12:00:00Z"


def failing(webhook: dict[str, Any], *, is_off: bool) -> None:
    off = {"is_active": False, "disabled_reason": Webhook.DisabledReason.FAILING} if is_off else {}
    Webhook.objects.filter(pk=webhook["id"]).update(failing_since=NOON, **off)


@pytest.mark.parametrize("fields", [{"is_active": True}, {"url": "https://example.com/other"}])
@pytest.mark.parametrize("is_off", [True, False])
def test_failures_count_no_more_once_it_is_mended(
    caller: Caller, webhook: dict[str, Any], fields: dict[str, object], is_off: bool
) -> None:
    failing(webhook, is_off=is_off)

    changed = caller.patch(f"/webhooks/{webhook['id']}", fields).json()

    assert changed["disabled_reason"] is None
    assert changed["is_active"] is ("is_active" in fields or not is_off)
    assert row(webhook).failing_since is None


def test_other_changes_leave_failures_as_they_are(caller: Caller, webhook: dict[str, Any]) -> None:
    failing(webhook, is_off=True)
    read = caller.get(f"/webhooks/{webhook['id']}").json()
    assert (read["is_active"], read["disabled_reason"]) == (False, "failing")

    changed = caller.patch(f"/webhooks/{webhook['id']}", {**read, "name": "Board"}).json()

    assert (changed["name"], changed["is_active"], changed["disabled_reason"]) == ("Board", False, "failing")
    assert row(webhook).failing_since == NOON


def test_it_cannot_be_replaced(caller: Caller, webhook: dict[str, Any]) -> None:
    answer = caller.put(f"/webhooks/{webhook['id']}", {"url": URL, "events": ["*"]})

    assert refusal(answer) == (405, "method_not_allowed")
    assert answer["Allow"] == "DELETE, GET, PATCH"


def test_a_deleted_webhook_is_gone_and_so_are_its_secrets(caller: Caller, webhook: dict[str, Any]) -> None:
    caller.post(f"/webhooks/{webhook['id']}/rotate_secret")

    answers = [caller.delete(f"/webhooks/{webhook['id']}") for _ in range(2)]

    assert (answers[0].status_code, answers[0].content) == (204, b"")
    assert refusal(answers[1]) == (404, "not_found")
    assert caller.get("/webhooks").json()["data"] == []
    left = row(webhook)
    assert left.deleted_at is not None
    assert not left.is_active
    assert bytes(left.sealed_secret) == b""
    assert (left.sealed_previous_secret, left.previous_secret_expires_at) == (None, None)


def test_one_that_was_switched_off_can_be_deleted(caller: Caller, webhook: dict[str, Any]) -> None:
    failing(webhook, is_off=True)

    assert caller.delete(f"/webhooks/{webhook['id']}").status_code == 204


def test_the_old_secret_signs_too_for_a_day(caller: Caller) -> None:
    made = listen(caller)

    answer = caller.post(f"/webhooks/{made['id']}/rotate_secret")

    rotated = answer.json()
    assert answer.status_code == 200
    assert rotated["secret"] != made["secret"]
    assert rotated["secret_prefix"] == rotated["secret"][:10]
    changed = {"secret": 0, "secret_prefix": 0, "updated_at": 0}
    assert rotated | changed == made | changed
    now, both = timezone.now(), [rotated["secret"], made["secret"]]
    assert webhooks.signing_secrets(row(made), at=now + timedelta(hours=23, minutes=59)) == both
    assert webhooks.signing_secrets(row(made), at=now + timedelta(hours=24)) == both[:1]


def test_another_rotation_ends_the_one_before(caller: Caller) -> None:
    made = listen(caller)

    first, second = (caller.post(f"/webhooks/{made['id']}/rotate_secret").json() for _ in range(2))

    secrets = webhooks.signing_secrets(row(made), at=timezone.now())
    assert secrets == [second["secret"], first["secret"]]


@pytest.mark.parametrize("fields", [{}, {"is_active": False}, {"events": ["project.created"]}])
def test_a_ping_reaches_any_webhook(caller: Caller, fields: dict[str, object]) -> None:
    listen(caller)
    made = listen(caller, **fields)
    del made["secret"]

    answer = caller.post(f"/webhooks/{made['id']}/ping")

    told = answer.json()
    assert answer.status_code == 201
    assert (told["webhook_id"], told["event_type"]) == (made["id"], "webhook.ping")
    assert (told["status"], told["attempt_count"], told["next_retry_at"]) == ("pending", 0, None)
    delivery = Delivery.objects.get()
    assert (delivery.even_if_off, str(delivery.webhook_id)) == (True, made["id"])
    read = caller.get(f"/deliveries/{told['id']}").json()
    assert {field: read[field] for field in told} == told
    assert read["payload"] == {
        "id": told["event_id"],
        "type": "webhook.ping",
        "timestamp": told["created_at"],
        "api_version": "v1",
        "community_id": str(caller.community.pk),
        "data": {"webhook": made},
    }


def test_a_ping_sent_again_is_one_ping(caller: Caller, webhook: dict[str, Any]) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    answers = [caller.post(f"/webhooks/{webhook['id']}/ping", **headers) for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert Delivery.objects.count() == 1


def test_one_that_is_off_does_not_hear(caller: Caller) -> None:
    listen(caller, is_active=False)
    on = listen(caller)

    delivery = happen(caller.community)

    assert str(delivery.webhook_id) == on["id"]


CALLS = [
    ("get", ""),
    ("patch", ""),
    ("delete", ""),
    ("post", "/rotate_secret"),
    ("post", "/ping"),
    ("get", "/deliveries"),
]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_other_communities_and_deleted_ones_look_absent(caller: Caller, method: str, path: str) -> None:
    theirs, deleted = listen(Caller()), listen(caller)
    caller.delete(f"/webhooks/{deleted['id']}")

    answers = [
        caller.call(method, f"/webhooks/{webhook_id}{path}")
        for webhook_id in ("999999999999", theirs["id"], deleted["id"])
    ]

    assert [refusal(answer) for answer in answers] == [(404, "not_found")] * 3
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("access", ["creator", "member"])
def test_webhooks_are_admins_business(caller: Caller, access: str) -> None:
    webhook_id = listen(caller)["id"]
    other = caller.beside(access)

    answers = [other.call(method, f"/webhooks/{webhook_id}{path}") for method, path in CALLS]
    answers += [other.get("/webhooks"), other.post("/webhooks", {"url": URL, "events": ["*"]})]

    assert {refusal(answer) for answer in answers} == {(403, "forbidden")}
