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

BYTES_A_SECOND = 16_384  # Bodies and answers must have this speed after their first seconds.
HIGH_WATER = 262_144  # In bytes. While more bytes wait for the client, further output is written to a file.
MAX_ON_DISK = 2**30  # The file has at most this many bytes of an answer. A slower client is cut off.
KEPT_TOGETHER = 65_536  # One buffer has at most this many bytes of an answer; they are freed together, too.
LARGEST_FILE_AT_ONCE = 8_388_608  # bytes


class State(Enum):
    """The event or thread for which a connection waits."""

    IDLE = auto()  # Waits for the first byte of a request.
    READING = auto()  # Waits for the rest of a request.
    SERVED = auto()  # Waits for the application.
    WRITING = auto()  # Waits for the client to read the rest of an answer.
    LINGERING = auto()  # Waits for the client to notice the end of the connection.


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
        self.sock = sock  # gunicorn writes to this object as to a socket.
        self.client = client
        self.server = server
        self.state = State.IDLE
        self.since = time.monotonic()  # The connection is in its state since this moment.
        self.deadline = math.inf
        self.received = bytearray()
        self.arrival: Arrival | None = None
        self.request = b""  # The whole request that is being served.
        self.held = 0  # The bytes of the request that is being served.
        self.is_cut = False  # Whether the body of the request was not read to the end.
        self.keeps = False  # Whether the connection may be used for the next request.
        self.discarded = 0  # The bytes that were discarded since the end was sent.
        self.watched = 0  # The events for which the poller waits.


class Outbox:
    """A client's socket. It takes an answer without waiting for the client to read it.

    Bytes that the client does not read at once are stored here, and the polling thread sends them. Most of an
    answer that is produced in pieces, such as an export, waits in a temporary file, so that no slow reader
    delays its production.
    """

    def __init__(self, sock: socket.socket, *, seconds: float, on_unsent: Callable[[], None]) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._seconds = seconds
        self.on_unsent = on_unsent  # The outbox calls this function when there is data to send.
        self._unsent: deque[memoryview] = deque()
        self._lock = threading.Lock()
        self._file: io.FileIO | None = None
        self._read = 0  # The bytes of the file that were sent, or are in memory.
        self.on_disk = 0  # The bytes of the file.
        self.size = 0  # The bytes that wait in memory.
        self.deadline = math.inf  # The client must have read the data by this moment.
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
            # The stored parts are copies, because a part of an answer must not keep the whole answer in
            # memory.
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
        """Do nothing: a socket needs this method, but nothing here waits for the network."""

    def recv(self, size: int) -> bytes:
        """Return nothing. gunicorn would read on after it has shut the connection down, but the polling
        thread does that.
        """
        return b""

    shutdown = setblocking = settimeout

    def close(self) -> None:
        """Do nothing: a socket needs this method, but the polling thread closes the connection."""

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
                # A client that was fast for a while must not be able to stop for an equally long time.
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
        """Read a part of the file into memory, and return whether there was one.

        Returns False at the end of the file, which is then deleted.
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
        """Return the number of bytes that were read; 0 at the end, None if no bytes have arrived yet. Raises
        OSError.
        """
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
        """Close the connection. A thread that is writing to the connection gets an OSError."""
        with self._lock:
            self.is_closed = True
            self._unsent.clear()
            self._delete_file()
            self.size, self.deadline = 0, math.inf
            self._socket.close()
