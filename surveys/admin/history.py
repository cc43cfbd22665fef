"""The tab with a project's history: every change to it, for people who may change the project."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Forbidden, Unavailable
from communities.models import AuditEntry
from communities.staff import audit_trail, listing
from surveys.admin import results
from surveys.admin.frame import ProjectPage, address_of, project_tab
from surveys.services.ground import access, lookup

KINDS = ("project", "script", "response", "responses", "analysis")


@project_tab("history")
@require_safe
def history(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The list, newest first."""
    try:
        access.require_owner(actor=page.actor, project=page.project)
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    spec = audit_trail.listing(
        request, kinds=KINDS, address_of=lambda entry: _address(page, "entry", entry.pk)
    )
    rows = audit_trail.rows(actor=page.actor, project_id=page.project.pk)
    query = request.GET.copy()
    for name in ("after", "before", "sort"):
        query.pop(name, None)
    exports = [
        (label, f"{_address(page, 'export', format)}?{query.urlencode()}")
        for label, format in (("Download as CSV", "csv"), ("Download as JSON lines", "ndjson"))
    ]
    context = {"page": listing.draw(request, spec, rows), "exports": exports}
    return page.render(request, "admin/surveys/project/history.html", context)


@project_tab("history")
@require_safe
def entry(request: HttpRequest, page: ProjectPage, entry_id: uuid.UUID) -> HttpResponseBase:
    """One change, with before and after."""
    row = _entries(page).filter(pk=entry_id).first()
    if row is None:
        raise Http404
    context = {
        "what": audit_trail.what_changed(row),
        "facts": audit_trail.facts(row),
        "differences": audit_trail.differences(row),
        "back": page.address(),
        "restore": _restoring(page) if row.action == Action.SCRIPT_UPDATED else "",
    }
    return page.render(request, "admin/surveys/project/history_entry.html", context)


def _restoring(page: ProjectPage) -> str:
    """The editor's list of earlier versions; empty while the script cannot be replaced."""
    is_closed = page.may_edit and not page.project.is_live_at(page.at)
    return f"{address_of(page.project.pk, 'script')}?start=version" if is_closed else ""


@project_tab("history")
@require_safe
def export(request: HttpRequest, page: ProjectPage, format: str) -> HttpResponseBase:
    """A file of the entries that the filters choose."""
    if not page.may_own or format not in audit_trail.FORMATS:
        raise Http404
    try:
        return audit_trail.export(
            request,
            actor=page.actor,
            project_id=page.project.pk,
            format=format,
            file_name=f"History of {page.project.name}",
        )
    except Unavailable as refusal:
        messages.error(request, refusal.message)
        return HttpResponseRedirect(page.address())


@audit_trail.add_project_addresses
def addresses(actor: Actor, ids: Collection[int]) -> dict[int, str]:
    """The addresses of those projects that exist and that the actor may see."""
    visible = lookup.visible(actor=actor, at=timezone.now()).filter(pk__in=ids)
    return {pk: address_of(pk, "script") for pk in visible.values_list("pk", flat=True)}


def _entries(page: ProjectPage) -> QuerySet[AuditEntry]:
    if not page.may_own:
        raise Http404
    return audit_trail.rows(actor=page.actor, project_id=page.project.pk)


def _address(page: ProjectPage, name: str, key: object) -> str:
    return reverse(f"admin:surveys_project_history_{name}", args=[page.project.pk, key])
