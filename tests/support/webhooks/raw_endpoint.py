"""An HTTP endpoint on this machine whose responses a test writes byte by byte, valid or not."""

from __future__ import annotations

import array
import contextlib
import fcntl
import socket
import ssl
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self

TIMEOUT = 10.0  # seconds to wait for the sender

PeerHandler = Callable[["Peer"], None]


@dataclass
class RawRequest:
    """A request as bytes. Header names are in lower case."""

    line: bytes
    headers: dict[bytes, bytes]
    body: bytes


@dataclass
class Peer:
    """One connection, seen from the endpoint. `number` counts connections from 0."""

    socket: socket.socket
    number: int
    requests: list[RawRequest]
    _buffer: bytes = field(default=b"")

    def read_request(self) -> RawRequest:
        """The next request. Raises ConnectionError if the sender closes the connection first."""
        while b"\r\n\r\n" not in self._buffer:
            self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        line, *rest = head.split(b"\r\n")
        headers = dict(each.split(b": ", 1) for each in rest)
        headers = {name.lower(): value for name, value in headers.items()}
        length = int(headers[b"content-length"])
        while len(self._buffer) < length:
            self._receive()
        request = RawRequest(line, headers, self._buffer[:length])
        self._buffer = self._buffer[length:]
        self.requests.append(request)
        return request

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def wait_until_read(self) -> None:
        """Wait until the sender's system has acknowledged everything that was sent."""
        unsent = array.array("i", [1])
        while unsent[0]:
            fcntl.ioctl(self.socket, termios.TIOCOUTQ, unsent)

    def wait_until_closed(self) -> None:
        with contextlib.suppress(OSError):
            while self.socket.recv(65536):
                pass

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError
        self._buffer += data


class RawEndpoint:
    """Listens on 127.0.0.1 and runs the handler in a thread for each connection."""

    def __init__(self, handler: PeerHandler, *, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(TIMEOUT)
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.port: int = self._listening.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hook"
        self.requests: list[RawRequest] = []
        self.connections = 0

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *fault: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for each in [self._listening, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(TIMEOUT)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                self._open.append(accepted)
                thread = threading.Thread(target=self._serve, args=(accepted, self.connections), daemon=True)
                self.connections += 1
                self._threads.append(thread)
                thread.start()

    def _serve(self, accepted: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            accepted.settimeout(TIMEOUT)
            if self._tls is not None:
                accepted = self._tls.wrap_socket(accepted, server_side=True)
                self._open.append(accepted)
            with accepted:
                self._handler(Peer(accepted, number, self.requests))


def responds_with(*responses: bytes) -> PeerHandler:
    """A handler that sends these responses in turn on each connection, and repeats the last one."""

    def handler(peer: Peer) -> None:
        for data in _repeated(responses):
            peer.read_request()
            peer.send(data)

    return handler


def _repeated(responses: tuple[bytes, ...]) -> Iterator[bytes]:
    yield from responses
    while True:
        yield responses[-1]


def ok(body: bytes = b"ok", *, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    """A valid response. Each of `headers` ends with a line break."""
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)
