"""To whom mails may go: the address of a member, and their word that they want none.

The address is the one that the member's account has proven, else the one that staff wrote down. A signed
text in each mail lets its reader unsubscribe without signing in. It names the member and does nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from communities.models import Mail, Member
from communities.statements import fetch_rows
from communities.transactions import in_transaction

_SIGNER = Signer(salt="communities.unsubscribe", sep=".")
_KEEP = """
    SELECT here.id FROM communities_member here
    JOIN communities_user person ON person.id = here.user_id AND person.is_active
    WHERE here.community_id = %s AND here.id = ANY(%s) AND here.left_at IS NULL
    ORDER BY here.id FOR KEY SHARE OF here
"""


@dataclass(frozen=True, slots=True)
class Recipient:
    """A present, active member as somebody to write to. `email` is empty if nobody knows an address.

    Staff may read `written`, the address that they wrote down, but not that of the member's account
    (decisions 18.7).
    """

    member_id: int
    user_id: int
    name: str
    email: str
    written: str
    has_refused: bool

    @property
    def shown(self) -> str:
        """Where mails go, in words for staff; empty if nobody knows an address."""
        return self.written or ("The address of their account" if self.email else "")


def proven_address(*, user_id: int) -> str | None:
    """The main address of an account, which its owner has proven; None without one."""
    proven = EmailAddress.objects.filter(user_id=user_id, verified=True, primary=True)
    address: str | None = proven.values_list("email", flat=True).first()
    return address


def keep_present(*, community_id: int, member_ids: Collection[int]) -> set[int]:
    """Those of these ids that are present, active members. Nobody erases one until the transaction ends."""
    return {row[0] for row in fetch_rows(_KEEP, [community_id, list(member_ids)])}


def recipients(*, community_id: int, member_ids: Collection[int]) -> Mapping[int, Recipient]:
    """The present, active members among these ids, by their ids."""
    members = with_addresses(community_id=community_id).filter(pk__in=member_ids)
    rows = members.values_list("pk", "user_id", "nick", "user__name", "address", "email", "mail_refused_at")
    return {
        pk: Recipient(pk, user_id, nick or name, address, written, refused_at is not None)
        for pk, user_id, nick, name, address, written, refused_at in rows
    }


def with_addresses(*, community_id: int) -> QuerySet[Any, Any]:
    """The present, active members, each with their `address`, empty if nobody knows one."""
    proven = EmailAddress.objects.filter(user=OuterRef("user_id"), verified=True, primary=True)
    members = Member.objects.filter(community_id=community_id, left_at__isnull=True, user__is_active=True)
    return members.annotate(address=Coalesce(Subquery(proven.values("email")[:1]), "email"))


# --- What was written to them ---------------------------------------------------------------------------


def with_mail_counts(members: QuerySet[Any, Any], *, kind: str, since: datetime) -> QuerySet[Any, Any]:
    """The members, each with `mail_count`: how many mails of this kind were written to them since."""
    written = Mail.objects.filter(
        user=OuterRef("user_id"), community=OuterRef("community_id"), kind=kind, created_at__gt=since
    )
    counted = written.order_by().values("user").annotate(count=Count("pk")).values("count")
    counted_members: QuerySet[Any, Any] = members.annotate(mail_count=Coalesce(Subquery(counted), 0))
    return counted_members


def outcomes(*, community_id: int, kind: str) -> Mapping[str, int]:
    """How many mails of this kind there are by `Mail.Status`; those of the last 30 days."""
    mails = Mail.objects.filter(community_id=community_id, kind=kind).order_by()
    return dict(mails.values_list("status").annotate(Count("pk")))


def last_outcomes(*, community_id: int, kind: str, user_ids: Collection[int]) -> Mapping[int, str]:
    """The `Mail.Status` of the latest mail of this kind to each of these users who got one."""
    mails = Mail.objects.filter(community_id=community_id, kind=kind, user_id__in=user_ids)
    rows = mails.order_by("created_at").values_list("user_id", "status")
    return {user_id: status for user_id, status in rows if user_id is not None}


# --- Unsubscribing --------------------------------------------------------------------------------------


def unsubscribe_url(*, member_id: int) -> str:
    """The address at which a member says that they want no more mails of their community."""
    signed = _SIGNER.sign(str(member_id))
    return f"{settings.BASE_URL}{reverse('mail-unsubscribe', args=[signed])}"


def signed_member(signed: str) -> Member | None:
    """The member whom the signed part of such an address names, with their community; None for any other."""
    try:
        member_id = int(_SIGNER.unsign(signed))
    except (BadSignature, ValueError):
        return None
    return Member.objects.select_related("community").filter(pk=member_id).first()


@in_transaction
def refuse_mails(*, member_id: int, at: datetime) -> None:
    """Note that a member wants no more mails. Changes nothing if they said so before."""
    Member.objects.filter(pk=member_id, mail_refused_at__isnull=True).update(mail_refused_at=at)


@in_transaction
def accept_mails(*, member_id: int) -> None:
    """Note that a member wants mails again."""
    Member.objects.filter(pk=member_id).update(mail_refused_at=None)
