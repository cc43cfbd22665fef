"""One request to a page on which people answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest, QueryDict

from communities.services.tenants.verified_sources import NOBODY_ASKED, Asked
from surveys.drawing import forms, screens
from surveys.drawing.screens import Votes
from surveys.drawing.theme import Page
from surveys.engine.script import Block
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.models import Project
from surveys.pages.respondent import visitors
from surveys.pages.respondent.visitors import Arrival, Visit
from surveys.services.conversations import admission
from surveys.services.conversations.admission import NotAdmitted, Respondent
from surveys.services.conversations.view import ConversationView
from surveys.services.links.opening import Fault, Guest
from surveys.services.scripts import editing as scripts


@dataclass(slots=True)
class PageRequest:
    """One request of one visitor. `visit` changes when a conversation begins or is left.

    `guest` came by a personal link. `link_fault` says why the link of another admits nobody. `ahead` is what
    the address filled in, until the conversation is over.
    """

    request: HttpRequest
    project: Project
    page: Page
    arrival: Arrival
    visit: Visit
    respondent: Respondent
    at: datetime
    guest: Guest | None = None
    link_fault: Fault | None = None
    asked: Asked = NOBODY_ASKED  # how asking the platforms about the respondent went
    ahead: Prefill = NOTHING
    was_trapped: bool = False  # the form had a field filled in that people do not see
    keeps_form: bool = False  # in the browser, until the respondent has what they lack

    @property
    def is_live(self) -> bool:
        return self.project.is_live_at(self.at)

    @property
    def has_traps(self) -> bool:
        """Whether the next form may begin a conversation on an open page, so guards against scripts stand."""
        is_open = self.project.participation == Project.Participation.OPEN_WEB
        return is_open and self.visit.conversation_id is None and not self.was_trapped

    @property
    def votes(self) -> Votes:
        return screens.stored_votes(self.project, at=self.at)

    @property
    def past_before(self) -> int | None:
        """Before which step the past steps on the page end; None for the latest."""
        return forms.past_before(self.request)

    def require_admitted(self) -> None:
        """Ask the platforms where they may know better, then raise NotAdmitted for those who stay out."""
        try:
            admission.check(project=self.project, respondent=self.respondent, at=self.at)
        except NotAdmitted:
            self.respondent, self.asked = admission.ask_platforms(
                project=self.project, respondent=self.respondent, at=self.at
            )
            admission.check(project=self.project, respondent=self.respondent, at=self.at)

    def remember(self, view: ConversationView) -> None:
        """Keep the conversation in the browser; of one that is over on an anonymous project only the end.

        A vote that can be changed is not over (rule 7.14).
        """
        is_over = view.is_completed and not (
            self.project.is_poll and self.project.change_poll and self.is_live
        )
        kept = visitors.ANSWERED if is_over and self.project.is_anonymous else view.conversation.pk
        if kept != self.visit.conversation_id:
            self.visit = replace(self.visit, conversation_id=kept)
        if view.is_completed:
            self.ahead = NOTHING

    def stop_skipping(self) -> None:
        """Show each question that was answered ahead, for a respondent who wants to look at them."""
        self.ahead = replace(self.ahead, skips=False)

    def forget(self) -> None:
        """Leave the conversation. On anonymous projects a new seed, which would join the next one to it."""
        seed = visitors.random_seed() if self.project.is_anonymous else self.visit.seed
        self.visit = replace(self.visit, conversation_id=None, seed=seed)

    def forget_link(self) -> None:
        """Leave the personal link, and the conversation that was led in its member's name."""
        self.forget()
        self.visit = replace(self.visit, link_id=None)
        self.guest = self.link_fault = None


def posted_block(page_request: PageRequest) -> Block | None:
    """The block that a form belongs to, if the script still has it."""
    return block_of(page_request.project, page_request.request.POST)


def block_of(project: Project, form: QueryDict) -> Block | None:
    """The block that these fields of a form answer, if the script still has it."""
    sent = form.get("block", "")
    if not (sent.isascii() and sent.isdigit()):
        return None
    script = scripts.load(project_id=project.pk, revision=project.revision)
    index = script.index_by_id.get(int(sent[:19]))
    return None if index is None else script.blocks[index]
