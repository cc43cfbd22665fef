"""Requests made up from the description, wise or not: none is a fault, and each answer is as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from communities.http.bodies import LINES_MEDIA_TYPE
from surveys.services.analysis import service as analysis
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.effort import IS_THOROUGH, examples
from tests.support.openapi import described

EXAMPLES = 20  # for each operation
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
pytestmark = pytest.mark.django_db
schema = schemathesis.openapi.from_dict(described())
schema.app = get_wsgi_application()
schema.config.phases.coverage.enabled = IS_THOROUGH  # thousands of requests at the limits of every field


@schemathesis.serializer(LINES_MEDIA_TYPE)
def as_lines(_: Any, value: Any) -> bytes:
    """A text as it stands: what its lines may be is not described."""
    return (value if isinstance(value, str) else orjson.dumps(value).decode()).encode(errors="replace")


@pytest.fixture
def place() -> dict[str, Any]:
    """What paths may name: an open survey with an answered question, a key, a webhook with a delivery."""
    caller = Caller("admin")
    project = caller.make_open(SAYING, CHOICE, TEXT, delivery={"audience": {"participation": "open_web"}})
    question = project["script"]["blocks"][1]
    conversation = caller.post(f"/projects/{project['id']}/conversations").json()
    caller.post(f"/conversations/{conversation['id']}/continue")
    answer = {"block_id": question["id"], "option_id": question["options"][0]["id"]}
    assert caller.post(f"/conversations/{conversation['id']}/answers", answer).status_code == 200
    asked = caller.post(f"/projects/{project['id']}/analysis")
    analysis.run(analysis_id=int(asked.json()["id"]))
    member_id = str(caller.community.members.get().pk)
    link = caller.post(f"/projects/{project['id']}/links", {"member_id": member_id}).json()
    webhook = caller.post("/webhooks", {"url": "https://example.com/", "events": ["*"]}).json()
    return {
        "key": caller.secret,
        "community_id": str(caller.community.pk),
        "project_id": project["id"],
        "block_id": str(question["id"]),
        "conversation_id": conversation["id"],
        "response_id": conversation["id"],
        "key_id": str(caller.community.api_keys.get().pk),
        "webhook_id": webhook["id"],
        "delivery_id": caller.post(f"/webhooks/{webhook['id']}/ping").json()["id"],
        "template_id": "event-feedback",
        "member_id": member_id,
        "link_id": link["id"],
    }


@pytest.fixture
def _one_connection(place: dict[str, Any]) -> Iterator[None]:  # whose client connects the signals again
    """A request does not close the connection of the test's transaction, as with Django's own test client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@schema.parametrize()
@pytest.mark.usefixtures("_one_connection")
@settings(
    max_examples=examples(EXAMPLES),
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_any_request_is_answered_as_the_schema_says(case: Case, place: dict[str, Any]) -> None:
    for name in case.path_parameters or {}:
        case.path_parameters[name] = place[name]
    with transaction.atomic():  # each request finds everything as it was
        response = case.call(headers={"X-API-Key": place["key"]})
        transaction.set_rollback(True)

    case.validate_response(response, checks=CHECKS)
