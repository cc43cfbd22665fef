"""Several requests about webhooks at one time."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from tests.surveys.calling import Caller
from tests.surveys.test_effects_parallel import another, at_once
from tests.webhooks.listening import URL, listen, row
from webhooks.models import Webhook
from webhooks.services import webhooks

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_at_once_are_not_both_the_20th() -> None:
    caller = Caller()
    for _ in range(18):
        listen(caller)

    answers = at_once([lambda: another(caller).post("/webhooks", {"url": URL, "events": ["*"]})] * 6)

    assert Counter(answer.status_code for answer in answers) == {201: 2, 409: 4}
    assert Webhook.objects.count() == 20


def test_two_rotations_at_once_follow_each_other() -> None:
    caller = Caller()
    made = listen(caller)

    answers = at_once([lambda: another(caller).post(f"/webhooks/{made['id']}/rotate_secret")] * 2)

    told = {answer.json()["secret"] for answer in answers}
    assert set(webhooks.signing_secrets(row(made), at=timezone.now())) == told
