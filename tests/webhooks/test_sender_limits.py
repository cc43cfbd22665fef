"""No endpoint takes longer than the timeout or more memory than the limit (rule 9.19)."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.support.webhooks.posts import BODY, HEADERS, connection_to, delivery_error
from tests.support.webhooks.raw_endpoint import Peer, PeerHandler, RawEndpoint, ok, responds_with
from webhooks.sender import MAX_BODY_BYTES, DeliveryError, EndpointResponse

SHORT = 0.3  # seconds of a timeout that is meant to expire
LATE = "The endpoint did not answer within 0.3 seconds."

Listen = Callable[[PeerHandler], RawEndpoint]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Starts an endpoint that runs this handler for each connection."""
    with contextlib.ExitStack() as stack:
        yield lambda handler: stack.enter_context(RawEndpoint(handler))


def no_response(peer: Peer) -> None:
    peer.read_request()
    peer.wait_until_closed()


def dripping(start: bytes, drop: bytes) -> PeerHandler:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(start)
        while True:
            peer.send(drop)
            time.sleep(0.01)  # how slow this endpoint is

    return handler


def flooding(start: bytes, wave: bytes) -> PeerHandler:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(start)
        while True:
            peer.send(wave)

    return handler


@pytest.mark.parametrize(
    "handler",
    [
        no_response,
        Peer.wait_until_closed,
        dripping(b"", b"H"),
        dripping(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        dripping(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
        dripping(b"", b"HTTP/1.1 102 Wait\r\n\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"a"),
        dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"a"),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
)
def test_a_slow_response_ends_at_the_timeout(listen: Listen, handler: PeerHandler) -> None:
    started_at = time.monotonic()

    message = delivery_error(listen(handler), timeout=SHORT)

    assert message == LATE
    assert SHORT <= time.monotonic() - started_at < SHORT + 2


def test_a_body_that_is_not_read_ends_at_the_timeout(listen: Listen) -> None:
    done = threading.Event()

    def handler(_: Peer) -> None:
        done.wait(10)

    endpoint = listen(handler)
    with connection_to(endpoint, timeout=SHORT) as connection, pytest.raises(DeliveryError) as caught:
        connection.post(b"a" * 50_000_000, HEADERS)
    done.set()

    assert str(caught.value) == LATE


def test_the_timeout_covers_a_kept_alive_connection_and_its_replacement(listen: Listen) -> None:
    def handler(peer: Peer) -> None:
        if peer.number == 0:
            peer.read_request()
            peer.send(ok())
            peer.read_request()
        else:
            no_response(peer)

    started_at = time.monotonic()
    with connection_to(listen(handler), timeout=SHORT) as connection:
        connection.post(BODY, HEADERS)
        with pytest.raises(DeliveryError) as caught:
            connection.post(BODY, HEADERS)

    assert str(caught.value) == LATE
    assert time.monotonic() - started_at < 2 * SHORT + 2


@pytest.mark.parametrize(
    ("start", "wave"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 10_000),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n", b"a" * 10_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"a" * 10_000 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 1000),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na00\r\n" + b"a" * 2560 + b"\r\n1;",
            b"b" * 9999,
        ),
    ],
)
def test_64_kib_of_an_endless_body_are_read_and_the_status_counts(
    listen: Listen, start: bytes, wave: bytes
) -> None:
    endpoint = listen(flooding(start, wave))

    with connection_to(endpoint) as connection:
        responses = [connection.post(BODY, HEADERS) for _ in range(2)]

    assert responses == [EndpointResponse(status=200, text="a" * 1000, retry_after=None)] * 2
    assert endpoint.connections == 2


def test_a_body_of_64_kib_keeps_the_connection_and_a_longer_one_does_not(listen: Listen) -> None:
    fitting = listen(responds_with(ok(b"a" * (MAX_BODY_BYTES - 1))))
    longer = listen(responds_with(ok(b"a" * (3 * MAX_BODY_BYTES))))

    for endpoint in (fitting, longer):
        with connection_to(endpoint) as connection:
            assert [connection.post(BODY, HEADERS).status for _ in range(2)] == [200, 200]

    assert (fitting.connections, longer.connections) == (1, 2)


@pytest.mark.parametrize(
    ("start", "wave"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"a" * 10_000),
        (b"HTTP/1.1 200 OK\r\n", b"X: a\r\n" * 1000),
        (b"", b"HTTP/1.1 103 Early\r\nX: a\r\n\r\n" * 1000),
        (b"", b"a" * 10_000),
    ],
)
def test_an_endless_header_is_an_error(listen: Listen, start: bytes, wave: bytes) -> None:
    assert delivery_error(listen(flooding(start, wave))) == "The endpoint's response was too long."


def test_no_time_at_all_is_over_at_once(listen: Listen) -> None:
    endpoint = listen(responds_with(ok()))

    assert delivery_error(endpoint, timeout=0) == "The endpoint did not answer within 0 seconds."
    assert endpoint.requests == []
