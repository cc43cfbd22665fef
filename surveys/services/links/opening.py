"""Admitting those who come by a personal link."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from communities.ground.errors import InvalidRequest
from communities.ground.transactions import in_transaction
from surveys.models import PersonalLink, Project
from surveys.services.conversations import admission
from surveys.services.conversations.admission import Respondent
from surveys.services.links import fields


class Fault(Enum):
    """Why a link admits nobody."""

    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"
    LEFT = "left"  # its member is no member any more
    DEACTIVATED = "deactivated"  # its member answers on no channel (rule 6.5)


class LinkRefused(Exception):
    """A link that admits nobody."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody whom a link admits, as the member it was made for.

    The link proves that its holder may answer in the member's name, on this project and nowhere else. It is
    no sign-in. `metadata` is what the link carries along.
    """

    link_id: uuid.UUID
    respondent: Respondent
    is_known_to_be_opened: bool
    metadata: Mapping[str, str]


def admit(*, link_id: uuid.UUID, project: Project, at: datetime) -> Guest:
    """Whom a link admits to this project. Raises LinkRefused.

    The member stands past `private`, as staff vouch for whom they hand a link. What else the project asks of
    its respondents is asked of them too (`admission.check`).
    """
    links = PersonalLink.objects.filter(project_id=project.pk)
    columns = ("revoked_at", "expires_at", "used_at", "member_id", "sealed_metadata")
    link = links.filter(pk=link_id).only(*columns).first()
    if link is None:
        raise LinkRefused(Fault.UNKNOWN)
    if link.revoked_at is not None:
        raise LinkRefused(Fault.REVOKED)
    if not link.is_valid_at(at):
        raise LinkRefused(Fault.EXPIRED)
    try:
        respondent = admission.member(community_id=project.community_id, member_id=str(link.member_id))
    except InvalidRequest:
        raise LinkRefused(Fault.LEFT) from None
    if not respondent.is_active:
        raise LinkRefused(Fault.DEACTIVATED)
    return Guest(
        link.pk,
        respondent,
        is_known_to_be_opened=link.used_at is not None,
        metadata=fields.of_link(link, project),
    )


@in_transaction
def note_opening(*, guest: Guest, project: Project, at: datetime) -> None:
    """Write down when a link was first opened; on anonymous projects nothing.

    There the time would stand beside that of an answer, and tell whose it is (rule 7.16).
    """
    if project.is_anonymous or guest.is_known_to_be_opened:
        return
    unopened = PersonalLink.objects.filter(pk=guest.link_id, used_at__isnull=True)
    unopened.exclude(project__privacy_mode=Project.PrivacyMode.ANONYMOUS).update(used_at=at)
