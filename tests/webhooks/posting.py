"""Posting to an endpoint of the tests, whatever comes of it."""

import pytest

from tests.webhooks.loopback import Endpoint
from webhooks.sender import Answer, Line, NotAnswered

BODY = b'{"type": "webhook.ping"}'
HEADERS = {"content-type": "application/json", "webhook-id": "1"}


def line_to(endpoint: Endpoint, *, timeout: float = 10.0) -> Line:
    return Line(endpoint.url, allow_http=True, allow_private=True, timeout=timeout)


def post_to(endpoint: Endpoint, *, timeout: float = 10.0) -> Answer:
    with line_to(endpoint, timeout=timeout) as line:
        return line.post(BODY, HEADERS)


def silence_of(endpoint: Endpoint, *, timeout: float = 10.0) -> str:
    """Why there was no answer."""
    with pytest.raises(NotAnswered) as caught:
        post_to(endpoint, timeout=timeout)
    return str(caught.value)
