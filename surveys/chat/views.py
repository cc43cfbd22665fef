"""The addresses that the platform calls: for interactions, which we answer at once, and for events."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from psycopg.errors import LockNotAvailable, QueryCanceled

from communities.chat_platform import references, signatures
from communities.chat_platform.references import Op, Reference
from communities.gate import throttling
from communities.ground.errors import InvalidRequest, NotFound, Refusal
from communities.ground.faults import log_fault
from communities.ground.rounding import Rounding
from communities.services.chat import installations, people
from communities.services.people.members import KnownPerson
from surveys.chat import commands, deadline, moves, replies, screens, words
from surveys.chat.interactions import Author, Interaction, Kind, Malformed, read
from surveys.chat.messages import Button
from surveys.chat.moves import Click
from surveys.chat.replies import PONG, Reply
from surveys.services.conversations import places
from surveys.services.conversations.admission import Missing, NotAdmitted
from surveys.services.conversations.places import Full

MAX_BYTES = 256 * 1024
MOST_CLICKS, CLICKS_PERIOD = 30, 10  # of one person; the period in seconds
REMEMBERED = 3600  # seconds for which a repeated interaction is recognised
EVENT = 1  # the type of an event; 0 is a ping

log = structlog.get_logger("colloquy.chat")
View = Callable[[HttpRequest], HttpResponse]


def _signed(answer: Callable[[Mapping[str, Any], datetime], HttpResponse]) -> View:
    """A view for requests that the platform signed. All others get a 401, which is not logged as a fault."""

    @functools.wraps(answer)
    def view(request: HttpRequest) -> HttpResponse:
        at = timezone.now()
        if settings.CHAT is None:
            return HttpResponse(status=404)
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return HttpResponse(status=413)
        body = request.body
        is_genuine = signatures.is_genuine(
            signature=request.headers.get("X-Signature-Ed25519", ""),
            timestamp=request.headers.get("X-Signature-Timestamp", ""),
            body=body,
            public_keys=[settings.CHAT.public_key],
            at=at,
        )
        if not is_genuine:
            return HttpResponse("The signature is wrong.", status=401, content_type="text/plain")
        try:
            raw = orjson.loads(body)
        except orjson.JSONDecodeError:
            return HttpResponse(status=400)
        return answer(raw, at) if isinstance(raw, dict) else HttpResponse(status=400)

    return csrf_exempt(require_POST(view))


@_signed
def interactions(raw: Mapping[str, Any], at: datetime) -> HttpResponse:
    """A person pressed a button, chose from a menu, submitted a window or used a command."""
    if raw.get("type") == Kind.PING:
        return JsonResponse({"type": PONG})
    try:
        interaction = read(raw)
    except Malformed:
        return HttpResponse(status=400)
    if settings.CHAT is None or interaction.application_id != settings.CHAT.application_id:
        return HttpResponse(status=400)
    return JsonResponse(_reply(interaction, at).as_json())


@_signed
def events(raw: Mapping[str, Any], at: datetime) -> HttpResponse:
    """The platform reports that the bot was added to a server."""
    event = raw.get("event") or {}
    if raw.get("type") == EVENT and event.get("type") == "APPLICATION_AUTHORIZED":
        guild = (event.get("data") or {}).get("guild") or {}
        if str(guild.get("id", "")).isdigit():
            installations.note_added(community_id=int(guild["id"]), at=at)
    return HttpResponse(status=204)


def _reply(interaction: Interaction, at: datetime) -> Reply:
    """The reply to an interaction. A refusal changes nothing and becomes a text for the person."""
    began, author = time.monotonic(), interaction.author
    if notice := _turned_away(author, interaction, at):
        return replies.private(screens.notice(notice))
    is_repeated = _comes_again(interaction)
    try:
        with deadline.bounded(began=began):
            return _performed(interaction, at, is_repeated)
    except OperationalError as fault:
        is_foreseen = isinstance(fault, deadline.TooLate)
        if not is_foreseen and not isinstance(fault.__cause__, LockNotAvailable | QueryCanceled):
            log_fault(log, "chat.database_fault", fault)
        return replies.private(screens.notice(words.BUSY))
    except Exception as fault:
        log_fault(log, "chat.fault", fault)
        return replies.private(screens.notice(words.FAULT))


def _performed(interaction: Interaction, at: datetime, is_repeated: bool) -> Reply:
    try:
        if interaction.kind == Kind.COMMAND:
            return commands.perform(interaction, _who(interaction, at), at=at)
        return _use(interaction, at, is_repeated)
    except NotAdmitted as refusal:
        return replies.private(_not_admitted(refusal))


def _turned_away(author: Author, interaction: Interaction, at: datetime) -> str:
    """The reason why a person may use nothing here; empty if they may."""
    if not interaction.guild_id or author.is_bot:
        return words.ONLY_IN_SERVER
    if author.is_pending:
        return words.PENDING
    if author.timed_out_until is not None and author.timed_out_until > at:
        return words.TIMED_OUT
    name = f"colloquy:chat:{throttling.hashed(author.platform_id)}"
    if throttling.take_seldom(name, MOST_CLICKS, seconds=CLICKS_PERIOD).is_used_up:
        return words.TOO_FAST
    return ""


def _comes_again(interaction: Interaction) -> bool:
    """Whether the platform has sent this interaction before. Redis stores it, as a keyed hash.

    If Redis is down, a component still acts only once, because the conversation's step has changed.
    """
    name = f"colloquy:chat:seen:{throttling.hashed(interaction.id)}"
    return throttling.take(name, 1, seconds=REMEMBERED).is_used_up


def _who(interaction: Interaction, at: datetime) -> Callable[[Rounding | None], KnownPerson | None]:
    author = interaction.author

    def known(rounded_to: Rounding | None) -> KnownPerson | None:
        with transaction.atomic():
            person = people.known(
                community_id=interaction.guild_id,
                platform_id=author.platform_id,
                name=author.name,
                listed=author.listed,
                at=at,
                rounded_to=rounded_to,
            )
        if person is not None and not person.is_active:
            raise NotAdmitted([Missing.ACTIVE_ACCOUNT])
        return person

    return known


def _use(interaction: Interaction, at: datetime, is_repeated: bool) -> Reply:
    """Perform the action of a component."""
    reference = references.unseal(interaction.custom_id, platform_id=interaction.author.platform_id)
    if reference is None:
        return replies.private(screens.notice(words.NOT_YOURS))
    click = Click(interaction, reference, at, _who(interaction, at))
    try:
        if is_repeated:
            return moves.as_it_stands(click) if _is_public(reference) else moves.redraw(click)
        return moves.perform(click)
    except NotAdmitted:
        raise
    except NotFound:
        return replies.answer(interaction, screens.notice(words.GONE))
    except Refusal as refusal:
        return _refused(click, refusal)


def _refused(click: Click, refusal: Refusal) -> Reply:
    """The reason of a refusal, above the conversation at its present step."""
    message = str(refusal.violations[0]["message"]) if refusal.violations else refusal.message
    if isinstance(refusal, Full):
        message = refusal.words
        places.mark(refusal, at=click.at)
    if _is_public(click.reference):
        return replies.private(screens.notice(message))
    if isinstance(refusal, Full):
        message = f"{message} {words.FULL}"
    if click.reference.op == Op.WRITTEN and not click.reference.arg and isinstance(refusal, InvalidRequest):
        moves.keep_written(click)
    try:
        return moves.redraw(click, error=message)
    except Refusal:
        return replies.answer(click.interaction, screens.notice(message))


def _is_public(reference: Reference) -> bool:
    return reference.op in (Op.ANSWER, Op.VOTE, Op.VOTE_WRITTEN, Op.INFO, Op.AGAIN, Op.AGREE)


def _not_admitted(refusal: NotAdmitted) -> Any:
    rows = []
    if Missing.SOURCE in refusal.missing:
        address = f"{settings.BASE_URL}/account/sources/"
        rows = [[Button("Connect an account", address=address)]]
    return screens.notice(refusal.message, rows=rows)
