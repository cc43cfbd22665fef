"""The URLs that others may give us to connect to, for webhooks and pictures: checked as text when they are
saved.

Their IP addresses are checked at the time of connecting (`communities.ground.addresses`).
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlsplit

from communities.ground.addresses import is_public

MAX_LENGTH = 2048  # A URL has at most this many characters.
PORTS = {"http": 80, "https": 443}
_FIRST_UNPRIVILEGED_PORT = 1024
_MAX_HOST_LENGTH = 253
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))

_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# Resolvers read a host whose last label is a number as an IPv4 address, or refuse it.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_LOCAL_NAMES = re.compile(
    r"[^.]*|(.*\.)?(localhost|localdomain|local|internal|intranet|private|lan|home|corp|home\.arpa)", re.ASCII
)
# Python's IDNA 2003 maps these characters to other domains than browsers do.
_AMBIGUOUS = re.compile("[ßẞς]")


class BadAddress(ValueError):
    """A URL that is refused. `reason` follows the name of its field, such as "must have a valid host."

    `code` is one of the interface's violation codes.
    """

    def __init__(self, reason: str, *, code: str = "invalid") -> None:
        super().__init__(f"`url` {reason}")
        self.reason = reason
        self.code = code


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The parts of a URL. `host` is resolved and sent in TLS: ASCII, no brackets, no final dot."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def is_link(url: str) -> bool:
    """Return whether a page may link to this address. It must be https, and its host and port must be valid
    and written out.
    """
    if len(url) > MAX_LENGTH or any(unicodedata.category(each)[0] in "CZ" for each in url) or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        if parts.scheme != "https" or {"@", "["} & {*parts.netloc}:
            return False
        _host_and_port(parts)
    except ValueError:
        return False
    return True


def check_url(url: str, *, allow_http: bool, allow_private: bool) -> None:
    """Raise BadAddress if this URL is refused (rules 9.2, 9.13 and 9.15). Does not resolve the host."""
    target = parse_url(url)
    if target.scheme == "http" and not allow_http:
        raise BadAddress("must begin with https://.", code="not_allowed")
    if target.port not in PORTS.values() and target.port < _FIRST_UNPRIVILEGED_PORT:
        raise BadAddress("must use port 80, 443, or one above 1023.", code="not_allowed")
    if not allow_private and _is_private(target.host):
        raise BadAddress("must point to a public address.", code="not_allowed")


def parse_url(url: str) -> Endpoint:
    """The parts of a URL. Raises BadAddress if it is malformed, or has a password or a fragment."""
    if len(url) > MAX_LENGTH:
        raise BadAddress(f"must be at most {MAX_LENGTH} characters.", code="too_long")
    if any(unicodedata.category(character)[0] in "CZ" for character in url) or "\\" in url:
        raise BadAddress("must not contain spaces, control characters or backslashes.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadAddress("must be a valid URL.") from None
    if parts.scheme not in PORTS:
        raise BadAddress("must begin with https:// (or http://, if this installation allows it).")
    if "@" in parts.netloc:
        raise BadAddress("must not contain a user name or password.", code="not_allowed")
    if "#" in url:
        raise BadAddress("must not have a fragment (`#`).", code="not_allowed")
    host, port = _host_and_port(parts)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, host, port, quote(target, safe=_PRINTABLE))


def parse_origin(text: str) -> str:
    """The origin of a site's pages, in the form in which browsers send it. Raises BadAddress."""
    target = parse_url(text)
    if target.scheme != "https":
        raise BadAddress("must begin with https://.", code="not_allowed")
    if target.target != "/":
        raise BadAddress("must be an origin such as https://www.example.com, without a path.")
    return f"https://{target.authority}"


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
        raise BadAddress("must have a port from 1 to 65535, or none.")
    return host, int(port)


def _ipv6(text: str) -> str:
    try:
        if "%" in text:  # The part after % names a network interface of this machine.
            raise ValueError
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise BadAddress("must have a valid IPv6 address in brackets.") from None


def _name_or_ipv4(text: str) -> str:
    host = _in_ascii(text).removesuffix(".")
    labels = host.split(".")
    if len(host) > _MAX_HOST_LENGTH or not all(map(_LABEL.fullmatch, labels)):
        raise BadAddress("must have a valid host.")
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    try:
        return socket.inet_ntoa(socket.inet_aton(host))  # This also reads 127.1, 0x7f000001 and 017700000001.
    except OSError:
        raise BadAddress("must have a valid IPv4 address.") from None


def _in_ascii(text: str) -> str:
    """A host in lower case, with international names in Punycode and compatibility characters normalised."""
    if text.isascii():
        return text.lower()
    if len(text) <= _MAX_HOST_LENGTH and not _AMBIGUOUS.search(text):
        try:
            return text.encode("idna").decode().lower()
        except UnicodeError:
            pass  # The host has a label of more than 63 characters, or letters newer than Unicode 3.2.
    raise BadAddress("must contain this host in its ASCII form, which begins with xn--.")
