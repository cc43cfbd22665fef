"""Reads cookies in a time that grows only with their length.

Older releases of Python take quadratic time for a quoted value with many backslashes (CVE-2024-7592). Python
3.11.10, 3.12.6 and later versions read them in linear time too.
"""

from __future__ import annotations

import re
from http import cookies

_ESCAPED = re.compile(r"\\(?:([0-3][0-7][0-7])|(.))")


def unquote(text: str) -> str:
    """A cookie's value without its quotes and escapes (RFC 2109); other values unchanged."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)) if escaped[1] else escaped[2], text[1:-1])


def read_quickly() -> None:
    """Make Django, which calls Python's function by its name, read cookies with this one."""
    cookies._unquote = unquote  # type: ignore[assignment]
