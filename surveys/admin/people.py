"""The parts of a member's profile from this app: their responses, and exporting and erasing a person's
data.
"""

from __future__ import annotations

import re
from collections.abc import Set

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from communities.gate.authentication import caller_cache
from communities.gate.downloads import File, download
from communities.ground import wire
from communities.ground.actors import Actor, Level, Role
from communities.ground.errors import Forbidden, NotFound, Refusal
from communities.ground.form_fields import TextField
from communities.ground.slots import of_community
from communities.models import Member
from communities.services.people import memberships
from communities.staff import refusals
from surveys.models import Conversation, Project, ResponseDeletion
from surveys.services.ground import access
from surveys.services.people import service as people
from xp.admin import profile

_INVITATIONS_END = "Invitations that they sent to creators and admins, and that nobody has accepted, end."
MAX_RESPONSES = 50


class EraseForm(forms.Form):
    name = TextField(
        label="Type the name of the person", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: object, expected: str, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._expected = expected
        self.fields["name"].help_text = f"It is written “{expected}”."

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if " ".join(name.split()) != " ".join(self._expected.split()):
            raise forms.ValidationError(f"This is not the name. It is written “{self._expected}”.")
        return name


@profile.add_sections
def responses(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    """The newest responses to projects that are not anonymous and that the actor may read."""
    conversations = Conversation.objects.filter(
        user_id=member.user_id,
        project__community_id=member.community_id,
        project__deleted_at__isnull=True,
        is_listed=True,
    ).exclude(pk__in=ResponseDeletion.objects.values("response_id"))
    if not actor.is_admin:  # otherwise responses that they may not read could fill the list
        is_open_to_all = Q(project__privacy_mode=Project.PrivacyMode.TRANSPARENT)
        owned = [pk for pk, level in actor.grants.items() if level == Level.OWN]
        is_own = Q(project__author_id=actor.user_id) | Q(project_id__in=owned)
        conversations = conversations.filter(is_open_to_all | is_own)
    newest = conversations.exclude(project__privacy_mode=Project.PrivacyMode.ANONYMOUS).order_by(
        "-started_at", "-pk"
    )
    rows = newest.defer("state", "sealed_respondent").select_related("project")[:MAX_RESPONSES]
    voted_in = access.polls_voted_in(actor=actor)
    entries = []
    for row in rows:
        if _may_read(actor, row.project, voted_in):
            address = reverse("admin:surveys_project_response", args=[row.project_id, row.pk])
            entries.append({"row": row, "address": address})
    context = {"responses": entries}
    return [profile.Section(40, "Responses", "admin/surveys/member_responses.html", context)]


def _may_read(actor: Actor, project: Project, voted_in: Set[int]) -> bool:
    try:
        access.require_responses_reader(actor=actor, project=project, at=timezone.now(), voted_in=voted_in)
    except (NotFound, Forbidden):
        return False
    return True


@profile.member_page("data", label="Export their data", order=40, least_role=Role.ADMIN)
def export(request: HttpRequest, actor: Actor, member: Member) -> HttpResponseBase:
    """Describe the file, and send it."""
    if request.method == "POST":
        data = people.data_of(actor=actor, member_id=member.pk, at=timezone.now())
        chunks = wire.render_in_pieces(data.facts, data.histories)
        file = File("application/json", _file_name(member), chunks)
        return download(request, file, owner=of_community(actor.community_id))
    context = {
        "title": f"Export the data of {profile.name_of(member)}",
        "consequences": [
            "You get a file (JSON) with everything that this community stores about the person: account, "
            "answers, XP, achievements, roles, API keys, and what was changed by or about them.",
            "Answers to anonymous surveys are not in it: nobody can tell whose they are.",
            "That you exported it is written into the history of the community.",
        ],
        "button": "Download the file",
    }
    return profile.render(request, member, "admin/confirm.html", context)


@profile.member_page("erase", label="Erase this person", order=50, least_role=Role.ADMIN)
def erase(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Describe the consequences, ask for the name, and erase the person for good."""
    name = profile.name_of(member)
    refused = _why_not(actor, member)
    form = EraseForm(request.POST if request.method == "POST" else None, expected=name)
    if request.method == "POST" and not refused and form.is_valid():
        try:
            with transaction.atomic():
                people.erase(actor=actor, member_id=member.pk, at=timezone.now())
                # So that the erasure is effective here even while Redis is down
                transaction.on_commit(caller_cache.clear)
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
        else:
            messages.success(request, "The person is erased. Their answers stay without a name.")
            return HttpResponseRedirect(reverse("admin:communities_member_changelist"))
    context = {
        "title": f"Erase {name}?",
        "refusal": refused,
        "consequences": [
            "The person is removed from this community for good: membership, XP, achievements, roles, API "
            "keys and accounts. This cannot be undone.",
            "Their answers stay and count, without a name. Texts that they wrote stay as they are, even if "
            "they mention names. Answers that are to go too must be deleted first, from the list on the "
            "person’s page: afterwards nobody can find them.",
            "Surveys that they made, and XP that they gave to others, stay without their name.",
            *([_INVITATIONS_END] if member.access == Member.Access.ADMIN else []),
            "Invitations to their address are deleted, so that none brings them back.",
            "What webhooks have already sent to other systems is not deleted there.",
        ],
        "form": form,
        "button": "Erase this person",
        "is_dangerous": True,
    }
    return profile.render(request, member, "admin/confirm.html", context)


def _why_not(actor: Actor, member: Member) -> str:
    """The reason why this person cannot be erased by this actor; empty if they can."""
    if member.user_id == actor.user_id:
        return "This is you. Ask another admin to erase your data."
    if memberships.is_only_admin(member):
        return "This is the only admin of the community: make somebody else an admin first."
    return ""


def _file_name(member: Member) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "-", profile.name_of(member)).strip("-").lower()
    return f"{name or 'member'}-{member.pk}.json"
