"""The mails that were written, in the form in which readers see them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from allauth.account.models import EmailAddress

from communities.ground import sealing
from communities.ground.mail_addresses import keyed_hash
from communities.models import Mail, Member
from communities.services.mail import recipients


def written(to: str = "") -> Sequence[dict[str, Any]]:
    """The mails to an address, or all of them, oldest first."""
    rows = Mail.objects.order_by("created_at", "id")
    opened = [json.loads(sealing.unseal(row.sealed or b"", purpose="mails", row=row.pk)) for row in rows]
    return [mail for mail in opened if not to or mail["to"] == to]


def subjects(to: str = "") -> list[str]:
    return [mail["subject"] for mail in written(to)]


def path_in(mail: dict[str, Any]) -> str:
    """The path of the first address of our site in a mail."""
    found = re.search(r"https?://[^/\s]+(/\S+)", mail["text"])
    assert found is not None, mail["text"]
    return found[1]


def confirm(member: Member, email: str = "") -> None:
    """Confirm an address for the account of a member, by default the address that staff entered."""
    EmailAddress.objects.create(
        user_id=member.user_id, email=email or member.email, verified=True, primary=True
    )


def unsubscribe_url(member: Member, email: str) -> str:
    """The address under a mail of the member's community to this address."""
    address_hash = keyed_hash(email, community_id=member.community_id)
    return recipients.unsubscribe_url(recipients.Reader(member.community_id, member.pk, address_hash))
