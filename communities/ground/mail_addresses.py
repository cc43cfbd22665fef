"""Mail addresses: one text for all spellings of an address, and the hash that the database stores instead."""

from __future__ import annotations

import re
from contextlib import suppress

from django.utils.encoding import punycode

from communities.ground import sealing

MAX_DOMAIN = 253  # A domain has at most this many characters (RFC 1035, 2.3.4).
_ESCAPED = re.compile(r"\\(.)")


def canonical(address: str) -> str:
    """One text for all spellings of the same mailbox.

    Capitals, quotes around the local part and the two forms of an international domain make no difference. A
    domain that is too long to exist stays unchanged, because the work of converting it grows with the square
    of its length.
    """
    local, _, domain = address.strip().rpartition("@")
    if len(local) > 1 and local[0] == local[-1] == '"':
        local = _ESCAPED.sub(r"\1", local[1:-1])
    if len(domain) <= MAX_DOMAIN:
        with suppress(UnicodeError):  # No mail can be sent to such a domain; see `mails.is_sendable`.
            domain = punycode(domain)
    return f"{local}@{domain}".casefold()


def keyed_hash(address: str, *, community_id: int) -> str:
    """The hash of an address for rows that must not contain the address: 32 hexadecimal digits.

    The hash is the same for all spellings of an address. Each community has different hashes, so that hashes
    of communities cannot be compared.
    """
    text = f"{community_id}:{canonical(address)}"
    return sealing.keyed_hash(text, purpose="mail addresses")[:32]
