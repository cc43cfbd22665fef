"""Admitting people who open a personal link."""

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
    """The reason why a link admits nobody."""

    UNKNOWN = "unknown"
    EXPIRED = "expired"
    REVOKED = "revoked"
    LEFT = "left"  # The member of the link has left the community.
    DEACTIVATED = "deactivated"  # The member of the link may not answer on any channel (rule 6.5).


class LinkRefused(Exception):
    """A link that admits nobody."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Guest:
    """A person whom a link admits, as the member for whom it was made.

    The link proves that its owner may answer in the member's name, only on this project. The link is no
    sign-in. `metadata` is the metadata of the link.
    """

    link_id: uuid.UUID
    respondent: Respondent
    is_known_to_be_opened: bool
    metadata: Mapping[str, str]


def admit(*, link_id: uuid.UUID, project: Project, at: datetime) -> Guest:
    """Return the person whom a link admits to this project. Raises LinkRefused.

    The member passes `private`, because staff vouch for the people to whom they give a link. The project's
    other conditions for respondents apply too (`admission.check`).
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
    """Store when a link was first opened; on anonymous projects nothing is stored.

    On anonymous projects the time would match the time of an answer, and reveal its respondent (rule 7.16).
    """
    if project.is_anonymous or guest.is_known_to_be_opened:
        return
    unopened = PersonalLink.objects.filter(pk=guest.link_id, used_at__isnull=True)
    unopened.exclude(project__privacy_mode=Project.PrivacyMode.ANONYMOUS).update(used_at=at)
