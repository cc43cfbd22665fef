"""Which addresses a webhook may have: by its text when it is saved, by its IP when it is connected to."""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

MOST_CHARACTERS = 2048
PORTS = {"http": 80, "https": 443}
_FIRST_FREE_PORT = 1024
_MOST_CHARACTERS_OF_HOST = 253
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))

_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# A host whose last label is one of these is an IPv4 address to every resolver, or nothing at all.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_LOCAL_NAMES = re.compile(
    r"[^.]*|(.*\.)?(localhost|localdomain|local|internal|intranet|private|lan|home|corp|home\.arpa)", re.ASCII
)
# IDNA 2003, which Python speaks, makes other domains of these than browsers do.
_AMBIGUOUS = re.compile("[ßẞς]")

# Beside what `ipaddress` knows: it calls some of these global, and which ones differs between its versions.
_REFUSED_4 = [
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a public one by its number, in Azure the host below
    )
]
_GIVEN_OUT_6 = ipaddress.IPv6Network("2000::/3")  # nothing outside of it is on the internet
_REFUSED_6 = [
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, benchmarks, ORCHID and other protocols' own
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which leads to any IPv4 address
        "3ffe::/16",  # the 6bone, given back
        "3fff::/20",  # documentation
    )
]
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class BadAddress(ValueError):
    """An address that no webhook may have. `code` is one of the interface's violation codes."""

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send: `host` as it is resolved and named in TLS (ASCII, no brackets, no last dot)."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """What the header Host says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def check(url: str, *, allow_http: bool, allow_private: bool) -> None:
    """Refuse, by BadAddress, what no webhook may have (decisions 10.8, 14.3). Nothing is resolved here."""
    found = endpoint(url)
    if found.scheme == "http" and not allow_http:
        raise BadAddress("`url` must begin with https://.", code="not_allowed")
    if found.port not in PORTS.values() and found.port < _FIRST_FREE_PORT:
        raise BadAddress("`url` must have port 80, 443, or one above 1023.", code="not_allowed")
    if not allow_private and _is_private(found.host):
        raise BadAddress("`url` must lead to a public address.", code="not_allowed")


def endpoint(url: str) -> Endpoint:
    """The parts of a URL. Raises BadAddress where it is none, or says more than where to send."""
    if len(url) > MOST_CHARACTERS:
        raise BadAddress(f"`url` must be at most {MOST_CHARACTERS} characters.", code="too_long")
    if any(unicodedata.category(character)[0] in "CZ" for character in url) or "\\" in url:
        raise BadAddress("`url` must not hold blanks, control characters or backslashes.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadAddress("`url` must be a URL.") from None
    if parts.scheme not in PORTS:
        raise BadAddress("`url` must begin with https://, or with http:// where that is allowed.")
    if "@" in parts.netloc:
        raise BadAddress("`url` must not hold a name or password.", code="not_allowed")
    if "#" in url:
        raise BadAddress("`url` must not have a fragment.", code="not_allowed")
    host, port = _host_and_port(parts)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, host, port, quote(target, safe=_PRINTABLE))


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the internet, the same for everybody. What is no IP address is not."""
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        inner = _ipv4_inside(address)
        if inner is None:
            refused = address not in _GIVEN_OUT_6 or any(address in network for network in _REFUSED_6)
            return address.is_global and not refused
        address = inner
    return address.is_global and not any(address in network for network in _REFUSED_4)


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that is reached: by the system itself, or by its network's NAT64."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _is_private(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _LOCAL_NAMES.fullmatch(host) is not None
    return not is_public(host)


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    if parts.netloc.startswith("["):
        text, bracket, rest = parts.netloc[1:].partition("]")
        host = _ipv6(text if bracket else "")
        colon, port = rest[:1], rest[1:]
    else:
        text, colon, port = parts.netloc.partition(":")
        host = _name_or_ipv4(text)
    if not colon:
        return host, PORTS[parts.scheme]
    if colon != ":" or not _PORT.fullmatch(port) or not 0 < int(port) <= 65535:
        raise BadAddress("`url` must have a port of 1 to 65535, or none.")
    return host, int(port)


def _ipv6(text: str) -> str:
    try:
        if "%" in text:  # an interface of this machine
            raise ValueError
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise BadAddress("`url` must have a valid IPv6 address in its brackets.") from None


def _name_or_ipv4(text: str) -> str:
    host = _in_ascii(text).removesuffix(".")
    labels = host.split(".")
    if len(host) > _MOST_CHARACTERS_OF_HOST or not all(map(_LABEL.fullmatch, labels)):
        raise BadAddress("`url` must have a valid host.")
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    try:
        return socket.inet_ntoa(socket.inet_aton(host))  # 127.1, 0x7f000001, 017700000001 and their like
    except OSError:
        raise BadAddress("`url` must have a valid IPv4 address.") from None


def _in_ascii(text: str) -> str:
    """A host in lower case: other alphabets in Punycode, full-width and other fancy forms as plain ones."""
    if text.isascii():
        return text.lower()
    if len(text) <= _MOST_CHARACTERS_OF_HOST and not _AMBIGUOUS.search(text):
        try:
            return text.encode("idna").decode().lower()
        except UnicodeError:
            pass  # more than 63 characters between dots, or letters that are newer than Unicode 3.2
    raise BadAddress("`url` must have this host in its ASCII form, which begins with xn--.")
