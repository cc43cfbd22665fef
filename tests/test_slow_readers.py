"""Output for a slow reader is stored, and occupies no thread (config/web/connections.py)."""

from __future__ import annotations

import socket
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from config.web.connections import BYTES_A_SECOND, HIGH_WATER, KEPT_TOGETHER, Outbox

pytestmark = pytest.mark.long

LARGE = bytes(range(256)) * 40_000


@pytest.fixture
def pair() -> Iterator[tuple[Outbox, socket.socket, Event]]:
    """The writing and the reading end of a connection, and a record of calls of the polling thread."""
    ours, theirs = socket.socketpair()
    called = Event()
    with theirs:
        yield Outbox(ours, seconds=30, on_unsent=called.set), theirs, called
    ours.close()


def read_all(outbox: Outbox, reader: socket.socket, count: int) -> bytes:
    """Everything, as the polling thread sends it on."""
    parts, size = [], 0
    while size < count:
        outbox.flush()
        parts.append(reader.recv(65_536))
        size += len(parts[-1])
    return b"".join(parts)


def test_what_is_read_at_once_is_sent_at_once(pair: tuple[Outbox, socket.socket, Event]) -> None:
    outbox, reader, called = pair

    outbox.sendall(b"answer")

    assert reader.recv(100) == b"answer"
    assert not called.is_set()


def test_one_large_answer_waits_for_its_reader_without_a_thread(
    pair: tuple[Outbox, socket.socket, Event],
) -> None:
    outbox, reader, called = pair

    outbox.sendall(LARGE)

    assert called.is_set()
    assert outbox.size > len(LARGE) // 2
    assert time.monotonic() + 25 < outbox.deadline < time.monotonic() + 31
    assert read_all(outbox, reader, len(LARGE)) == LARGE
    assert outbox.flush()
    assert (outbox.size, outbox.deadline) == (0, float("inf"))


def test_whoever_reads_earns_time(pair: tuple[Outbox, socket.socket, Event]) -> None:
    outbox, reader, _ = pair
    outbox.sendall(LARGE)
    before = outbox.deadline

    read_all(outbox, reader, 5_000_000)

    assert not outbox.flush()
    assert outbox.deadline > before + 200  # a second for each 16 KiB


def test_what_was_sent_of_an_answer_is_not_kept(pair: tuple[Outbox, socket.socket, Event]) -> None:
    outbox, reader, _ = pair
    tracemalloc.start()
    try:
        outbox.sendall(bytes(10_000_000))
        read_all(outbox, reader, 9_000_000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 0 < outbox.size < 1_000_000
    assert kept < outbox.size + 2 * KEPT_TOGETHER


def test_whoever_read_fast_for_a_while_may_not_stop_for_as_long(
    pair: tuple[Outbox, socket.socket, Event],
) -> None:
    outbox, reader, _ = pair
    outbox.sendall(LARGE)

    while outbox.size > HIGH_WATER:
        reader.recv(65_536)
        outbox.flush()

    assert outbox.size
    assert outbox.deadline <= time.monotonic() + 30 + HIGH_WATER / BYTES_A_SECOND


def test_what_is_made_piece_by_piece_does_not_wait_for_its_reader(
    pair: tuple[Outbox, socket.socket, Event],
) -> None:
    """Rule 11.30."""
    outbox, reader, called = pair
    pieces = [bytes([number]) * HIGH_WATER for number in range(80)]

    for piece in pieces:
        outbox.sendall(piece)

    assert called.is_set()
    assert outbox.size <= 2 * HIGH_WATER
    assert outbox.size + outbox.on_disk > 76 * HIGH_WATER
    assert read_all(outbox, reader, 80 * HIGH_WATER) == b"".join(pieces)
    assert outbox.flush()
    assert (outbox.size, outbox.on_disk, outbox.deadline) == (0, 0, float("inf"))


def test_what_is_made_while_the_rest_is_sent_keeps_its_place(
    pair: tuple[Outbox, socket.socket, Event],
) -> None:
    outbox, reader, _ = pair
    for number in range(10):
        outbox.sendall(bytes([number]) * HIGH_WATER)
    first = read_all(outbox, reader, 8 * HIGH_WATER)

    outbox.sendall(b"last")

    rest = read_all(outbox, reader, 2 * HIGH_WATER + 4)
    assert first + rest == b"".join(bytes([number]) * HIGH_WATER for number in range(10)) + b"last"


def test_a_client_that_is_gone_or_too_far_behind_ends_what_is_made_for_it(
    pair: tuple[Outbox, socket.socket, Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.30."""
    monkeypatch.setattr("config.web.connections.MAX_ON_DISK", 4 * HIGH_WATER)
    outbox, _, _ = pair

    while outbox.on_disk < 4 * HIGH_WATER:
        outbox.sendall(bytes(HIGH_WATER))

    with pytest.raises(BrokenPipeError, match="too far behind"):
        outbox.sendall(bytes(HIGH_WATER))
    assert outbox.on_disk == 4 * HIGH_WATER

    outbox.drop()

    assert (outbox.size, outbox.on_disk) == (0, 0)
    with pytest.raises(BrokenPipeError, match="gone"):
        outbox.sendall(b"more")


def test_a_file_is_kept_as_a_whole(pair: tuple[Outbox, socket.socket, Event], tmp_path: Path) -> None:
    outbox, reader, _ = pair
    (tmp_path / "file").write_bytes(LARGE)

    with (tmp_path / "file").open("rb", buffering=0) as file:
        outbox.sendfile(file, 100, 4_000_000)

    assert read_all(outbox, reader, 4_000_000) == LARGE[100:4_000_100]
