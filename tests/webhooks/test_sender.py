"""The sender's requests, and how it reads valid and invalid responses (rule 9.19)."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.support.webhooks.posts import BODY, HEADERS, connection_to, delivery_error, post_to
from tests.support.webhooks.raw_endpoint import Peer, PeerHandler, RawEndpoint, ok, responds_with
from webhooks.sender import Connection, DeliveryError, EndpointResponse

Listen = Callable[[PeerHandler], RawEndpoint]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Starts an endpoint that runs this handler for each connection."""
    with contextlib.ExitStack() as stack:
        yield lambda handler: stack.enter_context(RawEndpoint(handler))


def test_a_post_is_one_plain_request(listen: Listen) -> None:
    endpoint = listen(responds_with(ok()))
    endpoint.url += "?a=b%20c"

    response = post_to(endpoint)

    assert response == EndpointResponse(status=200, text="ok", retry_after=None)
    [request] = endpoint.requests
    assert request.line == b"POST /hook?a=b%20c HTTP/1.1"
    assert request.body == BODY
    assert request.headers == {
        b"host": f"127.0.0.1:{endpoint.port}".encode(),
        b"content-length": b"24",
        b"accept-encoding": b"identity",
        b"user-agent": b"Colloquy-Webhooks/1.0",
        b"content-type": b"application/json",
        b"webhook-id": b"1",
    }


@pytest.mark.parametrize(
    "status", [200, 204, 299, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503, 599, 999]
)
def test_every_status_is_a_response_and_no_redirect_is_followed(listen: Listen, status: int) -> None:
    elsewhere = listen(responds_with(ok()))
    endpoint = listen(
        responds_with(ok(b"", status=b"%d X" % status, headers=f"Location: {elsewhere.url}\r\n".encode()))
    )

    response = post_to(endpoint)

    assert response == EndpointResponse(status=status, text="", retry_after=None)
    assert (len(endpoint.requests), elsewhere.connections) == (1, 0)


@pytest.mark.parametrize(
    ("header", "retry_after"),
    [
        (b"", None),
        (b"Retry-After: 120\r\n", "120"),
        (b"RETRY-AFTER:Wed, 21 Oct 2026 07:28:00 GMT\r\n", "Wed, 21 Oct 2026 07:28:00 GMT"),
        (b"Retry-After: \xe4\r\n", "ä"),
        (b"Retry-After: " + b"9" * 5000 + b"\r\n", "9" * 100),
    ],
)
def test_retry_after_is_returned_as_received(listen: Listen, header: bytes, retry_after: str | None) -> None:
    response = post_to(listen(responds_with(ok(status=b"503 Busy", headers=header))))

    assert response == EndpointResponse(status=503, text="ok", retry_after=retry_after)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Grüße 👋".encode(), "Grüße 👋"),
        (b"a" * 1001, "a" * 1000),
        ("👋".encode() * 1001, "👋" * 1000),
        (b"a" + "👋".encode() * 1001, "a" + "👋" * 999),
        (b"\xff\xfea\xc3", "��a�"),
        (b"\xff" * 5000, "�" * 1000),
        (b"a\x00b", "a�b"),
        ("a\ud800".encode(errors="surrogatepass"), "a���"),
    ],
)
def test_the_text_is_the_first_1000_characters_of_any_bytes(listen: Listen, body: bytes, text: str) -> None:
    """Rule 9.16."""
    assert post_to(listen(responds_with(ok(body)))).text == text


def test_bodies_of_every_framing_are_read(listen: Listen) -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: x\r\n\r\n"
    )

    def until_closed(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.0 200 OK\r\n\r\nold")

    assert post_to(listen(responds_with(chunked))).text == "abc"
    assert post_to(listen(until_closed)).text == "old"


def test_informational_responses_are_skipped(listen: Listen) -> None:
    informational = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

    assert post_to(listen(responds_with(informational + ok(status=b"202 Accepted")))).status == 202


def test_several_posts_use_one_connection(listen: Listen) -> None:
    endpoint = listen(responds_with(ok(b"first"), ok(b"", status=b"500 Oh"), ok(b"third")))

    with connection_to(endpoint) as connection:
        responses = [connection.post(b"%d" % number, HEADERS) for number in range(3)]

    assert [(response.status, response.text) for response in responses] == [
        (200, "first"),
        (500, ""),
        (200, "third"),
    ]
    assert [request.body for request in endpoint.requests] == [b"0", b"1", b"2"]
    assert endpoint.connections == 1


def test_a_closed_connection_is_reopened(listen: Listen) -> None:
    endpoint = listen(responds_with(ok()))
    connection = connection_to(endpoint)

    connection.close()
    connection.post(BODY, HEADERS)
    connection.close()
    connection.close()
    with connection:
        connection.post(BODY, HEADERS)

    assert endpoint.connections == 2


@pytest.mark.parametrize("header", [b"Connection: close\r\n", b""])
def test_a_connection_that_was_closed_after_a_response_is_reopened(listen: Listen, header: bytes) -> None:
    closed = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(ok(headers=header))
        peer.socket.shutdown(socket.SHUT_RDWR)
        closed.set()

    endpoint = listen(handler)

    with connection_to(endpoint) as connection:
        for _ in range(3):
            closed.clear()
            assert connection.post(BODY, HEADERS).status == 200
            assert closed.wait(10)

    assert (len(endpoint.requests), endpoint.connections) == (3, 3)


def test_the_body_is_sent_again_if_a_kept_alive_connection_ends(listen: Listen) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(ok())
        peer.read_request()
        if peer.number == 1:
            peer.send(ok(b"again"))

    endpoint = listen(handler)

    with connection_to(endpoint) as connection:
        connection.post(b"one", HEADERS)
        connection.post(b"two", HEADERS)
        response = connection.post(b"three", HEADERS)

    assert response.text == "again"
    assert [request.body for request in endpoint.requests] == [b"one", b"two", b"two", b"three"]


def test_the_body_is_not_sent_again_if_a_new_connection_ends(listen: Listen) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()

    endpoint = listen(handler)

    assert delivery_error(endpoint) == "The endpoint closed the connection without a response."
    assert (len(endpoint.requests), endpoint.connections) == (1, 1)


def test_a_connection_can_be_used_after_a_post_without_a_response(listen: Listen) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        if peer.number:
            peer.send(ok())
            peer.wait_until_closed()

    with connection_to(listen(handler)) as connection:
        with pytest.raises(DeliveryError):
            connection.post(BODY, HEADERS)
        response = connection.post(BODY, HEADERS)

    assert response.status == 200


@pytest.mark.parametrize("more", [b"\r\n", b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"])
def test_bytes_after_a_response_are_not_read_as_the_next_one(listen: Listen, more: bytes) -> None:
    endpoint = listen(responds_with(ok() + more))

    with connection_to(endpoint) as connection:
        responses = [connection.post(BODY, HEADERS).status for _ in range(3)]

    assert responses == [200, 200, 200]
    assert len(endpoint.requests) == 3


def test_a_refused_connection_is_reported(listen: Listen) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"

    with (
        Connection(url, allow_http=True, allow_private=True) as connection,
        pytest.raises(DeliveryError, match=r"^The endpoint could not be reached\.$"),
    ):
        connection.post(BODY, HEADERS)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n",
        b"\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 099 No\r\n\r\n",
        b"HTTP/1.1 000 No\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b",
    ],
)
def test_a_response_that_is_not_http_is_an_error(listen: Listen, data: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(data)

    assert delivery_error(listen(handler)) == "The endpoint's response was not valid HTTP."


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n\r\n",
    ],
)
def test_the_status_counts_even_if_the_body_breaks_off(listen: Listen, data: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(data)

    assert post_to(listen(handler)) == EndpointResponse(status=200, text="half", retry_after=None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The endpoint closed the connection without a response."),
        (b"HTTP/1.1 200 OK\r\nA: b", "The endpoint broke off its response."),
    ],
)
def test_a_reset_connection_is_reported(listen: Listen, data: bytes, message: str) -> None:
    endpoint = listen(resetting(data))

    assert delivery_error(endpoint) == message
    assert (len(endpoint.requests), endpoint.connections) == (1, 1)


def test_the_status_counts_even_if_the_connection_is_reset_in_the_body(listen: Listen) -> None:
    endpoint = listen(resetting(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))

    assert post_to(endpoint) == EndpointResponse(status=200, text="half", retry_after=None)


def resetting(data: bytes) -> PeerHandler:
    """Sends this, waits until it is read, and resets the connection."""

    def handler(peer: Peer) -> None:
        peer.read_request()
        if data:
            peer.send(data)
            peer.wait_until_read()
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.socket.close()

    return handler


@pytest.mark.parametrize("reads_on", [True, False])
def test_a_response_before_the_end_of_the_request_counts(listen: Listen, reads_on: bool) -> None:
    def handler(peer: Peer) -> None:
        peer.send(ok(b"too large", status=b"413 No", headers=b"Connection: close\r\n"))
        if reads_on:
            peer.socket.shutdown(socket.SHUT_WR)
            peer.wait_until_closed()

    with connection_to(listen(handler)) as connection:
        response = connection.post(b"a" * 20_000_000, HEADERS)

    assert (response.status, response.text) == (413, "too large")


def test_a_refused_address_is_never_connected_to(listen: Listen) -> None:
    endpoint = listen(responds_with(ok()))

    for allowed in (
        {"allow_http": True, "allow_private": False},
        {"allow_http": False, "allow_private": True},
    ):
        with (
            Connection(endpoint.url, **allowed) as connection,
            pytest.raises(DeliveryError, match=r"^`url` must .+\.$"),
        ):
            connection.post(BODY, HEADERS)

    assert endpoint.connections == 0
