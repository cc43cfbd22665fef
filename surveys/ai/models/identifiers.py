"""Identifiers in responses that may be written to the log."""

from __future__ import annotations

import re

_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,100}")


def safe_identifier(value: object) -> str | None:
    """Return a value that is a single word, such as a request id or an error code; None for anything else."""
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None
