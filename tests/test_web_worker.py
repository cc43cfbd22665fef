"""The web server's worker, by itself: in a thread of this process, with an application of a few lines."""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import pytest
from gunicorn.config import Config
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from hypothesis import given
from hypothesis import strategies as st

from config.web.worker import SECONDS_TO_STOP, WebWorker

LIMIT = 10  # seconds
THREADS = 4


class Site:
    """A worker whose application answers each request with the parts that it has parsed."""

    def __init__(self, connections: int = 100, max_requests: int = 0) -> None:
        self.may_answer = Event()
        self.may_answer.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        config = Config()
        config.set("worker_connections", connections)
        config.set("threads", THREADS)
        config.set("max_requests", max_requests)
        self.worker = WebWorker(1, os.getppid(), [self.listener], None, 60, config, Mock())
        self.worker.wsgi = self._answer
        self.worker.tpool = ThreadPoolExecutor(THREADS)
        self.worker.poller = selectors.DefaultSelector()
        self.worker.method_queue.init()

    def _answer(self, environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        self.may_answer.wait(LIMIT)
        body = environ["wsgi.input"].read()
        told = understood(environ["REQUEST_METHOD"], environ["RAW_URI"], body)
        start("200 OK", [("Content-Length", str(len(told)))])
        return [told]

    def connect(self, sent: bytes = b"") -> socket.socket:
        connection = socket.create_connection(self.listener.getsockname(), LIMIT)
        connection.sendall(sent)
        return connection


@contextmanager
def running(connections: int = 100, max_requests: int = 0) -> Iterator[Site]:
    site = Site(connections, max_requests)
    thread = Thread(target=site.worker.run)
    thread.start()
    try:
        yield site
    finally:
        site.may_answer.set()
        site.worker.handle_exit(0, None)
        thread.join()
        site.worker.tmp.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with running() as site:
        yield site


def understood(method: str, address: str, body: bytes) -> bytes:
    return f"<{method} {address} {body.hex()}>".encode()


def until(connection: socket.socket, end: bytes) -> bytes:
    """All received bytes up to this text."""
    told = b""
    while end not in told:
        part = connection.recv(65_536)
        assert part, told[-200:]
        told += part
    return told


def rest(connection: socket.socket) -> bytes:
    """All received bytes until the server closes."""
    parts = []
    while part := connection.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def fill(connection: socket.socket) -> None:
    """Send until the network accepts nothing more, even after a pause."""
    pauses = 0
    while pauses < 5:
        try:
            connection.send(bytes(65_536))
            pauses = 0
        except BlockingIOError:
            pauses += 1
            time.sleep(0.02)


def test_a_client_with_much_to_read_is_told_to_send_its_body_and_heard(site: Site) -> None:
    with site.connect(b"GET /a HTTP/1.1\r\n\r\n") as client:
        until(client, understood("GET", "/a", b""))
        (ours,) = site.worker.connections
        with socket.socket(fileno=os.dup(ours.sock.fileno())) as copy:
            fill(copy)
        client.sendall(b"POST /b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        until(client, b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(b"x")
        until(client, understood("POST", "/b", b"x"))


def test_connections_that_are_all_served_at_once_lock_nobody_out() -> None:
    request, answer = b"GET /a HTTP/1.1\r\n\r\n", understood("GET", "/a", b"")
    with running(connections=THREADS + 1) as site, ExitStack() as stack:

        def is_served() -> bool:
            return sum(each.held > 0 for each in list(site.worker.connections)) == len(many)

        site.may_answer.clear()
        many: list[socket.socket] = []
        while len(many) <= THREADS:
            many.append(stack.enter_context(site.connect(request)))
            wait_until(is_served)
        other = stack.enter_context(site.connect(request))
        site.may_answer.set()

        for each in many:
            until(each, answer)
        until(other, answer)


def test_a_line_break_before_a_request_may_come_in_halves(site: Site) -> None:
    with site.connect(b"\r") as client:
        wait_until(lambda: any(each.received for each in list(site.worker.connections)))
        client.sendall(b"\n\r\nGET /a HTTP/1.1\r\n\r\n")
        until(client, understood("GET", "/a", b""))


GET = b"GET /a HTTP/1.1\r\n\r\n"
ANSWER = understood("GET", "/a", b"")


def test_a_process_is_replaced_once_no_request_arrives() -> None:
    with (
        running(max_requests=2) as site,
        site.connect(b"POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nx") as slow,
        site.connect() as other,
    ):
        for _ in range(3):
            other.sendall(GET)
            until(other, ANSWER)
        assert site.worker.alive
        slow.sendall(b"y")

        assert b"Connection: keep-alive" in until(slow, understood("POST", "/b", b"xy"))
        wait_until(lambda: not site.worker.alive)
        other.sendall(GET)  # which may have been on its way
        assert b"Connection: close" in until(other, ANSWER)


def test_a_process_of_a_site_that_is_never_quiet_is_replaced_and_cuts_nothing() -> None:
    with (
        running(max_requests=2) as site,
        site.connect(b"POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nx") as slow,
    ):
        with site.connect() as other:
            for _ in range(4):
                other.sendall(GET)
                until(other, ANSWER)
            wait_until(lambda: not site.worker.alive)
        wait_until(lambda: len(site.worker.connections) == 1)
        (arriving,) = site.worker.connections
        assert arriving.deadline - arriving.since > SECONDS_TO_STOP
        slow.sendall(b"y")

        assert b"Connection: close" in until(slow, understood("POST", "/b", b"xy"))


def test_a_process_that_is_replaced_leaves_new_clients_to_the_next() -> None:
    with running(max_requests=1) as site, site.connect(GET) as client:
        until(client, ANSWER)
        wait_until(lambda: not site.worker.alive)
        with site.connect(GET) as late:
            late.settimeout(0.5)
            with pytest.raises(TimeoutError):
                late.recv(1)


STARTS = [b"GET /a HTTP/1.1\r\n", b"POST /b HTTP/1.1\r\n", b"POST /c HTTP/1.0\r\n"]
HEADERS = [
    b"Content-Length: 3\r\n",
    b"content-length:\t010 \r\n",
    b"Content-Length : 3\r\n",
    b"Content-Length: +3\r\n",
    b"Content-Length: 3, 3\r\n",
    b"Content_Length: 5\r\n",
    b"X: y\nContent-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"TRANSFER-ENCODING:\tChunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding:\r\n chunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding: xchunked\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"X: Transfer-Encoding: chunked\r\n",
]
BODIES = [
    b"",
    b"abc",
    b"0123456789",
    b"0\r\n\r\n",
    b"3\r\nabc\r\n0\r\n\r\n",
    b"0003;a=b\r\nabc\r\n00\r\nX: y\r\n\r\n",
    b"A\r\n0123456789\r\n3\r\nabc\r\n0;x\r\n\r\n",
    b"0000000000004\r\n\r\n\r\n\r\n0\r\n\r\n",
]
BITS = [b"\r\n", b"\r", b"\n", b"0\r\n", b"3\r\n", b"-1\r\n", b";", b" ", b"\x00", *STARTS, *HEADERS, *BODIES]

messages = st.builds(
    lambda start, headers, body: start + b"".join(headers) + b"\r\n" + body,
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(HEADERS), max_size=2),
    st.sampled_from(BODIES),
)
streams = st.lists(messages | messages | st.sampled_from(BITS), min_size=1, max_size=5).map(b"".join)


def as_gunicorn_reads(stream: bytes) -> list[bytes]:
    """The requests in a stream that arrives at once, until one cannot be read or is the last."""
    requests: list[bytes] = []
    while stream := stream.removeprefix(b"\r\n"):
        if stream.startswith(b"\r\n"):
            continue
        unreader = IterUnreader(iter([stream]))
        try:
            request = Request(Config(), unreader, ("127.0.0.1", 1))
            body = request.body.read()
        except Exception:  # gunicorn has many, without a parent of their own
            break
        told = [int(value) for name, value in request.headers if name == "CONTENT-LENGTH"]
        if told and len(body) < told[0]:
            break
        requests.append(understood(request.method, request.uri, body))
        if request.should_close():
            break
        stream = unreader.take_buffered()
    return requests


def test_requests_are_those_that_gunicorn_reads_in_whatever_pieces_they_come() -> None:
    with running(connections=10_000) as site:

        @given(streams, st.lists(st.integers(1, 60), max_size=6))
        def check(stream: bytes, sizes: list[int]) -> None:
            with site.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                start = 0
                for size in sizes:
                    client.sendall(stream[start : start + size])
                    start += size
                client.sendall(stream[start:])
                client.shutdown(socket.SHUT_WR)
                answers = rest(client)
            served = [b"<" + part.partition(b">")[0] + b">" for part in answers.split(b"\r\n\r\n<")[1:]]
            served = [each for each in served if not each.startswith(b"<html")]
            assert served == as_gunicorn_reads(stream)

        check()
