"""Titles of responses on pages for staff: the respondent's name, but never on anonymous projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from communities.services.people import members
from surveys.models import Conversation, Project

SUSPECTED = (("true", "Suspected"), ("false", "Not suspected"))
STATUSES = (("completed", "Completed"), ("partial", "Partial"))
SCREENED_OUT = (Conversation.SCREENED_OUT, "Screened out")
REFUSED = (Conversation.FULL, "Refused: full")  # partial, because a limit refused the end


def noun_of(project: Project) -> str:
    """The word for a response."""
    return "vote" if project.is_poll else "response"


def names_of(project: Project, rows: Sequence[Conversation]) -> Mapping[int, str]:
    """The names of the respondents of these responses, by user id; empty on anonymous projects."""
    if project.is_anonymous:
        return {}
    ids = {row.user_id for row in rows if row.user_id is not None}
    return members.display_names(community_id=project.community_id, user_ids=ids)


def title_of(project: Project, row: Conversation, names: Mapping[int, str]) -> str:
    """The respondent's name, or on anonymous projects the beginning of the response's id."""
    if project.is_anonymous:
        return f"{noun_of(project).capitalize()} {str(row.pk)[:8]}"
    if row.user_id is not None and row.user_id in names:
        return names[row.user_id]
    return row.platform_id or "Unnamed visitor"
