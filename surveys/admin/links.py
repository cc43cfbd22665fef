"""Personal links in the admin, below the tab Share: the list, one link, sending them by mail, and the file.

Pages of anonymous projects do not show who opened a link or answered, because that is not stored.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods, require_safe

from communities.forms import once
from communities.gate.downloads import download
from communities.ground.errors import NotFound, Refusal
from communities.ground.form_fields import MomentField, TextField
from communities.ground.ids import MAX_ID, id_of
from communities.ground.slots import of_community
from communities.ground.transactions import in_transaction
from communities.ground.words import plural
from communities.models import Mail
from communities.services.mail import recipients
from communities.staff import listing, refusals
from communities.staff.listing import Column, Empty, Listing, Order
from communities.staff.texts import moment, number, state
from surveys.admin.frame import ProjectPage, Tab, project_tab
from surveys.admin.opening import audience_in_words
from surveys.models import PersonalLink
from surveys.services.links import addresses, fields, files, mailing, reminders
from surveys.services.links import service as links
from surveys.services.links.mailing import Choice, Reach, Who

LIST = "admin/surveys/project/links.html"
ONE = "admin/surveys/project/link.html"
SEND = "admin/surveys/project/links_send.html"
PREVIEW = "admin/surveys/project/links_preview.html"
HOME = "share_links"


def _owners_page(view: Tab) -> Callable[..., HttpResponseBase]:
    """A page of the tab Share for people who own the project. Raises PermissionDenied for others."""

    @wraps(view)
    def wrapped(request: HttpRequest, page: ProjectPage, **parts: object) -> HttpResponseBase:
        if not page.may_own:
            raise PermissionDenied
        return view(request, page, **parts)

    return project_tab("share")(wrapped)


# --- The list -------------------------------------------------------------------------------------------


@_owners_page
@require_http_methods(["GET", "HEAD", "POST"])
def all_links(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The links of a project, newest first, the state of the mails, and the planned reminders.

    POST plans or cancels a reminder.
    """
    subject, text = mailing.default_text(page.project, is_reminder=True)
    form = ReminderForm(
        request.POST if request.method == "POST" else None, initial={"subject": subject, "text": text}
    )
    if request.method == "POST" and (done := _change_plan(page, form, request.POST.get("cancel", ""))):
        messages.success(request, done)
        return HttpResponseRedirect(page.address(HOME), status=303)
    rows = links.with_names(links.of_project(project=page.project))
    context = {
        "page": listing.draw(request, _listing(page), rows),
        "outcomes": mailing.outcomes(project=page.project),
        "has_links": rows.exists(),
        "files": [
            (name.upper(), reverse("admin:surveys_project_share_links_file", args=[page.project.pk, name]))
            for name in files.FORMATS
        ],
        "send_address": page.address("share_links_send"),
        "back": page.address("share"),
        "form": form,
        "planned": [
            (each, *reminders.words_of(each))
            for each in reminders.waiting(project=page.project).select_related("project")
        ],
        "ended": reminders.ended(project=page.project),
        "most_planned": reminders.MOST_PLANNED,
    }
    return page.render(request, LIST, context, status=422 if form.errors else 200)


class MailForm(forms.Form):
    """The subject and the text of a mail."""

    subject = TextField(label="Subject", max_length=mailing.MAX_SUBJECT)
    text = TextField(
        label="Message",
        max_length=mailing.MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="The link follows below it. [name], [title] and [community] are filled in.",
    )


class ReminderForm(MailForm):
    due_at = MomentField(label="When", required=True)
    field_order = ("due_at",)


def _change_plan(page: ProjectPage, form: ReminderForm, cancelled: str) -> str:
    """Plan a reminder, or cancel one by its id. Returns a sentence about what was done; empty if the form has
    faults.
    """
    actor, project_id, at = page.actor, page.project.pk, page.at
    try:
        if reminder_id := id_of(cancelled):
            reminders.cancel(actor=actor, project_id=project_id, reminder_id=reminder_id, at=at)
            return "The reminder is cancelled."
        if form.is_valid():
            reminders.plan(actor=actor, project_id=project_id, **form.cleaned_data, at=at)
            return "The reminder is planned."
    except NotFound as refusal:
        return refusal.message
    except Refusal as refusal:
        refusals.add_to_form(form, refusal)
    return ""


def _listing(page: ProjectPage) -> Listing[PersonalLink]:
    progress: dict[int, bool] = {}
    mails: dict[int, str] = {}
    refused = set[int]()

    def load(rows: Sequence[PersonalLink]) -> None:
        user_ids = [row.member.user_id for row in rows]
        progress.update(mailing.progress(project=page.project, user_ids=user_ids))
        mails.update(mailing.last_outcomes(project=page.project, user_ids=user_ids))
        people = recipients.recipients(
            community_id=page.project.community_id, member_ids=[row.member_id for row in rows]
        )
        refused.update(each.member_id for each in people.values() if each.has_refused)

    return Listing(
        columns=[
            Column("Member", _name, is_title=True),
            Column("State", lambda row: _state(row, page, progress)),
            Column("Mail", lambda row: _mail_state(row, mails, has_refused=row.member_id in refused)),
            Column("Made", lambda row: moment(row.created_at)),
            Column("Valid until", lambda row: moment(row.expires_at)),
        ],
        orders={"newest": Order("Newest first", ("-created_at", "-id"))},
        empty=Empty(
            "A personal link lets one member answer without signing in. Make one for each of those whom you "
            "want to ask, and send it by mail.",
            "Send links",
            page.address("share_links_send"),
        ),
        address_of=lambda row: _address(page, "share_link", row.pk),
        load=load,
    )


def _name(link: PersonalLink) -> str:
    return link.member.nick or link.member.user.name or f"Member {link.member_id}"


def _state(link: PersonalLink, page: ProjectPage, progress: Mapping[int, bool]) -> SafeString:
    """The progress of the member on the project, with this link or without."""
    if link.revoked_at is not None:
        return state("Revoked", "bad")
    if not link.is_valid_at(page.at):
        return state("Expired", "bad")
    if page.project.is_anonymous:
        return state("Link sent" if link.mailed_at else "Link made")
    if link.member.user_id in progress:
        return state("Completed", "done") if progress[link.member.user_id] else state("Begun", "pending")
    return state("Opened", "pending") if link.used_at else state("Not opened")


def _mail_state(link: PersonalLink, mails: Mapping[int, str], *, has_refused: bool) -> str | SafeString:
    if has_refused:
        return state("Unsubscribed", "bad")
    if link.mailed_at is None:
        return "–"
    words = {
        Mail.Status.PENDING.value: "waits since",
        Mail.Status.FAILED.value: "will be tried again, written",
        Mail.Status.ABANDONED.value: "could not be sent,",
    }
    word = words.get(mails.get(link.member.user_id, ""), "")
    told = format_html("{} {}", word, moment(link.mailed_at)) if word else moment(link.mailed_at)
    return format_html("<span>{}</span>", told)


@_owners_page
@require_safe
def file(request: HttpRequest, page: ProjectPage, format: str) -> HttpResponseBase:
    """The valid links as a file with names, mail addresses and the links' addresses."""
    if format not in files.FORMATS:
        raise Http404
    made = files.export(actor=page.actor, project=page.project, format=format, at=page.at, with_bom=True)
    response = download(request, made, owner=of_community(page.actor.community_id))
    if request.method == "GET":
        files.note_export(actor=page.actor, project=page.project, format=format, at=page.at)
    return response


# --- One link -------------------------------------------------------------------------------------------


@_owners_page
@require_safe
def one(request: HttpRequest, page: ProjectPage, link_id: uuid.UUID) -> HttpResponseBase:
    """One link: its address, the progress of its member, and the possible actions."""
    link = _link(page, link_id)
    person = recipients.recipients(community_id=page.project.community_id, member_ids=[link.member_id]).get(
        link.member_id
    )
    progress = mailing.progress(project=page.project, user_ids=[link.member.user_id])
    facts = [
        ("State", _state(link, page, progress)),
        ("Made", moment(link.created_at)),
        ("Valid until", moment(link.expires_at)),
        ("Mailed", moment(link.mailed_at) if link.mailed_at else "never"),
    ]
    if link.reminded_at:
        facts.append(("Reminded", moment(link.reminded_at)))
    if not page.project.is_anonymous:
        facts.append(("First opened", moment(link.used_at) if link.used_at else "not yet"))
    context = {
        "link": link,
        "name": _name(link),
        "facts": facts,
        "is_valid": link.is_valid_at(page.at),
        "person": person,
        "url": addresses.url_of(project=page.project, link_id=link.pk),
        "send_address": f"{page.address('share_links_send')}?member={link.member_id}",
        "revoke_address": _address(page, "share_link_revoke", link.pk),
        "back": page.address(HOME),
    }
    return page.render(request, ONE, context)


def _link(page: ProjectPage, link_id: uuid.UUID) -> PersonalLink:
    """A link of the project with the names of its member. Raises Http404."""
    link = links.with_names(links.of_project(project=page.project)).filter(pk=link_id).first()
    if link is None:
        raise Http404
    return link


@_owners_page
def revoke(request: HttpRequest, page: ProjectPage, link_id: uuid.UUID) -> HttpResponseBase:
    """Revoke a link."""
    _link(page, link_id)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        links.revoke(actor=page.actor, project_id=page.project.pk, link_id=link_id, at=page.at)
    except Refusal:
        raise Http404 from None
    messages.success(request, "The link is revoked: it admits nobody any more.")
    return HttpResponseRedirect(page.address(HOME), status=303)


# --- Sending --------------------------------------------------------------------------------------------


class SendForm(MailForm, once.TicketForm):
    """The recipients and the text of a mail."""

    field_order = ("who", "term", "member")
    who = forms.ChoiceField(label="To", choices=Who.choices, widget=forms.RadioSelect)
    term = TextField(
        label="Name or id",
        required=False,
        max_length=listing.MAX_SEARCH,
        help_text="For “Members found by name or id”: everybody it finds gets a mail.",
    )
    member = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID, widget=forms.HiddenInput)

    def __init__(self, *args: object, is_for_one: bool, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        if is_for_one:
            self.fields["who"].required = False
            self.fields["who"].widget = forms.HiddenInput()
            self.fields["term"].widget = forms.HiddenInput()

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if cleaned.get("who") == Who.SEARCH and not cleaned.get("term") and not cleaned.get("member"):
            self.add_error("term", "Say whom to look for.")
        return cleaned

    @property
    def choice(self) -> Choice:
        cleaned = self.cleaned_data
        return Choice(cleaned.get("who") or Who.ALL, cleaned["term"], cleaned.get("member"))


@_owners_page
@require_http_methods(["GET", "HEAD", "POST"])
def send(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """Choose and write; check the mail and the counts; send."""
    if request.method != "POST":
        return _form(request, page, _new_form(request, page))
    form = SendForm(request.POST, is_for_one=bool(request.POST.get("member")))
    if not form.is_valid() or request.POST.get("do") == "change":
        return _form(request, page, form)
    try:
        if request.POST.get("do") == "send":
            return _send(request, page, form)
        if request.POST.get("do") == "make":
            return _make(request, page, form)
        return _preview(request, page, form)
    except Refusal as refusal:
        refusals.add_to_form(form, refusal)
        return _form(request, page, form)


def _new_form(request: HttpRequest, page: ProjectPage) -> SendForm:
    who = request.GET.get("who", "")
    member = id_of(request.GET.get("member", ""))
    who = who if who in Who.values else Who.WITHOUT_LINK.value
    subject, text = mailing.default_text(page.project, is_reminder=who == Who.NOT_BEGUN)
    initial = {"who": who, "subject": subject, "text": text, "member": member}
    return SendForm(initial=initial, is_for_one=member is not None)


def _form(request: HttpRequest, page: ProjectPage, form: SendForm) -> HttpResponseBase:
    if not isinstance(form.fields["who"].widget, forms.HiddenInput):
        counts = mailing.counts(project=page.project, at=page.at)
        labels = [(value, _label(page, value, label, counts.get(value))) for value, label in Who.choices]
        form.fields["who"].choices = labels  # type: ignore[attr-defined]
    context = {
        "form": form,
        "back": page.address(HOME),
        "most": links.MOST_AT_ONCE,
        "is_live": page.project.is_live_at(page.at) or page.project.is_pending_at(page.at),
        "open_address": page.address("open"),
        "carried": page.project.hidden_fields
        if fields.carries_attributes(actor=page.actor, project=page.project)
        else (),
    }
    status = 422 if form.is_bound and form.errors else 200
    return page.render(request, SEND, context, status=status)


def _label(page: ProjectPage, value: str, label: str, count: int | None) -> str:
    """A choice with the number of its members. On anonymous projects nobody knows who has begun."""
    if value == Who.NOT_BEGUN and page.project.is_anonymous:
        label = "A reminder, to everybody who was mailed"
    return label if count is None else f"{label} ({number(count)})"


def _preview(request: HttpRequest, page: ProjectPage, form: SendForm) -> HttpResponseBase:
    reach, mail = mailing.preview(
        actor=page.actor,
        project_id=page.project.pk,
        choice=form.choice,
        subject=form.cleaned_data["subject"],
        text=form.cleaned_data["text"],
        at=page.at,
    )
    context = {
        "form": form,
        "hidden": [field.as_hidden() for field in form],
        "reach": reach,
        "reasons": [*_reasons(reach), *_texts(reach), *_warnings(page, reach)],
        "people": mailing.first_chosen(project=page.project, choice=form.choice, at=page.at),
        "may_change_addresses": page.actor.is_admin,
        "mail": mail,
        "button": f"Send {plural(reach.sent_now, 'mail')}",
        "is_reminder": form.choice.is_reminder,
        "back": page.address(HOME),
    }
    return page.render(request, PREVIEW, context)


def _send(request: HttpRequest, page: ProjectPage, form: SendForm) -> HttpResponseBase:
    with in_transaction:
        if not once.use(request, form.cleaned_data["ticket"]):
            once.say_sent_before(
                request, "This form was sent before, so no mail was sent now. Write others with a new form."
            )
            return HttpResponseRedirect(page.address(HOME), status=303)
        reach = mailing.send(
            actor=page.actor,
            project_id=page.project.pk,
            choice=form.choice,
            subject=form.cleaned_data["subject"],
            text=form.cleaned_data["text"],
            at=page.at,
        )
    told = f"{plural(reach.sent_now, 'mail')} will be sent now."
    messages.success(request, " ".join([told, *_reasons(reach)]))
    return HttpResponseRedirect(page.address(HOME), status=303)


def _make(request: HttpRequest, page: ProjectPage, form: SendForm) -> HttpResponseBase:
    """Make the links, and send no mail.

    Members who have a link keep it, so a second time makes no more links.
    """
    count = mailing.make_links(actor=page.actor, project_id=page.project.pk, choice=form.choice, at=page.at)
    made = f"{plural(count, 'link')} made. " if count else "Everybody has a link already. "
    messages.success(request, f"{made}Copy them one by one, or download them as a file below.")
    return HttpResponseRedirect(page.address(HOME), status=303)


def _warnings(page: ProjectPage, reach: Reach) -> list[str]:
    """Possible oversights to check before sending."""
    warnings = [
        f"{each} A personal link does not stand for that, so they may have to sign in."
        for each in audience_in_words(page.project)
    ]
    if reach.lately:
        warnings.append(f"{_people(reach.lately)} had a mail about this project in the last 24 hours.")
    return warnings


def _reasons(reach: Reach) -> list[str]:
    """The members who get no mail now, and the reasons."""
    without, gone, full, tomorrow = reach.without_address, reach.unsubscribed, reach.at_limit, reach.over_sum
    later, a_day = reach.waiting, number(settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY)
    most, days, at_once = mailing.MOST_MAILS, mailing.PERIOD.days, number(links.MOST_AT_ONCE)
    reasons = [
        (without, f"{_people(without)} no mail address."),
        (gone, f"{_people(gone)} unsubscribed."),
        (
            full,
            f"{_people(full)} an address that gets no more for now: {most} mails about this project in "
            f"{days} days are the most.",
        ),
        (
            tomorrow,
            f"{_people(tomorrow)} to wait until tomorrow (UTC), as a community can send {a_day} mails a day "
            "to addresses that their owners have not confirmed: send again then.",
        ),
        (later, f"{_people(later)} to wait, as {at_once} mails go out at once: send again for them."),
    ]
    return [sentence for count, sentence in reasons if count]


def _texts(reach: Reach) -> list[str]:
    """The members who get another text than the written one."""
    if not reach.unproven:
        return []
    return [
        f"{_people(reach.unproven)} not confirmed their address: the mail to them has a text of ours, with "
        "the name of the community, in place of yours."
    ]


def _people(count: int) -> str:
    return f"{plural(count, 'member')} {'has' if count == 1 else 'have'}"


def _address(page: ProjectPage, name: str, link_id: uuid.UUID) -> str:
    return reverse(f"admin:surveys_project_{name}", args=[page.project.pk, link_id])
