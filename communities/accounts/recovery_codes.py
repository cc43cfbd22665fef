"""Recovery codes, stored as hashes: their owner sees them once, on the page that answers the request that
made them.

django-allauth derives its codes from a stored seed and can show them again. `install` replaces them by the
class below. `communities.accounts.middleware` draws the page with new codes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from allauth.core import context as present
from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal import auth, flows
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare

from communities import second_factors, sign_in

# Three groups of five digits have 49 bits. Phones offer codes only if they consist of digits.
GROUPS, DIGITS_OF_GROUP = 3, 5
ITERATIONS = 100_000  # These are a sixth of the iterations for passwords, because codes are random.
HIDDEN = "•" * DIGITS_OF_GROUP
_NEW = "_new_recovery_codes"


class HashedCodes(auth.RecoveryCodes):
    """The codes of one person: PBKDF2 hashes with a shared salt, so that one hash finds a code."""

    instance: Authenticator

    @classmethod
    def activate(cls, user: Any) -> HashedCodes:
        """Create codes if the person has none, and let the page of this request show them."""
        of_user = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.RECOVERY_CODES)
        existing = of_user.first()
        if existing is not None:
            return cls(existing)
        codes = [new_code() for _ in range(app_settings.RECOVERY_CODE_COUNT)]
        salt = PBKDF2PasswordHasher().salt()
        row = Authenticator.objects.create(
            user=user,
            type=Authenticator.Type.RECOVERY_CODES,
            data={"hashes": [hashed(code, salt) for code in codes]},
        )
        if present.request is not None:
            setattr(present.request, _NEW, codes)
        return cls(row)

    def get_unused_codes(self) -> list[str]:
        """A placeholder for each unused code. django-allauth counts and shows them."""
        return [HIDDEN for _ in self.instance.data["hashes"]]

    def validate_code(self, code: str) -> bool:
        """Use up a code, and return whether it was valid. Only one of two requests with the same code
        succeeds.

        Raises TooManyAttempts if too many passwords and codes are being checked.
        """
        stored = self.instance.data["hashes"]
        # The text is another code, for example of an app.
        if not stored or len(_digits(code)) != GROUPS * DIGITS_OF_GROUP:
            return False
        parts = PBKDF2PasswordHasher().decode(stored[0])
        with sign_in.hashing_slot(present.request):  # The slot is taken before the row is locked.
            attempt = hashed(code, str(parts["salt"]), int(parts["iterations"]))
        return self._take(attempt)

    @transaction.atomic
    def _take(self, attempt: str) -> bool:
        row = Authenticator.objects.select_for_update().filter(pk=self.instance.pk).first()
        if row is None:  # New codes have replaced the row.
            return False
        left = [each for each in row.data["hashes"] if not constant_time_compare(each, attempt)]
        if len(left) == len(row.data["hashes"]):
            return False
        row.data["hashes"] = left
        row.save(update_fields=["data"])
        self.instance = row
        return True

    @property
    def did_view(self) -> bool:
        """Return True: people see codes only on the page that answers the request which made the codes."""
        return True


def new_code() -> str:
    digits = (f"{secrets.randbelow(10**DIGITS_OF_GROUP):0{DIGITS_OF_GROUP}}" for _ in range(GROUPS))
    return "-".join(digits)


def hashed(code: str, salt: str, iterations: int = ITERATIONS) -> str:
    """The hash of a code, with any characters between its digits."""
    encoded: str = PBKDF2PasswordHasher().encode(_digits(code), salt, iterations)
    return encoded


def _digits(code: str) -> str:
    return re.sub(r"[^0-9]", "", code)


def install() -> None:
    """Make django-allauth create and check codes by this class."""
    auth.RecoveryCodes = flows.RecoveryCodes = HashedCodes


def page_of_new(request: HttpRequest) -> HttpResponse | None:
    """Return the page that shows the codes which this request has made; None if it has made no codes."""
    codes: Sequence[str] | None = getattr(request, _NEW, None)
    if codes is None:
        return None
    text = "\n".join(["Recovery codes of your Colloquy account. Each signs you in once.", "", *codes, ""])
    context = {
        "codes": codes,
        "file": f"data:text/plain;charset=utf-8,{quote(text)}",
        "back": second_factors.forget_wanted(request),
    }
    return render(request, "mfa/recovery_codes/new.html", context)
