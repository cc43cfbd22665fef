"""Idempotent writes: each Idempotency-Key is carried out once (rules 11.21 to 11.24).

The claim on the key, the work and the stored response commit in one transaction. A process that is killed
leaves all of them or none, and the claim is free again when PostgreSQL notices the lost connection. A second
request with the same key waits at the claim's unique index. A process takes two at a time, because other
requests need its threads. A refusal rolls the claim back, because nothing was changed.

An API key has a budget of bytes for stored responses. Beyond the budget, the claim is stored without the
response, so a retry is refused and still does nothing twice.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar, cast, overload

import orjson
from django.db import OperationalError, transaction
from django.http import HttpResponse
from psycopg.errors import LockNotAvailable, QueryCanceled
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.authentication import Caller
from communities.gate.bodies import MEDIA_TYPE
from communities.gate.response_budget import response_budget
from communities.ground import rounding, sealing
from communities.ground.errors import Conflict, refuse
from communities.ground.rounding import Rounding
from communities.ground.sealing import Seal
from communities.ground.slots import Slots
from communities.ground.statements import prepared
from communities.ground.tiers import TIERS

HEADER = "Idempotency-Key"
RETENTION = timedelta(hours=24)
SECONDS_TO_WAIT = 10.0  # A request waits this long for a running request with the same key.
AT_ONCE = 2  # A process takes this many requests with the same key.
SECONDS_FOR_A_TURN = 0.25  # Others wait this long for one of these two to end.
RETRY_AFTER = 5  # seconds. The value is for a running request that takes longer.
RUNNING = f"A request with this {HEADER} is still running."
STORED_HEADER = "Idempotency-Stored"  # The value is `false` on a response that a retry cannot get again.
STORED_HEADERS = ("ETag", "X-Ignored-Fields")
_STORED = "SELECT fingerprint, status, body, headers FROM communities_idempotentrequest WHERE claim = %s"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_turns = Slots(sys.maxsize, most_of_one=AT_ONCE)
Action = TypeVar("Action", bound=Callable[..., Response])


class View(Protocol):
    key: Caller
    at: datetime
    raw_body: bytes

    def finish(self, response: Response | HttpResponse) -> HttpResponse: ...

    def if_unchanged(self, write: Callable[[], Response]) -> Response: ...


@dataclass(frozen=True, slots=True)
class Claim:
    """Hashes of a request's Idempotency-Key together with its API key, and of the request itself."""

    key: str
    fingerprint: str


@overload
def once(handler: Action) -> Action: ...
@overload
def once(*, prepare: Callable[[Any, Claim | None], object]) -> Callable[[Action], Action]: ...
def once(
    handler: Action | None = None, *, prepare: Callable[[Any, Claim | None], object] | None = None
) -> Action | Callable[[Action], Action]:
    """Mark a write action: requests with the same Idempotency-Key run it once and all get its answer.

    `prepare` does work that must not happen inside a transaction, such as waiting for a model. It gets the
    view and the request's claim, before the claim is taken. The handler gets the result of `prepare` as the
    argument `prepared`. `prepare` also runs for replays and for a second request with the same claim. So it
    must check `is_settled` before any costly work, and join work that has begun with the claim.
    """
    if handler is not None:
        return _once(handler, None)
    return functools.partial(_once, prepare=prepare)


def _once(handler: Action, prepare: Callable[[Any, Claim | None], object] | None) -> Action:
    @functools.wraps(handler)
    def wrapped(view: View, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        claim = _claim_of(view, request)
        if prepare is not None:
            kwargs["prepared"] = prepare(view, claim)
        write = functools.partial(handler, view, request, *args, **kwargs)
        return _act(claim, view, functools.partial(view.if_unchanged, write))

    wrapped.is_once = True  # type: ignore[attr-defined]
    return cast(Action, wrapped)


def _claim_of(view: View, request: Request) -> Claim | None:
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        refuse(HEADER, "invalid", f"{HEADER} must be 1 to 255 visible ASCII characters.")
    caller = view.key
    # Pages of one API key choose their keys without knowing of each other.
    owner = f"{caller.api_key_id}" if caller.conversation_id is None else f"token:{caller.conversation_id}"
    method, path = str(request.method).encode(), request.get_full_path().encode()
    return Claim(_hash(b"claim", owner.encode(), key.encode()), _hash(method, path, view.raw_body))


def is_settled(claim: Claim | None, *, at: datetime) -> bool:
    """Whether the response to a request with this claim is stored and has not expired."""
    if claim is None:
        return False
    with prepared() as cursor:
        cursor.execute(
            "SELECT FROM communities_idempotentrequest"
            " WHERE claim = %s AND status IS NOT NULL AND expires_at > %s",
            [claim.key, at],
        )
        return bool(cursor.rowcount)


def _act(claim: Claim | None, view: View, handler: Callable[[], Response]) -> Response | HttpResponse:
    if claim is None:
        return handler()
    caller = view.key
    # The tokens of a key have a budget of their own, so that no page uses up that of the key.
    payer = caller.api_key_id if caller.conversation_id is None else -caller.api_key_id
    response_budget.settle(payer, budget=TIERS[caller.actor.tier].idempotency_bytes)
    if not _turns.acquire(claim.key, timeout=SECONDS_FOR_A_TURN):
        raise Conflict(RUNNING, retry_after=RETRY_AFTER)
    try:
        return _act_once(claim, view, handler, payer)
    finally:
        _turns.release(claim.key)


def _act_once(
    claim: Claim, view: View, handler: Callable[[], Response], payer: int
) -> Response | HttpResponse:
    with transaction.atomic():
        replay = _claim(claim, view.at)
        if replay is not None:
            return replay
        response = view.finish(handler())
        if 200 <= response.status_code < 300:
            is_kept = response_budget.take(payer, len(response.content))
            _store(claim.key, response, is_kept=is_kept)
            if not is_kept:
                response[STORED_HEADER] = "false"
        else:
            transaction.set_rollback(True)  # Nothing was changed, so the key is free for another attempt.
        return response


def _hash(*parts: bytes) -> str:
    """A keyed hash, so that nobody can guess an anonymous answer from it (rule 11.26).

    The key is the same on each machine while SECRET_KEY is exchanged on one machine after the other.
    """
    key = sealing.hash_key("colloquy:idempotency")
    return hmac.new(key, b"\0".join(parts), hashlib.sha256).hexdigest()


def _claim(claim: Claim, at: datetime) -> HttpResponse | None:
    """Take the claim, or return the response stored with it. Refuses a claim of another request.

    The statement is written by hand. Through the ORM it would be two statements and take about 0.4 ms more. A
    row that has expired counts as absent.
    """
    with prepared() as cursor:
        try:
            cursor.execute(
                """
                INSERT INTO communities_idempotentrequest AS row (claim, fingerprint, expires_at)
                SELECT %(claim)s, %(fingerprint)s, %(expires_at)s
                FROM set_config('lock_timeout', %(wait)s, true)
                ON CONFLICT (claim) DO UPDATE SET fingerprint = excluded.fingerprint,
                    expires_at = excluded.expires_at, status = NULL, body = NULL, headers = NULL
                    WHERE row.expires_at <= %(at)s
                RETURNING claim
                """,
                {
                    "claim": claim.key,
                    "fingerprint": claim.fingerprint,
                    "expires_at": rounding.up(at + RETENTION, Rounding.HOUR),
                    "at": at,
                    "wait": f"{SECONDS_TO_WAIT}s",
                },
            )
        except OperationalError as error:
            if isinstance(error.__cause__, LockNotAvailable | QueryCanceled):
                raise Conflict(RUNNING, retry_after=RETRY_AFTER) from None
            raise
        if cursor.fetchone() is not None:
            return None
        cursor.execute(_STORED, [claim.key])
        return _replay(cursor.fetchone(), claim)


def _replay(row: tuple[Any, ...] | None, claim: Claim) -> HttpResponse:
    if row is None:  # The row was deleted between the two statements.
        raise Conflict(f"A request with this {HEADER} has just expired.", retry_after=1)
    stored_fingerprint, status, body, headers = row
    if not hmac.compare_digest(stored_fingerprint, claim.fingerprint):
        raise Conflict(f"This {HEADER} was used for another request.")
    if body is None:
        raise Conflict(
            f"The request with this {HEADER} was done, with status {status}. Its response was not kept, "
            "because those of this API key have used up their budget. Read the object to see the result."
        )
    response = HttpResponse(
        sealing.decrypt(body, seal=_seal(claim.key)), status=status, content_type=MEDIA_TYPE
    )
    if status == 204:
        del response["Content-Type"]
    for name, value in (orjson.loads(headers) if isinstance(headers, str) else headers or {}).items():
        response[name] = value
    response["Idempotency-Replayed"] = "true"
    return response


def _store(claim: str, response: HttpResponse, *, is_kept: bool) -> None:
    """Store the response.

    Without `is_kept` the body of the response is left out; a retry still does nothing twice.
    """
    body = sealing.encrypt(response.content, seal=_seal(claim)) if is_kept else None
    headers = {name: response[name] for name in STORED_HEADERS if response.has_header(name)}
    with prepared() as cursor:
        cursor.execute(
            "UPDATE communities_idempotentrequest SET status = %s, body = %s, headers = %s WHERE claim = %s",
            [response.status_code, body, orjson.dumps(headers).decode(), claim],
        )


def _seal(claim: str) -> Seal:
    """The seal of a stored body. A body may contain a new API key, and keys are stored only as hashes."""
    return Seal("colloquy:idempotency", claim.encode())
