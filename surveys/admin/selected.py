"""Actions on selected projects: close, clone, delete, restore.

Pages ask for confirmation first, and describe the consequences. The list sends the ids of its ticked rows as
`id`; the header of a project sends one, with `from=project`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from communities.forms import once
from communities.ground.actors import Actor, Role
from communities.ground.errors import Refusal
from communities.ground.ids import id_of
from communities.ground.undo_period import UNDO_PERIOD
from communities.ground.words import plural
from communities.staff import acting
from surveys.admin import header
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.ground import access, lookup
from surveys.services.projects import cloning, opening, removal

MOST_SELECTED = 200
MOST_NAMED = 5  # refusals that a message lists


@dataclass(frozen=True, slots=True)
class Act:
    """An action on projects. `hindrance` returns the reason why a project is excluded, or an empty text."""

    title: str
    button: str
    done: str  # the word in "3 projects closed"
    run: Callable[[Actor, Project, datetime], Project]
    hindrance: Callable[[Actor, Project, datetime], str]
    consequences: Callable[[Sequence[Project], datetime], list[str]]
    is_dangerous: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A selected project on the confirmation page. `hindrance` is empty if the action applies to it."""

    project: Project
    figures: header.Figures
    state: SafeString
    hindrance: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """Projects deleted together, which can still be restored."""

    projects: Sequence[Project]
    until: datetime


# --- Hindrances and consequences --------------------------------------------------------------------


_CLOSE_FIRST = "It is open: close it first."
OWNERS_ONLY = "Only its creator and admins may do this."


def _not_closable(actor: Actor, project: Project, at: datetime) -> str:
    if not access.may_edit(actor=actor, project=project):
        return OWNERS_ONLY
    return "" if project.is_live_at(at) or project.is_pending_at(at) else "It is not open."


def _not_deletable(actor: Actor, project: Project, at: datetime) -> str:
    if not access.may_own(actor=actor, project=project):
        return OWNERS_ONLY
    return _CLOSE_FIRST if project.is_live_at(at) else ""


def _not_clonable(actor: Actor, project: Project, at: datetime) -> str:
    return "" if actor.has_role(Role.CREATOR) else "Only creators and admins make projects."


def _after_closing(projects: Sequence[Project], at: datetime) -> list[str]:
    if all(project.is_pending_at(at) for project in projects):
        return ["It does not open by itself any more.", "You can open it again at any time."]
    consequences = ["Nobody can answer any more. The page says that it is closed."]
    if public_messages.are_posted(projects):
        reveals = any(project.reveal_results for project in projects)
        consequences.append(
            "Its post in the chat says so too, and a summary of the results is posted below it."
            if reveals
            else "Its post in the chat says so too."
        )
    consequences.append("Answers given so far stay. Responses that are not completed stay as partial ones.")
    if any(project.is_pending_at(at) for project in projects):
        consequences.append("A scheduled opening is cancelled.")
    if any(project.is_poll and project.poll_results_mode in (None, "hidden") for project in projects):
        consequences.append("Hidden poll results can be seen from now on by those who may see results.")
    return [*consequences, "You can open it again at any time."]


def _after_cloning(projects: Sequence[Project], at: datetime) -> list[str]:
    return [
        "The copy has the script, the settings, the scoring and the look, and is a draft of yours.",
        "Responses, delivery and rewards are not copied.",
    ]


def _after_deleting(projects: Sequence[Project], at: datetime) -> list[str]:
    count = sum(project.listed_count for project in projects)
    consequences = [
        "It disappears at once: from lists, from the API, and its page can no longer be found.",
        f"The script goes with it, and {plural(count, 'response')} with all answers."
        if count
        else "Its script goes with it. It has no responses.",
        "For ten minutes you can undo this in the list of projects. After that nobody can bring it back.",
        "XP, achievements and roles that people earned stay theirs.",
    ]
    if public_messages.are_posted(projects):
        consequences.append(
            "Its post in the chat is removed after these ten minutes. Posted summaries of its results stay."
        )
    if any(project.is_pending_at(at) for project in projects):
        consequences.append("A scheduled opening is cancelled, also if you undo this.")
    return consequences


ACTS = {
    "close": Act(
        title="Close",
        button="Close",
        done="closed",
        run=lambda actor, project, at: opening.close_project(actor=actor, project_id=project.pk, at=at),
        hindrance=_not_closable,
        consequences=_after_closing,
    ),
    "clone": Act(
        title="Clone",
        button="Clone",
        done="cloned",
        run=lambda actor, project, at: cloning.clone_project(actor=actor, project_id=project.pk, at=at),
        hindrance=_not_clonable,
        consequences=_after_cloning,
    ),
    "delete": Act(
        title="Delete",
        button="Delete",
        done="deleted",
        run=lambda actor, project, at: removal.delete_for_now(actor=actor, project_id=project.pk, at=at),
        hindrance=_not_deletable,
        consequences=_after_deleting,
        is_dangerous=True,
    ),
}
# The words for closing if every selected project waits for its opening.
_CANCELLING = replace(
    ACTS["close"], title="Cancel the opening of", button="Cancel opening", done="no longer scheduled to open"
)


# --- Views ------------------------------------------------------------------------------------------


def _view(name: str) -> Callable[[HttpRequest], HttpResponseBase]:
    def view(request: HttpRequest) -> HttpResponseBase:
        return _act(request, name, ACTS[name])

    return view


def _act(request: HttpRequest, name: str, act: Act) -> HttpResponse:
    at = timezone.now()
    actor, projects = _selected(request, at)
    figures = header.figures_of(projects, actor, at)
    candidates = [
        Candidate(each, figures[each.pk], header.state_cell(each, at), act.hindrance(actor, each, at))
        for each in projects
    ]
    chosen = [each.project for each in candidates if not each.hindrance]
    if name == "close" and chosen and all(project.is_pending_at(at) for project in chosen):
        act = _CANCELLING
    form = once.CreationForm(request.POST if request.method == "POST" and chosen else None)
    if name != "clone" and form.is_bound:
        return HttpResponseRedirect(_run(request, name, act, actor, chosen, at))
    if form.is_valid():
        return once.redirect(
            request, form.cleaned_data["ticket"], lambda: _run(request, name, act, actor, chosen, at)
        )
    return _ask(request, act, candidates, act.consequences(chosen, at) if chosen else [], form)


def _selected(request: HttpRequest, at: datetime) -> tuple[Actor, list[Project]]:
    """The projects of the address, all of one community, which becomes the current community.

    Raises Http404.
    """
    ids = _sent_ids(request.GET)
    actor = _actor_of(request, Project.objects.filter(pk__in=ids))
    if actor is None:
        raise Http404
    visible = lookup.visible(actor=actor, at=at).filter(pk__in=ids).order_by("-created_at", "-pk")
    projects = list(visible)
    if not projects:
        raise Http404
    acting.make_current(request, actor.community_id)
    return actor, projects


def _sent_ids(sent: QueryDict) -> list[int]:
    return list(filter(None, map(id_of, sent.getlist("id")[:MOST_SELECTED])))


def _actor_of(request: HttpRequest, projects: QuerySet[Project]) -> Actor | None:
    """The user as an actor in a community of these projects; the communities of others count as absent."""
    for community_id in sorted(set(projects.values_list("community_id", flat=True))):
        actor = acting.actor_in(request, community_id)
        if actor is not None and (actor.has_role(Role.CREATOR) or actor.grants):
            return actor
    return None


def _ask(
    request: HttpRequest,
    act: Act,
    candidates: Sequence[Candidate],
    consequences: list[str],
    form: once.CreationForm,
) -> TemplateResponse:
    is_one = len(candidates) == 1
    subject = f"“{candidates[0].project.name}”" if is_one else plural(len(candidates), "project")
    context = {
        **admin.site.each_context(request),
        "title": f"{act.title} {subject}?",
        "candidates": candidates,
        "form": form,
        "consequences": consequences,
        "button": act.button if is_one else f"{act.button} {sum(not each.hindrance for each in candidates)}",
        "is_possible": bool(consequences),
        "is_dangerous": act.is_dangerous,
        "back": _back(request, candidates[0].project),
        "close_first": header.asks("close", candidates[0].project)
        if is_one and candidates[0].hindrance == _CLOSE_FIRST
        else "",
    }
    return TemplateResponse(request, "admin/surveys/project/selected.html", context)


def _run(
    request: HttpRequest, name: str, act: Act, actor: Actor, chosen: Sequence[Project], at: datetime
) -> str:
    """Act on each of the projects, and return the address of the next page."""
    successes: list[Project] = []
    errors: list[str] = []
    for project in chosen:
        try:
            with transaction.atomic():  # a refusal does not roll back the other projects
                successes.append(act.run(actor, project, at))
        except Refusal as refusal:  # another user was faster
            errors.append(f"“{project.name}”: {refusal.message}")
    if successes and name != "delete":  # the list shows what was deleted, beside the undo button
        subject = f"“{successes[0].name}” is" if len(successes) == 1 else f"{len(successes)} projects are"
        messages.success(request, f"{subject} {act.done}." if name != "clone" else _cloned(successes))
    if errors:
        messages.error(request, " ".join(errors[:MOST_NAMED]))
    if name == "clone" and len(chosen) == len(successes) == 1:
        return reverse("admin:surveys_project_script", args=[successes[0].pk])
    if name == "delete" and successes:
        return reverse("admin:surveys_project_changelist")
    return _back(request, chosen[0])


def _cloned(copies: Sequence[Project]) -> str:
    if len(copies) == 1:
        return f"This is your copy: “{copies[0].name}”. It is a draft until you open it."
    return f"{len(copies)} copies are made. They are drafts until you open them."


def _back(request: HttpRequest, project: Project) -> str:
    if request.GET.get("from") == "project":
        return reverse("admin:surveys_project_script", args=[project.pk])
    return reverse("admin:surveys_project_changelist")


# --- Undo -------------------------------------------------------------------------------------------


def restorable(actor: Actor, at: datetime) -> list[Deletion]:
    """The deletions that the actor may undo, latest first.

    Projects that were deleted together are restored together.
    """
    deleted = removal.restorable(actor=actor, at=at)
    groups = groupby(deleted, key=lambda each: (each.deleted_at, each.deleted_by_id))
    return [Deletion(list(group), (when or at) + UNDO_PERIOD) for (when, _), group in groups]


def _restore(request: HttpRequest) -> HttpResponse:
    at = timezone.now()
    deleted = Project.with_deleted.filter(pk__in=_sent_ids(request.POST), deleted_at__isnull=False)
    address = reverse("admin:surveys_project_changelist")
    if acting.current_actor(request) is None:
        raise Http404
    actor = _actor_of(request, deleted)
    if actor is None:
        messages.error(request, "There is nothing to restore any more.")
        return HttpResponseRedirect(address)
    acting.make_current(request, actor.community_id)
    successes, errors = [], []
    for project in deleted.filter(community_id=actor.community_id).order_by("pk"):
        try:
            successes.append(removal.restore(actor=actor, project_id=project.pk, at=at))
        except Refusal as refusal:
            errors.append(refusal.message)
    if successes:
        subject = f"“{successes[0].name}” is" if len(successes) == 1 else f"{len(successes)} projects are"
        messages.success(request, f"{subject} back, with all responses.")
    if errors:
        messages.error(request, errors[0])
    return HttpResponseRedirect(address)


ROUTES: list[tuple[str, Callable[[HttpRequest], HttpResponseBase], str]] = [
    *((name, _view(name), f"{name}_selected") for name in ACTS),
    ("restore", require_POST(_restore), "restore_selected"),
]
