"""Mails: written as rows in the transaction of the change that they report, and sent by the worker after the
commit.

Each kind of mail is declared with the `Consent` by which it may go to its address (rules 7.31 to 7.33).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from functools import reduce
from operator import or_

import structlog
from django.core import mail as django_mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import sanitize_address
from django.db.models import Count, Q, QuerySet

from communities.ground import queue, sealing
from communities.ground.errors import refuse
from communities.ground.mail_addresses import keyed_hash
from communities.ground.sealing import SealedColumn
from communities.ground.transactions import in_transaction
from communities.models import Mail, MailRefusal, Member
from communities.services.mail import mail_sums

SEND = "communities.send_mails"
WAITS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
LEASE = timedelta(minutes=5)  # The lease of a worker that sends a mail. SMTP gives up after 15 s a step.
KEPT_FOR = timedelta(days=30)  # Finished rows of mails are kept for this time.
AT_ONCE = 50  # One connection sends at most this many mails, because many servers take no more.
SECONDS_AT_ONCE = 60.0  # After this time another task continues, so that this thread is free for others.
UNSENDABLE = "No mail can be sent to this address. Check the part after the @."
_PURPOSE = "mails"
SEALED = SealedColumn(Mail, "sealed", lambda mail: sealing.seal_for(purpose=_PURPOSE, row=mail.pk))
_UNSUBSCRIBED = "The reader has unsubscribed."

log = structlog.get_logger("colloquy.mails")


class Consent(Enum):
    """Why a kind of mail may go to its address."""

    ASKED = "asked"
    """Somebody typed the address at a form of the account area, which has limits of its own.

    Or it is the address of their own account.
    """
    CONFIRMED = "confirmed"
    """The mail is about an account, and goes to the address that its owner has confirmed, or nowhere."""
    NONE = "none"
    """A community writes to people who have not asked for the mail.

    The reader can refuse these mails for the address. Mails to unconfirmed addresses are counted by day. Such
    a mail contains no text that a user chose, except for the name of the community.
    """


_kinds: dict[str, Consent] = {}


def declare(kind: str, consent: Consent) -> str:
    """Declare a kind of mail, and return it.

    A mail's kind may also contain a colon and an object, as in `personal_link:17`.
    """
    _kinds[kind] = consent
    return kind


def declared() -> Mapping[str, Consent]:
    """All declared kinds of mails."""
    return dict(_kinds)


@dataclass(frozen=True, slots=True)
class Message:
    """A mail in the form in which it is sent.

    `html` may be empty; `headers` are further headers besides sender, recipient and subject.
    """

    to: str
    subject: str
    text: str
    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def is_sendable(address: str) -> bool:
    """Whether a mail to a well-formed address can be built.

    Django's validator accepts domains whose parts are too long once they are encoded for a mail server.
    """
    try:
        sanitize_address(address, "utf-8")
    except ValueError:  # UnicodeError is a ValueError.
        return False
    return True


def require_sendable(address: str, *, field: str) -> None:
    """Refuse an address that no mail can be sent to; an empty address is accepted."""
    if address and not is_sendable(address):
        refuse(field, "invalid", UNSENDABLE)


@in_transaction
def write(
    message: Message,
    *,
    kind: str,
    at: datetime,
    community_id: int | None = None,
    user_id: int | None = None,
    is_counted: bool = False,
) -> Mail:
    """Write a mail into the outbox. It is sent after the caller's transaction has committed.

    A mail without consent counts as a mail to an unconfirmed address, and is refused (Conflict) if its
    community has written too many of these in a day. `is_counted` means that the caller has counted the mail,
    or knows that the reader's account has confirmed the address.
    """
    key, address_hash = uuid.uuid4(), ""
    if _kinds[kind.partition(":")[0]] is Consent.NONE:
        assert community_id is not None, "Who writes without consent is a community."
        address_hash = keyed_hash(message.to, community_id=community_id)
        if not is_counted:
            mail_sums.take(community_id=community_id, wanted=1, at=at)
    sealed = sealing.seal(json.dumps(asdict(message)), purpose=_PURPOSE, row=key)
    mail = Mail.objects.create(
        id=key,
        community_id=community_id,
        user_id=user_id,
        kind=kind,
        address_hash=address_hash,
        sealed=sealed,
        created_at=at,
        due_at=at,
    )
    queue.wake(SEND)
    return mail


def send_due(*, at: datetime) -> int:
    """Send mails that are due, for about a minute; returns the number of sent mails.

    Each worker leases one mail at a time. So a mail is sent once. There are two exceptions: its worker dies
    after sending it, or its server takes longer than LEASE. Then another worker sends it again. If unsent
    mails may remain, another task is woken. A mail that cannot be sent because of its own content is given
    up, and the others continue.
    """
    sent, began = 0, time.monotonic()
    connection = django_mail.get_connection()
    try:
        for _ in range(AT_ONCE):
            elapsed = time.monotonic() - began
            if elapsed > SECONDS_AT_ONCE:
                break
            mail = _lease(at, until=at + timedelta(seconds=elapsed) + LEASE)
            if mail is None:
                return sent
            sent += _attempt(mail, connection, at=at)
    finally:
        _close(connection)
    queue.wake(SEND)
    return sent


def not_sent() -> Mapping[str, int]:
    """The numbers of mails that wait for a retry, and that were given up, unless their reader
    unsubscribed.
    """
    failures = Mail.objects.filter(status__in=(Mail.Status.FAILED, Mail.Status.ABANDONED))
    by_status = failures.exclude(last_error=_UNSUBSCRIBED).values_list("status").annotate(count=Count("pk"))
    return {Mail.Status.FAILED.value: 0, Mail.Status.ABANDONED.value: 0} | dict(by_status)


def given_up(*, community_id: int | None, kinds: Collection[str], since: datetime) -> QuerySet[Mail]:
    """The mails of these kinds that were given up since a time, the newest first, unless their reader
    unsubscribed. `None` is every community. A kind may continue after a colon.
    """
    of_kinds = reduce(or_, (Q(kind=each) | Q(kind__startswith=f"{each}:") for each in kinds))
    rows = Mail.objects.filter(of_kinds, status=Mail.Status.ABANDONED, created_at__gte=since)
    if community_id is not None:
        rows = rows.filter(community_id=community_id)
    return rows.exclude(last_error=_UNSUBSCRIBED).defer("sealed").order_by("-created_at")


def forget_old(*, at: datetime) -> None:
    """Delete the rows of mails that ended more than a month ago, and the sums of past days."""
    mail_sums.forget_old(at=at)
    Mail.objects.filter(due_at__isnull=True, created_at__lt=at - KEPT_FOR).delete()


@in_transaction
def _lease(at: datetime, *, until: datetime) -> Mail | None:
    """Lease the mail that has been due longest. The mail is due again at `until`. Returns None if no mail is
    due.

    The attempt is counted now, so it counts even if the worker dies.
    """
    due = Mail.objects.filter(due_at__lte=at).order_by("due_at").select_for_update(skip_locked=True)
    mail = due.first()
    if mail is not None:
        mail.due_at, mail.attempt_count = until, mail.attempt_count + 1
        mail.save(update_fields=["due_at", "attempt_count"])
    return mail


def _attempt(mail: Mail, connection: BaseEmailBackend, *, at: datetime) -> bool:
    if _is_refused(mail):
        _end(mail, status=Mail.Status.ABANDONED, last_error=_UNSUBSCRIBED)
        return False
    try:
        connection.open()  # The call has no effect on an open connection.
    except Exception as failure:  # Every error is a fault of the server or of EMAIL_URL, not of this mail.
        _fail(mail, failure, at=at)
        return False
    try:
        _send(mail, connection)
    except sealing.Unreadable:
        error = "SECRET_KEY has changed since this mail was written."
        _end(mail, status=Mail.Status.ABANDONED, last_error=error)
    except OSError as failure:  # smtplib's errors are OSErrors, too.
        _close(connection)  # The next mail gets a new connection.
        _fail(mail, failure, at=at)
    # One example is an address that cannot be encoded. No other mail must wait for this mail.
    except Exception as failure:
        cause = type(failure).__name__  # The error's text may contain parts of the mail, so it is not logged.
        log.error("mails.cannot_be_sent", mail=str(mail.pk), kind=mail.kind, cause=cause)
        _close(connection)
        _end(mail, status=Mail.Status.ABANDONED, last_error=cause)
    else:
        _end(mail, status=Mail.Status.SENT, sent_at=at)
        return True
    return False


def _is_refused(mail: Mail) -> bool:
    """Whether the recipient of a waiting mail has unsubscribed since it was written."""
    if not mail.address_hash or mail.community_id is None:
        return False
    refusals = MailRefusal.objects.filter(community_id=mail.community_id, address_hash=mail.address_hash)
    members = Member.objects.filter(community_id=mail.community_id, mail_refused_at__isnull=False)
    is_refused_by_member = mail.user_id is not None and members.filter(user_id=mail.user_id).exists()
    return is_refused_by_member or refusals.exists()


def _send(mail: Mail, connection: BaseEmailBackend) -> None:
    message = Message(**json.loads(sealing.unseal(mail.sealed or b"", purpose=_PURPOSE, row=mail.pk)))
    email = EmailMultiAlternatives(
        message.subject, message.text, to=[message.to], headers=dict(message.headers)
    )
    if message.html:
        email.attach_alternative(message.html, "text/html")
    connection.send_messages([email])


def _close(connection: BaseEmailBackend) -> None:
    with suppress(OSError):  # The mails of the connection were sent, or failed before.
        connection.close()


def _fail(mail: Mail, failure: Exception, *, at: datetime) -> None:
    error = f"{type(failure).__name__}: {failure}"[:300]
    if mail.attempt_count > len(WAITS):
        _end(mail, status=Mail.Status.ABANDONED, last_error=error)
        return
    due_at = at + WAITS[mail.attempt_count - 1]
    leased = Mail.objects.filter(pk=mail.pk, due_at=mail.due_at)
    leased.update(status=Mail.Status.FAILED, due_at=due_at, last_error=error)


def _end(mail: Mail, *, status: str, sent_at: datetime | None = None, last_error: str = "") -> None:
    """Mark a mail as finished, and erase its content, unless another worker has leased it since."""
    leased = Mail.objects.filter(pk=mail.pk, due_at=mail.due_at)
    leased.update(status=status, sent_at=sent_at, last_error=last_error, sealed=None, due_at=None)
