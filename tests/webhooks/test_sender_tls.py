"""Certificates: the sender trusts only the host that the webhook's URL names (rule 9.14)."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import try_each
from tests.support.webhooks.certificates import CertificateAuthority
from tests.support.webhooks.raw_endpoint import Peer, PeerHandler, RawEndpoint, ok, responds_with
from webhooks import sender
from webhooks.sender import Connection, DeliveryError

NAME = "hooks.example.com"
BODY = b'{"type": "webhook.ping"}'
OK_RESPONSE = responds_with(ok())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def trust(authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sender trusts only the tests' certificate authority, and every host resolves to this machine."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **kw: look_up("127.0.0.1", *args, **kw))
    sender.tls.cache_clear()
    yield
    sender.tls.cache_clear()


def serve(tls: ssl.SSLContext, handler: PeerHandler = OK_RESPONSE) -> RawEndpoint:
    return RawEndpoint(handler, tls=tls)


def connection_to(endpoint: RawEndpoint, *, name: str = NAME, timeout: float = 10.0) -> Connection:
    url = f"https://{name}:{endpoint.port}/hook"
    return Connection(url, allow_http=False, allow_private=True, timeout=timeout)


def delivery_error(endpoint: RawEndpoint, *, name: str = NAME, timeout: float = 10.0) -> str:
    with (
        endpoint,
        connection_to(endpoint, name=name, timeout=timeout) as connection,
        pytest.raises(DeliveryError) as caught,
    ):
        connection.post(BODY, {})
    assert endpoint.requests == []
    return str(caught.value)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_posts_use_one_connection_with_the_host_as_server_name(
    authority: CertificateAuthority, version: ssl.TLSVersion
) -> None:
    names: list[str | None] = []
    tls = authority.server(NAME)
    tls.minimum_version = tls.maximum_version = version
    tls.sni_callback = lambda _socket, name, _context: names.append(name)

    with serve(tls) as endpoint, connection_to(endpoint) as connection:
        statuses = [connection.post(BODY, {}).status for _ in range(3)]

    assert statuses == [200, 200, 200]
    assert names == [NAME]
    assert endpoint.connections == 1
    assert {request.headers[b"host"] for request in endpoint.requests} == {f"{NAME}:{endpoint.port}".encode()}


def test_http_1_is_negotiated(authority: CertificateAuthority) -> None:
    chosen: list[str | None] = []
    tls = authority.server(NAME)
    tls.set_alpn_protocols(["h2", "http/1.1"])

    def handler(peer: Peer) -> None:
        assert isinstance(peer.socket, ssl.SSLSocket)
        chosen.append(peer.socket.selected_alpn_protocol())
        responds_with(ok())(peer)

    with serve(tls, handler) as endpoint, connection_to(endpoint) as connection:
        connection.post(BODY, {})

    assert chosen == ["http/1.1"]


@pytest.mark.parametrize("ending", [socket.socket.close, ssl.SSLSocket.unwrap])
def test_a_kept_alive_connection_that_was_closed_is_reopened(
    authority: CertificateAuthority, ending: Callable[[Any], object]
) -> None:
    closed = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(ok())
        with contextlib.suppress(OSError):
            peer.socket.settimeout(0.1)
            ending(peer.socket)
        closed.set()

    with serve(authority.server(NAME), handler) as endpoint, connection_to(endpoint) as connection:
        for _ in range(2):
            closed.clear()
            assert connection.post(BODY, {}).status == 200
            assert closed.wait(10)

    assert (len(endpoint.requests), endpoint.connections) == (2, 2)


def test_an_international_name_is_sent_and_checked_as_punycode(authority: CertificateAuthority) -> None:
    names: list[str | None] = []
    tls = authority.server("xn--mller-kva.example.com")
    tls.sni_callback = lambda _socket, name, _context: names.append(name)

    with serve(tls) as endpoint, connection_to(endpoint, name="MÜLLER.example.com.") as connection:
        assert connection.post(BODY, {}).status == 200

    assert names == ["xn--mller-kva.example.com"]


def test_a_certificate_may_be_for_an_ip_address_or_a_family_of_names(authority: CertificateAuthority) -> None:
    tls = authority.server("127.0.0.1", "*.example.com")

    for name in ("127.0.0.1", "2130706433", NAME):
        with serve(tls) as endpoint, connection_to(endpoint, name=name) as connection:
            assert connection.post(BODY, {}).status == 200


@pytest.mark.parametrize(
    ("certified", "host", "problem"),
    [
        ("other.example.com", NAME, "is for another name"),
        ("*.example.com", "example.com", "is for another name"),
        ("*.example.com", "a.b.example.com", "is for another name"),
        ("127.0.0.1", NAME, "is for another name"),
        (NAME, "127.0.0.1", "is for another address"),
        ("127.0.0.2", "127.0.0.1", "is for another address"),
    ],
)
def test_a_certificate_for_another_host_is_refused(
    authority: CertificateAuthority, certified: str, host: str, problem: str
) -> None:
    message = delivery_error(serve(authority.server(certified)), name=host)

    assert message == f"The endpoint's certificate {problem}."


@pytest.mark.parametrize(
    ("days", "problem"), [(-3, "has expired"), (3, "is not valid yet")], ids=["expired", "early"]
)
def test_a_certificate_outside_its_validity_period_is_refused(
    authority: CertificateAuthority, days: int, problem: str
) -> None:
    tls = authority.server(NAME, at=datetime.now(UTC) + timedelta(days=days))

    assert delivery_error(serve(tls)) == f"The endpoint's certificate {problem}."


def test_a_self_signed_certificate_is_refused(authority: CertificateAuthority) -> None:
    tls = authority.server(NAME, is_self_signed=True)

    assert delivery_error(serve(tls)) == "The endpoint's certificate is self-signed."


def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    tls = CertificateAuthority(tmp_path).server(NAME)

    message = delivery_error(serve(tls))

    assert message.startswith("The endpoint's certificate could not be verified: ")
    assert message.endswith(".")


def test_an_endpoint_without_tls_is_reported() -> None:
    endpoint = RawEndpoint(lambda peer: peer.send(b"HTTP/1.1 400 Speak TLS\r\n\r\n"))

    assert delivery_error(endpoint) == "No secure connection to the endpoint could be made."


def test_an_endpoint_with_only_old_tls_versions_is_refused(authority: CertificateAuthority) -> None:
    tls = authority.server(NAME)
    tls.set_ciphers("ALL:@SECLEVEL=0")
    tls.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1

    assert delivery_error(serve(tls)) == "No secure connection to the endpoint could be made."


@try_each("handler", [Peer.wait_until_closed, responds_with(ok())])
def test_a_handshake_that_never_ends_ends_at_the_timeout(handler: PeerHandler) -> None:
    message = delivery_error(RawEndpoint(handler), timeout=0.3)

    assert message == "The endpoint did not answer within 0.3 seconds."


def test_the_tls_context_is_created_once() -> None:
    assert sender.tls() is sender.tls()
    assert sender.tls().verify_mode == ssl.CERT_REQUIRED
    assert sender.tls().check_hostname
