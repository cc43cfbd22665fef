"""Nothing that an endpoint does takes longer than the timeout, or more memory than is wanted (10.6)."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.webhooks.loopback import Endpoint, Peer, Talk, answers, ok
from tests.webhooks.posting import BODY, HEADERS, line_to, silence_of
from webhooks.sender import MOST_READ, Answer, NotAnswered

SHORT = 0.3  # seconds of a time-out that is to pass
LATE = "The endpoint did not answer within 0.3 seconds."

Listen = Callable[[Talk], Endpoint]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Starts endpoints that have this talk with whoever connects."""
    with contextlib.ExitStack() as stack:
        yield lambda talk: stack.enter_context(Endpoint(talk))


def never(peer: Peer) -> None:
    peer.hear()
    peer.wait_until_closed()


def dripping(begin: bytes, drop: bytes) -> Talk:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(begin)
        while True:
            peer.say(drop)
            time.sleep(0.01)  # how slow this endpoint is

    return talk


def flooding(begin: bytes, wave: bytes) -> Talk:
    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(begin)
        while True:
            peer.say(wave)

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        never,
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
def test_the_time_is_over_whatever_comes_slowly(listen: Listen, talk: Talk) -> None:
    begun_at = time.monotonic()

    why = silence_of(listen(talk), timeout=SHORT)

    assert why == LATE
    assert SHORT <= time.monotonic() - begun_at < SHORT + 2


def test_the_time_is_over_while_nobody_reads_the_body(listen: Listen) -> None:
    done = threading.Event()

    def talk(_: Peer) -> None:
        done.wait(10)

    endpoint = listen(talk)
    with line_to(endpoint, timeout=SHORT) as line, pytest.raises(NotAnswered) as caught:
        line.post(b"a" * 50_000_000, HEADERS)
    done.set()

    assert str(caught.value) == LATE


def test_the_time_is_one_for_a_kept_connection_and_the_one_after_it(listen: Listen) -> None:
    def talk(peer: Peer) -> None:
        if peer.number == 0:
            peer.hear()
            peer.say(ok())
            peer.hear()
        else:
            never(peer)

    begun_at = time.monotonic()
    with line_to(listen(talk), timeout=SHORT) as line:
        line.post(BODY, HEADERS)
        with pytest.raises(NotAnswered) as caught:
            line.post(BODY, HEADERS)

    assert str(caught.value) == LATE
    assert time.monotonic() - begun_at < 2 * SHORT + 2


@pytest.mark.parametrize(
    ("begin", "wave"),
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
def test_of_an_endless_body_64_kib_are_read_and_the_status_counts(
    listen: Listen, begin: bytes, wave: bytes
) -> None:
    endpoint = listen(flooding(begin, wave))

    with line_to(endpoint) as line:
        told = [line.post(BODY, HEADERS) for _ in range(2)]

    assert told == [Answer(status=200, text="a" * 1000, retry_after=None)] * 2
    assert endpoint.connections == 2


def test_a_body_of_64_kib_keeps_the_connection_and_a_longer_one_does_not(listen: Listen) -> None:
    fitting = listen(answers(ok(b"a" * (MOST_READ - 1))))
    longer = listen(answers(ok(b"a" * (3 * MOST_READ))))

    for endpoint in (fitting, longer):
        with line_to(endpoint) as line:
            assert [line.post(BODY, HEADERS).status for _ in range(2)] == [200, 200]

    assert (fitting.connections, longer.connections) == (1, 2)


@pytest.mark.parametrize(
    ("begin", "wave"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"a" * 10_000),
        (b"HTTP/1.1 200 OK\r\n", b"X: a\r\n" * 1000),
        (b"", b"HTTP/1.1 103 Early\r\nX: a\r\n\r\n" * 1000),
        (b"", b"a" * 10_000),
    ],
)
def test_an_endless_header_is_no_answer(listen: Listen, begin: bytes, wave: bytes) -> None:
    assert silence_of(listen(flooding(begin, wave))) == "The endpoint's answer was too long."


def test_no_time_at_all_is_over_at_once(listen: Listen) -> None:
    endpoint = listen(answers(ok()))

    assert silence_of(endpoint, timeout=0) == "The endpoint did not answer within 0 seconds."
    assert endpoint.requests == []
