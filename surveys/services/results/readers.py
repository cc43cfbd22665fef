"""Who may read what came of a project in sum: its analysis and its figures (decisions 2.2 and 8.9)."""

from __future__ import annotations

from datetime import datetime

from communities.errors import Forbidden, NotFound
from surveys.models import Project
from surveys.services.responses import service as responses

NO_PROJECT = "There is no such project."
# Of an anonymous project fewer answers than these are not told in sum either: they would be somebody's. Of
# other projects it is their creator who decides.
LEAST_ANSWERS = 5


def refuse_unless_readable(*, project: Project, role: str, user_id: int, at: datetime) -> None:
    """Refuses a key that may not read this project's results, in sum."""
    if role == "admin":
        return
    if not (project.share_results or reads_people(project=project, role=role, user_id=user_id)):
        if role == "creator" or project.is_live_at(at):
            raise Forbidden(
                "Only its creator and admins may read this project's results; they are not shared."
            )
        raise NotFound(NO_PROJECT)
    if role == "member" and project.is_poll and project.is_live_at(at):
        responses.refuse_before_the_end(project, user_id)


def least_answers(project: Project) -> int | None:
    """How many answers a question needs before they are told to those with whom results are shared."""
    return LEAST_ANSWERS if project.is_anonymous else None


def reads_people(*, project: Project, role: str, user_id: int) -> bool:
    """Whether somebody who may read the results may also read single responses.

    Whoever may not reads them only because they are shared: in sum, as they stand, and nobody's words.
    """
    if role == "admin" or project.privacy_mode == Project.PrivacyMode.TRANSPARENT:
        return True
    return role == "creator" and project.author_id == user_id
