"""Which IP addresses outgoing connections may reach, and a socket to a host at such an address.

Two kinds of connections begin with `connect`: those to hosts that others name, and those to hosts that may be
at any address (rule 9.14).
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
import time
from typing import Any

# These networks are refused in addition to `ipaddress`, which reports some of them as global in some Python
# versions.
_REFUSED_IPV4 = [
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # This address looks public, but is the host machine in Azure.
    )
]
# Addresses outside of this network are not on the internet.
_ALLOCATED_IPV6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_IPV6 = [
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, benchmarking, ORCHID and other protocols use this network.
        "2001:db8::/32",  # Documentation uses this network.
        "2002::/16",  # 6to4 uses this network, and can reach any IPv4 address.
        "3ffe::/16",  # The former 6bone used this network.
        "3fff::/20",  # Documentation uses this network.
    )
]
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_MAX_ADDRESSES_TRIED = 8


class RefusedHost(OSError):
    """The host is unknown, or has an address that is not public.

    Both cases have the same error, so that the error does not reveal which names a private network has.
    """


def is_public(ip: str) -> bool:
    """Whether a text is an IP address that is public on the internet."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        inner = _ipv4_inside(address)
        if inner is None:
            refused = address not in _ALLOCATED_IPV6 or any(address in network for network in _REFUSED_IPV6)
            return address.is_global and not refused
        address = inner
    return address.is_global and not any(address in network for network in _REFUSED_IPV4)


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that connecting reaches, through the system itself or the network's NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def resolve(host: str, port: int, *, seconds: float) -> list[tuple[int, tuple[Any, ...]]]:
    """Family and socket address of every address of a host; empty if the host is unknown.

    Raises TimeoutError. getaddrinfo has no timeout, so its thread is abandoned after `seconds`.
    """
    resolved: queue.SimpleQueue[list[tuple[int, tuple[Any, ...]]]] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            records = []
        resolved.put([(family, address) for family, _, _, _, address in records])

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    try:
        return resolved.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError("The host was not resolved in time.") from None


def connect(host: str, port: int, *, allow_private: bool, seconds: float) -> socket.socket:
    """Return a socket that is connected to one of a host's addresses. All addresses must be public, unless
    `allow_private`.

    The host is resolved once, and only a checked address is connected to, so a DNS answer that changes later
    (DNS rebinding) has no effect. Raises RefusedHost, TimeoutError when the seconds are over, and OSError if
    no address could be reached.
    """
    ends_at = time.monotonic() + seconds
    addresses = resolve(host, port, seconds=seconds)
    if not addresses or not (allow_private or all(is_public(ip) for _, (ip, *_) in addresses)):
        raise RefusedHost("The host is unknown, or has an address that is not public.")
    candidates = addresses[:_MAX_ADDRESSES_TRIED]
    for position, (family, address) in enumerate(candidates):
        remaining = ends_at - time.monotonic()
        if remaining <= 0:
            break
        try:  # The timeout of one attempt leaves time for the next address.
            return _connected(family, address, remaining / (len(candidates) - position))
        except OSError:
            continue
    if time.monotonic() >= ends_at:
        raise TimeoutError("The host could not be reached in time.")
    raise OSError("The host could not be reached.")


def _connected(family: int, address: tuple[Any, ...], seconds: float) -> socket.socket:
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.settimeout(seconds)
        plain.connect(address)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        plain.close()
        raise
    return plain
