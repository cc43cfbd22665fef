"""Which addresses the platforms may be at (rules 9.14 and 12.12)."""

import dataclasses
import socket
import time
from typing import Any

import pytest
import requests
from pytest_django import Settings

from communities.ground import outgoing as connections
from communities.identity_providers import api
from communities.identity_providers.failures import PlatformUnavailable
from tests.support.cases import try_each
from tests.support.identity_providers.server import Platforms
from tests.support.webhooks.raw_endpoint import Peer, RawEndpoint


def _resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    records = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: records)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1"])
def test_a_private_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    tried: list[Any] = []
    monkeypatch.setattr("communities.ground.addresses._connected", lambda *place: tried.append(place))
    _resolves_to(monkeypatch, "8.8.8.8", address)

    with pytest.raises(requests.ConnectionError, match="not public"):
        connections.session().get("https://discord.com/api/v10/users/@me")

    assert tried == []


def test_the_address_that_was_checked_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def refuse(family: int, place: tuple[Any, ...], seconds: float) -> socket.socket:
        tried.append(place)
        raise OSError

    monkeypatch.setattr("communities.ground.addresses._connected", refuse)
    _resolves_to(monkeypatch, "8.8.8.8", "8.8.4.4")

    with pytest.raises(requests.ConnectionError, match="could not be reached"):
        connections.session().get("https://discord.com/")

    assert tried == [("8.8.8.8", 443), ("8.8.4.4", 443)]


def test_a_host_with_many_addresses_has_no_less_time_for_its_handshake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    theirs.close()

    def connected(family: int, place: tuple[Any, ...], seconds: float) -> socket.socket:
        ours.settimeout(seconds)
        return ours

    monkeypatch.setattr("communities.ground.addresses._connected", connected)
    _resolves_to(monkeypatch, *(f"8.8.8.{number}" for number in range(8)))

    with pytest.raises(requests.ConnectionError):
        connections.session().get("https://discord.com/")

    assert ours.gettimeout() == connections.TIMEOUT


@try_each("url", ["http://discord.com/", "http://127.0.0.1/", "file:///etc/passwd", "ftp://a/"])
def test_only_https_is_spoken(url: str) -> None:
    with pytest.raises(requests.RequestException):
        connections.session().get(url)


def test_the_host_of_a_base_url_may_be_private_and_no_other(platforms: Platforms, settings: Settings) -> None:
    with Platforms() as other:
        known = connections.session().get(f"{platforms.url}/oauth2/v3/certs")
        with pytest.raises(requests.RequestException):
            connections.session().get(f"{other.url}/oauth2/v3/certs")

    assert known.status_code == 200
    assert other.requests == []


def test_a_base_url_opens_nothing_once_it_is_gone(platforms: Platforms, settings: Settings) -> None:
    settings.SIGN_IN_PROVIDERS = {
        name: dataclasses.replace(provider, base_url="")
        for name, provider in settings.SIGN_IN_PROVIDERS.items()
    }

    with pytest.raises(requests.RequestException):
        connections.session().get(f"{platforms.url}/oauth2/v3/certs")


def test_headers_that_come_byte_by_byte_end_in_time(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Rule 12.971."""
    monkeypatch.setattr(api, "SECONDS", 0.3)

    def slow(peer: Peer) -> None:
        peer.read_request()
        peer.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            time.sleep(0.02)
            peer.send(b"a")

    with RawEndpoint(slow) as platform:
        base = platform.url.removesuffix("/hook")
        settings.SIGN_IN_PROVIDERS = {
            name: dataclasses.replace(provider, base_url=base)
            for name, provider in settings.SIGN_IN_PROVIDERS.items()
        }
        began = time.monotonic()
        with pytest.raises(PlatformUnavailable):
            api.post("chat", "https://discord.com/token", form={"code": "1"})
        assert time.monotonic() - began < 3


def test_redirects_are_not_followed(platforms: Platforms) -> None:
    platforms.scripted["/here"] = (302, "", {"Location": f"{platforms.url}/oauth2/v3/certs"})

    response = connections.session().get(f"{platforms.url}/here", allow_redirects=True)

    assert response.status_code == 302
    assert platforms.asked("/oauth2/v3/certs") == 0


def test_proxies_of_the_environment_are_not_used(
    platforms: Platforms, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    assert connections.session().get(f"{platforms.url}/oauth2/v3/certs").status_code == 200


def test_only_the_chat_platform_gets_the_user_agent_that_it_demands(
    platforms: Platforms, settings: Settings
) -> None:
    chat = settings.SIGN_IN_PROVIDERS["chat"]
    answers = []
    for base_url in (platforms.url, "https://elsewhere.example"):
        chat = dataclasses.replace(chat, base_url=base_url)
        settings.SIGN_IN_PROVIDERS = {**settings.SIGN_IN_PROVIDERS, "chat": chat}
        answers.append(connections.session().get(f"{platforms.url}/nothing"))

    to_chat, to_others = (str(answer.request.headers["User-Agent"]) for answer in answers)
    assert to_chat.startswith("DiscordBot (")
    assert to_others.startswith("Colloquy/")
