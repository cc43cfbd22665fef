"""An integration: a webhook receiver that was down, and brings itself up to date."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.support.caller import TEXT, Caller
from tests.support.webhooks.delivery_runs import drain_all
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from tests.support.webhooks.registration import register_webhook, row

pytestmark = pytest.mark.django_db(transaction=True)
WEB = {"delivery": {"audience": {"participation": "open_web"}}}


@pytest.fixture
def caller() -> Caller:
    return Caller("admin")


@pytest.fixture
def receiver(settings):
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True
    with Receiver() as endpoint:
        yield endpoint


def respond(caller: Caller, project_id: str) -> None:
    begun = caller.post(f"/projects/{project_id}/conversations", {}).json()
    body = {"block_id": begun["step"]["block"]["id"], "value": "Yes."}
    assert caller.post(f"/conversations/{begun['id']}/answers", body).status_code == 200


def test_what_was_missed_is_redelivered_once_and_agrees_with_the_list_of_events(caller, receiver):
    began = timezone.now()
    address = receiver.script("/hook", ScriptedResponse(200))
    registered = register_webhook(caller, url=address, events=["response.submitted"])
    project_id = caller.make_open(TEXT, **WEB)["id"]
    respond(caller, project_id)
    drain_all(row(registered))

    receiver.script("/hook", ScriptedResponse(503))
    for _ in range(3):
        respond(caller, project_id)
    drain_all(row(registered))
    receiver.script("/hook", ScriptedResponse(200))
    since = (began - timedelta(minutes=1)).isoformat().replace("+00:00", "Z")
    accepted = caller.post(f"/webhooks/{registered['id']}/redeliver", {"since": since})
    drain_all(row(registered), at=timezone.now() + timedelta(minutes=1))

    # Each message is verified, and taken once by its id.
    handled = {}
    for request in receiver.requests("/hook"):
        assert Verifier(registered["secret"]).verify(request.body, dict(request.headers)) == request.event
        handled[request.headers["webhook-id"]] = request.event
    events = caller.get(f"/events?type=response.submitted&since={since}").json()["data"]
    assert accepted.status_code == 202
    assert handled == {each["id"]: each for each in events}
    assert len(events) == 4
    listed = caller.get(f"/webhooks/{registered['id']}/deliveries").json()["data"]
    assert {each["status"] for each in listed} == {"delivered"}
    assert {each["next_retry_at"] for each in listed} == {None}
