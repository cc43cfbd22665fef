"""Reads cookies in a time that grows with their length alone.

Older releases of Python need its square for a quoted value with many backslashes (CVE-2024-7592). Python
3.11.10, 3.12.6 and later ones read it as here.
"""

from __future__ import annotations

import re
from http import cookies

_ESCAPED = re.compile(r"\\(?:([0-3][0-7][0-7])|(.))")


def unquote(text: str) -> str:
    """A cookie's value without its quotes and escapes (RFC 2109); other values as they are."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)) if escaped[1] else escaped[2], text[1:-1])


def read_quickly() -> None:
    """Have Django, which calls Python's function by its name, read cookies by this one."""
    cookies._unquote = unquote  # type: ignore[assignment]
