"""The moment at which a request is complete, however it is split (config/web/arrivals.py)."""

from __future__ import annotations

from gunicorn.config import Config
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from hypothesis import given
from hypothesis import strategies as st

from config.web.arrivals import Arrival, arrival
from tests.support.cases import try_each

LIMIT = 1_000
START = b"POST /a?b HTTP/1.1\r\nHost: x\r\n"
NEXT = b"GET /next HTTP/1.1\r\n\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


def arrived(pieces: list[bytes]) -> tuple[int, Arrival | None]:
    """The end of the request, found as early as possible, and the contents of its header."""
    received, found = bytearray(), None
    for piece in pieces:
        received += piece
        found = found or arrival(received)
        if found is not None and (end := found.end(received, LIMIT)):
            return end, found
    return 0, found


def end_for_gunicorn(message: bytes) -> int:
    """How many bytes gunicorn's parser takes."""
    unreader = IterUnreader(iter([message]))
    request = Request(Config(), unreader, ("127.0.0.1", 1))
    request.body.read()
    return len(message) - len(unreader.take_buffered())


chunks = st.lists(st.binary(min_size=1, max_size=40), max_size=5)
zeros = st.sampled_from([b"", b"0" * 20])
lines = st.sampled_from([b"", b";a=b", b' ; a = "\\"c"'])
trailers = st.sampled_from([b"", b"A: b\r\n", b"A: b\r\nC: 0\r\n"])


@given(chunks, zeros, lines, trailers, st.lists(st.integers(1, 60), max_size=30))
def test_a_body_in_chunks_ends_where_gunicorn_ends_it(
    contents: list[bytes], zero: bytes, extension: bytes, trailer: bytes, sizes: list[int]
) -> None:
    body = b"".join(b"%b%x%b\r\n%b\r\n" % (zero, len(each), extension, each) for each in contents)
    request = CHUNKED + body + b"0\r\n" + trailer + b"\r\n"
    pieces, rest = [], request + NEXT
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]

    end, found = arrived([*pieces, rest])

    assert end == len(request) == end_for_gunicorn(request + NEXT)
    assert found is not None
    assert found.chunks is not None
    assert found.chunks.size == sum(map(len, contents))
    assert arrived([request[:-1]])[0] == 0


@try_each(
    ("header", "body"),
    [
        (b"", b""),
        (b"Content-Length: 0\r\n", b""),
        (b"Content-Length: 5\r\n", b"12345"),
        (b"CONTENT-LENGTH:\t05 \r\n", b"12345"),
        (b"Content-Length: " + b"0" * 30 + b"5\r\n", b"12345"),
        (b"X-Content-Length: 9\r\nContent-Length: 2\r\nY: content-length: 3\r\n", b"12"),
    ],
)
def test_a_body_of_known_length_ends_where_gunicorn_ends_it(header: bytes, body: bytes) -> None:
    request = START + header + b"\r\n" + body

    assert arrived([request + NEXT])[0] == len(request) == end_for_gunicorn(request + NEXT)
    assert arrived([bytes([byte]) for byte in request + NEXT])[0] == len(request)
    assert arrived([request[:-1]])[0] == 0


@try_each(
    ("sent", "is_over"),
    [
        (START + b"Content-Length: 1001\r\n\r\n", True),
        (START + b"Content-Length: 999999999999999999\r\n\r\n", True),
        (CHUNKED + b"3e9\r\n", True),
        (CHUNKED + b"ffffffffffff\r\n", True),
        (CHUNKED + b"64\r\n" + bytes(100) + b"\r\n385\r\n", True),
        (CHUNKED + b"1\r\na\r\n" * 500, False),  # hardly any content
        (CHUNKED + b"1" * 9_000, False),
        (CHUNKED + b"0\r\nA: " + b"b" * 9_000, False),
        (CHUNKED + b"-1\r\n", False),
        (CHUNKED + b"\r\n", False),
    ],
)
def test_what_is_too_large_or_malformed_is_not_waited_for(sent: bytes, is_over: bool) -> None:
    end, found = arrived([sent])

    assert end
    assert found is not None
    assert found.is_over(LIMIT) == is_over


def test_what_a_header_says() -> None:
    found = arrival(bytearray(START + b"expect: 100-Continue\r\n\r\n"))

    assert found is not None
    assert (found.path, found.waits_to_continue, found.length) == (b"/a", True, 0)
    assert arrival(bytearray(START)) is None


def test_who_speaks_http_1_0_knows_nothing_of_continuing() -> None:
    found = arrival(bytearray(START.replace(b"1.1", b"1.0") + b"Expect: 100-continue\r\n\r\n"))

    assert found is not None
    assert not found.waits_to_continue


@try_each(
    ("target", "path"),
    [
        (b"/v1/y?z", b"/v1/y"),
        (b"/%761/%c3%bc", "/v1/ü".encode()),
        (b"http://x:1/v1/y?z", b"/v1/y"),
        (b"http:/v1/y", b"/v1/y"),
        (b"//v1/y", b"//v1/y"),
        (b"http://[/v1/y", b""),
        (b"*", b"*"),
    ],
)
def test_a_path_is_the_one_that_the_application_sees(target: bytes, path: bytes) -> None:
    found = arrival(bytearray(b"POST %b HTTP/1.1\r\n\r\n" % target))

    assert found is not None
    assert found.path == path
