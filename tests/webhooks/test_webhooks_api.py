"""Webhooks over the interface (rules 9.1 to 9.3)."""

from __future__ import annotations

import base64
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from tests.support.caller import Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.webhooks.registration import URL, emit_delivery, register_webhook, row
from webhooks.models import Delivery, Webhook
from webhooks.services import webhooks


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


@pytest.fixture
def webhook(caller: Caller) -> dict[str, Any]:
    created = register_webhook(caller)
    del created["secret"]
    return created


def everything_stored() -> str:
    """Everything about webhooks and idempotent requests that a copy of the database contains."""
    values: list[object] = []
    with connection.cursor() as cursor:
        tables = ("webhooks_webhook", "webhooks_event", "webhooks_delivery", "communities_idempotentrequest")
        for table in tables:
            cursor.execute(f"SELECT * FROM {table}")
            for stored in cursor.fetchall():
                values += [bytes(each) if isinstance(each, memoryview) else each for each in stored]
    return repr(values)


def test_a_new_webhook_shows_its_secret_once(caller: Caller) -> None:
    before = timezone.now().replace(microsecond=0)

    response = caller.post(
        "/webhooks", {"url": URL, "events": ["project.opened", "response.submitted"], "name": " Board "}
    )

    created = response.json()
    secret = created.pop("secret")
    assert response.status_code == 201
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert before <= datetime.fromisoformat(created["created_at"]) <= timezone.now()
    assert list(created.items()) == [
        ("id", created["id"]),
        ("community_id", str(caller.community.pk)),
        ("name", "Board"),
        ("url", URL),
        ("events", ["project.opened", "response.submitted"]),
        ("project_ids", None),
        ("secret_prefix", secret[:10]),
        ("is_active", True),
        ("created_at", created["created_at"]),
        ("updated_at", created["created_at"]),
        ("disabled_reason", None),
    ]
    assert caller.get(f"/webhooks/{created['id']}").json() == created
    assert caller.get("/webhooks").json()["data"] == [created]


def test_secrets_are_not_readable_in_the_database(caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    created = caller.post("/webhooks", {"url": URL, "events": ["*"]}, **headers).json()

    rotated = caller.post(
        f"/webhooks/{created['id']}/rotate_secret", **headers | {"Idempotency-Key": "2"}
    ).json()

    stored = everything_stored()
    for secret in (created["secret"], rotated["secret"]):
        assert secret[10:] not in stored + caplog.text
        assert repr(base64.b64decode(secret[6:]))[2:-1] not in stored
    assert webhooks.signing_secrets(row(created), at=timezone.now()) == [rotated["secret"], created["secret"]]


def test_a_repeated_registration_answers_the_same_secret(caller: Caller) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    responses = [caller.post("/webhooks", {"url": URL, "events": ["*"]}, **headers) for _ in range(2)]

    assert responses[0].content == responses[1].content
    assert responses[1]["Idempotency-Replayed"] == "true"
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "violation"),
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
def test_invalid_fields_are_refused(
    caller: Caller, webhook: dict[str, Any], fields: dict[str, object], violation: tuple[str, str]
) -> None:
    """Rule 9.15."""
    complete = {"url": URL, "events": ["*"], **fields}

    for response in (caller.post("/webhooks", complete), caller.patch(f"/webhooks/{webhook['id']}", fields)):
        assert refusal(response) == (400, "invalid_request")
        assert faults(response) == {violation}
    assert caller.get("/webhooks").json()["data"] == [webhook]


def test_all_violations_are_reported_at_once_in_sentences(caller: Caller) -> None:
    response = caller.post("/webhooks", {"url": "https://10.0.0.1/", "events": ["*", "no"], "name": 5})

    assert faults(response) == {
        ("url", "not_allowed"),
        ("events[1]", "invalid_choice"),
        ("name", "invalid_type"),
    }
    [message] = [each["message"] for each in response.json()["violations"] if each["field"] == "url"]
    assert message == "`url` must point to a public address."


def test_an_installation_may_allow_http_and_private_networks(caller: Caller, settings: Settings) -> None:
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True

    assert register_webhook(caller, url="http://127.0.0.1:8080/")["url"] == "http://127.0.0.1:8080/"
    refused = caller.post("/webhooks", {"url": "http://127.0.0.1:22/", "events": ["*"]})
    assert faults(refused) == {("url", "not_allowed")}


def test_a_community_has_at_most_20_webhooks(caller: Caller) -> None:
    created = [register_webhook(caller) for _ in range(20)]

    refused = caller.post("/webhooks", {"url": URL, "events": ["*"]})

    assert refusal(refused) == (409, "conflict")
    register_webhook(Caller())
    caller.delete(f"/webhooks/{created[0]['id']}")
    register_webhook(caller)


def test_webhooks_are_listed_newest_first(
    caller: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    register_webhook(Caller())
    first = register_webhook(caller)
    caller.get("/webhooks")  # caches the key
    with django_assert_num_queries(2):
        assert [each["id"] for each in caller.get("/webhooks").json()["data"]] == [first["id"]]

    later = [register_webhook(caller)["id"] for _ in range(2)]

    with django_assert_num_queries(2):
        listed = caller.get("/webhooks").json()
    assert [each["id"] for each in listed["data"]] == [*reversed(later), first["id"]]
    assert listed["pagination"] == {"page": 1, "per_page": 25, "total": 3, "has_more": False}


def test_only_the_sent_fields_change(caller: Caller, webhook: dict[str, Any]) -> None:
    Webhook.objects.update(created_at=NOON, updated_at=NOON)

    changed = caller.patch(f"/webhooks/{webhook['id']}", {"name": None, "is_active": False})

    assert changed.status_code == 200
    expected = webhook | {"name": None, "is_active": False, "created_at": "2026-01-31T12:00:00Z"}
    assert changed.json() | {"updated_at": 0} == expected | {"updated_at": 0}
    assert datetime.fromisoformat(changed.json()["updated_at"]) > NOON
    assert caller.get(f"/webhooks/{webhook['id']}").json() == changed.json()


def failing(webhook: dict[str, Any], *, is_off: bool) -> None:
    off = {"is_active": False, "disabled_reason": Webhook.DisabledReason.FAILING} if is_off else {}
    Webhook.objects.filter(pk=webhook["id"]).update(failing_since=NOON, **off)


@pytest.mark.parametrize("fields", [{"is_active": True}, {"url": "https://example.com/other"}])
@pytest.mark.parametrize("is_off", [True, False])
def test_a_new_url_or_switching_on_resets_failures(
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


def test_deleting_a_webhook_erases_its_secrets(caller: Caller, webhook: dict[str, Any]) -> None:
    caller.post(f"/webhooks/{webhook['id']}/rotate_secret")

    responses = [caller.delete(f"/webhooks/{webhook['id']}") for _ in range(2)]

    assert (responses[0].status_code, responses[0].content) == (204, b"")
    assert refusal(responses[1]) == (404, "not_found")
    assert caller.get("/webhooks").json()["data"] == []
    remaining = row(webhook)
    assert remaining.deleted_at is not None
    assert not remaining.is_active
    assert bytes(remaining.sealed_secret) == b""
    assert (remaining.sealed_previous_secret, remaining.previous_secret_expires_at) == (None, None)


def test_the_old_secret_also_signs_for_a_day(caller: Caller) -> None:
    created = register_webhook(caller)

    response = caller.post(f"/webhooks/{created['id']}/rotate_secret")

    rotated = response.json()
    assert response.status_code == 200
    assert rotated["secret"] != created["secret"]
    assert rotated["secret_prefix"] == rotated["secret"][:10]
    changed = {"secret": 0, "secret_prefix": 0, "updated_at": 0}
    assert rotated | changed == created | changed
    now, both = timezone.now(), [rotated["secret"], created["secret"]]
    assert webhooks.signing_secrets(row(created), at=now + timedelta(hours=23, minutes=59)) == both
    assert webhooks.signing_secrets(row(created), at=now + timedelta(hours=24)) == both[:1]


def test_another_rotation_retires_the_oldest_secret(caller: Caller) -> None:
    created = register_webhook(caller)

    first, second = (caller.post(f"/webhooks/{created['id']}/rotate_secret").json() for _ in range(2))

    secrets = webhooks.signing_secrets(row(created), at=timezone.now())
    assert secrets == [second["secret"], first["secret"]]


@pytest.mark.parametrize("fields", [{}, {"is_active": False}, {"events": ["project.created"]}])
def test_a_ping_reaches_any_webhook(caller: Caller, fields: dict[str, object]) -> None:
    register_webhook(caller)
    created = register_webhook(caller, **fields)
    del created["secret"]

    response = caller.post(f"/webhooks/{created['id']}/ping")

    delivery_json = response.json()
    assert response.status_code == 201
    assert (delivery_json["webhook_id"], delivery_json["event_type"]) == (created["id"], "webhook.ping")
    assert (delivery_json["status"], delivery_json["attempt_count"], delivery_json["next_retry_at"]) == (
        "pending",
        0,
        None,
    )
    delivery = Delivery.objects.get()
    assert (delivery.even_if_off, str(delivery.webhook_id)) == (True, created["id"])
    read = caller.get(f"/deliveries/{delivery_json['id']}").json()
    assert {field: read[field] for field in delivery_json} == delivery_json
    assert read["payload"] == {
        "id": delivery_json["event_id"],
        "type": "webhook.ping",
        "timestamp": delivery_json["created_at"],
        "api_version": "v1",
        "community_id": str(caller.community.pk),
        "data": {"webhook": created},
    }


def test_a_repeated_ping_is_sent_once(caller: Caller, webhook: dict[str, Any]) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    responses = [caller.post(f"/webhooks/{webhook['id']}/ping", **headers) for _ in range(2)]

    assert responses[0].content == responses[1].content
    assert Delivery.objects.count() == 1


def test_a_webhook_that_is_off_receives_no_events(caller: Caller) -> None:
    register_webhook(caller, is_active=False)
    on = register_webhook(caller)

    delivery = emit_delivery(caller.community)

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
def test_webhooks_of_other_communities_and_deleted_ones_look_absent(
    caller: Caller, method: str, path: str
) -> None:
    theirs, deleted = register_webhook(Caller()), register_webhook(caller)
    caller.delete(f"/webhooks/{deleted['id']}")

    responses = [
        caller.call(method, f"/webhooks/{webhook_id}{path}")
        for webhook_id in ("999999999999", theirs["id"], deleted["id"])
    ]

    assert [refusal(response) for response in responses] == [(404, "not_found")] * 3
    assert len({response.content for response in responses}) == 1
