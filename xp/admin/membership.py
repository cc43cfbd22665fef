"""Adding a member, changing a member's access, and the address for mails to a member."""

from __future__ import annotations

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from communities.forms import once
from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.form_fields import TextField
from communities.models import Member
from communities.services.mail import recipients
from communities.services.people import memberships
from communities.staff import refusals
from xp.admin import profile

ACCESS = [
    ("member", "Member: answers, and reads what every member may read"),
    ("creator", "Creator: makes surveys and polls, and reads the answers to their own"),
    ("admin", "Admin: everything, with settings, members, API keys and webhooks"),
]
_INVITATIONS_END = (
    "With less access, their invitations to creators and admins end, unless somebody has accepted them."
)


class AccessForm(forms.Form):
    access = forms.ChoiceField(choices=ACCESS, widget=forms.RadioSelect, label="What they may do")


class NewMemberForm(AccessForm, once.TicketForm):
    nick = TextField(max_length=200, label="Name", help_text="As others in this community know the person.")
    field_order = ("nick", "access", "ticket")


def add(request: HttpRequest, actor: Actor, *, back: str) -> HttpResponse:
    """The form that adds a member. Raises Http404 for all but admins."""
    if not actor.is_admin:
        raise Http404
    form = NewMemberForm(request.POST if request.method == "POST" else None, initial={"access": "member"})
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data

        def make() -> str:
            member = memberships.add_member(
                actor=actor, nick=values["nick"], access=values["access"], at=timezone.now()
            )
            messages.success(request, f"{member.nick} is a member now.")
            return profile.address(member.pk)

        return once.redirect(request, values["ticket"], make)
    context = {
        **admin.site.each_context(request),
        "opts": Member._meta,
        "title": "Add a member",
        "form": form,
        "button": "Add the member",
        "back": back,
    }
    return TemplateResponse(request, "admin/form.html", context)


@profile.member_page(
    "access", label="Change access", order=20, is_offered=lambda _, member: member.removed_at is None
)
def change_access(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Choose a member's access; the page describes the consequences."""
    form = AccessForm(request.POST if request.method == "POST" else None, initial={"access": member.access})
    if request.method == "POST" and form.is_valid():
        try:
            changed = memberships.change_access(
                actor=actor, member_id=member.pk, access=form.cleaned_data["access"], at=timezone.now()
            )
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
        else:
            messages.success(request, f"{profile.name_of(member)} has the access “{changed.access}” now.")
            return HttpResponseRedirect(profile.address(changed.pk))
    is_own = member.user_id == actor.user_id
    context = {
        "title": f"What may {profile.name_of(member)} do?",
        "consequences": [
            "It applies at once, in the admin and to API keys that this person made.",
            "Surveys and polls that they made stay theirs.",
            *([_INVITATIONS_END] if member.access == Member.Access.ADMIN else []),
            "Open invitations to an address of theirs end if they promise more.",
            *(["This is your own access. You cannot give it back to yourself."] if is_own else []),
        ],
        "form": form,
        "button": "Save",
    }
    return profile.render(request, member, "admin/confirm.html", context)


class EmailForm(forms.Form):
    email = forms.EmailField(
        label="Mail address",
        required=False,
        help_text="If their account has an address that they have proven, mails go there instead.",
    )


@profile.member_page("email", label="Mail address", order=30, is_offered=lambda _, member: member.belongs)
def change_email(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Set the address for invitations to surveys and polls."""
    form = EmailForm(request.POST if request.method == "POST" else None, initial={"email": member.email})
    if request.method == "POST" and form.is_valid():
        try:
            memberships.change_email(
                actor=actor, member_id=member.pk, email=form.cleaned_data["email"], at=timezone.now()
            )
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
        else:
            messages.success(request, "The mail address is saved.")
            if _has_refused(member):
                messages.warning(request, "Mails of this community were refused there, so none are sent.")
            return HttpResponseRedirect(profile.address(member.pk))
    refused = "They have unsubscribed, or this address has, so no invitations are sent to them."
    context = {
        "title": f"Where do mails to {profile.name_of(member)} go?",
        "consequences": [
            "Invitations and reminders to surveys and polls are sent there.",
            "Nobody can sign in with it: it proves nothing.",
            *([refused] if _has_refused(member) else []),
        ],
        "form": form,
        "button": "Save",
    }
    return profile.render(request, member, "admin/confirm.html", context)


def _has_refused(member: Member) -> bool:
    """Whether a member, or the address for mails to the member, has refused mails."""
    people = recipients.recipients(community_id=member.community_id, member_ids=[member.pk])
    return member.pk in people and people[member.pk].has_refused
