"""gunicorn's worker with threads, which serves only requests that have arrived as a whole.

One thread of each process polls all connections. It collects requests, each with a deadline, and sends the
unread rest of answers. The other threads parse and answer. So slow senders and slow readers occupy no thread,
and all of them have a deadline.
"""

from __future__ import annotations

import ctypes
import errno
import math
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

import structlog
from django.conf import settings
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from gunicorn.workers.gthread import ThreadWorker

from communities.gate import bodies, envelope
from config.web import arrivals
from config.web.connections import BYTES_A_SECOND, MAX_ON_DISK, Connection, Outbox, State

READ_SIZE = 65_536
# bytes. For each chunk of a body, gunicorn copies the whole input that it got at once.
PARSED_AT_ONCE = 8_192
MAX_HEADER = 65_536  # bytes. gunicorn also limits the length and the number of lines.
SECONDS_TO_LINGER = 5
MAX_DISCARDED = 16_777_216  # At most this many bytes are discarded. A client that sends more is cut off.
# All answers together have at most this many bytes in files. Beyond this limit, the largest answer is given
# up.
MAX_ON_DISK_OF_ALL = 2 * MAX_ON_DISK
SECONDS_TO_STOP = 2  # After SIGTERM, the process waits this long for the next request of a connection.
MOST_IN_BACKLOG = 2_048  # The system accepts at most this many connections for us, as by gunicorn's default.
SECONDS_BETWEEN_CHECKS = 0.5
SECONDS_BETWEEN_LOGS = 60
MMAP_THRESHOLD = -3  # The number of this parameter in glibc's malloc.h.
LARGE_BUFFER = 131_072  # bytes
GONE = frozenset({errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF})
OUT_OF_SOCKETS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
NOBODY_THERE = frozenset({errno.EAGAIN, errno.ECONNABORTED})

log = structlog.get_logger("colloquy.web")


class WebWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """The worker that the module describes. `nr_conns`, `handle` and other names without docstrings are
    gunicorn's.
    """

    alive: bool
    max_requests: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connections: set[Connection] = set()
        self.nr_conns: int = 0
        self.buffered = 0  # The bytes of all requests.
        # The number of connections that this process has ended, by reason.
        self.ended: Counter[str] = Counter()
        self.unread: set[Connection] = set()  # Connections whose answers wait for their clients.
        # gunicorn would stop at once at its own limit.
        self.most_requests, self.max_requests = self.max_requests, sys.maxsize
        self.is_recycled = False
        self._next_check = self._next_log = 0.0
        self._scratch = bytearray(READ_SIZE)

    def init_process(self) -> None:
        _give_large_buffers_back()
        super().init_process()  # This call returns when the process has to stop.

    # Start and stop

    def _recycle_if_quiet(self) -> None:
        """Let another process take over after `most_requests`, when no request is arriving or being answered.

        On a site that is always busy, this happens after twice as many requests. In that case, too, running
        requests are completed if they take no longer than gunicorn's `graceful_timeout`.
        """
        if not self.alive or self.nr < self.most_requests:
            return
        is_quiet = all(each.state in (State.IDLE, State.LINGERING) for each in self.connections)
        if is_quiet or self.nr >= 2 * self.most_requests:
            self.is_recycled, self.alive = True, False

    def handle_exit(self, sig: int, frame: object) -> None:
        """Stop because of SIGTERM, even while the process is being recycled."""
        if self.is_recycled:
            self.is_recycled = False
            self.method_queue.defer(self._cap_keepalive, time.monotonic() + SECONDS_TO_STOP)
        super().handle_exit(sig, frame)

    def set_accept_enabled(self, enabled: bool) -> None:
        # If the site is stopping, connected clients are still served. Otherwise other processes serve them.
        if not (enabled or self.alive or self.is_recycled):
            for listener in self.sockets:
                for _ in range(MOST_IN_BACKLOG):
                    if not self.accept(listener):
                        break
        super().set_accept_enabled(enabled)

    def accept(self, listener: socket.socket) -> bool:
        if self.nr_conns + 1 >= self.worker_connections:
            self._make_room()
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in OUT_OF_SOCKETS:
                self._make_room()
            elif error.errno not in NOBODY_THERE:
                raise
            return False
        sock = Outbox(client, seconds=settings.SECONDS_TO_READ_A_RESPONSE, on_unsent=lambda: None)
        connection = Connection(sock, address, listener.getsockname())
        sock.on_unsent = partial(self.method_queue.defer, self._take_up_answer, connection)
        self.connections.add(connection)
        self.nr_conns = len(self.connections)
        self._wait(connection, State.IDLE, settings.SECONDS_TO_SEND_A_HEADER)
        self._watch(connection, EVENT_READ)
        return True

    def _make_room(self) -> None:
        """End a twentieth of all connections, and choose those that have waited longest for their clients."""
        waiting = [each for each in self.connections if each.state != State.SERVED]
        waiting.sort(key=lambda each: each.since)
        for connection in waiting[: self.worker_connections // 20 + 1]:
            self._end(connection, "too_many")

    def _wait(self, connection: Connection, state: State, seconds: float) -> None:
        if not (self.alive or self.is_recycled) and state in (State.IDLE, State.LINGERING):
            seconds = min(seconds, SECONDS_TO_STOP)
        connection.state, connection.since = state, time.monotonic()
        connection.deadline = connection.since + seconds

    def _watch(self, connection: Connection, events: int) -> None:
        """Register these events of a connection with the poller; no events for 0."""
        if events == connection.watched:
            return
        if not events:
            self.poller.unregister(connection.sock)
        elif connection.watched:
            self.poller.modify(connection.sock, events, partial(self._on_event, connection))
        else:
            self.poller.register(connection.sock, events, partial(self._on_event, connection))
        connection.watched = events
        (self.unread.add if events == EVENT_WRITE else self.unread.discard)(connection)

    def _end(self, connection: Connection, reason: str) -> None:
        self.ended[reason] += 1
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self._watch(connection, 0)
        self._forget_received(connection)
        self.connections.discard(connection)
        self.nr_conns = len(self.connections)
        connection.sock.drop()

    def _hang_up(self, connection: Connection) -> None:
        """Close a connection so that the client can still read its answer, because the client may still be
        sending.
        """
        try:
            connection.sock.hang_up()
        except OSError:
            self._drop(connection)
            return
        self._forget_received(connection)
        self._wait(connection, State.LINGERING, SECONDS_TO_LINGER)
        self._watch(connection, EVENT_READ)

    def _forget_received(self, connection: Connection) -> None:
        self.buffered -= len(connection.received)
        connection.received.clear()

    # Events

    def _on_event(self, connection: Connection, _: object) -> None:
        if connection not in self.connections:  # An event of the same round has ended the connection.
            return
        try:
            if connection.watched == EVENT_WRITE:
                self._write_on(connection)
            elif connection.state == State.SERVED:
                self._watch(connection, 0)  # New bytes have to wait.
            else:
                self._read(connection)
        except OSError:
            self._drop(connection)

    def _read(self, connection: Connection) -> None:
        count = connection.sock.receive_into(self._scratch)
        if count is None:
            return
        if not count:
            self._drop(connection)
        elif connection.state == State.LINGERING:
            connection.discarded += count
            if connection.discarded > MAX_DISCARDED:
                self._end(connection, "still_sending")
        else:
            connection.received += memoryview(self._scratch)[:count]
            self.buffered += count
            self._look(connection)
            if self.buffered > settings.WEB_BUFFER:
                self._refuse_largest()

    def _look(self, connection: Connection) -> None:
        """Serve a complete request; otherwise wait for the rest of the request."""
        received = connection.received
        if connection.state == State.IDLE:
            while received.startswith(b"\r\n"):  # Empty lines are allowed between requests.
                del received[:2]
                self.buffered -= 2
            if not received or received == b"\r":
                return
            self._wait(connection, State.READING, settings.SECONDS_TO_SEND_A_HEADER)
        if connection.arrival is None:
            connection.arrival = arrivals.arrival(received)
            if connection.arrival is None:
                if len(received) > MAX_HEADER:
                    self._refuse(connection, 431)
                return
            self._wait(connection, State.READING, settings.SECONDS_TO_SEND_A_BODY)
        arrival = connection.arrival
        size = bodies.MAX_LINES_BODY if arrival.length is None else arrival.length
        limit = bodies.limit(arrival.path.decode("latin-1"), size=size)
        end = arrival.end(received, limit)
        if end:
            self._serve(connection, end, is_cut=arrival.is_over(limit))
            return
        body = len(received) - arrival.header_size
        connection.deadline = connection.since + settings.SECONDS_TO_SEND_A_BODY + body / BYTES_A_SECOND
        if arrival.waits_to_continue:
            arrival.waits_to_continue = False
            self._send(connection, b"HTTP/1.1 100 Continue\r\n\r\n")

    def _serve(self, connection: Connection, end: int, *, is_cut: bool) -> None:
        end = min(end, len(connection.received))
        connection.request = bytes(memoryview(connection.received)[:end])
        del connection.received[:end]
        connection.held, connection.is_cut = end, is_cut
        connection.state, connection.deadline = State.SERVED, math.inf
        self.enqueue_req(connection)

    def _take_up_answer(self, connection: Connection) -> None:
        """Send an answer to which a thread has added data."""
        self._write_on(connection)
        if connection in self.unread:
            self._keep_answers_small()

    def _write_on(self, connection: Connection) -> None:
        """Send the rest of an answer, as much as the client accepts."""
        if connection not in self.connections:
            return
        try:
            is_sent = connection.sock.flush()
        except OSError:
            self._drop(connection)
            return
        if not is_sent:
            self._watch(connection, EVENT_WRITE)
        elif connection.state == State.WRITING:
            self._after_answer(connection)
        else:  # The thread is still answering, or the data was only `100 Continue`.
            self._watch(connection, 0 if connection.state == State.SERVED else EVENT_READ)

    # Limits

    def _refuse(self, connection: Connection, status: int) -> None:
        """Answer a request that has not arrived completely, and close the connection."""
        self.ended[str(status)] += 1
        refused = envelope.status_response(status)
        refused["Content-Length"] = str(len(refused.content))
        refused["Connection"] = "close"
        self._forget_received(connection)
        connection.keeps = False
        self._wait(connection, State.WRITING, math.inf)
        status_line = f"HTTP/1.1 {status} {refused.reason_phrase}\r\n".encode()
        if self._send(connection, status_line + refused.serialize_headers() + b"\r\n\r\n" + refused.content):
            self._write_on(connection)

    def _send(self, connection: Connection, data: bytes) -> bool:
        """Send a few bytes from the polling thread; return whether the client is still connected."""
        try:
            connection.sock.sendall(data)
        except OSError:
            self._drop(connection)
            return False
        return True

    def _refuse_largest(self) -> None:
        """Refuse the largest request that is arriving. Most requests are small, so they can continue."""
        arriving = [each for each in self.connections if each.state == State.READING]
        if arriving:
            self._refuse(max(arriving, key=lambda each: len(each.received)), 503)

    def _keep_answers_small(self) -> None:
        if sum(each.sock.size for each in self.unread) > settings.WEB_BUFFER:
            self._end(max(self.unread, key=lambda each: each.sock.size), "unread")
        if sum(each.sock.on_disk for each in self.unread) > MAX_ON_DISK_OF_ALL:
            self._end(max(self.unread, key=lambda each: each.sock.on_disk), "unread")

    def murder_keepalived(self, force: bool = False) -> None:
        """End connections that are past a deadline; with `force`, all of them."""
        now = time.monotonic()
        if now < self._next_check and not force:
            return
        self._next_check = now + SECONDS_BETWEEN_CHECKS
        for connection in list(self.connections):
            if force:
                self._drop(connection)
            elif connection.sock.deadline < now:
                self._end(connection, "unread")
            elif connection.deadline < now:
                if connection.state == State.READING:
                    self._refuse(connection, 408)
                else:
                    self._drop(connection)
        if self.nr_conns >= self.worker_connections:  # No connection is accepted.
            self._make_room()
        if self.ended and now >= self._next_log:
            log.warning("web.clients_ended", **self.ended)
            self.ended.clear()
            self._next_log = now + SECONDS_BETWEEN_LOGS

    def murder_pending(self) -> None:
        """Do nothing: `murder_keepalived` handles all connections."""

    def _cap_keepalive(self, deadline: float) -> None:
        """Limit the wait of connections without a request to this deadline. A request that is arriving keeps
        its own.
        """
        for connection in self.connections:
            if connection.state in (State.IDLE, State.LINGERING):
                connection.deadline = min(connection.deadline, deadline)

    # Serving, in threads

    def handle(self, conn: Connection) -> bool:
        """Answer a request; return whether its connection can be kept."""
        request = None
        unreader = IterUnreader(_pieces(conn.request))
        try:
            request = Request(self.cfg, unreader, conn.client)
            request._expected_100_continue = False  # The body has already arrived.
            if conn.is_cut:
                _declare_length(request, conn)
            if conn.is_cut or not _agrees(request, conn):
                request.force_close()
            return bool(self.handle_request(request, conn)) and _is_used_up(request, unreader)
        except StopIteration:
            return False
        except OSError as error:
            if error.errno not in GONE:
                self.log.exception("Socket error processing request.")
        except Exception as error:
            self.handle_error(request, conn.sock, conn.client, error)
        return False

    def finish_request(self, conn: Connection, fs: Future[bool]) -> None:
        """Continue with a connection after its request, in the polling thread."""
        self.buffered -= conn.held
        conn.held, conn.request, conn.arrival = 0, b"", None
        if conn not in self.connections:
            return
        conn.keeps = not fs.cancelled() and fs.exception() is None and fs.result()
        self._wait(conn, State.WRITING, math.inf)
        self._take_up_answer(conn)

    def _after_answer(self, connection: Connection) -> None:
        # At the limit of connections no client is accepted, so a client with a complete answer is
        # disconnected.
        if not connection.keeps or self.nr_conns >= self.worker_connections:
            self._hang_up(connection)
            self._recycle_if_quiet()
            return
        self._wait(connection, State.IDLE, settings.SECONDS_BETWEEN_REQUESTS)
        self._watch(connection, EVENT_READ)
        if connection.received:  # The next request has already arrived.
            self._look(connection)
        self._recycle_if_quiet()


def _give_large_buffers_back() -> None:
    """Make glibc return a large buffer to the system when the buffer is freed. Other C libraries are not
    changed.

    Otherwise glibc would keep such buffers, in pieces: a thousand bodies of 1 MiB took 850 MB instead of 140.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(MMAP_THRESHOLD, LARGE_BUFFER)


def _agrees(request: Request, connection: Connection) -> bool:
    """Return whether gunicorn's parser finds the same length of the body. With another length, the next
    request could begin elsewhere.
    """
    reader, arrival = request.body.reader, connection.arrival
    assert arrival is not None
    return arrival.length == reader.length if isinstance(reader, LengthReader) else arrival.length is None


def _declare_length(request: Request, connection: Connection) -> None:
    """Give the application the length of a body that was not read, even if the body is sent in chunks."""
    arrival = connection.arrival
    if arrival is not None and arrival.chunks is not None:
        others = [header for header in request.headers if header[0] != "TRANSFER-ENCODING"]
        request.headers = [*others, ("CONTENT-LENGTH", str(arrival.chunks.size))]


def _is_used_up(request: Request, unreader: IterUnreader) -> bool:
    """Whether the request ended at the expected byte, read by the application or not."""
    try:
        while request.body.read(READ_SIZE):
            pass
    except (ParseException, NoMoreData):
        return False
    return not (request.body.failed or unreader.read())


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), PARSED_AT_ONCE):
        yield data[start : start + PARSED_AT_ONCE]
