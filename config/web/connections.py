"""The connections of a web process: the received part of each request, and the unsent part of each answer."""

from __future__ import annotations

import errno
import io
import math
import os
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from config.web.arrivals import Arrival

BYTES_A_SECOND = 16_384  # the minimum speed of bodies and answers after their first seconds
HIGH_WATER = 262_144  # bytes; while more wait for the client, further output is written to a file
MAX_ON_DISK = 2**30  # bytes of an answer in the file; a slower client is cut off
KEPT_TOGETHER = 65_536  # bytes of an answer in one buffer; they are freed together, too
LARGEST_FILE_AT_ONCE = 8_388_608  # bytes


class State(Enum):
    """The event for which a connection waits."""

    IDLE = auto()  # the first byte of a request
    READING = auto()  # the rest of a request
    SERVED = auto()  # the application
    WRITING = auto()  # the client, to read the rest of an answer
    LINGERING = auto()  # the client, to notice the end of the connection


class Connection:
    """One client. All attributes belong to the polling thread; other threads use only `sock`."""

    __slots__ = (
        "arrival",
        "client",
        "deadline",
        "discarded",
        "held",
        "is_cut",
        "keeps",
        "received",
        "request",
        "server",
        "since",
        "sock",
        "state",
        "watched",
    )

    def __init__(self, sock: Outbox, client: Any, server: Any) -> None:
        self.sock = sock  # gunicorn writes to it as to a socket
        self.client = client
        self.server = server
        self.state = State.IDLE
        self.since = time.monotonic()  # in this state
        self.deadline = math.inf
        self.received = bytearray()
        self.arrival: Arrival | None = None
        self.request = b""  # the whole request that is being served
        self.held = 0  # bytes of that request
        self.is_cut = False  # its body was not read to the end
        self.keeps = False  # whether the connection may be used for the next request
        self.discarded = 0  # bytes since the end was sent
        self.watched = 0  # events that the poller waits for


class Outbox:
    """A client's socket, which takes an answer without waiting for its reader.

    Bytes that the client does not read at once are stored here, and the polling thread sends them. Most of an
    answer that is produced in pieces, such as an export, waits in a temporary file, so that no slow reader
    delays its production.
    """

    def __init__(self, sock: socket.socket, *, seconds: float, on_unsent: Callable[[], None]) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._seconds = seconds
        self.on_unsent = on_unsent  # called when there is something to send
        self._unsent: deque[memoryview] = deque()
        self._lock = threading.Lock()
        self._file: io.FileIO | None = None
        self._read = 0  # bytes of the file that were sent, or are in memory
        self.on_disk = 0  # bytes of the file
        self.size = 0  # bytes that wait in memory
        self.deadline = math.inf  # of the reader
        self.is_closed = False

    def fileno(self) -> int:
        return self._socket.fileno()

    # For threads that answer

    def sendall(self, data: bytes) -> None:
        """Send the data, or store it for later.

        Raises OSError once the client has closed the connection, or is too slow.
        """
        rest = memoryview(data)
        with self._lock:
            if self.is_closed:
                raise BrokenPipeError(errno.EPIPE, "The client is gone.")
            was_empty = not self._unsent
            if was_empty:
                rest = rest[self._send(rest) :]
            if not rest:
                return
            if was_empty:
                self.deadline = time.monotonic() + self._seconds
            if self._file is not None or self.size > HIGH_WATER:
                self._keep_on_disk(rest)
                return
            # Copies, because a stored part of an answer must not keep the whole answer in memory.
            self._unsent.extend(
                memoryview(bytes(rest[start : start + KEPT_TOGETHER]))
                for start in range(0, len(rest), KEPT_TOGETHER)
            )
            self.size += len(rest)
        if was_empty:
            self.on_unsent()

    def sendfile(self, file: io.FileIO, offset: int, count: int) -> None:
        """Send a part of a static file."""
        while count:
            part = os.pread(file.fileno(), min(count, LARGEST_FILE_AT_ONCE), offset)
            if not part:
                return
            self.sendall(part)
            offset, count = offset + len(part), count - len(part)

    def gettimeout(self) -> float:
        return 0.0

    def settimeout(self, value: float | None) -> None:
        """Part of a socket's interface; nothing here waits for the network."""

    def recv(self, size: int) -> bytes:
        """Return nothing: gunicorn reads on after it has shut the connection down, but the polling thread
        does that.
        """
        return b""

    shutdown = setblocking = settimeout

    def close(self) -> None:
        """Part of a socket's interface; the polling thread closes."""

    # For the thread that polls

    def flush(self) -> bool:
        """Send as much as the client accepts; return whether everything was sent.

        Raises OSError if the client has closed the connection.
        """
        with self._lock:
            while self._unsent or self._take_from_disk():
                first = self._unsent[0]
                sent = self._send(first)
                self.size -= sent
                # A reader that was fast for a while must not be able to stop for an equally long time.
                most = time.monotonic() + self._seconds + self.size / BYTES_A_SECOND
                self.deadline = min(self.deadline + sent / BYTES_A_SECOND, most)
                if sent < len(first):
                    self._unsent[0] = first[sent:]
                    break
                self._unsent.popleft()
            else:
                self.deadline = math.inf
            return not self._unsent

    def _keep_on_disk(self, data: memoryview) -> None:
        if self.on_disk + len(data) > MAX_ON_DISK:
            raise BrokenPipeError(errno.EPIPE, "The client is too far behind.")
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `_delete_file` closes it
        while data:
            written = os.pwrite(self._file.fileno(), data, self.on_disk)
            self.on_disk += written
            data = data[written:]

    def _take_from_disk(self) -> bool:
        """Read a part of the file into memory.

        Returns False at the end of the file; then the file is deleted.
        """
        if self._file is None:
            return False
        part = os.pread(self._file.fileno(), KEPT_TOGETHER, self._read)
        if not part:
            self._delete_file()
            return False
        self._read += len(part)
        self.size += len(part)
        self._unsent.append(memoryview(part))
        return True

    def _delete_file(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._read, self.on_disk = None, 0, 0

    def _send(self, data: memoryview) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0

    def receive_into(self, buffer: bytearray) -> int | None:
        """The number of bytes that were read, 0 at the end; None if there are none yet. Raises OSError."""
        try:
            return self._socket.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return None

    def hang_up(self) -> None:
        """Signal the end of the data to the client.

        Raises OSError if the client has closed the connection.
        """
        self._socket.shutdown(socket.SHUT_WR)

    def drop(self) -> None:
        """Close. A thread that is writing to this connection gets an OSError."""
        with self._lock:
            self.is_closed = True
            self._unsent.clear()
            self._delete_file()
            self.size, self.deadline = 0, math.inf
            self._socket.close()
