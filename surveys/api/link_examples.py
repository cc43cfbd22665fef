"""Examples of personal links for the OpenAPI description."""

from __future__ import annotations

from typing import Any

_ID = "6f1f8a52-0c1d-4a8e-9f57-3a1c2b4d5e6f"
_URL = (
    "https://colloquy.example/s/first-moves-x7Kp?link=bx-KUgwdSo6fVzocK01ebw.4Zk0Jm3oVw1yT8uQn5cXbL2sR7dEaGhP"
)

CREATED: dict[str, Any] = {
    "id": _ID,
    "member_id": "52",
    "url": _URL,
    "expires_at": "2026-03-02T09:30:00Z",
    "metadata": {"customer": "C-1042"},
}
CREATED_MANY: dict[str, Any] = {"data": [CREATED]}
LISTED: dict[str, Any] = {
    "id": _ID,
    "member_id": "52",
    "name": "Marit",
    "created_at": "2026-01-31T09:30:00Z",
    "expires_at": "2026-03-02T09:30:00Z",
    "revoked_at": None,
    "used_at": "2026-02-01T18:04:11Z",
    "mailed_at": "2026-01-31T09:30:00Z",
    "metadata": {"customer": "C-1042"},
}
