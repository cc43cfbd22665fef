"""Screens for those who cannot answer now: the project is closed, or they are not admitted."""

from __future__ import annotations

from communities.errors import Forbidden
from surveys.models import Project
from surveys.pages.respondent import forms, screens
from surveys.pages.respondent.page_request import PageRequest, posted_block
from surveys.pages.respondent.screens import Screen
from surveys.services.conversations import admission


def not_live(page_request: PageRequest) -> Screen:
    """Closed, or not open yet. What was typed stays in sight."""
    project, at = page_request.project, page_request.at
    is_post = page_request.request.method == "POST"
    unsaved_text = forms.in_words(posted_block(page_request), page_request.request.POST) if is_post else ""
    noun = "poll" if project.is_poll else "survey"
    if project.is_pending_at(at):
        return screens.notice(
            title="Not open yet.", text=f"This {noun} opens on", moment=project.opens_at, kept=unsaved_text
        )
    if project.delivery is None:  # it was never opened, so it was not closed either
        return screens.notice(
            title=f"This {noun} is not open.", text="Please come back later.", kept=unsaved_text
        )
    has_begun = page_request.visit.conversation_id is not None
    saved = " What you answered before is saved." if has_begun and not project.is_poll else ""
    text = (
        f"It closed before this answer could be taken.{saved}"
        if is_post
        else f"It takes no more answers. Thank you for coming by.{saved}"
    )
    sees_results = has_begun or _is_admitted(page_request)
    results = None
    if sees_results:
        results = screens.closed_poll_results(project, has_voted=has_begun, votes=page_request.votes)
    return screens.notice(title=f"This {noun} is closed.", text=text, kept=unsaved_text, results=results)


def _is_admitted(page_request: PageRequest) -> bool:
    try:
        admission.check(project=page_request.project, respondent=page_request.respondent)
    except Forbidden:
        return False
    return True


def limit_reached() -> Screen:
    return screens.notice(
        title="You have answered already.",
        text="You have answered this as often as its author allows. Thank you!",
    )


def not_admitted(page_request: PageRequest, refusal: Forbidden) -> Screen:
    """Says what is missing: a sign-in, or membership of the community."""
    project, request = page_request.project, page_request.request
    community = project.community.name
    is_private = project.participation == Project.Participation.PRIVATE
    if not is_private or page_request.respondent.is_member:
        return screens.notice(title="You cannot answer this yet.", text=refusal.message, status=403)
    if not page_request.page.is_framed and request.user.is_authenticated:
        return screens.notice(
            title="This is for members only.",
            text=f"You are signed in, but not as a member of {community}. Join it, or sign in as a "
            "member, and open this page again.",
            status=403,
        )
    return screens.notice(
        title="Please sign in first.",
        text=f"This is for members of {community}. Sign in there, then open this page again.",
        status=403,
    )
