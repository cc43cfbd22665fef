"""One visit: reads a request to a respondent's page, and writes the response's cookies and headers."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from communities.ground.errors import NotFound
from communities.ground.translation import ENGLISH
from communities.services.tenants.verified_sources import NOBODY_ASKED, Asked
from surveys.drawing import endings, forms, security, theme
from surveys.drawing.parts import Task, Votes
from surveys.drawing.rendering import Handover
from surveys.drawing.theme import Page
from surveys.engine.intake import videos
from surveys.engine.script import Block
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.models import Project
from surveys.pages.respondent import browsers, frames, kept_forms, personal_links, prefilled
from surveys.pages.respondent.browsers import Arrival, Browser
from surveys.services.conversations import admission
from surveys.services.conversations.admission import NotAdmitted, Respondent
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import metadata
from surveys.services.links import addresses as links
from surveys.services.links.opening import Fault, Guest
from surveys.services.projects import addresses
from surveys.services.responses import copies
from surveys.services.scripts import cache as script_cache


@dataclass(slots=True)
class Visit:
    """One request of one visitor. `browser` changes when a conversation begins or is left.

    `guest` is the member of a valid personal link. `link_fault` says why a personal link admits nobody.
    `ahead` are the answers that the address filled in, until the conversation is over.
    """

    request: HttpRequest
    project: Project
    page: Page
    arrival: Arrival
    browser: Browser
    respondent: Respondent
    at: datetime
    guest: Guest | None = None
    link_fault: Fault | None = None
    asked: Asked = NOBODY_ASKED  # the outcome of asking the platforms about the respondent
    ahead: Prefill = NOTHING
    task: Task | None = None  # to be done before a first form is accepted
    events: tuple[str, ...] = ()  # what the site around a frame is told
    keeps_form: bool = False  # the browser stores the form until the project admits the respondent

    @classmethod
    def of(cls, request: HttpRequest, slug: str) -> Visit:
        """Read everything that a request says about its visitor. Raises Http404 for an unknown address."""
        at = timezone.now()
        try:
            destination = addresses.find(slug=slug)
        except NotFound as refusal:
            raise Http404(refusal.message) from None
        project, is_framed = destination.project, request.GET.get("embed") == "1"
        arrival = browsers.arrival(
            request, slug=slug, is_framed=is_framed, is_anonymous=project.is_anonymous, at=at
        )
        page = theme.page_of(
            project=project,
            community=destination.community,
            locale=destination.locale,
            is_framed=is_framed,
            at=at,
            privacy_url=destination.privacy_url,
            embedded=request.GET,
            brand=destination.brand,
            reads=request.META.get("HTTP_ACCEPT_LANGUAGE", ""),
        )
        browser, guest, fault = arrival.browser, None, None
        if browser.link_id is not None or links.PARAMETER in request.GET:
            browser, guest, fault = personal_links.followed(request, project, browser, at=at)
        if request.GET and request.method == "GET":
            browser = replace(browser, fields=metadata.from_address(project, request.GET))
        respondent = guest.respondent if guest else _respondent(request, project, arrival, at)
        if fault is not None:  # a link that does not work changes nothing in this browser
            browser = arrival.browser
        session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        browser = browsers.of_person(browser, respondent, slug=slug, session_key=session_key, at=at)
        # On an anonymous project an address with fields, given to one member, would name the member.
        is_named = project.is_anonymous and (guest is not None or respondent.is_member)
        if guest is not None or fault is not None:  # the page of one person is shared with nobody
            page = replace(page, is_listed=False)
        carried = (
            guest.metadata if guest else {}
        )  # takes precedence over the address, which its reader can change
        if (carried or browser.fields) and not is_named:
            respondent = replace(respondent, metadata={**browser.fields, **carried})
        respondent = replace(respondent, language=destination.locale or "")
        # An address means the same number whatever its reader's language is.
        tag = theme.tag_of(destination.locale) or ENGLISH
        is_of_another = bool(arrival.browser.owner and not browser.owner)
        ahead = prefilled.of_request(request, project, arrival, language=tag, is_of_another=is_of_another)
        return cls(request, project, page, arrival, browser, respondent, at, guest, fault, ahead=ahead)

    def write_to(self, response: HttpResponse) -> None:
        """Set the cookies that have changed. Browsers store no page of an anonymous project (rule 7.14)."""
        slug, path = self.project.slug, self.page.address
        if self.page.is_framed:
            security.allow_frames(response)
            self._remember_in_frame(response)
        if response.status_code != HTTPStatus.SEE_OTHER:
            script = script_cache.script_of(self.project)
            security.allow_players(response, videos.origins(script.videos))
        browsers.remember(response, self.arrival, self.browser, slug=slug, path=path)
        if self.ahead != NOTHING or prefilled.COOKIE in self.request.COOKIES:
            prefilled.remember(self.request, response, self.arrival, self.ahead, slug=slug, path=path)
        if self.keeps_form:
            kept_forms.keep(response, self.request.POST, slug=slug, path=path)
        elif self.browser.conversation_id is not None and kept_forms.COOKIE in self.request.COOKIES:
            kept_forms.forget(response, path=path)
        response["Cache-Control"] = f"private, no-{'store' if self.project.is_anonymous else 'cache'}"
        response["Vary"] = "Accept-Language, Cookie, HX-Request"

    def note_opening(self) -> None:
        """Record that a personal link was opened, if this request shows that a person has opened it."""
        if self.guest is not None:
            personal_links.note_opening(self.request, self.arrival, self.guest, self.project, at=self.at)

    @property
    def next_address(self) -> str | None:
        """The address to which a personal link redirects; None if this request shows the page."""
        if self.guest is None:
            return None
        return personal_links.next_address(self.request, self.arrival, self.guest, self.page)

    @property
    def seal(self) -> str:
        """The signed field of the next form."""
        return browsers.seal(self.browser, self.arrival, slug=self.project.slug)

    @property
    def owner_of_typed(self) -> str:
        """The name under which the browser stores a typed answer."""
        return browsers.owner_of_typed(self.respondent, self.browser.conversation_id, slug=self.project.slug)

    @property
    def packed_ahead(self) -> str:
        """The answers that the address filled in, in the form's signed text; empty without any."""
        return "" if self.ahead == NOTHING else prefilled.packed(self.ahead, slug=self.project.slug)

    @property
    def is_live(self) -> bool:
        return self.project.is_live_at(self.at)

    @property
    def has_traps(self) -> bool:
        """Whether the next form is protected against scripts: it may begin a conversation on an open page."""
        return self.project.is_public and self.browser.conversation_id is None and self.task is None

    @property
    def has_copies(self) -> bool:
        """Whether respondents may keep a copy of their answers (rule 6.230)."""
        return not self.project.is_anonymous and not self.project.is_poll

    @property
    def signed_in_id(self) -> int | None:
        """The signed-in person. Whoever has a personal link need not be its member."""
        return self.respondent.user_id if self.guest is None else None

    @property
    def is_signed_out(self) -> bool:
        """Whether the conversation of this browser belongs to a person, and nobody is signed in any more."""
        before = self.arrival.browser
        was_left = before.conversation_id is not None and self.browser.conversation_id is None
        return bool(before.owner) and was_left and self.respondent.person is None

    @property
    def own_address(self) -> str:
        """The confirmed address of the signed-in person, if the project mails copies."""
        return copies.own_address(user_id=self.signed_in_id) if self.mails_copies else ""

    @property
    def mails_copies(self) -> bool:
        """Whether the page mails copies of answers; a test sends no mails (rule 1.764)."""
        return self.project.mail_copy and not self.page.is_test

    @property
    def votes(self) -> Votes:
        return endings.stored_votes(self.project, at=self.at)

    @property
    def past_before(self) -> int | None:
        """The step before which the past steps on the page end; None for the latest past steps."""
        return forms.past_before(self.request)

    def require_admitted(self) -> None:
        """Ask the platforms about a respondent who would be refused. Raises NotAdmitted if they still are."""
        try:
            admission.check(project=self.project, respondent=self.respondent, at=self.at)
        except NotAdmitted:
            self.respondent, self.asked = admission.ask_platforms(
                project=self.project, respondent=self.respondent, at=self.at
            )
            admission.check(project=self.project, respondent=self.respondent, at=self.at)

    def remember(self, view: ConversationView) -> None:
        """Store the conversation in the browser; a finished one of an anonymous project without its id.

        A vote that can be changed is not over (rule 7.14).
        """
        is_over = view.is_completed and not (
            self.project.is_poll and self.project.change_poll and self.is_live
        )
        kept = browsers.ANSWERED if is_over and self.project.is_anonymous else view.conversation.pk
        if kept != self.browser.conversation_id:
            known = browsers.owners(self.respondent, slug=self.project.slug)
            owner = known[0] if known and kept != browsers.ANSWERED else ""
            self.browser = replace(self.browser, conversation_id=kept, owner=owner)
        if view.is_completed:
            self.ahead = NOTHING

    def tell(self, view: ConversationView, *events: str) -> None:
        """Tell the site around a frame what a form did, if it moved the conversation (rule 6.234)."""
        if not view.resumed:
            self.events = events

    def stop_skipping(self) -> None:
        """Show each question that was answered ahead, for a respondent who wants to read them."""
        self.ahead = replace(self.ahead, skips=False)

    def forget(self) -> None:
        """Leave the conversation; on anonymous projects with a new seed, which joins it to no other."""
        seed = browsers.random_seed() if self.project.is_anonymous else self.browser.seed
        self.browser = replace(self.browser, conversation_id=None, seed=seed)

    def hide(self) -> None:
        """Keep in the browser no more than that it answered."""
        self.browser = replace(self.browser, conversation_id=browsers.ANSWERED)

    def forget_link(self) -> None:
        """Leave the personal link, and the conversation of its member."""
        self.forget()
        self.browser = replace(self.browser, link_id=None)
        self.guest = self.link_fault = None

    @property
    def handover(self) -> Handover | None:
        """The token for the site around a frame, which stores it if no cookie can; None outside frames.

        The site gets the token at the start and after each change. On https the first form shows whether the
        browser stored the cookie that the page before it set.
        """
        if not self.page.is_framed:
            return None
        framed = self.arrival.framed
        known_by = "" if framed is None else "cookie" if framed.is_in_cookie else "token"
        may_be_in_cookie = frames.keeps_cookies() and self._is_new_in_frame
        is_kept = not self._is_new_in_frame and not self._has_changed
        if known_by == "cookie" or may_be_in_cookie or is_kept:
            return Handover("", 0, known_by, self.events)
        until = self.at + frames.LIFETIME
        known = browsers.known_around(self.browser.conversation_id, is_anonymous=self.project.is_anonymous)
        return Handover(self._token(until, known), int(until.timestamp()), known_by, self.events)

    def _remember_in_frame(self, response: HttpResponse) -> None:
        """Set the cookie for a new visitor, or after a change of the visit.

        A token from the site around the frame never becomes a cookie. The site could send a visit of its own,
        and a browser without partitioned cookies would use that visit on other sites too.
        """
        if not frames.keeps_cookies():
            return
        framed = self.arrival.framed
        is_in_cookie = framed is not None and framed.is_in_cookie
        if self._is_new_in_frame or (is_in_cookie and self._has_changed):
            token = self._token(self.at + frames.LIFETIME, self.browser.conversation_id)
            frames.set_cookie(response, token, path=self.request.path)

    @property
    def _is_new_in_frame(self) -> bool:
        """Whether neither cookie nor site has stored an earlier visit."""
        return self.arrival.framed is None and self.request.method != "POST"

    @property
    def _has_changed(self) -> bool:
        now, was = self.browser, self.arrival.browser
        return (now.conversation_id, now.link_id) != (was.conversation_id, was.link_id)

    def _token(self, until: datetime, conversation_id: uuid.UUID | None) -> str:
        return frames.token(
            visitor_id=self.browser.visitor_id,
            conversation_id=conversation_id,
            link_id=self.browser.link_id,
            slug=self.project.slug,
            until=until,
        )


def _respondent(request: HttpRequest, project: Project, arrival: Arrival, at: datetime) -> Respondent:
    """A signed-in person, else a browser. A form that carries the visit has no session, so no person.

    A personal link takes precedence: its member may differ from the signed-in person.
    """
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if session_key and not arrival.is_carried:
        person = admission.signed_in(community_id=project.community_id, session_key=session_key, at=at)
        if person is not None:
            return person
    return admission.visitor(visitor_id=arrival.browser.visitor_id)


def posted_block(visit: Visit) -> Block | None:
    """The block of a form, if the script still has it."""
    return block_of(visit.project, visit.request.POST)


def block_of(project: Project, form: QueryDict) -> Block | None:
    """The block that these fields of a form answer, if the script still has it."""
    sent = form.get("block", "")
    if not (sent.isascii() and sent.isdigit()):
        return None
    script = script_cache.script_of(project)
    index = script.index_by_id.get(int(sent[:19]))
    return None if index is None else script.blocks[index]
