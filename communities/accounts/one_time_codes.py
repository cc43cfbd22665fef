"""Codes of authenticator apps, each used once (RFC 6238, 5.2); replaces django-allauth's class.

django-allauth stores used codes in the cache, which may be emptied while a code is still valid. The row of
the app stores the time step of the last code instead.
"""

from __future__ import annotations

from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth, flows
from allauth.mfa.utils import decrypt
from django.db import transaction

STEP = "last_step"


class OneTimeCodes(auth.TOTP):
    """The codes of one app."""

    instance: Authenticator

    @transaction.atomic
    def _mark_code_used(self, code: str) -> bool:
        """Mark a valid code as used.

        Returns False if this code or a later code was used already. Only one of two simultaneous requests
        succeeds.
        """
        row = Authenticator.objects.select_for_update().filter(pk=self.instance.pk).first()
        if row is None:  # The app was removed meanwhile.
            return False
        step = _step_of(code, secret=decrypt(row.data["secret"]))
        if step is None or step <= row.data.get(STEP, -1):
            return False
        row.data[STEP] = step
        row.save(update_fields=["data"])
        self.instance = row
        return True


class NewApp(OneTimeCodes):
    """An app that is being added.

    The code that was typed to add the app cannot be used to sign in as well.
    """

    @classmethod
    def activate(cls, user: Any, secret: str) -> NewApp:
        made = super().activate(user, secret).instance
        made.data[STEP] = max(auth.yield_hotp_counters_from_time())
        made.save(update_fields=["data"])
        return cls(made)


def _step_of(code: str, *, secret: str) -> int | None:
    step: int
    for step in auth.yield_hotp_counters_from_time():
        if compare_user_code(actual=code, expected=auth.format_hotp_value(auth.hotp_value(secret, step))):
            return step
    return None


def install() -> None:
    """Make django-allauth check codes by these classes."""
    auth.TOTP, flows.TOTP = OneTimeCodes, NewApp
