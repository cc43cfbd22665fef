"""The page on which staff create a project. It redirects to the script editor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from communities import services as communities
from communities.forms import once
from communities.ground import privacy_words
from communities.ground.actors import Actor, Role
from communities.ground.errors import Refusal
from communities.ground.form_fields import TextField
from communities.ground.privacy_words import PrivacyWords
from communities.staff import acting
from communities.staff.base import SiteModelAdmin
from surveys.admin.cards import PRIVACY, Card, CardField, CardSelect
from surveys.admin.opening import AUDIENCES
from surveys.ai import provider_is_free
from surveys.models import Project
from surveys.services.projects import service as projects
from surveys.services.projects.fields import PRIVACY_BY_DEFAULT

TYPES = {
    "convo": Card("Survey", "A conversation of several questions, one after the other.", "survey"),
    "poll": Card("Poll", "One question to vote on. On opening, you say when voters see the results.", "poll"),
}
STARTS = {
    "empty": Card("Empty", "Add the blocks one by one.", "empty"),
    "sentence": Card("From a sentence", "Say what you want to know; AI drafts the questions.", "sentence"),
    "template": Card("From a template", "Choose a well-made script and change it.", "template"),
    "file": Card("From a file", "Of another system, such as Typeform or Kobo, or a pasted text.", "file"),
}


class NewProjectForm(once.CreationForm):
    """Name, type, privacy and audience, and the starting point of the script."""

    name = TextField(
        label="Name",
        max_length=200,
        help_text="People see it at the top of the page. You can change it later.",
    )
    type = CardField(label="What is it?", cards=TYPES, help_text="This cannot be changed later.")
    privacy_mode = CardField(
        label=privacy_words.QUESTION,
        cards=PRIVACY,
        help_text="You can change this until the first response.",  # see `_say_the_default`
    )
    participation = CardField(
        label="Who may answer?",
        cards=AUDIENCES,
        help_text="You are asked again before it opens.",
    )
    start = CardField(label="How do you want to start?", cards=STARTS)


def may_create(request: HttpRequest) -> bool:
    """Whether the user may create projects in the current community."""
    return acting.may_act(request, least=Role.CREATOR)


def new_project(page: SiteModelAdmin[Project], request: HttpRequest) -> HttpResponse:
    """Show the form, or create the project and redirect to its script editor.

    Raises Http404 for non-creators.
    """
    actor = acting.current_actor(request)
    if actor is None or not actor.has_role(Role.CREATOR):
        raise Http404
    of_community = communities.get_settings(community_id=actor.community_id).default_anonymous_mode
    default = str(PRIVACY_BY_DEFAULT[of_community][0].value)
    asked = request.GET.get("type", "convo")
    initial = {
        "type": asked if asked in TYPES else "convo",
        "privacy_mode": default,
        "participation": Project.Participation.PRIVATE,
        "start": "empty",
    }
    form = NewProjectForm(request.POST if request.method == "POST" else None, initial=initial)
    form.fields["name"].widget.attrs["data-focus"] = ""
    form.fields["participation"].required = False  # members, without a choice
    _say_the_default(form, privacy_words.OF_NEW[of_community or "no"])
    if provider_is_free():
        _say_that_no_ai_writes(form)
    if form.is_valid():
        try:
            return once.redirect(request, form.cleaned_data["ticket"], lambda: _create(form, actor, default))
        except Refusal as refusal:
            form.add_error(None, refusal.message)
    context = {
        "title": "New project",
        "form": form,
        "button": "Create and write the script",
        "back": reverse("admin:surveys_project_changelist"),
    }
    return page.render(request, "admin/surveys/project/new.html", context)


def _say_that_no_ai_writes(form: NewProjectForm) -> None:
    """If no AI is connected, write on the card for descriptions that a template is made from them."""
    widget = form.fields["start"].widget
    assert isinstance(widget, CardSelect)
    text = "Say what you want to know; you get the template that suits it best. No AI is connected here."
    widget.cards = {**widget.cards, "sentence": replace(STARTS["sentence"], text=text)}


def _say_the_default(form: NewProjectForm, words: PrivacyWords) -> None:
    """Name the community's default as its setting does, which may contain more detail than the card."""
    field = form.fields["privacy_mode"]
    field.help_text = f"{field.help_text} The community’s default is chosen: {words.in_a_line}"


def _create(form: NewProjectForm, actor: Actor, default: str) -> str:
    """Create the project, and return the address where its script begins."""
    data = form.cleaned_data
    # A copy for others is for staff to allow (rule 2.40), on the tab Share.
    fields: dict[str, Any] = {"name": data["name"], "type": data["type"], "is_cloneable": False}
    if data["privacy_mode"] != default:  # the default may also round times to the day
        fields["privacy_mode"] = data["privacy_mode"]
    if data["participation"] == Project.Participation.OPEN_WEB:
        fields["delivery"] = {"audience": {"participation": data["participation"]}}
    project = projects.create_project(actor=actor, fields=fields, at=timezone.now()).project
    script = reverse("admin:surveys_project_script", args=[project.pk])
    if data["start"] == "empty":
        return f"{script}?start=question" if data["type"] == "poll" else script
    return f"{script}?start={data['start']}"
