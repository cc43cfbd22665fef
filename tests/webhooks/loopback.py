"""An endpoint on this machine that is spoken by hand, byte for byte, also badly."""

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

PATIENCE = 10.0  # seconds that a talk waits for the sender

Talk = Callable[["Peer"], None]


@dataclass
class Request:
    """What the sender sent, as bytes; header names in lower case."""

    line: bytes
    headers: dict[bytes, bytes]
    body: bytes


@dataclass
class Peer:
    """One connection of the sender, from the endpoint's side. `number` counts them from 0."""

    socket: socket.socket
    number: int
    requests: list[Request]
    _buffer: bytes = field(default=b"")

    def hear(self) -> Request:
        """The next request; ConnectionError where there is none."""
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        line, *rest = head.split(b"\r\n")
        headers = dict(each.split(b": ", 1) for each in rest)
        headers = {name.lower(): value for name, value in headers.items()}
        length = int(headers[b"content-length"])
        while len(self._buffer) < length:
            self._more()
        request = Request(line, headers, self._buffer[:length])
        self._buffer = self._buffer[length:]
        self.requests.append(request)
        return request

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def wait_until_read(self) -> None:
        """Returns once the sender's system has acknowledged all that was said."""
        unsent = array.array("i", [1])
        while unsent[0]:
            fcntl.ioctl(self.socket, termios.TIOCOUTQ, unsent)

    def wait_until_closed(self) -> None:
        with contextlib.suppress(OSError):
            while self.socket.recv(65536):
                pass

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError
        self._buffer += data


class Endpoint:
    """Listens on 127.0.0.1, and has the talk in a thread with each who connects."""

    def __init__(self, talk: Talk, *, tls: ssl.SSLContext | None = None) -> None:
        self._talk = talk
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(PATIENCE)
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.port: int = self._listening.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hook"
        self.requests: list[Request] = []
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
            thread.join(PATIENCE)

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
            accepted.settimeout(PATIENCE)
            if self._tls is not None:
                accepted = self._tls.wrap_socket(accepted, server_side=True)
                self._open.append(accepted)
            with accepted:
                self._talk(Peer(accepted, number, self.requests))


def answers(*said: bytes) -> Talk:
    """A talk that gives these answers in turn on each connection, the last again and again."""

    def talk(peer: Peer) -> None:
        for data in _forever(said):
            peer.hear()
            peer.say(data)

    return talk


def _forever(said: tuple[bytes, ...]) -> Iterator[bytes]:
    yield from said
    while True:
        yield said[-1]


def ok(body: bytes = b"ok", *, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    """A well-formed answer; `headers` end each with a line break."""
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)
