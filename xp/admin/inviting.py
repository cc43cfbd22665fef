"""Inviting people by mail: several at once, the open invitations, and a member without an account."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from communities.forms import once
from communities.ground.actors import Actor, Level
from communities.ground.errors import Conflict, Refusal
from communities.ground.form_fields import TextField
from communities.ground.ids import id_of
from communities.ground.transactions import in_transaction
from communities.ground.words import plural
from communities.models import Member
from communities.services.inviting import invitation_letters, invitations
from communities.services.inviting.invitations import Grant
from communities.services.mail import mails
from communities.staff import keyset, refusals
from xp.admin import profile
from xp.admin.membership import ACCESS

MAX_ADDRESSES = 50
ON_A_PAGE = 50
SENT_BEFORE = "This form was sent before, so nothing was sent now. Write to other people with a new form."


class AddressesForm(once.TicketForm):
    """The addresses of people to invite."""

    emails = TextField(
        label="E-mail addresses",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocapitalize": "none"}),
        help_text=f"Up to {MAX_ADDRESSES}, with spaces, commas or new lines between.",
    )

    def clean_emails(self) -> list[str]:
        found = list(dict.fromkeys(re.split(r"[\s,;]+", self.cleaned_data["emails"].strip().lower())))
        if len(found) > MAX_ADDRESSES:
            raise ValidationError(f"At most {MAX_ADDRESSES} addresses at one time.")
        for each in found:
            try:
                validate_email(each)
            except ValidationError:
                raise ValidationError(f"{each} is not an e-mail address.") from None
            if not mails.is_sendable(each):
                raise ValidationError(f"No mail can be sent to {each}. Check the part after the @.")
        return found


class InviteForm(AddressesForm):
    name = TextField(
        max_length=invitation_letters.MAX_NAME,
        required=False,
        help_text="For the greeting, if you invite one person. May be empty.",
    )
    access = forms.ChoiceField(
        choices=ACCESS,
        widget=forms.RadioSelect,
        label="What they may do",
        initial="member",
        help_text="An invitation to be a creator or an admin ends when its sender is no longer an admin. No "
        "invitation gives somebody back the access that was taken from them after it was sent.",
    )
    reads_all = forms.BooleanField(
        label="They also read the results of all projects",
        required=False,
        help_text="Also those of drafts. They change nothing.",
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if name and not invitation_letters.is_plain_name(name):
            raise ValidationError("Write a name in letters, without addresses or other signs.")
        return name


class LinkForm(once.TicketForm):
    """A link for several people."""

    uses = forms.IntegerField(
        label="For how many people?",
        min_value=1,
        max_value=invitations.MAX_USES,
        initial=10,
        help_text="Anybody who has the link can become a member, until this many people have used it, or "
        "for 14 days. They are asked for their address and get a mail there.",
    )


class MemberInviteForm(once.TicketForm):
    email = forms.EmailField(label="E-mail address")


def page(request: HttpRequest, actor: Actor, *, here: str, back: str) -> HttpResponse:
    """The form and the open invitations; POST invites, sends again or revokes. Only for admins."""
    if not actor.is_admin:
        raise Http404
    action = request.POST.get("action", "")
    if request.method == "POST" and action in _ACTIONS:
        return _change(request, actor, action, here)
    link = LinkForm(request.POST if action == "link" else None)
    if link.is_valid():
        return make_link(request, actor, link, grant=None, back=here)
    form = InviteForm(request.POST if request.method == "POST" and action != "link" else None)
    if form.is_valid():
        try:
            count = _invite(request, actor, form)
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
        else:
            if count:
                messages.success(request, f"{count} invitation{'' if count == 1 else 's'} on the way.")
            else:
                once.say_sent_before(request, SENT_BEFORE)
            return HttpResponseRedirect(here)
    listed = keyset.read_page(
        invitations.open_invitations(community_id=actor.community_id, at=timezone.now()),
        ("-id",),
        after=request.GET.get("after", ""),
        before=request.GET.get("before", ""),
        length=ON_A_PAGE,
    )
    context = {
        **admin.site.each_context(request),
        "opts": Member._meta,
        "title": "Invite people",
        "form": form,
        "link_form": link,
        "button": "Send the invitations",
        "back": back,
        "back_label": "Members",
        "open": listed.rows,
        "ticket": once.new_ticket(),
        "page": {
            "next": listed.next and f"?{urlencode({'after': listed.next})}",
            "previous": listed.previous and f"?{urlencode({'before': listed.previous})}",
        },
    }
    return TemplateResponse(request, "admin/communities/member/invite.html", context)


def make_link(
    request: HttpRequest, actor: Actor, form: LinkForm, *, grant: Grant | None, back: str
) -> HttpResponse:
    """Make a link, and show it once. A form that was sent before leads back."""
    try:
        with in_transaction:
            if not once.use(request, form.cleaned_data["ticket"]):
                once.say_sent_before(request, SENT_BEFORE)
                return HttpResponseRedirect(back)
            invitation, token = invitations.make_link(
                actor=actor, uses=form.cleaned_data["uses"], grant=grant, at=timezone.now()
            )
    except Refusal as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(back)
    context = {
        **admin.site.each_context(request),
        "opts": Member._meta,
        "title": "A link to invite people",
        "explanation": f"By this link {plural(invitation.uses_left or 0, 'person', 'people')} can join.",
        "secret_label": "Link",
        "secret": settings.BASE_URL + reverse("account_invitation", args=[token]),
        "warning": "Copy it now, and give it only to the people whom you invite.",
        "next_label": "I have copied it",
        "next": back,
    }
    return TemplateResponse(request, "admin/secret.html", context)


@in_transaction
def _invite(request: HttpRequest, actor: Actor, form: InviteForm) -> int:
    """Invite the addresses of a form, and return their number. Returns 0 if the same form was sent before."""
    if not once.use(request, form.cleaned_data["ticket"]):
        return 0
    values = form.cleaned_data
    invited = invitations.invite_all(
        actor=actor,
        emails=values["emails"],
        access=values["access"],
        name=values["name"],
        grant=Grant(Level.READ) if values["reads_all"] and values["access"] != "admin" else None,
        at=timezone.now(),
    )
    return len(invited)


_ACTIONS = ("again", "revoke")


def _change(request: HttpRequest, actor: Actor, action: str, here: str) -> HttpResponse:
    invitation_id = id_of(request.POST.get("invitation", ""))
    if invitation_id is None:
        raise Http404
    try:
        if action == "revoke":
            invitations.revoke(actor=actor, invitation_id=invitation_id, at=timezone.now())
            messages.success(request, "The invitation is taken back.")
        elif _send_again(request, actor, invitation_id):
            messages.success(request, "The invitation is sent again, with a new link.")
        else:
            messages.info(request, SENT_BEFORE)
    except Conflict as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(here)


@in_transaction
def _send_again(request: HttpRequest, actor: Actor, invitation_id: int) -> bool:
    """Send an invitation again. Returns False if the button was pressed before on the same page."""
    if not once.use(request, f"{request.POST.get('ticket', '')}, invitation {invitation_id}"):
        return False
    invitations.send_again(actor=actor, invitation_id=invitation_id, at=timezone.now())
    return True


@profile.member_page(
    "invite",
    label="Invite by mail",
    order=30,
    is_offered=lambda _, member: invitations.may_be_invited(member),
)
def invite_member(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Let a member without an account make one, which keeps their answers and XP."""
    form = MemberInviteForm(
        request.POST if request.method == "POST" else None, initial={"email": member.email}
    )
    if request.method == "POST" and form.is_valid():
        try:
            is_new = _invite_member(request, actor, member, form)
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
        else:
            if is_new:
                messages.success(request, "The invitation is on the way.")
            else:
                once.say_sent_before(request, SENT_BEFORE)
            return HttpResponseRedirect(profile.address(member.pk))
    context = {
        "title": f"Invite {profile.name_of(member)}",
        "consequences": [
            "They get a mail with a link that works for 14 days.",
            "The account that they make is this member, with their answers and XP.",
        ],
        "form": form,
        "button": "Send the invitation",
    }
    return profile.render(request, member, "admin/confirm.html", context)


@in_transaction
def _invite_member(request: HttpRequest, actor: Actor, member: Member, form: MemberInviteForm) -> bool:
    """Invite a member. Returns False if the same form was sent before."""
    if not once.use(request, form.cleaned_data["ticket"]):
        return False
    invitations.invite(
        actor=actor,
        email=form.cleaned_data["email"],
        access=member.access,
        name=profile.name_of(member),
        member_id=member.pk,
        at=timezone.now(),
    )
    return True
