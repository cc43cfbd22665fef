"""The reasons why a platform gave no answer."""

from __future__ import annotations

from datetime import timedelta


class PlatformUnavailable(Exception):
    """The platform cannot be asked now. `retry_after` is set if the platform says how long to wait."""

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TokenRefused(Exception):
    """The platform does not accept the token: it was revoked, or lacks a permission.

    The person has to sign in with this provider again. `content` is the platform's answer.
    """

    def __init__(self, message: str, *, content: object = None) -> None:
        super().__init__(message)
        self.content = content


class BadProof(Exception):
    """The data with which a browser returned from a platform proves nothing. The message is for the log."""
