"""Addresses for mails: the address of a member, and whether its reader has refused mails.

The address is the one that the member's account has proven, else the one that staff wrote down. A signed text
in each mail lets its reader unsubscribe without signing in. The text contains a keyed hash of the address:
the refusal applies to the address, also if another member has it later (rule 7.32).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from communities.ground.mail_addresses import keyed_hash
from communities.ground.statements import fetch_rows
from communities.ground.transactions import in_transaction
from communities.models import Mail, MailRefusal, Member

_AT_ONCE = 2_000  # Members are read in batches of this size.
_SIGNER = Signer(salt="communities.unsubscribe", sep=".")
_KEEP = """
    SELECT here.id FROM communities_member here
    JOIN communities_user person ON person.id = here.user_id AND person.is_active
    WHERE here.community_id = %s AND here.id = ANY(%s) AND here.left_at IS NULL
    ORDER BY here.id FOR KEY SHARE OF here
"""


@dataclass(frozen=True, slots=True)
class Recipient:
    """A present, active member as a recipient of mails.

    `email` and `address_hash` are empty if no address is known. `is_proven` is True if the member's account
    has proven the address. Staff may read `written`, the address that they wrote down, but not the address of
    the member's account (rule 7.29).
    """

    member_id: int
    user_id: int
    name: str
    email: str
    written: str
    address_hash: str
    is_proven: bool
    has_refused: bool

    @property
    def shown(self) -> str:
        """The address in words for staff; empty if no address is known."""
        return "the address of their account" if self.is_proven else self.email


def proven_address(*, user_id: int) -> str | None:
    """The main address of an account, proven by its owner; None if there is none."""
    proven = EmailAddress.objects.filter(user_id=user_id, verified=True, primary=True)
    address: str | None = proven.values_list("email", flat=True).first()
    return address


def keep_present(*, community_id: int, member_ids: Collection[int]) -> set[int]:
    """The present, active members among these ids. None of them is erased until the transaction ends."""
    return {row[0] for row in fetch_rows(_KEEP, [community_id, list(member_ids)])}


def recipients(*, community_id: int, member_ids: Collection[int]) -> Mapping[int, Recipient]:
    """The present, active members among these ids, by their ids."""
    members = with_addresses(community_id=community_id).filter(pk__in=member_ids)
    return {each.member_id: each for each in read(members, community_id=community_id)}


def with_addresses(*, community_id: int) -> QuerySet[Any, Any]:
    """The present, active members with their `address`, empty if there is none, and the `proven_address`."""
    proven = EmailAddress.objects.filter(user=OuterRef("user_id"), verified=True, primary=True)
    members = Member.objects.filter(community_id=community_id, left_at__isnull=True, user__is_active=True)
    return members.annotate(
        proven_address=Subquery(proven.values("email")[:1]), address=Coalesce(F("proven_address"), "email")
    )


def read(members: QuerySet[Any, Any], *, community_id: int) -> Iterator[Recipient]:
    """These members of `with_addresses` as recipients, in their order. They are read in batches."""
    columns = ("pk", "user_id", "nick", "user__name", "address", "email", "proven_address", "mail_refused_at")
    rows = members.values_list(*columns).iterator(chunk_size=_AT_ONCE)
    for part in _batches(rows):
        hashes = [keyed_hash(row[4], community_id=community_id) if row[4] else "" for row in part]
        refused = refused_hashes(community_id=community_id, hashes=hashes)
        for row, address_hash in zip(part, hashes, strict=True):
            pk, user_id, nick, name, address, written, proven, refused_at = row
            yield Recipient(
                pk,
                user_id,
                nick or name,
                address,
                written,
                address_hash,
                is_proven=proven is not None,
                has_refused=refused_at is not None or address_hash in refused,
            )


def _batches(rows: Iterator[Any]) -> Iterator[Sequence[Any]]:
    while part := list(islice(rows, _AT_ONCE)):
        yield part


# --- What was written to them ---------------------------------------------------------------------------


def mail_counts(*, community_id: int, kind: str, since: datetime) -> Counter[str]:
    """Return how many mails of this kind were written to each address since a time, by the address's keyed
    hash.
    """
    written = Mail.objects.filter(community_id=community_id, kind=kind, created_at__gt=since)
    counts = written.exclude(address_hash="").order_by().values_list("address_hash").annotate(Count("pk"))
    return Counter(dict(counts))


def outcomes(*, community_id: int, kind: str) -> Mapping[str, int]:
    """The number of mails of this kind by `Mail.Status`, in the last 30 days."""
    mails = Mail.objects.filter(community_id=community_id, kind=kind).order_by()
    return dict(mails.values_list("status").annotate(Count("pk")))


def last_outcomes(*, community_id: int, kind: str, user_ids: Collection[int]) -> Mapping[int, str]:
    """The `Mail.Status` of the latest mail of this kind to each of these users who got a mail."""
    mails = Mail.objects.filter(community_id=community_id, kind=kind, user_id__in=user_ids)
    rows = mails.order_by("created_at").values_list("user_id", "status")
    return {user_id: status for user_id, status in rows if user_id is not None}


# --- Unsubscribing --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a community's mail: the address that got it, and its member, 0 for none."""

    community_id: int
    member_id: int
    address_hash: str


def unsubscribe_url(reader: Reader) -> str:
    """The address at which the reader of a mail refuses further mails of its community."""
    signed = _SIGNER.sign(f"{reader.community_id}:{reader.member_id}:{reader.address_hash}")
    return f"{settings.BASE_URL}{reverse('mail-unsubscribe', args=[signed])}"


def headers(unsubscribe_url: str) -> Mapping[str, str]:
    """The headers with which mail programs offer an unsubscribe button (RFC 8058)."""
    return {
        "List-Unsubscribe": f"<{unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def signed_reader(signed: str) -> Reader | None:
    """The reader in the signed part of such an address; None for any other text."""
    try:
        community_id, member_id, address_hash = _SIGNER.unsign(signed).split(":")
    except (BadSignature, ValueError):
        return None
    return Reader(int(community_id), int(member_id), address_hash)


def refused_hashes(*, community_id: int, hashes: Collection[str]) -> set[str]:
    """The addresses among these keyed hashes that want no mails of the community."""
    refusals = MailRefusal.objects.filter(community_id=community_id, address_hash__in=hashes)
    return set(refusals.values_list("address_hash", flat=True))


@in_transaction
def refuse_mails(reader: Reader, *, at: datetime) -> None:
    """Store that an address wants no more mails of a community. A second refusal changes nothing.

    If the member's account has proven the address, the refusal counts for the member: their other addresses
    get no mails either.
    """
    MailRefusal.objects.bulk_create(
        [MailRefusal(community_id=reader.community_id, address_hash=reader.address_hash, refused_at=at)],
        ignore_conflicts=True,
    )
    if _is_own_address(reader):
        members = Member.objects.filter(pk=reader.member_id, mail_refused_at__isnull=True)
        members.update(mail_refused_at=at)


@in_transaction
def accept_mails(reader: Reader) -> None:
    """Record that an address wants mails again. If the member's account has proven the address, the member
    wants mails again, too.
    """
    MailRefusal.objects.filter(community_id=reader.community_id, address_hash=reader.address_hash).delete()
    if _is_own_address(reader):
        Member.objects.filter(pk=reader.member_id).update(mail_refused_at=None)


def _is_own_address(reader: Reader) -> bool:
    """Whether the member's account has proven the address, so that a refusal is the member's own."""
    person = recipients(community_id=reader.community_id, member_ids=[reader.member_id]).get(reader.member_id)
    return person is not None and person.is_proven and person.address_hash == reader.address_hash
