"""What the sender says, and what it makes of answers, good and bad, over a real socket (decision 10.6)."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.webhooks.loopback import Endpoint, Peer, Talk, answers, ok
from tests.webhooks.posting import BODY, HEADERS, line_to, post_to, silence_of
from webhooks.sender import Answer, Line, NotAnswered

Listen = Callable[[Talk], Endpoint]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Starts endpoints that have this talk with whoever connects."""
    with contextlib.ExitStack() as stack:
        yield lambda talk: stack.enter_context(Endpoint(talk))


def test_a_post_is_one_plain_request(listen: Listen) -> None:
    endpoint = listen(answers(ok()))
    endpoint.url += "?a=b%20c"

    answer = post_to(endpoint)

    assert answer == Answer(status=200, text="ok", retry_after=None)
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
def test_every_status_is_an_answer_and_no_redirect_is_followed(listen: Listen, status: int) -> None:
    elsewhere = listen(answers(ok()))
    endpoint = listen(
        answers(ok(b"", status=b"%d X" % status, headers=f"Location: {elsewhere.url}\r\n".encode()))
    )

    answer = post_to(endpoint)

    assert answer == Answer(status=status, text="", retry_after=None)
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
def test_retry_after_is_told_as_it_came(listen: Listen, header: bytes, retry_after: str | None) -> None:
    answer = post_to(listen(answers(ok(status=b"503 Busy", headers=header))))

    assert answer == Answer(status=503, text="ok", retry_after=retry_after)


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
def test_the_text_is_the_first_1000_characters_whatever_the_bytes(
    listen: Listen, body: bytes, text: str
) -> None:
    assert post_to(listen(answers(ok(body)))).text == text


def test_bodies_of_all_framings_are_read(listen: Listen) -> None:
    chunked = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: x\r\n\r\n"
    )

    def until_closed(peer: Peer) -> None:
        peer.hear()
        peer.say(b"HTTP/1.0 200 OK\r\n\r\nold")

    assert post_to(listen(answers(chunked))).text == "abc"
    assert post_to(listen(until_closed)).text == "old"


def test_informational_answers_are_skipped(listen: Listen) -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

    assert post_to(listen(answers(early + ok(status=b"202 Accepted")))).status == 202


def test_several_posts_go_over_one_connection(listen: Listen) -> None:
    endpoint = listen(answers(ok(b"first"), ok(b"", status=b"500 Oh"), ok(b"third")))

    with line_to(endpoint) as line:
        told = [line.post(b"%d" % number, HEADERS) for number in range(3)]

    assert [(answer.status, answer.text) for answer in told] == [(200, "first"), (500, ""), (200, "third")]
    assert [request.body for request in endpoint.requests] == [b"0", b"1", b"2"]
    assert endpoint.connections == 1


def test_a_closed_line_opens_anew(listen: Listen) -> None:
    endpoint = listen(answers(ok()))
    line = line_to(endpoint)

    line.close()
    line.post(BODY, HEADERS)
    line.close()
    line.close()
    with line:
        line.post(BODY, HEADERS)

    assert endpoint.connections == 2


@pytest.mark.parametrize("header", [b"Connection: close\r\n", b""])
def test_a_connection_that_was_closed_after_an_answer_is_opened_anew(listen: Listen, header: bytes) -> None:
    closed = threading.Event()

    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(ok(headers=header))
        peer.socket.shutdown(socket.SHUT_RDWR)
        closed.set()

    endpoint = listen(talk)

    with line_to(endpoint) as line:
        for _ in range(3):
            closed.clear()
            assert line.post(BODY, HEADERS).status == 200
            assert closed.wait(10)

    assert (len(endpoint.requests), endpoint.connections) == (3, 3)


def test_a_kept_connection_that_ends_under_way_is_opened_anew_and_the_body_sent_again(listen: Listen) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(ok())
        peer.hear()
        if peer.number == 1:
            peer.say(ok(b"again"))

    endpoint = listen(talk)

    with line_to(endpoint) as line:
        line.post(b"one", HEADERS)
        line.post(b"two", HEADERS)
        answer = line.post(b"three", HEADERS)

    assert answer.text == "again"
    assert [request.body for request in endpoint.requests] == [b"one", b"two", b"two", b"three"]


def test_a_new_connection_that_ends_under_way_is_not_tried_again(listen: Listen) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()

    endpoint = listen(talk)

    assert silence_of(endpoint) == "The endpoint closed the connection without an answer."
    assert (len(endpoint.requests), endpoint.connections) == (1, 1)


def test_a_line_goes_on_after_a_post_without_an_answer(listen: Listen) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        if peer.number:
            peer.say(ok())
            peer.wait_until_closed()

    with line_to(listen(talk)) as line:
        with pytest.raises(NotAnswered):
            line.post(BODY, HEADERS)
        answer = line.post(BODY, HEADERS)

    assert answer.status == 200


@pytest.mark.parametrize("more", [b"\r\n", b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"])
def test_what_stands_behind_an_answer_is_not_taken_for_the_next_one(listen: Listen, more: bytes) -> None:
    endpoint = listen(answers(ok() + more))

    with line_to(endpoint) as line:
        told = [line.post(BODY, HEADERS).status for _ in range(3)]

    assert told == [200, 200, 200]
    assert len(endpoint.requests) == 3


def test_nobody_listening_is_told(listen: Listen) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"

    with (
        Line(url, allow_http=True, allow_private=True) as line,
        pytest.raises(NotAnswered, match=r"^The endpoint could not be reached\.$"),
    ):
        line.post(BODY, HEADERS)


@pytest.mark.parametrize(
    "said",
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
def test_what_is_no_http_is_no_answer(listen: Listen, said: bytes) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(said)

    assert silence_of(listen(talk)) == "The endpoint's answer was not valid HTTP."


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense\r\n\r\n",
    ],
)
def test_a_body_that_breaks_off_takes_nothing_from_the_status(listen: Listen, said: bytes) -> None:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(said)

    assert post_to(listen(talk)) == Answer(status=200, text="half", retry_after=None)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "The endpoint closed the connection without an answer."),
        (b"HTTP/1.1 200 OK\r\nA: b", "The endpoint broke off its answer."),
    ],
)
def test_a_connection_that_is_reset_is_told(listen: Listen, said: bytes, why: str) -> None:
    endpoint = listen(resetting(said))

    assert silence_of(endpoint) == why
    assert (len(endpoint.requests), endpoint.connections) == (1, 1)


def test_a_reset_in_the_body_takes_nothing_from_the_status(listen: Listen) -> None:
    endpoint = listen(resetting(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"))

    assert post_to(endpoint) == Answer(status=200, text="half", retry_after=None)


def resetting(said: bytes) -> Talk:
    """Says this, waits until it is read, and resets the connection."""

    def talk(peer: Peer) -> None:
        peer.hear()
        if said:
            peer.say(said)
            peer.wait_until_read()
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.socket.close()

    return talk


@pytest.mark.parametrize("reads_on", [True, False])
def test_an_answer_counts_that_comes_before_the_body_is_sent(listen: Listen, reads_on: bool) -> None:
    def talk(peer: Peer) -> None:
        peer.say(ok(b"too large", status=b"413 No", headers=b"Connection: close\r\n"))
        if reads_on:
            peer.socket.shutdown(socket.SHUT_WR)
            peer.wait_until_closed()

    with line_to(listen(talk)) as line:
        answer = line.post(b"a" * 20_000_000, HEADERS)

    assert (answer.status, answer.text) == (413, "too large")


def test_an_address_that_is_refused_is_never_connected_to(listen: Listen) -> None:
    endpoint = listen(answers(ok()))

    for allowed in (
        {"allow_http": True, "allow_private": False},
        {"allow_http": False, "allow_private": True},
    ):
        with Line(endpoint.url, **allowed) as line, pytest.raises(NotAnswered, match=r"^`url` must .+\.$"):
            line.post(BODY, HEADERS)

    assert endpoint.connections == 0
