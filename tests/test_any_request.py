"""Requests made up from the description, wise or not: none is a fault, and each answer is as described."""

from __future__ import annotations

from collections.abc import Iterator
from random import randrange
from typing import Any

import orjson
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, settings
from redis import Redis
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from communities.gate import throttling
from communities.gate.bodies import LINES_MEDIA_TYPE
from surveys.services.ground import jobs
from tests.support.caller import Caller
from tests.support.effort import IS_THOROUGH, examples
from tests.support.openapi import described
from tests.support.place import made_place
from tests.support.surveys.draft_provider import work_while_waiting

EXAMPLES = 20  # for each operation
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
pytestmark = [pytest.mark.long, pytest.mark.django_db]
schema = schemathesis.openapi.from_dict(described())
schema.app = get_wsgi_application()
schema.config.phases.coverage.enabled = IS_THOROUGH  # 23,000 requests at the limits of every field
PARTS = 4 if IS_THOROUGH else 1  # of which a run tries one: its seed tells which
OPERATIONS = [(path, method) for path, methods in described()["paths"].items() for method in methods]


@schemathesis.serializer(LINES_MEDIA_TYPE)
def as_lines(_: Any, value: Any) -> bytes:
    """A text as it stands: what its lines may be is not described."""
    return (value if isinstance(value, str) else orjson.dumps(value).decode()).encode(errors="replace")


@pytest.fixture(scope="module")
def place(kept_rows: None) -> dict[str, str]:
    return made_place(Caller("admin"))


@pytest.fixture
def _one_connection(
    place: dict[str, str],  # whose client connects the signals again
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """A request does not close the connection of the test's transaction, as with Django's own test client.

    A worker runs the jobs for which a request waits.
    """
    work_while_waiting(monkeypatch)
    monkeypatch.setattr(jobs, "close_connection", lambda: None)
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.usefixtures("_one_connection")
def test_any_request_is_answered_as_the_schema_says(
    path: str, method: str, place: dict[str, str], redis: Redis
) -> None:
    @settings(
        max_examples=examples(EXAMPLES),
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Case) -> None:
        for name in case.path_parameters or {}:
            case.path_parameters[name] = place[name]
        throttling.counts_here = throttling.CountsHere()
        redis.flushdb()
        with transaction.atomic():  # each request finds everything as it was
            # The WSGI client asks for compressed responses, and does not read them.
            response = case.call(headers={"X-API-Key": place["key"], "Accept-Encoding": "identity"})
            transaction.set_rollback(True)

        case.validate_response(response, checks=CHECKS)

    # `schema.parametrize` makes up the requests to all operations in every process, while it collects tests.
    made_up: Any = build_operation_test(
        config=schema.config,
        operation=schema[path][method],
        test_func=ask,
        given_kwargs={},
        feedback=NO_FEEDBACK,
    )
    limits = getattr(made_up, "hypothesis_explicit_examples", [])
    made_up.hypothesis_explicit_examples = limits[randrange(PARTS) :: PARTS]

    made_up()
