"""Whom the sender trusts: the name that the webhook's URL says, by certificate (decision 10.8)."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.webhooks.certificates import Authority
from tests.webhooks.loopback import Endpoint, Peer, Talk, answers, ok
from webhooks import sender
from webhooks.sender import Line, NotAnswered

NAME = "hooks.example.com"
BODY = b'{"type": "webhook.ping"}'
AGREEABLE = answers(ok())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def trust(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sender trusts the tests' authority alone, and every name leads to this machine."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **kw: look_up("127.0.0.1", *args, **kw))
    sender.tls.cache_clear()
    yield
    sender.tls.cache_clear()


def serve(tls: ssl.SSLContext, talk: Talk = AGREEABLE) -> Endpoint:
    return Endpoint(talk, tls=tls)


def line_to(endpoint: Endpoint, *, name: str = NAME, timeout: float = 10.0) -> Line:
    url = f"https://{name}:{endpoint.port}/hook"
    return Line(url, allow_http=False, allow_private=True, timeout=timeout)


def silence_of(endpoint: Endpoint, *, name: str = NAME, timeout: float = 10.0) -> str:
    with (
        endpoint,
        line_to(endpoint, name=name, timeout=timeout) as line,
        pytest.raises(NotAnswered) as caught,
    ):
        line.post(BODY, {})
    assert endpoint.requests == []
    return str(caught.value)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_posts_go_over_one_kept_connection_that_names_the_endpoint(
    authority: Authority, version: ssl.TLSVersion
) -> None:
    names: list[str | None] = []
    tls = authority.server(NAME)
    tls.minimum_version = tls.maximum_version = version
    tls.sni_callback = lambda _socket, name, _context: names.append(name)

    with serve(tls) as endpoint, line_to(endpoint) as line:
        told = [line.post(BODY, {}).status for _ in range(3)]

    assert told == [200, 200, 200]
    assert names == [NAME]
    assert endpoint.connections == 1
    assert {request.headers[b"host"] for request in endpoint.requests} == {f"{NAME}:{endpoint.port}".encode()}


def test_http_1_is_asked_for(authority: Authority) -> None:
    chosen: list[str | None] = []
    tls = authority.server(NAME)
    tls.set_alpn_protocols(["h2", "http/1.1"])

    def talk(peer: Peer) -> None:
        assert isinstance(peer.socket, ssl.SSLSocket)
        chosen.append(peer.socket.selected_alpn_protocol())
        answers(ok())(peer)

    with serve(tls, talk) as endpoint, line_to(endpoint) as line:
        line.post(BODY, {})

    assert chosen == ["http/1.1"]


@pytest.mark.parametrize("ending", [socket.socket.close, ssl.SSLSocket.unwrap])
def test_a_kept_connection_that_was_closed_is_opened_anew(
    authority: Authority, ending: Callable[[Any], object]
) -> None:
    closed = threading.Event()

    def talk(peer: Peer) -> None:
        peer.hear()
        peer.say(ok())
        with contextlib.suppress(OSError):
            peer.socket.settimeout(0.1)
            ending(peer.socket)
        closed.set()

    with serve(authority.server(NAME), talk) as endpoint, line_to(endpoint) as line:
        for _ in range(2):
            closed.clear()
            assert line.post(BODY, {}).status == 200
            assert closed.wait(10)

    assert (len(endpoint.requests), endpoint.connections) == (2, 2)


def test_an_international_name_is_sent_and_checked_as_punycode(authority: Authority) -> None:
    names: list[str | None] = []
    tls = authority.server("xn--mller-kva.example.com")
    tls.sni_callback = lambda _socket, name, _context: names.append(name)

    with serve(tls) as endpoint, line_to(endpoint, name="MÜLLER.example.com.") as line:
        assert line.post(BODY, {}).status == 200

    assert names == ["xn--mller-kva.example.com"]


def test_a_certificate_may_be_for_an_ip_address_or_a_family_of_names(authority: Authority) -> None:
    tls = authority.server("127.0.0.1", "*.example.com")

    for name in ("127.0.0.1", "2130706433", NAME):
        with serve(tls) as endpoint, line_to(endpoint, name=name) as line:
            assert line.post(BODY, {}).status == 200


@pytest.mark.parametrize(
    ("certified", "asked", "fault"),
    [
        ("other.example.com", NAME, "is for another name"),
        ("*.example.com", "example.com", "is for another name"),
        ("*.example.com", "a.b.example.com", "is for another name"),
        ("127.0.0.1", NAME, "is for another name"),
        (NAME, "127.0.0.1", "is for another address"),
        ("127.0.0.2", "127.0.0.1", "is for another address"),
    ],
)
def test_a_certificate_for_somebody_else_is_refused(
    authority: Authority, certified: str, asked: str, fault: str
) -> None:
    why = silence_of(serve(authority.server(certified)), name=asked)

    assert why == f"The endpoint's certificate {fault}."


@pytest.mark.parametrize(
    ("days", "fault"), [(-3, "has expired"), (3, "is not valid yet")], ids=["expired", "early"]
)
def test_a_certificate_out_of_its_time_is_refused(authority: Authority, days: int, fault: str) -> None:
    tls = authority.server(NAME, at=datetime.now(UTC) + timedelta(days=days))

    assert silence_of(serve(tls)) == f"The endpoint's certificate {fault}."


def test_a_self_signed_certificate_is_refused(authority: Authority) -> None:
    tls = authority.server(NAME, is_self_signed=True)

    assert silence_of(serve(tls)) == "The endpoint's certificate is self-signed."


def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    tls = Authority(tmp_path).server(NAME)

    why = silence_of(serve(tls))

    assert why.startswith("The endpoint's certificate could not be verified: ")
    assert why.endswith(".")


def test_an_endpoint_that_speaks_no_tls_is_told() -> None:
    endpoint = Endpoint(lambda peer: peer.say(b"HTTP/1.1 400 Speak TLS\r\n\r\n"))

    assert silence_of(endpoint) == "No secure connection to the endpoint could be made."


def test_an_endpoint_that_knows_only_old_versions_is_refused(authority: Authority) -> None:
    tls = authority.server(NAME)
    tls.set_ciphers("ALL:@SECLEVEL=0")
    tls.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1

    assert silence_of(serve(tls)) == "No secure connection to the endpoint could be made."


@pytest.mark.parametrize("talk", [Peer.wait_until_closed, answers(ok())])
def test_a_handshake_that_never_ends_is_over_in_time(talk: Talk) -> None:
    why = silence_of(Endpoint(talk), timeout=0.3)

    assert why == "The endpoint did not answer within 0.3 seconds."


def test_how_endpoints_are_trusted_is_read_once() -> None:
    assert sender.tls() is sender.tls()
    assert sender.tls().verify_mode == ssl.CERT_REQUIRED
    assert sender.tls().check_hostname
