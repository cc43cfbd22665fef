"""Signatures, verified by the official packages for receivers (rule 9.12)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from webhooks import signatures

EVENT_ID = uuid.UUID("5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11")
BODY = '{"id":"5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11","data":{"text":"Où? — ✓"}}'
Verify = Callable[[str, str | bytes, dict[str, str]], None]


def by_standardwebhooks(secret: str, body: str | bytes, headers: dict[str, str]) -> None:
    try:
        standardwebhooks.Webhook(secret).verify(body, headers)
    except standardwebhooks.WebhookVerificationError as refused:
        raise Refused from refused


def by_svix(secret: str, body: str | bytes, headers: dict[str, str]) -> None:
    import svix.webhooks  # noqa: PLC0415 - takes long to load, and every process of the tests reads this module

    try:
        svix.webhooks.Webhook(secret).verify(body, headers)
    except svix.webhooks.WebhookVerificationError as refused:
        raise Refused from refused


class Refused(Exception):
    pass


RECEIVERS = pytest.mark.parametrize("verify", [by_standardwebhooks, by_svix])


def signed(*secrets: str, at: datetime | None = None, body: str = BODY) -> dict[str, str]:
    """The headers of a body signed now, because the verifiers compare with the clock."""
    return signatures.headers(secrets, event_id=EVENT_ID, body=body, at=at or datetime.now(UTC))


@RECEIVERS
def test_receivers_accept_a_signature(verify: Verify) -> None:
    secret = signatures.new_secret()

    headers = signed(secret)

    verify(secret, BODY.encode(), headers)  # or it raises


@RECEIVERS
def test_another_body_is_refused(verify: Verify) -> None:
    secret = signatures.new_secret()

    headers = signed(secret)

    with pytest.raises(Refused):
        verify(secret, BODY.replace("✓", "✗"), headers)


@RECEIVERS
@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
def test_another_header_is_refused(verify: Verify, name: str) -> None:
    secret = signatures.new_secret()
    headers = signed(secret)
    other = signatures.headers(
        [secret], event_id=uuid.uuid4(), body=BODY, at=datetime.now(UTC) - timedelta(minutes=1)
    )

    with pytest.raises(Refused):
        verify(secret, BODY, {**headers, name: other[name]})


@RECEIVERS
def test_another_secret_is_refused(verify: Verify) -> None:
    headers = signed(signatures.new_secret())

    with pytest.raises(Refused):
        verify(signatures.new_secret(), BODY, headers)


@RECEIVERS
@pytest.mark.parametrize("off", [timedelta(minutes=-6), timedelta(minutes=6)])
def test_a_timestamp_too_far_off_is_refused(verify: Verify, off: timedelta) -> None:
    secret = signatures.new_secret()

    headers = signed(secret, at=datetime.now(UTC) + off)

    with pytest.raises(Refused):
        verify(secret, BODY, headers)


@RECEIVERS
def test_both_secrets_verify_during_a_rotation(verify: Verify) -> None:
    new, old, other = (signatures.new_secret() for _ in range(3))

    headers = signed(new, old)

    verify(new, BODY, headers)
    verify(old, BODY, headers)
    with pytest.raises(Refused):
        verify(other, BODY, headers)


def test_the_headers_are_those_of_the_scheme() -> None:
    secret = signatures.new_secret()
    at = datetime(2026, 1, 31, 9, 30, 0, 999_999, tzinfo=UTC)

    headers = signed(secret, at=at, body="{}")

    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{EVENT_ID}.1769851800.{{}}".encode(), hashlib.sha256).digest()
    assert headers == {
        "content-type": "application/json",
        "webhook-id": str(EVENT_ID),
        "webhook-timestamp": "1769851800",
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def test_the_time_zone_does_not_change_the_signature() -> None:
    secret = signatures.new_secret()
    at = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)

    signatures_by_zone = [
        signed(secret, at=at.astimezone(timezone(timedelta(hours=hours)))) for hours in (-7, 0, 5)
    ]

    assert signatures_by_zone[0] == signatures_by_zone[1] == signatures_by_zone[2]


def test_secrets_are_32_random_bytes() -> None:
    secrets = {signatures.new_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert all(secret.startswith("whsec_") for secret in secrets)
    assert {len(base64.b64decode(secret[6:], validate=True)) for secret in secrets} == {32}


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_can_be_signed(text: str) -> None:
    secret = signatures.new_secret()

    headers = signed(secret, body=text)

    standardwebhooks.Webhook(secret).verify(text, headers, json_parse=False)
