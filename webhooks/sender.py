"""The only outgoing socket: one kept-alive connection to a webhook's endpoint, and what it answers.

A name is resolved once for each connection, every address of it is checked, and one of the checked ones is
connected to; so a name that changes its mind leads nowhere else. No redirects are followed, no proxies used.
"""

from __future__ import annotations

import functools
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpcore2

from webhooks.addresses import BadAddress, Endpoint, check, endpoint, is_public

TIMEOUT = 15.0  # seconds, for everything from the name's resolution to the answer's last byte
MOST_READ = 64 * 1024  # bytes of an answer's body
MOST_CHARACTERS = 1000  # of its text that are kept
_MOST_RECEIVED = MOST_READ + 32 * 1024  # bytes with header and framing
_MOST_ADDRESSES_TRIED = 8
_MOST_CHARACTERS_OF_RETRY_AFTER = 100
_OWN_HEADERS = [(b"accept-encoding", b"identity"), (b"user-agent", b"Colloquy-Webhooks/1.0")]

# By OpenSSL's X509_V_ERR numbers.
_FAULTS_OF_CERTIFICATES = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    62: "is for another name",
    64: "is for another address",
}


class NotAnswered(Exception):
    """There was no HTTP answer; as text a sentence that says why, for the webhook's owner."""


class _Unanswered(NotAnswered):
    """The connection ended before a byte of an answer came."""


class _Unfinished(NotAnswered):
    """The rest of an answer does not come, or is more than anybody wants to read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint said: `text` is the begin of the body, `retry_after` the header as it came."""

    status: int
    text: str
    retry_after: str | None


class Line:
    """A connection to one endpoint, kept alive between posts. Not for two threads at one time."""

    def __init__(self, url: str, *, allow_http: bool, allow_private: bool, timeout: float = TIMEOUT) -> None:
        self._url = url
        self._allow_http = allow_http
        self._allow_private = allow_private
        self._timeout = timeout
        self._kept: tuple[httpcore2.HTTP11Connection, _Stream] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a body and read the answer, whatever its status, all within the timeout.

        Raises NotAnswered. A kept connection that the endpoint closed meanwhile is opened anew. Where it ends
        without a word while the body is under way, the body is sent once more at once: nobody can know
        whether it arrived, and a failed attempt would be repeated all the same.
        """
        deadline = _Deadline(self._timeout)
        request = _request(self._endpoint, body, headers)
        if self._is_open():
            try:
                return self._exchange(request, deadline)
            except _Unanswered:
                pass
        self._open(request, deadline)
        return self._exchange(request, deadline)

    def close(self) -> None:
        """End the connection, if there is one; a later post opens it anew."""
        if self._kept is not None:
            connection, _ = self._kept
            connection.close()
            self._kept = None

    @functools.cached_property
    def _endpoint(self) -> Endpoint:
        try:
            check(self._url, allow_http=self._allow_http, allow_private=self._allow_private)
        except BadAddress as refused:
            raise NotAnswered(str(refused)) from refused
        return endpoint(self._url)

    def _is_open(self) -> bool:
        if self._kept is None:
            return False
        connection, _ = self._kept
        return connection.is_available() and not connection.has_expired()

    def _open(self, request: httpcore2.Request, deadline: _Deadline) -> None:
        self.close()
        plain = _connected(self._endpoint, deadline, allow_private=self._allow_private)
        is_plain = self._endpoint.scheme == "http"
        stream = _Stream(plain if is_plain else _secured(plain, self._endpoint.host, deadline))
        self._kept = httpcore2.HTTP11Connection(request.url.origin, stream), stream

    def _exchange(self, request: httpcore2.Request, deadline: _Deadline) -> Answer:
        assert self._kept is not None
        connection, stream = self._kept
        stream.begin(deadline)
        try:
            response = connection.handle_request(request)
        except httpcore2.RemoteProtocolError as failure:
            raise NotAnswered("The endpoint's answer was not valid HTTP.") from failure
        answer = Answer(response.status, _text(_body(response)), _retry_after(response))
        if connection._h11_state.trailing_data[0]:
            self.close()  # or what stands behind this answer would be taken for the next one
        return answer


def _request(target: Endpoint, body: bytes, headers: Mapping[str, str]) -> httpcore2.Request:
    return httpcore2.Request(
        method=b"POST",
        url=httpcore2.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.target.encode(),
        ),
        headers=[
            (b"host", target.authority.encode()),
            (b"content-length", b"%d" % len(body)),
            *_OWN_HEADERS,
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ],
        content=body,
    )


def _body(response: httpcore2.Response) -> bytes:
    """As much of it as is read. Where it breaks off, or has no end, the status counts all the same."""
    body = bytearray()
    try:
        for part in response.iter_stream():
            body += part
            if len(body) >= MOST_READ:
                break
    except (_Unfinished, httpcore2.RemoteProtocolError):
        pass
    finally:
        response.close()  # ends the connection where something is left unread
    return bytes(body)


def _text(body: bytes) -> str:
    # No character has more than 4 bytes. PostgreSQL takes no NUL.
    begin = body[: 4 * MOST_CHARACTERS].decode(errors="replace")[:MOST_CHARACTERS]
    return begin.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _retry_after(response: httpcore2.Response) -> str | None:
    for name, value in response.headers:
        if name.lower() == b"retry-after":
            return value.decode("latin-1")[:_MOST_CHARACTERS_OF_RETRY_AFTER]
    return None


class _Deadline:
    """The end of one post, whatever it is busy with."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, more than 0; raises NotAnswered where none are left."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> NotAnswered:
        return NotAnswered(f"The endpoint did not answer within {self._seconds:g} seconds.")


class _Stream(httpcore2.NetworkStream):
    """A socket for one post after another; each has its deadline, and a bound to what may come back."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def begin(self, deadline: _Deadline) -> None:
        self._deadline = deadline
        self._received = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._received >= _MOST_RECEIVED:
            raise _Unfinished("The endpoint's answer was too long.")
        self._socket.settimeout(self._deadline.left())
        try:
            received = self._socket.recv(min(max_bytes, _MOST_RECEIVED - self._received))
        except TimeoutError:
            raise self._deadline.passed() from None
        except OSError as failure:
            if self._received:
                raise _Unfinished("The endpoint broke off its answer.") from failure
            received = b""
        if not received and not self._received:
            raise _Unanswered("The endpoint closed the connection without an answer.")
        self._received += len(received)
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        left = memoryview(buffer)
        while left:
            self._socket.settimeout(self._deadline.left())
            try:
                left = left[self._socket.send(left) :]
            except TimeoutError:
                raise self._deadline.passed() from None
            except OSError as failure:  # there may be an answer all the same: httpcore reads on
                raise httpcore2.WriteError(str(failure)) from failure

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> bool:
        """Whether something waits to be read, if only the end: all that httpcore asks of it."""
        assert info == "is_readable"
        poll = select.poll()  # select.select knows the first 1024 files of a process alone
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))


def _connected(target: Endpoint, deadline: _Deadline, *, allow_private: bool) -> socket.socket:
    """A connection to one of the name's addresses, when all of them are public."""
    found = _resolved(target, deadline)
    if not found or not (allow_private or all(is_public(ip) for _, (ip, *_) in found)):
        # One sentence for both, so that it tells nobody which names a private network knows.
        raise NotAnswered("The endpoint's name is unknown, or leads to an address that is not public.")
    tried = found[:_MOST_ADDRESSES_TRIED]
    for position, (family, address) in enumerate(tried):
        seconds = deadline.left() / (len(tried) - position)  # a dead one leaves time for the next
        try:
            return _connected_to(family, address, seconds)
        except OSError:
            continue
    deadline.left()
    raise NotAnswered("The endpoint could not be reached.")


def _connected_to(family: int, address: tuple[Any, ...], seconds: float) -> socket.socket:
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        connected.settimeout(seconds)
        connected.connect(address)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connected.close()
        raise
    return connected


def _resolved(target: Endpoint, deadline: _Deadline) -> list[tuple[int, tuple[Any, ...]]]:
    """Family and socket address of all that the name leads to; empty where it is unknown."""
    found: queue.SimpleQueue[list[tuple[int, tuple[Any, ...]]]] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            answers = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            answers = []
        found.put([(family, address) for family, _, _, _, address in answers])

    # The resolver takes no limit, so it is left alone when the time is over.
    threading.Thread(target=resolve, name="resolve", daemon=True).start()
    try:
        return found.get(timeout=deadline.left())
    except queue.Empty:
        raise deadline.passed() from None


@functools.cache
def tls() -> ssl.SSLContext:
    """How endpoints are trusted: by the system's certificates, or those of SSL_CERT_FILE; read once."""
    context = httpcore2.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _secured(plain: socket.socket, host: str, deadline: _Deadline) -> socket.socket:
    try:
        plain.settimeout(deadline.left())
        return tls().wrap_socket(plain, server_hostname=host)
    except TimeoutError:
        raise deadline.passed() from None
    except ssl.SSLCertVerificationError as failure:
        raise NotAnswered(_fault_of_certificate(failure)) from failure
    except OSError as failure:
        raise NotAnswered("No secure connection to the endpoint could be made.") from failure
    finally:
        plain.close()  # once it is wrapped there is nothing left in it


def _fault_of_certificate(failure: ssl.SSLCertVerificationError) -> str:
    fault = _FAULTS_OF_CERTIFICATES.get(failure.verify_code)
    if fault is None:
        return f"The endpoint's certificate could not be verified: {failure.verify_message}."
    return f"The endpoint's certificate {fault}."
