"""Adding members from a list: a file or pasted rows, looked through before anything is stored."""

from __future__ import annotations

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from communities.forms import once
from communities.gate.downloads import attachment
from communities.gate.envelope import error_response
from communities.ground.actors import Actor, Role
from communities.ground.errors import Refusal
from communities.ground.spreadsheets import csv_line, neutralise
from communities.ground.words import plural
from communities.models import Member
from communities.services.people import memberships
from communities.staff import acting, refusals
from communities.staff.pages import staff_page
from surveys.services.exports.service import MEDIA_TYPES
from surveys.services.imports import tables
from surveys.services.imports.walking import import_slot
from surveys.services.people import lists
from surveys.services.people.lists import PeopleList
from xp.admin import profile

LIST, READ = "members-from-list", "members-from-list-read"
MOST_SHOWN = 20


class RowsForm(once.TicketForm):
    """The rows as text: copied from a spreadsheet, or read from a file."""

    rows = forms.CharField(  # stripped, a row could lose its first cell
        label="Rows",
        max_length=800_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "wrap": "off"}),
        help_text="Copied from a spreadsheet or a CSV, with the headings of the columns in the first row.",
    )


@staff_page(LIST, least=Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The form; what was found in its rows; and the adding."""
    actor = _admin(request)
    form = RowsForm(request.POST if request.method == "POST" else None)
    do = request.POST.get("do", "")
    if not form.is_valid() or do == "change":
        return _draw(request, form, status=422 if form.is_bound and do != "change" else 200)
    try:
        with import_slot(community_id=actor.community_id):
            found = lists.read(tables.read(form.cleaned_data["rows"].encode()))
    except Refusal as refusal:
        refusals.add_to_form(form, refusal, fields={"file": "rows"})
        return _draw(request, form, status=422)
    if do == "faults":
        return _faults(found)
    if do == "add" and found.people:
        try:
            return _add(request, actor, form, found)
        except Refusal as refusal:
            refusals.add_to_form(form, refusal)
            return _draw(request, form, status=422)
    return _draw(request, form, found=found, actor=actor)


@staff_page(READ, least=Role.ADMIN)
@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """The rows of the file in the body as CSV, for the form."""
    actor = _admin(request)
    try:
        with import_slot(community_id=actor.community_id):
            table = tables.read(request.body)
    except Refusal as refusal:
        return error_response(refusal, request)
    lines = [csv_line(list(table.headers)), *(csv_line(list(cells)) for _, cells in table.rows)]
    return JsonResponse({"rows": b"".join(lines).decode()})


read.takes_questionnaire = True  # type: ignore[attr-defined]  # `gate.bodies` admits larger bodies


@profile.add_sections
def attributes(request: HttpRequest, actor: Actor, member: Member) -> list[profile.Section]:
    """The facts that staff wrote down about a member, for admins."""
    if not (actor.is_admin and member.attributes):
        return []
    context = {"facts": sorted(member.attributes.items())}
    return [profile.Section(36, "Attributes", "admin/surveys/member_attributes.html", context)]


def _admin(request: HttpRequest) -> Actor:
    actor = acting.current_actor(request)
    if actor is None or not actor.is_admin:
        raise Http404
    return actor


def _faults(found: PeopleList) -> HttpResponse:
    """The faulty rows as CSV: line, and what is wrong."""
    lines = [csv_line(["Line", "What is wrong"])]
    lines += [csv_line([str(each.line), neutralise(each.message)]) for each in found.faults]
    response = HttpResponse(b"\xef\xbb\xbf" + b"".join(lines), content_type=MEDIA_TYPES["csv"])
    response["Content-Disposition"] = attachment("faulty-rows.csv")
    return response


def _add(request: HttpRequest, actor: Actor, form: RowsForm, found: PeopleList) -> HttpResponse:
    members = reverse("admin:communities_member_changelist")

    def add() -> str:
        new, changed = memberships.add_listed(actor=actor, people=found.people, at=timezone.now())
        parts = [
            f"{plural(new, 'member')} added" if new else "",
            f"{plural(changed, 'member')} brought up to date" if changed else "",
            f"{plural(len(found.faults), 'fault')} left out" if found.faults else "",
        ]
        messages.success(request, f"{', '.join(filter(None, parts)) or 'Nothing was new'}.")
        return members

    return once.redirect(request, form.cleaned_data["ticket"], add)


def _draw(
    request: HttpRequest,
    form: RowsForm,
    *,
    found: PeopleList | None = None,
    actor: Actor | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "opts": Member._meta,
        "title": "Add members from a list",
        "form": form,
        "read_address": reverse(f"admin:{READ}"),
        "back": reverse("admin:communities_member_changelist"),
        "most": lists.MOST_PEOPLE,
    }
    if found is not None and actor is not None:
        emails = [each.email for each in found.people if each.email]
        known = memberships.known_by_address(community_id=actor.community_id, emails=emails)
        changed = sum(each.email in known for each in found.people)
        context |= {
            "found": found,
            "new": len(found.people) - changed,
            "changed": changed,
            "samples": [
                (each.name, each.email, [each.attributes.get(key, "") for key in found.attributes])
                for each in found.people[:MOST_SHOWN]
            ],
            "faults": found.faults[:MOST_SHOWN],
            "hidden": [form["rows"].as_hidden(), form["ticket"].as_hidden()],
        }
    return TemplateResponse(request, "admin/communities/member/from_list.html", context, status=status)
