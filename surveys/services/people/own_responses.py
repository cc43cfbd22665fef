"""The account area's own data of a person: memberships with XP, and responses.

Responses to anonymous projects are left out, because they belong to nobody.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from communities.ground.errors import NotFound
from communities.models import CommunitySettings, Member
from communities.services.pictures import copies
from surveys.models import Conversation, Project
from surveys.services.conversations import repository
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.view import of_conversation
from surveys.services.responses import reading
from surveys.services.responses.reading import Part
from xp import levels
from xp.services import achievements, standings
from xp.services.standings import Totals

PAGE_LENGTH = 25
MAX_ACHIEVEMENTS = 100  # of a membership; one more shows that there are more
MAX_SHOWN = 5  # of the overview's lists; one more shows that there are more
NO_RESPONSE = "You have no such response."


@dataclass(frozen=True, slots=True)
class Standing:
    """XP of one membership. `progress` is the progress to the next level in percent."""

    xp_name: str
    totals: Totals
    level: int
    to_next: int
    progress: int


@dataclass(frozen=True, slots=True)
class OpenProject:
    """A survey or poll that the person can begin on its page."""

    name: str
    slug: str
    is_poll: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """A present membership. `standing` is None if the community gives no XP."""

    community_id: int
    community: str
    member: Member
    standing: Standing | None
    achievements: Sequence[Mapping[str, Any]]
    has_earlier_achievements: bool
    open_projects: Sequence[OpenProject]


@dataclass(frozen=True, slots=True)
class OwnResponse:
    """A response in a list. `slug` is set if the response can be continued or read on its page."""

    id: uuid.UUID
    project: str
    community: str
    is_poll: bool
    completed_at: datetime | None
    updated_at: datetime
    slug: str | None


@dataclass(frozen=True, slots=True)
class ReadOwnResponse:
    """A response with the steps of its script, as its respondent saw it."""

    response: OwnResponse
    part: Part


def memberships(*, user_id: int, at: datetime) -> list[Membership]:
    """A person's present memberships, by the community's name."""
    present = Member.objects.filter(user_id=user_id, left_at__isnull=True).select_related(
        "community__settings"
    )
    members = list(present.order_by("community__name", "pk"))
    member_ids = [member.pk for member in members]
    earned = achievements.earned_by(member_ids=member_ids, most=MAX_ACHIEVEMENTS + 1)
    shown = _with_pictures(members, {key: value[-MAX_ACHIEVEMENTS:] for key, value in earned.items()})
    return [
        Membership(
            member.community_id,
            member.community.name,
            member,
            _standing(member, at),
            shown[member.pk],
            len(earned.get(member.pk, ())) > MAX_ACHIEVEMENTS,
            open_projects(community_id=member.community_id, user_id=user_id, at=at),
        )
        for member in members
    ]


def _with_pictures(
    members: Sequence[Member], earned: Mapping[int, Sequence[Mapping[str, Any]]]
) -> dict[int, list[Mapping[str, Any]]]:
    """Achievements with the address of the `picture` that pages show: our copy of the achievement's picture,
    or a badge.
    """
    found = copies.find(
        community_ids=[member.community_id for member in members],
        addresses=[each["image_url"] for ofs in earned.values() for each in ofs],
    )
    return {
        member.pk: [
            {**each, "picture": achievements.picture_path(int(each["id"]), copy)}
            for each in earned.get(member.pk, ())
            for copy in [found.get((member.community_id, each["image_url"]))]
        ]
        for member in members
    }


def open_projects(*, community_id: int, user_id: int, at: datetime) -> list[OpenProject]:
    """The newest projects of a community that a member has not begun and can begin, at most MAX_SHOWN + 1.

    Anonymous projects are listed even after an answer, because nobody knows who gave it.
    """
    on_pages = Project.objects.in_community(community_id).filter(response_channel="web")
    live = on_pages.live_at(at)
    # The first condition is that of the index `project_newest_active`.
    active = live.filter(Q(status=Project.Status.ACTIVE) | Q(opens_at__isnull=False))
    begun = Conversation.objects.filter(project=OuterRef("pk"), user_id=user_id)
    found = active.exclude(Exists(begun)).order_by("-created_at", "-pk")
    rows = found.values_list("name", "slug", "type")[: MAX_SHOWN + 1]
    return [OpenProject(name, slug, kind == Project.Type.POLL) for name, slug, kind in rows]


def unfinished(*, user_id: int, at: datetime) -> list[OwnResponse]:
    """The newest conversations that a person can continue now, at most MAX_SHOWN + 1."""
    # Imported responses cannot be continued
    own = _own(user_id).exclude(provider=Conversation.Provider.IMPORT)
    begun = own.filter(completed_at__isnull=True).order_by("-pk")[:PAGE_LENGTH]
    return [_listed(each, at) for each in begun if each.project.is_live_at(at)][: MAX_SHOWN + 1]


def page(
    *, user_id: int, at: datetime, before: uuid.UUID | None = None
) -> tuple[list[OwnResponse], uuid.UUID | None]:
    """A page of a person's responses, the newest first, and the id after which the next page starts; None on
    the last page.
    """
    rows = _own(user_id).filter(Q(is_listed=True) | Q(completed_at__isnull=False))
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: PAGE_LENGTH + 1])
    has_more = len(found) > PAGE_LENGTH
    shown = found[:PAGE_LENGTH]
    return [_listed(each, at) for each in shown], shown[-1].pk if has_more else None


def read(*, user_id: int, response_id: uuid.UUID, at: datetime, start: int = 0) -> ReadOwnResponse:
    """One response of a person, with the part that starts at `start`.

    Raises NotFound, also for a response of another person.
    """
    conversation = repository.find(conversation_id=response_id)
    if conversation is None or conversation.user_id != user_id or not conversation.is_response:
        raise NotFound(NO_RESPONSE)
    view = of_conversation(LoadedConversation.of(conversation), at)
    return ReadOwnResponse(_listed(conversation, at), reading.part_for_respondent(view, start=start))


def _own(user_id: int) -> Any:
    own = Conversation.objects.filter(user_id=user_id, project__deleted_at__isnull=True)
    own = own.filter(project__community__test_of=None)
    return own.select_related("project__community").defer("state", "packed")


def _listed(conversation: Conversation, at: datetime) -> OwnResponse:
    project = conversation.project
    return OwnResponse(
        conversation.pk,
        project.name,
        project.community.name,
        project.is_poll,
        conversation.completed_at,
        conversation.updated_at,
        project.slug if project.is_live_at(at) else None,
    )


def _standing(member: Member, at: datetime) -> Standing | None:
    settings = getattr(member.community, "settings", None) or CommunitySettings()
    if not settings.gives_xp:
        return None
    totals = standings.of_member(member_id=member.pk, at=at)
    return Standing(
        settings.name_of_xp,
        totals,
        levels.level_of(totals.total),
        levels.to_next(totals.total),
        round(levels.progress(totals.total) * 100),
    )
