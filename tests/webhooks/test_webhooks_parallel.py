"""Concurrent requests about webhooks."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.webhooks.registration import URL, register_webhook, row
from webhooks.models import Webhook
from webhooks.services import webhooks

pytestmark = pytest.mark.django_db(transaction=True)


def test_concurrent_registrations_respect_the_limit() -> None:
    caller = Caller()
    for _ in range(18):
        register_webhook(caller)

    responses = run_together(
        *[lambda: caller.in_another_thread().post("/webhooks", {"url": URL, "events": ["*"]})] * 6
    )

    assert Counter(response.status_code for response in responses) == {201: 2, 409: 4}
    assert Webhook.objects.count() == 20


def test_concurrent_rotations_follow_each_other() -> None:
    caller = Caller()
    webhook = register_webhook(caller)

    responses = run_together(
        *[lambda: caller.in_another_thread().post(f"/webhooks/{webhook['id']}/rotate_secret")] * 2
    )

    new_secrets = {response.json()["secret"] for response in responses}
    assert set(webhooks.signing_secrets(row(webhook), at=timezone.now())) == new_secrets
