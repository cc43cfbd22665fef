"""Protects open pages against programs and forged forms, and loses no typed answer (rules 6.34 and 6.35).

A first form that a program may have sent is answered with a task: a browser finds a number by trying, and a
person whose browser runs no script answers a small question. Whoever has done the task is never refused.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.crypto import salted_hmac

from communities.gate import throttling
from communities.ground.translation import say
from surveys.drawing.parts import Task
from surveys.models import Project

# A field that people never see. Browsers do not fill in a field with this name and label by themselves.
HONEYPOT = "leave_empty"
OLDEST_SEAL = 7 * 24 * 3600 * 1000  # milliseconds; the sender of an older first form gets a task
_SALT = "surveys.proof"
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


# Hashes that a browser computes in a second at most, and the seconds that a person needs for the question.
# Chromium computes 170,000 where a small program computes 1,080,000.
MOST_HASHES_PER_SECOND = 1_000_000
LEAST_SECONDS_TO_RECKON = 1.0


@dataclass(frozen=True, slots=True)
class Proof:
    """What a form says about the task that it carries. `is_hasty`: it was done faster than a browser or a
    person can.
    """

    is_done: bool
    is_hasty: bool = False


NO_PROOF = Proof(is_done=False)


def task(project: Project, *, do: str, at: datetime) -> Task:
    """A new task for the first form of a project."""
    nonce, most = secrets.token_urlsafe(12), settings.PROOF_OF_WORK_HASHES
    target = _hash(nonce, str(secrets.randbelow(most)))
    first, second = _summands(nonce)
    return Task(
        signed=signing.dumps([project.slug, nonce, target, at.timestamp()], salt=_SALT),
        nonce=nonce,
        target=target,
        most=most,
        question=say(
            "How much is {first} plus {second}?",
            first=say(_NUMBERS[first - 2]),
            second=say(_NUMBERS[second - 2]),
        ),
        do=do,
    )


def proof(request: HttpRequest, project: Project, *, at: datetime) -> Proof:
    """Whether the form carries a task that was done. Each task counts once, right or wrong.

    While Redis is down, it counts once in each process.
    """
    sent = request.POST
    try:
        slug, nonce, target, begun = signing.loads(sent.get("task", ""), salt=_SALT, max_age=throttling.HOUR)
    except (signing.BadSignature, ValueError):
        return NO_PROOF
    is_new = not throttling.take_surely(f"colloquy:task:{nonce}", 1, seconds=throttling.HOUR).is_used_up
    found, answer = sent.get("found", ""), sent.get("sum", "").strip()
    is_found = _hash(nonce, found) == target
    if not (is_new and slug == project.slug and (is_found or answer == str(sum(_summands(nonce))))):
        return NO_PROOF
    least = int(found) / MOST_HASHES_PER_SECOND if is_found else LEAST_SECONDS_TO_RECKON
    return Proof(is_done=True, is_hasty=at.timestamp() - begun < least)


def _hash(nonce: str, number: str) -> str:
    return hashlib.sha256(f"{nonce}{number}".encode()).hexdigest()


def _summands(nonce: str) -> tuple[int, int]:
    """The numbers of the question, from 2 to 9. Only a holder of our key can tell them from the nonce."""
    digest = salted_hmac(_SALT, nonce).digest()
    return digest[0] % len(_NUMBERS) + 2, digest[1] % len(_NUMBERS) + 2


def may_be_a_program(
    request: HttpRequest, project: Project, *, is_sealed: bool, since: int, is_answer: bool, at: datetime
) -> bool:
    """Whether a program may have sent a first form: see `is_trapped`, `seems_human` and `is_in_a_burst`."""
    is_human = seems_human(is_sealed=is_sealed, since=since, is_answer=is_answer, at=at)
    return is_trapped(request) or not is_human or is_in_a_burst(request, project)


def is_trapped(request: HttpRequest) -> bool:
    """Whether the honeypot field of a first form was filled in, by a script or by a browser itself."""
    return bool(request.POST.get(HONEYPOT))


def seems_human(*, is_sealed: bool, since: int, is_answer: bool, at: datetime) -> bool:
    """Whether a first move came from our page and, if it is an answer, was not sent too fast."""
    if not is_sealed:
        return False
    least = settings.LEAST_SECONDS_TO_FIRST_ANSWER * 1000 if is_answer else 0
    return least <= at.timestamp() * 1000 - since <= OLDEST_SEAL


def is_in_a_burst(request: HttpRequest, project: Project) -> bool:
    """Count one more conversation of this minute, from this address and in this project.

    Returns whether either has had its share; False while Redis is down.
    """
    address = throttling.hashed(throttling.address_of(request))
    most = settings.CONVERSATIONS_PER_ADDRESS_AND_MINUTE
    of_address = throttling.take(f"colloquy:begun:{address}", most, seconds=throttling.MINUTE)
    # The limit of a project is high, so a process counts to a tenth of it without a round trip.
    most = project.max_begun_per_minute or settings.CONVERSATIONS_PER_PROJECT_AND_MINUTE
    of_project = throttling.take_seldom(f"colloquy:begun:project:{project.pk}", most)
    return of_address.is_used_up or of_project.is_used_up


def seconds_to_wait(request: HttpRequest, *, visitor_id: str) -> int:
    """Count a move of this visitor and of this address. Returns the seconds to wait; 0 if it is allowed.

    The limits are far above the speed of people, also if a whole lecture hall shares one address.
    """
    address = throttling.address_of(request)
    limits = (
        (f"colloquy:moves:visitor:{throttling.hashed(visitor_id)}", settings.MOVES_PER_VISITOR_AND_MINUTE),
        (f"colloquy:moves:address:{throttling.hashed(address)}", settings.MOVES_PER_ADDRESS_AND_MINUTE),
    )
    return max(throttling.take_seldom(name, most).retry_after for name, most in limits)


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, which here returns the reason of a failure, so the page can keep the typed answer."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def _no_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


_csrf_check = _CsrfCheck(_no_view)


def is_same_origin(request: HttpRequest) -> bool:
    """Whether a form comes from a page of ours, by its `Origin`. Browsers send it with every POST."""
    return "HTTP_ORIGIN" not in request.META or _csrf_check._origin_verified(request)  # type: ignore[attr-defined]


def is_own_form(request: HttpRequest) -> bool:
    """Whether the form passes Django's protection against cross-site request forgery."""
    return _csrf_check.process_view(request, _no_view, (), {}) is None
