"""Mail addresses: one text for all spellings of an address, and what the database keeps in place of it."""

from __future__ import annotations

import re
from contextlib import suppress

from django.utils.encoding import punycode

from communities.ground import sealing

MAX_DOMAIN = 253  # characters (RFC 1035, 2.3.4)
_ESCAPED = re.compile(r"\\(.)")


def canonical(address: str) -> str:
    """One text for all spellings that lead to the same mailbox.

    Capitals, quotes around the local part and the two forms of an international domain make no difference.
    A domain that is too long to exist stays as it is: the work of changing its form grows with the square of
    its length.
    """
    local, _, domain = address.strip().rpartition("@")
    if len(local) > 1 and local[0] == local[-1] == '"':
        local = _ESCAPED.sub(r"\1", local[1:-1])
    if len(domain) <= MAX_DOMAIN:
        with suppress(UnicodeError):  # nothing can be sent there, see `mails.is_sendable`
            domain = punycode(domain)
    return f"{local}@{domain}".casefold()


def keyed_hash(address: str, *, community_id: int) -> str:
    """An address as the database keeps it where it must not read it: 32 hexadecimal digits.

    The same for all spellings, and another one in each community, so that they cannot be compared.
    """
    text = f"{community_id}:{canonical(address)}"
    return sealing.keyed_hash(text, purpose="mail addresses")[:32]
