"""Slow and hostile clients of the web server itself: nobody else waits for them, and none of them stays."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.bench import processes
from tests.support.installation import Installation, installed
from tests.support.metrics import DURATION, parse_samples, value

pytestmark = pytest.mark.long

LIMIT = 30  # seconds
MEBIBYTE = 1_048_576
SETTINGS = {
    "LOG_LEVEL": "WARNING",
    "SECONDS_TO_SEND_A_HEADER": "1.5",
    "SECONDS_TO_SEND_A_BODY": "1.5",
    "SECONDS_TO_READ_A_RESPONSE": "1.5",
    "SECONDS_BETWEEN_REQUESTS": "1.5",
    "WEB_CONNECTIONS": "160",
    "WEB_BUFFER": str(16 * MEBIBYTE),
}
LARGE_FILE = b"/static/rest_framework/css/bootstrap.min.css.map"  # 540 kB
HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEALTH = b"GET /healthz" + HOST + b"\r\n"
STOPS_IN = 4  # seconds, in place of 300
RESPONSES, TEXT = 400, "x" * 10_000  # 4 MB, more than any buffer holds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    temporary = tmp_path_factory.mktemp("uploads")
    with installed(tmp_path_factory.mktemp("var"), TMPDIR=str(temporary), **SETTINGS) as (here, _):
        yield here


@contextmanager
def connect(site: Installation, sent: bytes = b"", *, reads_little: bool = False) -> Iterator[socket.socket]:
    with socket.socket() as connection:
        if reads_little:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(LIMIT)
        connection.connect(("127.0.0.1", site.port))
        connection.sendall(sent)
        yield connection


def rest(connection: socket.socket, *, still_sends: bool = False) -> bytes:
    """All bytes until the server closes. If the client is still sending, the server closes by a reset."""
    parts: list[bytes] = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        if not still_sends:
            raise
    return b"".join(parts)


def statuses(answers: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answers)]


def require_service(site: Installation) -> None:
    """A read and a write, as anybody else makes them."""
    with connect(site, b"GET /healthz" + HOST + b"Connection: close\r\n\r\n") as connection:
        assert statuses(rest(connection)) == [200]
    assert site.ask("POST", {"name": "Opening moves", "type": "poll"})[0] == 201


def is_reset(connection: socket.socket) -> bool:
    """Wait until the server has closed, without reading what it has sent."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            connection.send(b"\r\n", socket.MSG_DONTWAIT)
        except (ConnectionResetError, BrokenPipeError):
            return True
        except BlockingIOError:
            pass
        time.sleep(0.1)
    return False


@contextmanager
def dripping(connections: list[socket.socket]) -> Iterator[None]:
    """Send a byte on each, ten times a second, as long as the server takes them."""
    stopped = Event()

    def drip() -> None:
        while not stopped.wait(0.1):
            for connection in connections:
                try:
                    connection.send(b"x", socket.MSG_DONTWAIT)
                except OSError:
                    continue

    thread = Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def test_nobody_waits_for_slow_clients_and_all_of_them_are_ended(site: Installation) -> None:
    header = b"GET /healthz" + HOST + b"X-Endless: "
    body = b"POST /v1/communities" + HOST + b"Content-Length: 500000\r\n\r\n"
    chunks = b"POST /v1/communities" + HOST + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n"
    with ExitStack() as stack:

        def several(count: int, sent: bytes, *, reads_little: bool = False) -> list[socket.socket]:
            opened = (connect(site, sent, reads_little=reads_little) for _ in range(count))
            return [stack.enter_context(each) for each in opened]

        readers = several(12, (b"GET " + LARGE_FILE + HOST + b"\r\n") * 24, reads_little=True)
        silent, half, idle = several(8, b""), several(30, header), several(12, HEALTH)
        drips = [*several(8, header), *several(8, body), *several(8, chunks)]
        with dripping(drips):
            require_service(site)
            require_service(site)
            for connection in silent:
                assert rest(connection) == b""
            for connection in idle:
                assert statuses(rest(connection)) == [200]
            for connection in [*half, *drips]:
                answer = rest(connection, still_sends=connection in drips)
                assert statuses(answer) == [408]
                assert b"\r\nConnection: close\r\n" in answer
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "invalid_request"
        for connection in readers:
            assert is_reset(connection)  # the answer is not whole
        require_service(site)


def test_a_slow_client_that_keeps_pace_is_served(site: Installation) -> None:
    """Longer in all than the first seconds, at more than the least pace."""
    text = json.dumps({"name": "x" * 60_000, "type": "poll"}).encode()
    path = f"POST /v1/communities/{site.environment['COMMUNITY']}/projects".encode()
    header = b"Content-Type: application/json\r\nX-API-Key: %s\r\nContent-Length: %d\r\n\r\n"
    with connect(site, path + HOST + header % (site.key.encode(), len(text))) as connection:
        for start in range(0, len(text), 10_000):
            connection.sendall(text[start : start + 10_000])
            time.sleep(0.35)
        answer = connection.recv(65_536)
    assert statuses(answer) == [400]
    assert b'"field":"name"' in answer


# What is sent, the statuses that are told, and whether the connection is kept.
REQUESTS: list[tuple[bytes, list[int], bool]] = [
    (HEALTH * 3, [200] * 3, True),
    (b"\r\n\r\n" + HEALTH, [200], True),
    (b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", [200], False),
    (b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n", [200], True),
    (b"GET /healthz" + HOST + b"Connection: close\r\n\r\n" + HEALTH, [200], False),
    (b"HEAD /healthz" + HOST + b"\r\n" + HEALTH, [200, 200], True),
    (b"GET /healthz" + HOST + b"SCRIPT_NAME: /healthz\r\n\r\n", [200], True),  # says nothing to us
    # Bodies that nobody reads, and what follows them.
    (b"GET /healthz" + HOST + b"Content-Length: 5\r\n\r\nGET /" + HEALTH, [200, 200], True),
    (b"GET /healthz" + HOST + b"Content-Length: 99999\r\n\r\n" + bytes(99_999) + HEALTH, [200] * 2, True),
    (
        b"GET /healthz" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
        b"5;a=b\r\nGET /\r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n" + HEALTH,
        [200, 200],
        True,
    ),
    (b"GET /healthz" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH, [200] * 2, True),
    # Requests that might mean two things: refused, and nothing behind them is read as a request.
    (b"GET /healthz" + HOST + b"Content-Length: 0\r\nContent-Length: 43\r\n\r\n" + HEALTH, [400], False),
    (b"GET /healthz" + HOST + b"Content-Length: +5\r\n\r\nGET /" + HEALTH, [400], False),
    (b"GET /healthz" + HOST + b"Content-Length : 5\r\n\r\nGET /" + HEALTH, [400], False),
    (
        b"GET /healthz" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH,
        [400],
        False,
    ),
    (b"GET /healthz" + HOST + b"Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n" + HEALTH, [501], False),
    (b"GET /healthz" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HEALTH, [501], False),
    (b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH, [400], False),
    (b"GET /healthz" + HOST + b" folded: 1\r\n\r\n" + HEALTH, [400], False),
    (b"nonsense\r\n\r\n" + HEALTH, [400], False),
    (b"GET /healthz" + HOST + b"X: " + b"x" * 10_000 + b"\r\n\r\n", [431], False),
    (b"GET /healthz" + HOST + b"X: x\r\n" * 20_000, [431], False),
    (b"GET /" + b"x" * 10_000 + HOST + b"\r\n", [414], False),
    (b"GET /healthz?" + b"x" * 8_000 + HOST + b"\r\n", [200], True),
    # Chunks that cannot be read.
    (b"POST /healthz" + HOST + b"Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n" + HEALTH, [400], False),
    (b"POST /healthz" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", [400], False),
    (b"POST /healthz" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 9_000, [400], False),
    (b"GET /healthz" + HOST + b"Expect: a-miracle\r\n\r\n", [417], False),
]


def test_requests_as_http_means_them(site: Installation) -> None:
    for sent, told, is_kept in REQUESTS:
        with connect(site, sent) as connection:
            answers = b""
            while statuses(answers) != told:
                part = connection.recv(65_536)
                assert part, (sent[:200], answers)
                answers += part
            if is_kept:
                connection.sendall(HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            expected = [*told, 200] if is_kept else told
            assert statuses(answers + rest(connection)) == expected, sent[:200]


def test_a_client_may_wait_to_be_told_to_send_its_body(site: Installation) -> None:
    request = b"POST /v1/communities" + HOST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    with connect(site, request % 2) as connection:
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert statuses(connection.recv(65_536)) == [401]

    with connect(site, request % (MEBIBYTE + 1)) as connection:
        assert statuses(rest(connection)) == [413]


# Where a body is sent, of how many bytes, of which type, and the status that is told.
BODIES: list[tuple[bytes, int, bytes, int]] = [
    (b"/v1/communities", 12 * MEBIBYTE, b"application/json", 413),
    (b"/v1/communities", 12 * MEBIBYTE, b"multipart/form-data; boundary=x", 415),
    (b"/v1/communities", 1_000, b"multipart/form-data; boundary=x", 415),
    (b"/v1/communities/1/projects/2/responses", 12 * MEBIBYTE, b"application/x-ndjson", 413),
    (b"/s/no-such-page", MEBIBYTE // 4 + 1, b"application/x-www-form-urlencoded", 413),
    (b"/s/no-such-page", 12 * MEBIBYTE, b"multipart/form-data; boundary=x", 415),
    (b"/s/no-such-page", 100_000, b"Multipart/Form-Data; boundary=x", 415),
    (b"/r/no-such-page", 12 * MEBIBYTE, b"text/plain", 413),
    (b"/account/login/", 12 * MEBIBYTE, b"application/x-www-form-urlencoded", 413),
    (b"/account/login/", 100_000, b"multipart/form-data; boundary=x", 415),
]


def test_what_is_too_large_and_files_are_refused_while_the_client_still_sends(site: Installation) -> None:
    for (path, size, sent_type, status), is_chunked in product(BODIES, (False, True)):
        part = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        body = part + bytes(size - len(part))
        framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % size
        content = (b"%x\r\n%b\r\n0\r\n\r\n" % (size, body)) if is_chunked else body
        limit = MEBIBYTE // 4 if path.startswith((b"/s", b"/r")) else MEBIBYTE
        start = b"POST " + path + HOST + b"Content-Type: " + sent_type + b"\r\n" + framing + b"\r\n\r\n"
        with connect(site, start) as connection:
            connection.sendall(content)  # all of it, before the answer is read
            if size <= limit:
                connection.shutdown(socket.SHUT_WR)
            header, _, told = rest(connection).partition(b"\r\n\r\n")

        assert statuses(header) == [status], start
        assert b"set-cookie" not in header.lower()
        assert os.listdir(site.environment["TMPDIR"]) == []
        if path.startswith(b"/v1"):
            assert json.loads(told)["error"] == "invalid_request"
            assert b"X-RateLimit-Limit" in header
        else:
            assert (b"We cannot take files here." if status == 415 else b"too much to read") in told
        assert (b"Connection: keep-alive" if size <= limit else b"Connection: close") in header


@pytest.mark.parametrize("in_chunks", [False, True])
def test_an_import_of_responses_is_read_as_a_whole(site: Installation, in_chunks: bool) -> None:
    request = (
        b"POST /v1/communities/1/projects/2/responses" + HOST + b"Content-Type: application/x-ndjson\r\n"
    )
    size, body = 8 * MEBIBYTE, bytes(8 * MEBIBYTE)
    length = b"Transfer-Encoding: chunked" if in_chunks else b"Content-Length: %d" % size
    with connect(site, request + length + b"\r\n\r\n") as connection:
        connection.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (size, body) if in_chunks else body)
        connection.shutdown(socket.SHUT_WR)
        header, _, told = rest(connection).partition(b"\r\n\r\n")

    assert statuses(header) == [401]
    assert json.loads(told)["error"] == "missing_api_key"
    assert b"Connection: keep-alive" in header


def test_a_form_in_chunks_is_read(site: Installation) -> None:
    fields = b"username=a&password=b"
    request = b"POST /account/login/" + HOST + b"Content-Type: application/x-www-form-urlencoded\r\n"
    with connect(site, request + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        for byte in b"%x\r\n%b\r\n0\r\n\r\n" % (len(fields), fields):
            connection.sendall(bytes([byte]))
        assert statuses(connection.recv(65_536)) == [403]  # for want of a token


def test_gunicorns_own_worker_can_take_the_place_of_ours(tmp_path: Path) -> None:
    large = b"POST /v1/communities" + HOST + b"Content-Length: 9000000\r\nConnection: close\r\n\r\n"
    with installed(tmp_path, WEB_WORKER="gthread", **SETTINGS) as (site, _):
        require_service(site)
        test_a_form_in_chunks_is_read(site)
        with connect(site, large) as connection:
            assert statuses(connection.recv(65_536)) == [413]


def test_a_body_in_a_great_many_chunks_is_refused_at_once(site: Installation) -> None:
    request = b"POST /v1/communities" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with connect(site, request + b"1\r\na\r\n" * 150_000 + b"0\r\n\r\n") as connection:
        assert statuses(connection.recv(65_536)) == [401]  # within LIMIT


def test_large_bodies_that_never_arrive_take_no_more_than_the_buffer(site: Installation) -> None:
    request = b"POST /v1/communities" + HOST + b"Content-Length: %d\r\n\r\n" % MEBIBYTE
    before = processes.memory_mb(site.worker_pid())
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(site, request)) for _ in range(100)]
        for _ in range(15):
            for connection in connections:
                connection.sendall(bytes(65_536))
        require_service(site)
        wait_until(lambda: len(select.select(connections, [], [], 0)[0]) >= 82)
        refused, _, _ = select.select(connections, [], [], 0)

        assert {tuple(statuses(rest(connection))) for connection in refused} == {(503,)}
        assert processes.memory_mb(site.worker_pid()) < before + 40


def test_of_too_many_connections_the_oldest_end(site: Installation) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(site, b"GET /")) for _ in range(300)]
        require_service(site)
        ended, _, _ = select.select(connections, [], [], 0)
        told = [statuses(rest(connection)) for connection in connections[-20:]]

    assert connections[0] in ended
    assert len(ended) > len(connections) - int(SETTINGS["WEB_CONNECTIONS"])
    assert told == [[408]] * 20


def test_the_log_says_in_json_who_was_cut_off_and_what_could_not_be_read(site: Installation) -> None:
    with connect(site, b"nonsense\r\n\r\n") as refused, connect(site, b"GET /") as late:
        assert statuses(rest(refused) + rest(late)) == [400, 408]
    with connect(site, b"GET /" + HOST + b"\x01" * 50_000 + b"\r\n\r\n") as refused:
        assert statuses(rest(refused)) == [400]

    def events() -> list[str]:
        return [json.loads(line)["event"] for line in site.log.read_text().splitlines()]

    wait_until(lambda: "web.clients_ended" in events())
    assert any(event.startswith("Invalid request from ip=") for event in events())
    assert max(map(len, events())) <= 500


def test_a_server_that_is_told_to_stop_serves_what_is_on_its_way(site: Installation) -> None:
    """Rule 12.581."""
    request = b"POST /v1/communities" + HOST + b"Content-Length: 2\r\n\r\n"
    with ExitStack() as stack:
        patient = {"SECONDS_TO_SEND_A_HEADER": "6", "SECONDS_TO_SEND_A_BODY": "30"}
        twin = Installation(site.folder, site.environment | patient, key=site.key)
        process = stack.enter_context(twin.serve())
        idle = stack.enter_context(connect(twin, HEALTH))
        assert statuses(idle.recv(65_536)) == [200]
        stack.enter_context(connect(twin, b"GET /"))
        arriving = stack.enter_context(connect(twin, request + b"{"))

        process.send_signal(signal.SIGTERM)
        rest(idle)  # The idle connection is closed after two seconds.
        time.sleep(1)
        arriving.sendall(b"}")
        answer = rest(arriving)
        process.wait(timeout=LIMIT)

    assert statuses(answer) == [401]
    assert b"Connection: close" in answer
    assert process.returncode == 0


def post(site: Installation, path: str, body: object) -> dict[str, object]:
    address = f"http://127.0.0.1:{site.port}/v1/communities/{site.environment['COMMUNITY']}{path}"
    headers = {"X-API-Key": site.key, "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        made: dict[str, object] = json.load(answer)
    return made


def large_export(site: Installation) -> bytes:
    """A request for an export that is larger than all buffers."""
    script = {"blocks": [{"type": "open_text", "name": "why", "prompt": "Why?"}]}
    project = post(site, "/projects", {"name": "Survey", "type": "convo", "script": script})
    response = {
        "answers": [{"block_name": "why", "value": TEXT}],
        "status": "completed",
        "started_at": "2026-01-01T00:00:00Z",
        "submitted_at": "2026-01-01T00:00:00Z",
    }
    path = f"/projects/{project['id']}/responses"
    post(site, path, {"data": [response] * RESPONSES})
    community = site.environment["COMMUNITY"]
    line = f"GET /v1/communities/{community}{path}/export?format=csv"
    return line.encode() + HOST + f"X-API-Key: {site.key}\r\n\r\n".encode()


def test_a_server_that_is_told_to_stop_finishes_what_it_can_and_ends_in_time(site: Installation) -> None:
    export = large_export(site)
    upload = b"POST /v1/communities" + HOST + b"Content-Length: 1000000\r\n\r\n{"
    with ExitStack() as stack:
        patient = dict.fromkeys(
            ("SECONDS_TO_SEND_A_HEADER", "SECONDS_TO_SEND_A_BODY", "SECONDS_TO_READ_A_RESPONSE"), "60"
        )
        stops = {"GUNICORN_CMD_ARGS": f"--graceful-timeout={STOPS_IN}"}
        twin = Installation(site.folder, site.environment | patient | stops, key=site.key)
        process = stack.enter_context(twin.serve())
        idle = stack.enter_context(connect(twin, HEALTH))
        assert statuses(idle.recv(65_536)) == [200]
        slow = stack.enter_context(connect(twin, upload))
        stack.enter_context(dripping([slow]))
        files = (b"GET " + LARGE_FILE + HOST + b"\r\n") * 3
        reading, asleep = (
            stack.enter_context(connect(twin, each, reads_little=True)) for each in (export, files)
        )
        begun = [each.recv(1_000) for each in (reading, asleep)]

        process.send_signal(signal.SIGTERM)
        told_at = time.monotonic()
        told = begun[0] + rest(reading)
        read_after = time.monotonic() - told_at
        process.wait(timeout=LIMIT)
        ended_after = time.monotonic() - told_at

    assert statuses(told) == statuses(begun[1]) == [200]
    assert told.endswith(b"0\r\n\r\n")  # the whole export
    assert told.count(TEXT.encode()) == RESPONSES
    assert read_after < STOPS_IN
    assert ended_after < STOPS_IN + 1
    assert process.returncode == 0


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def pids(site: Installation) -> set[int]:
    """The web processes."""
    return set(map(int, Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text().split()))


def test_processes_that_are_replaced_cut_no_request_and_leave_no_file(
    site: Installation, tmp_path: Path
) -> None:
    own = {
        "WEB_MAX_REQUESTS": "8",
        "METRICS": "true",
        "VAR_DIR": str(tmp_path),
        "SECONDS_BETWEEN_REQUESTS": "30",
    }
    seen: set[int] = set()

    def ask_often(_: int) -> list[int]:
        connection = HTTPConnection(
            "127.0.0.1", twin.port, timeout=LIMIT
        )  # connects again when it was closed
        answers = []
        for _ in range(20):
            connection.request("GET", "/healthz")
            with connection.getresponse() as answer:
                answer.read()
                answers.append(answer.status)
            seen.update(pids(twin))
        connection.close()
        return answers

    twin = Installation(site.folder, site.environment | own, key=site.key)
    with twin.serve(), ThreadPoolExecutor(4) as threads:
        answers = [status for each in threads.map(ask_often, range(4)) for status in each]
        wait_until(lambda: len(pids(twin)) == 1)
        with urllib.request.urlopen(f"http://127.0.0.1:{twin.port}/metrics", timeout=LIMIT) as told:
            samples = parse_samples(told.read().decode())
        files = {each.name for each in (tmp_path / "metrics").glob("histogram_*.db")}

    assert answers == [200] * 80
    assert len(seen) >= 3
    assert (value(samples, f"{DURATION}_count", method="GET", route="healthz", status=200) or 0) >= 80
    assert files == {"histogram_0.db"}


def test_a_client_that_leaves_in_the_middle_leaves_nothing_behind(site: Installation) -> None:
    pid = site.worker_pid()
    before = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    for sent in (b"", b"GET /", b"POST /s/x" + HOST + b"Content-Length: 9\r\n\r\nx", HEALTH, HEALTH * 50):
        for _ in range(5):
            with connect(site, sent):
                pass
    with connect(site, (b"GET " + LARGE_FILE + HOST + b"\r\n") * 24, reads_little=True):
        pass

    wait_until(lambda: len(list(Path(f"/proc/{pid}/fd").iterdir())) <= before)
