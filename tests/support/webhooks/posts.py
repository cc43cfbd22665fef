"""Posts to an endpoint of the tests."""

from __future__ import annotations

import pytest

from tests.support.webhooks.raw_endpoint import RawEndpoint
from webhooks.sender import Connection, DeliveryError, EndpointResponse

BODY = b'{"type": "webhook.ping"}'
HEADERS = {"content-type": "application/json", "webhook-id": "1"}


def connection_to(endpoint: RawEndpoint, *, timeout: float = 10.0) -> Connection:
    return Connection(endpoint.url, allow_http=True, allow_private=True, timeout=timeout)


def post_to(endpoint: RawEndpoint, *, timeout: float = 10.0) -> EndpointResponse:
    with connection_to(endpoint, timeout=timeout) as connection:
        return connection.post(BODY, HEADERS)


def delivery_error(endpoint: RawEndpoint, *, timeout: float = 10.0) -> str:
    """The message of the error of a post."""
    with pytest.raises(DeliveryError) as caught:
        post_to(endpoint, timeout=timeout)
    return str(caught.value)
