"""HTTP connections to the endpoints of webhooks. Redirects are not followed, and proxies are not used.

`addresses.connect` resolves, checks and connects, as for the sessions of `communities.ground.outgoing`. The
HTTP library is httpcore2, not that of these sessions: with a session of requests, a delivery takes 1.5 times
the CPU. The parser of requests and urllib3, http.client, also accepts malformed responses, and treats 101 and
103 as final.
"""

from __future__ import annotations

import functools
import select
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpcore2

from communities.ground.addresses import RefusedHost, connect
from communities.ground.web_addresses import BadAddress, Endpoint, check_url, parse_url

TIMEOUT = 15.0  # In seconds, from resolving the host to the last byte of the response.
MAX_BODY_BYTES = 64 * 1024  # At most this many bytes of a response's body are read.
MAX_TEXT_LENGTH = 1000  # At most this many characters of the body are stored.
_MAX_RECEIVED_BYTES = MAX_BODY_BYTES + 32 * 1024  # The limit includes headers and framing.
_MAX_RETRY_AFTER_LENGTH = 100
_OWN_HEADERS = [(b"accept-encoding", b"identity"), (b"user-agent", b"Colloquy-Webhooks/1.0")]

# The sentences by OpenSSL's X509_V_ERR codes.
_CERTIFICATE_ERRORS = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    62: "is for another name",
    64: "is for another address",
}


class DeliveryError(Exception):
    """There was no HTTP response. The message is a sentence for the webhook's owner with the reason."""


class _NoResponse(DeliveryError):
    """The connection ended before the first byte of a response."""


class _IncompleteResponse(DeliveryError):
    """A response broke off, or exceeds the size limit."""


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """An endpoint's response: `text` is the start of the body, `retry_after` the header as received."""

    status: int
    text: str
    retry_after: str | None


class Connection:
    """A connection to one endpoint, kept alive between posts. Not thread-safe."""

    def __init__(self, url: str, *, allow_http: bool, allow_private: bool, timeout: float = TIMEOUT) -> None:
        self._url = url
        self._allow_http = allow_http
        self._allow_private = allow_private
        self._timeout = timeout
        self._http_connection: tuple[httpcore2.HTTP11Connection, _Stream] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def post(self, body: bytes, headers: Mapping[str, str]) -> EndpointResponse:
        """Send a body and read the response, of any status, all within the timeout. Raises DeliveryError.

        Reopens a connection that the endpoint has closed. If a kept-alive connection ends without a response
        while the body is being sent, the body is sent once more on a new connection. Nobody can know whether
        it arrived, and a failed attempt would be repeated anyway.
        """
        deadline = _Deadline(self._timeout)
        request = _request(self._endpoint, body, headers)
        if self._is_open():
            try:
                return self._exchange(request, deadline)
            except _NoResponse:
                pass
        self._connect(request, deadline)
        return self._exchange(request, deadline)

    def close(self) -> None:
        """Close the connection, if it is open. A later post opens a new one."""
        if self._http_connection is not None:
            connection, _ = self._http_connection
            connection.close()
            self._http_connection = None

    @functools.cached_property
    def _endpoint(self) -> Endpoint:
        try:
            check_url(self._url, allow_http=self._allow_http, allow_private=self._allow_private)
        except BadAddress as error:
            raise DeliveryError(str(error)) from error
        return parse_url(self._url)

    def _is_open(self) -> bool:
        if self._http_connection is None:
            return False
        connection, _ = self._http_connection
        return connection.is_available() and not connection.has_expired()

    def _connect(self, request: httpcore2.Request, deadline: _Deadline) -> None:
        self.close()
        plain = _connected_socket(self._endpoint, deadline, allow_private=self._allow_private)
        is_plain = self._endpoint.scheme == "http"
        stream = _Stream(plain if is_plain else _tls_socket(plain, self._endpoint.host, deadline))
        self._http_connection = httpcore2.HTTP11Connection(request.url.origin, stream), stream

    def _exchange(self, request: httpcore2.Request, deadline: _Deadline) -> EndpointResponse:
        assert self._http_connection is not None
        connection, stream = self._http_connection
        stream.begin(deadline)
        try:
            response = connection.handle_request(request)
        except httpcore2.RemoteProtocolError as failure:
            raise DeliveryError("The endpoint's response was not valid HTTP.") from failure
        endpoint_response = EndpointResponse(response.status, _text(_body(response)), _retry_after(response))
        if connection._h11_state.trailing_data[0]:
            self.close()  # Otherwise bytes after this response would be read as the next response.
        return endpoint_response


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
    """The first bytes of the body. If the body breaks off or never ends, the status is still valid."""
    body = bytearray()
    try:
        for part in response.iter_stream():
            body += part
            if len(body) >= MAX_BODY_BYTES:
                break
    except (_IncompleteResponse, httpcore2.RemoteProtocolError):
        pass
    finally:
        response.close()  # The call closes the connection if part of the body is unread.
    return bytes(body)


def _text(body: bytes) -> str:
    # A character has at most 4 bytes. PostgreSQL does not store NUL in text.
    text = body[: 4 * MAX_TEXT_LENGTH].decode(errors="replace")[:MAX_TEXT_LENGTH]
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _retry_after(response: httpcore2.Response) -> str | None:
    for name, value in response.headers:
        if name.lower() == b"retry-after":
            return value.decode("latin-1")[:_MAX_RETRY_AFTER_LENGTH]
    return None


class _Deadline:
    """The deadline of one post."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds

    def remaining(self) -> float:
        """The remaining seconds, more than 0. Raises DeliveryError if there are none."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise self.error()
        return seconds

    def error(self) -> DeliveryError:
        return DeliveryError(f"The endpoint did not answer within {self._seconds:g} seconds.")


class _Stream(httpcore2.NetworkStream):
    """A socket for several posts in a row, each with a deadline and a limit on the bytes received."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def begin(self, deadline: _Deadline) -> None:
        self._deadline = deadline
        self._received = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._received >= _MAX_RECEIVED_BYTES:
            raise _IncompleteResponse("The endpoint's response was too long.")
        self._socket.settimeout(self._deadline.remaining())
        try:
            received = self._socket.recv(min(max_bytes, _MAX_RECEIVED_BYTES - self._received))
        except TimeoutError:
            raise self._deadline.error() from None
        except OSError as failure:
            if self._received:
                raise _IncompleteResponse("The endpoint broke off its response.") from failure
            received = b""
        if not received and not self._received:
            raise _NoResponse("The endpoint closed the connection without a response.")
        self._received += len(received)
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        unsent = memoryview(buffer)
        while unsent:
            self._socket.settimeout(self._deadline.remaining())
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except TimeoutError:
                raise self._deadline.error() from None
            except OSError as failure:  # There may be a response nevertheless, which httpcore reads next.
                raise httpcore2.WriteError(str(failure)) from failure

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> bool:
        """Whether there is something to read, including the end. httpcore asks for nothing else."""
        assert info == "is_readable"
        poll = select.poll()  # select.select supports only the first 1024 file descriptors.
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))


def _connected_socket(target: Endpoint, deadline: _Deadline, *, allow_private: bool) -> socket.socket:
    seconds = deadline.remaining()
    try:
        return connect(target.host, target.port, allow_private=allow_private, seconds=seconds)
    except RefusedHost:
        raise DeliveryError("The endpoint's host is unknown, or has an address that is not public.") from None
    except TimeoutError:
        raise deadline.error() from None
    except OSError as failure:
        raise DeliveryError("The endpoint could not be reached.") from failure


@functools.cache
def tls() -> ssl.SSLContext:
    """Return the TLS context, read once. It trusts the system's certificates, or the certificates in
    SSL_CERT_FILE.
    """
    context = httpcore2.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _tls_socket(plain: socket.socket, host: str, deadline: _Deadline) -> socket.socket:
    try:
        plain.settimeout(deadline.remaining())
        return tls().wrap_socket(plain, server_hostname=host)
    except TimeoutError:
        raise deadline.error() from None
    except ssl.SSLCertVerificationError as failure:
        raise DeliveryError(_certificate_error(failure)) from failure
    except OSError as failure:
        raise DeliveryError("No secure connection to the endpoint could be made.") from failure
    finally:
        plain.close()  # A wrapped socket has handed over its file descriptor.


def _certificate_error(failure: ssl.SSLCertVerificationError) -> str:
    problem = _CERTIFICATE_ERRORS.get(failure.verify_code)
    if problem is None:
        return f"The endpoint's certificate could not be verified: {failure.verify_message}."
    return f"The endpoint's certificate {problem}."
