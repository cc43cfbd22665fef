"""Host names: resolved once for each connection, checked and pinned (rule 9.14)."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.webhooks.raw_endpoint import Peer, RawEndpoint, ok, responds_with
from webhooks.sender import Connection, DeliveryError, EndpointResponse

NAME = "hooks.example.com"
BODY = b'{"type": "webhook.ping"}'
REFUSED = "The endpoint's host is unknown, or has an address that is not public."


class Names:
    """A fake resolver: `answers` are its results in turn; `queries` and `connected` record what was done.

    Connections to public addresses go to `port` of this machine instead.
    """

    def __init__(self) -> None:
        self.answers: list[list[str]] = []
        self.queries: list[tuple[str, int]] = []
        self.connected: list[str] = []
        self.dead: set[str] = set()
        self.port = 0

    def resolve(self, host: str, port: int, **_: object) -> list[tuple[Any, ...]]:
        self.queries.append((host, port))
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    def connect(self, family: int, address: tuple[Any, ...], seconds: float) -> socket.socket:
        assert seconds > 0
        self.connected.append(address[0])
        if address[0] in self.dead:
            raise ConnectionRefusedError
        connected = socket.socket()
        connected.connect(("127.0.0.1", self.port))
        return connected


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    names = Names()
    monkeypatch.setattr(socket, "getaddrinfo", names.resolve)
    monkeypatch.setattr("communities.ground.addresses._connected", names.connect)
    return names


@pytest.fixture
def endpoint(names: Names) -> Iterator[RawEndpoint]:
    with RawEndpoint(responds_with(ok())) as endpoint:
        names.port = endpoint.port
        yield endpoint


def connection_to_name(*, port: int = 8001, allow_private: bool = False, timeout: float = 10.0) -> Connection:
    return Connection(f"http://{NAME}:{port}/", allow_http=True, allow_private=allow_private, timeout=timeout)


def post(*, allow_private: bool = False, timeout: float = 10.0) -> EndpointResponse:
    with connection_to_name(allow_private=allow_private, timeout=timeout) as connection:
        return connection.post(BODY, {})


def delivery_error(*, allow_private: bool = False, timeout: float = 10.0) -> str:
    with pytest.raises(DeliveryError) as caught:
        post(allow_private=allow_private, timeout=timeout)
    return str(caught.value)


def test_a_host_is_resolved_once_for_a_connection(names: Names, endpoint: RawEndpoint) -> None:
    names.answers = [["8.8.8.8"], ["127.0.0.1"]]

    with connection_to_name() as connection:
        statuses = [connection.post(BODY, {}).status for _ in range(3)]

    assert statuses == [200, 200, 200]
    assert names.queries == [(NAME, 8001)]
    assert names.connected == ["8.8.8.8"]
    assert endpoint.requests[0].headers[b"host"] == b"hooks.example.com:8001"


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "168.63.129.16"),
        *("100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"),
        *("::1", "::", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "fd00:ec2::254"),
        *("fe80::1%lo", "fec0::1", "ff02::1", "2002:7f00:1::", "2001::1", "2001:db8::1"),
    ],
)
@pytest.mark.parametrize("beside", [[], ["8.8.8.8"]], ids=["alone", "mixed"])
def test_a_host_with_a_private_address_is_never_connected_to(
    names: Names, address: str, beside: list[str]
) -> None:
    names.answers = [[*beside, address]]

    assert delivery_error() == REFUSED
    assert names.connected == []


def test_an_unknown_host_has_the_same_error_message(names: Names) -> None:
    names.answers = [[]]

    assert delivery_error() == REFUSED
    assert delivery_error(allow_private=True) == REFUSED


def test_any_address_is_connected_to_if_private_networks_are_allowed(
    names: Names, endpoint: RawEndpoint
) -> None:
    names.answers = [["10.0.0.1"]]

    assert post(allow_private=True).status == 200
    assert names.connected == ["10.0.0.1"]


def test_a_host_is_checked_again_for_a_new_connection(names: Names) -> None:
    names.answers = [["8.8.8.8"], ["127.0.0.1"]]
    closed = threading.Event()

    def handler(peer: Peer) -> None:
        peer.read_request()
        peer.send(ok())
        peer.socket.close()
        closed.set()

    with RawEndpoint(handler) as endpoint, connection_to_name() as connection:
        names.port = endpoint.port
        assert connection.post(BODY, {}).status == 200
        assert closed.wait(10)

        with pytest.raises(DeliveryError) as caught:
            connection.post(BODY, {})

    assert str(caught.value) == REFUSED
    assert names.connected == ["8.8.8.8"]
    assert len(endpoint.requests) == 1


def test_the_next_address_is_tried_if_one_is_dead(names: Names, endpoint: RawEndpoint) -> None:
    names.answers = [["2606:4700::1111", "8.8.4.4", "8.8.8.8"]]
    names.dead = {"2606:4700::1111", "8.8.4.4"}

    assert post().status == 200
    assert names.connected == ["2606:4700::1111", "8.8.4.4", "8.8.8.8"]


def test_no_more_than_8_addresses_are_tried_but_all_are_checked(names: Names) -> None:
    addresses = [f"8.8.8.{number}" for number in range(100)]
    names.dead = set(addresses)

    names.answers = [addresses]
    assert delivery_error() == "The endpoint could not be reached."
    assert names.connected == addresses[:8]

    names.answers, names.connected = [[*addresses, "10.0.0.1"]], []
    assert delivery_error() == REFUSED
    assert names.connected == []


def test_a_dead_address_leaves_time_for_the_next(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts: list[float] = []

    def too_slow(family: int, address: tuple[Any, ...], seconds: float) -> socket.socket:
        timeouts.append(seconds)
        raise TimeoutError

    monkeypatch.setattr("communities.ground.addresses._connected", too_slow)
    names.answers = [["8.8.8.8", "8.8.4.4"]]

    assert delivery_error(timeout=15) == "The endpoint could not be reached."
    assert [round(seconds, 1) for seconds in timeouts] == [7.5, 15.0]


def test_a_resolver_that_hangs_ends_at_the_timeout(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def hang(*_: object, **__: object) -> list[Any]:
        done.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started_at = time.monotonic()

    message = delivery_error(timeout=0.3)
    took = time.monotonic() - started_at
    done.set()

    assert message == "The endpoint did not answer within 0.3 seconds."
    assert took < 2
    assert names.connected == []


def test_proxies_of_the_environment_are_not_used(
    names: Names, endpoint: RawEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.answers = [["8.8.8.8"]]
    with RawEndpoint(responds_with(ok())) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.upper(), proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)

        assert post().status == 200

    assert (proxy.connections, endpoint.connections) == (0, 1)


def test_a_real_connection_is_made_to_the_address_that_was_resolved(
    names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with RawEndpoint(responds_with(ok())) as endpoint:
        records = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", endpoint.port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: records)
        monkeypatch.setattr("communities.ground.addresses.is_public", lambda ip: ip == "127.0.0.1")

        assert post().status == 200
