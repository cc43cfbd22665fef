"""The tab of a project's responses: the list, one response as it was answered, deleting one and undoing that.

People who may read the responses over the interface may read them here, and nobody else may. On anonymous
projects the list contains nothing about a person, and people cannot be searched for.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.views.decorators.http import require_http_methods, require_safe

from communities.ground.errors import Forbidden, NotFound, Unavailable
from communities.services.people import members
from communities.staff import day_range, listing
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment, number
from surveys import response_sources
from surveys.admin import exporting, results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.respondents import (
    REFUSED,
    SCREENED_OUT,
    STATUSES,
    SUSPECTED,
    names_of,
    noun_of,
    title_of,
)
from surveys.drawing.figures.filters import ConditionForm
from surveys.models import Conversation, Project
from surveys.services.conversations import admission, ends, places
from surveys.services.conversations.admission import ProofFigures
from surveys.services.ground import access
from surveys.services.responses import deletion, reading
from surveys.services.responses import listing as response_list
from surveys.services.responses import service as response_service
from surveys.services.responses.listing import ListedScore
from surveys.services.results import figures

LIST = "admin/surveys/project/responses.html"
ONE = "admin/surveys/project/response.html"
CONFIRM = "admin/surveys/project/response_delete.html"
MAX_ANSWER = 40  # characters of one answer that the list shows
MAX_BUCKETS = 3  # whose points the list shows
GONE = "This response was deleted, or never existed."


@project_tab("responses")
@require_safe
def responses(request: HttpRequest, page: ProjectPage) -> HttpResponseBase:
    """The list, newest first."""
    try:
        access.require_responses_reader(actor=page.actor, project=page.project, at=page.at)
        spec, rows, form = _selected(request, page)
        spec = replace(spec, address_of=_addresses(page, listing.query_of(request, spec)))
        with response_service.selecting_slot(page.project, form.condition.where if form else None):
            drawn = listing.draw(request, spec, rows)
    except (Forbidden, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    count = figures.responses(page.project.pk)
    context = {
        "page": drawn,
        "condition": form,
        "script_address": page.address("script") if page.may_edit else "",
        "noun": noun_of(page.project),
        "leaving": _leaving(page),
        "proofs": proofs_of(page.project),
        "suspected_address": f"{page.address()}?suspected=true",
        "refused": places.refused(page.project) if _may_be_refused(request, page.project) else 0,
        "refused_address": f"{page.address()}?status={REFUSED[0]}",
        "screened_out": ends.figures(page.project)[""] if page.project.ends else 0,
        "screened_out_address": f"{page.address()}?status={SCREENED_OUT[0]}",
        "exports": exporting.offered(page, query="", count=count) if count else None,
    }
    return page.render(request, LIST, context)


@project_tab("responses")
@require_safe
def response(request: HttpRequest, page: ProjectPage, response_id: uuid.UUID) -> HttpResponseBase:
    """One response as it was answered; `part` is the start of a part of a long one."""
    start = reading.place_in(request.GET.get("part", ""))
    try:
        details = reading.read(
            response_id=response_id, project=page.project, actor=page.actor, at=page.at, start=start
        )
        spec, rows, form = _selected(request, page)
        among = listing.narrowed(request, spec, rows)
        with response_service.selecting_slot(page.project, form.condition.where if form else None):
            before, after = reading.neighbours(rows=among, response_id=response_id)
    except NotFound:
        raise Http404(GONE) from None
    except (Forbidden, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    query = listing.query_of(request, spec)
    names = names_of(page.project, [details.conversation])
    leaving = {each.response_id: each for each in deletion.marked(project=page.project)}
    context = {
        "details": details,
        "row": details.conversation,
        "heading": title_of(page.project, details.conversation, names),
        "member_address": _member_address(page, details.conversation),
        "noun": noun_of(page.project),
        "all": f"{page.address()}{query}",
        "is_narrowed": bool(query),
        "before": before and _address(page, "response", before) + query,
        "after": after and _address(page, "response", after) + query,
        "delete_address": _address(page, "response_delete", response_id) if page.may_own else "",
        "leaving": leaving.get(response_id),
        "restore_address": _address(page, "response_restore", response_id),
        "agreed_at": datetime.fromisoformat(details.consent["at"]) if details.consent else None,
        "status": _status(details.conversation),
        "source": response_sources.LABELS.get(details.conversation.provider or "", "–"),
        "start": start,
        "first": _address(page, "response", response_id) + query,
        "next": _next(page, response_id, query, details.part),
    }
    return page.render(request, ONE, context)


def _next(page: ProjectPage, response_id: uuid.UUID, query: str, part: reading.Part) -> str:
    """The address of the following part; empty after the last part."""
    if part.next is None:
        return ""
    return f"{_address(page, 'response', response_id)}{query}{'&' if query else '?'}part={part.next}#way-head"


@project_tab("responses")
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, page: ProjectPage, response_id: uuid.UUID) -> HttpResponseBase:
    """Ask for confirmation and describe the consequences; POST marks the response to be deleted, and the list
    offers to undo that.
    """
    project, noun = page.project, noun_of(page.project)
    try:
        access.require_owner(actor=page.actor, project=project)
        details = reading.read(response_id=response_id, project=project, actor=page.actor, at=page.at)
        if request.method == "POST":
            deletion.mark(response_id=response_id, project=project, actor=page.actor, at=page.at)
            # The list shows the message, beside the button
            return HttpResponseRedirect(page.address(), status=303)
    except NotFound:
        raise Http404(GONE) from None
    except Forbidden as refusal:
        return results.refused(request, page, refusal)
    context = {
        "heading": title_of(project, details.conversation, names_of(project, [details.conversation])),
        "noun": noun,
        "consequences": _consequences(project, details.conversation),
        "back": _address(page, "response", response_id),
    }
    return page.render(request, CONFIRM, context)


@project_tab("responses")
def restore(request: HttpRequest, page: ProjectPage, response_id: uuid.UUID) -> HttpResponseBase:
    """Keep a response that was marked to be deleted."""
    if not deletion.is_marked(response_id=response_id, project=page.project):
        return results.refused(request, page, NotFound(deletion.IS_DELETED))
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        deletion.unmark(response_id=response_id, project=page.project, actor=page.actor, at=timezone.now())
    except (Forbidden, NotFound) as refusal:
        return results.refused(request, page, refusal)
    messages.success(request, f"The {noun_of(page.project)} stays.")
    return HttpResponseRedirect(page.address(), status=303)


def proofs_of(project: Project) -> ProofFigures | None:
    """How often browsers were asked for a proof; None for projects that were never open to everybody."""
    return admission.proof_figures(project_id=project.pk) if project.was_open_to_web else None


# --- The list ---------------------------------------------------------------------------------------


def _addresses(page: ProjectPage, query: str) -> Callable[[Conversation], str]:
    """A function that returns the page of a response, with the filters of the list, so that its links lead
    through the filtered responses.
    """
    return lambda row: _address(page, "response", row.pk) + query


def _selected(
    request: HttpRequest, page: ProjectPage
) -> tuple[Listing[Conversation], QuerySet[Conversation], ConditionForm | None]:
    """The list, its rows, and the expression in the address, which is left out if it has faults.

    The form is None without an expression.
    """
    is_of_screened_out = _is_of_screened_out(request)
    spec = _listing(request, page)
    rows = response_list.rows(project=page.project, screened_out=is_of_screened_out)
    if not request.GET.get("where"):
        return spec, rows, None
    form = results.condition_form(request, page)
    form.full_clean()
    if (where := form.condition.where) is not None:
        rows = response_list.matching(rows, project=page.project, where=where)
        spec = replace(spec, keeps={"where": where})
    return spec, rows, form


def _listing(request: HttpRequest, page: ProjectPage) -> Listing[Conversation]:
    project, noun = page.project, noun_of(page.project)
    days = day_range.of_address(
        request,
        label="Last change",
        field="updated_at",
        zone=page.zone_of_days(request),
        reason=page.zone_reason,
    )
    names: dict[int, str] = {}
    answered: dict[uuid.UUID, int] = {}
    first: dict[uuid.UUID, Sequence[str]] = {}
    scores: dict[uuid.UUID, ListedScore] = {}
    shows_scores, screened_out = _shows_scores(page), _is_of_screened_out(request)

    def load(rows: Sequence[Conversation]) -> None:
        ids = [row.pk for row in rows]
        answered.update(response_list.answered_blocks(ids=ids, screened_out=screened_out))
        first.update(response_list.first_answers(ids=ids, project=project, screened_out=screened_out))
        names.update(names_of(project, rows))
        if shows_scores:
            scores.update(response_list.scores(ids=ids, project=project))

    filters = [Filter("provider", "Source", list(response_sources.LABELS.items()), _by_provider)]
    if project.was_open_to_web:
        filters.append(Filter("suspected", "Robots", SUSPECTED, _by_suspicion))
    columns = [
        Column(noun.capitalize(), lambda row: title_of(project, row, names), is_title=True),
        Column("Vote" if project.is_poll else "First answers", lambda row: _in_short(first.get(row.pk, ()))),
        Column("Status", _status),
        Column("Begun", lambda row: moment(row.started_at)),
        Column("Last change", lambda row: moment(row.updated_at)),
        Column("Answers", lambda row: number(answered.get(row.pk, 0)), is_number=True),
        Column("Source", lambda row: response_sources.LABELS.get(row.provider or "", "–")),
    ]
    if project.is_poll:
        columns = [each for each in columns if each.label not in ("Status", "Begun", "Answers")]
    else:
        statuses = [*STATUSES, *([REFUSED] if _may_be_refused(request, project) else [])]
        if project.ends or screened_out:
            statuses.append(SCREENED_OUT)
        filters.insert(0, Filter("status", "Status", statuses, _by_status))
    if shows_scores:
        columns = [each for each in columns if each.label != "Begun"]  # the table would be too wide
        columns.insert(2, Column("Score", lambda row: _score(scores.get(row.pk)), is_number=True))
    return Listing(
        columns=columns,
        orders=_orders(project, is_by_time=bool(days.parameters)),
        filters=filters,
        searches="" if project.is_anonymous else "names, or a complete platform or user id",
        search=None
        if project.is_anonymous
        else lambda rows, term: response_list.of_person(rows, actor=page.actor, project=project, term=term),
        empty=Empty(
            f"Every {noun} appears here as soon as it has an answer.",
            "Share the project",
            page.address("share"),
        ),
        load=load,
        days=days,
    )


def _may_be_refused(request: HttpRequest, project: Project) -> bool:
    """Whether the list can be filtered by refusals at the end; also while a limit is taken away."""
    has_limit = bool(project.quotas) or project.max_completes is not None
    return has_limit or request.GET.get("status") == REFUSED[0]


def _is_of_screened_out(request: HttpRequest) -> bool:
    return request.GET.get("status") == SCREENED_OUT[0]


def _shows_scores(page: ProjectPage) -> bool:
    """Whether the list has a column of scores, for people who see scores on the page of a response."""
    project = page.project
    return (
        project.scoring_enabled
        and project.script_is_scored
        and access.may_read_solutions(actor=page.actor, project=page.project)
    )


def _score(score: ListedScore | None) -> SafeString | str:
    """The total points and their maximum, and below them the points of the first buckets."""
    if score is None:
        return "–"
    text = format_html('<span class="total">{} of {}</span>', score.points, score.most)
    if not score.by_bucket:
        return text
    shown = format_html_join(" · ", "{} {}", score.by_bucket[:MAX_BUCKETS])
    more = " …" if len(score.by_bucket) > MAX_BUCKETS else ""
    return format_html('<span>{} <span class="by-bucket">{}{}</span></span>', text, shown, more)


def _in_short(answers: Sequence[str]) -> str:
    return " · ".join(Truncator(each).chars(MAX_ANSWER) for each in answers)


def _orders(project: Project, *, is_by_time: bool) -> Mapping[str, Order]:
    """Newest and oldest first: by id, as the interface lists them. A range of times reads the index by time.

    Ids of anonymous projects are random, so the order of ids shows neither the newest nor the oldest.
    """
    if project.is_anonymous:
        return {"id": Order("By id", ("id",)), "back": Order("By id, descending", ("-id",))}
    newest = ("-updated_at", "-id") if is_by_time else ("-id",)
    oldest = ("updated_at", "id") if is_by_time else ("id",)
    return {"newest": Order("Newest first", newest), "oldest": Order("Oldest first", oldest)}


def _by_status(rows: QuerySet[Any], status: str) -> QuerySet[Any]:
    if status in (REFUSED[0], SCREENED_OUT[0]):
        return rows.filter(outcome__startswith=status)
    return rows.filter(completed_at__isnull=status == "partial")


def _by_suspicion(rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    return rows.filter(is_suspected=value == "true")


def _by_provider(rows: QuerySet[Any], provider: str) -> QuerySet[Any]:
    return rows.filter(provider=provider)


def _status(row: Conversation) -> SafeString:
    (_, done), (_, partial) = STATUSES
    sign, word = ("done", done) if row.completed_at else ("pending", partial)
    if row.is_screened_out:
        sign, word = "off", SCREENED_OUT[1]
    marks = [(REFUSED[1],)] if row.outcome and not row.is_screened_out else []
    marks += [("Suspected",)] if row.is_suspected else []
    return format_html(
        '<span class="state {}">{}</span>{}',
        sign,
        word,
        format_html_join("", ' <span class="badge">{}</span>', marks),
    )


def _leaving(page: ProjectPage) -> Sequence[Mapping[str, object]]:
    """The responses that will be deleted, for people who may undo that."""
    if not page.may_own:
        return ()
    return [
        {
            "at": each.deletes_at,
            "address": _address(page, "response", each.response_id),
            "restore_address": _address(page, "response_restore", each.response_id),
        }
        for each in deletion.marked(project=page.project)
    ]


# --- Parts ------------------------------------------------------------------------------------------


def _consequences(project: Project, row: Conversation) -> list[str]:
    """The consequences of deleting a response (rule 6.50)."""
    noun = noun_of(project)
    follows = [
        f"The {noun} leaves this list at once. Results, exports and the API count it until then.",
        "Then its answers are deleted for good, from all counts and from the quotes of analyses.",
    ]
    if project.is_poll:
        follows.append("The XP that the vote gave is taken back from the voter, who may vote again.")
    else:
        follows.append("What it gave stays: XP, achievements and roles.")
        if project.max_completes_per_user and not project.is_anonymous:
            follows.append("The person who answered may answer once more.")
    if row.completed_at is None:
        follows.append("The person who is answering it cannot continue.")
    follows.append(f"Webhooks receive an event: the {noun} was deleted.")
    return follows


def _member_address(page: ProjectPage, row: Conversation) -> str:
    """The page of the member who answered, for admins."""
    if page.project.is_anonymous or row.user_id is None or not page.actor.is_admin:
        return ""
    member_id = members.find_member_id(community_id=page.project.community_id, user_id=row.user_id)
    return "" if member_id is None else reverse("admin:communities_member_change", args=[member_id])


def _address(page: ProjectPage, name: str, response_id: uuid.UUID) -> str:
    return reverse(f"admin:surveys_project_{name}", args=[page.project.pk, response_id])
