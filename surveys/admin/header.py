"""The header above the tabs of a project, and its parts in the list: state, figures and tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery, Sum
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from communities.ground.actors import Actor, Role
from communities.ground.words import percent, plural
from communities.staff.texts import moment
from surveys.models import Conversation, Project, Tally
from surveys.services.ground import access, field_groups
from surveys.services.representations.project import web_url
from surveys.services.results import cache


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of a project that a staff member may see; None for other counts.

    On anonymous projects of others, `completed` changes in steps (rule 7.12), and is the only count they see.
    """

    responses: int | None
    completed: int
    last_answer_at: datetime | None

    @property
    def completion_rate(self) -> str:
        """The share of completed responses, written as in the results; empty without responses."""
        return percent(self.completed / self.responses * 100) if self.responses else ""


@dataclass(frozen=True, slots=True)
class State:
    """A project's state in a word, with the CSS class of its symbol."""

    word: str
    sign: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A button or link of the header. `is_outside` opens a page that respondents see."""

    label: str
    address: str
    is_dangerous: bool = False
    is_outside: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """The state line, the main tool (None if there is none) and the tools behind “More”."""

    state: State
    since: str  # for example "for 3 days"
    next_times: Sequence[tuple[str, datetime]]  # "opens" or "closes", and when
    figures: Figures
    count: str  # of responses or votes; empty for a draft
    main: Tool | None
    tools: Sequence[Tool]
    more: Sequence[Tool]


def header_of(project: Project, actor: Actor, at: datetime) -> Header:
    """The header of a project's tabs. The project comes from `lookup.with_details`."""
    figures = figures_of([project], actor, at)[project.pk]
    state = state_of(project, at)
    main, more = _tools(project, actor, at)
    return Header(
        state=state,
        since=_since(project, at),
        next_times=next_times(project, at),
        figures=figures,
        count=count_in_words(project, figures, at),
        main=main,
        tools=[Tool("View page", web_url(project), is_outside=True)],
        more=more,
    )


def state_of(project: Project, at: datetime) -> State:
    """Whether a project is open, waits for its opening, is closed, or has never been open.

    One that takes no more completed responses is full (rule 6.251).
    """
    if project.is_live_at(at):
        most, completed = project.max_completes, getattr(project, "completion_count", 0)
        return State("Open" if most is None or completed < most else "Open, full", "open")
    if project.is_pending_at(at):
        return State("Opens later", "pending")
    is_new = project.opened_at is None and not project.was_open_to_web and not _has_responses(project)
    return State("Draft", "draft") if is_new else State("Closed", "closed")


def state_cell(project: Project, at: datetime) -> SafeString:
    """The state with its symbol, and the times at which it will change."""
    state = state_of(project, at)
    word = format_html('<span class="state {}">{}</span>', state.sign, state.word)
    changes = format_html_join(
        "",
        ' <span class="hint">{} {}</span>',
        ((verb, moment(time)) for verb, time in next_times(project, at)),
    )
    return format_html('<span class="state-cell">{}{}</span>', word, changes)


def count_in_words(project: Project, figures: Figures, at: datetime) -> str:
    """The number of responses or votes, and of partial responses. Empty for a draft, which has no answers."""
    if state_of(project, at).sign == "draft":
        return ""
    noun = "vote" if project.is_poll else "response"
    if figures.responses is None:  # changes in steps
        return f"{plural(figures.completed, noun)} completed"
    partial = 0 if project.is_poll else figures.responses - figures.completed
    return f"{plural(figures.responses, noun)}{f', {partial:,} of them partial' if partial > 0 else ''}"


def _has_responses(project: Project) -> bool:
    return bool(getattr(project, "listed_count", True))  # not counted: it may have some


def _since(project: Project, at: datetime) -> str:
    begun = project.opens_at if project.opens_at and project.opens_at <= at else project.opened_at
    if begun is None or not project.is_live_at(at):
        return ""
    return f"for {timesince(begun, at, depth=1)}" if (at - begun).total_seconds() >= 60 else "since just now"


def next_times(project: Project, at: datetime) -> list[tuple[str, datetime]]:
    """The scheduled opening and closing of a project, in order.

    The closing time of a draft applies after it is opened. A draft has no opening time here, even if one is
    stored, because it opens only after an explicit request.
    """
    if project.is_live_at(at):
        times = [("closes", project.closes_at)]
    elif project.is_pending_at(at):
        times = [("opens", project.opens_at), ("closes", project.closes_at)]
    else:
        times = [("planned to close", field_groups.time_of(project.delivery, "closing"))]
    return [(verb, time) for verb, time in times if time is not None and time > at]


def _tools(project: Project, actor: Actor, at: datetime) -> tuple[Tool | None, list[Tool]]:
    """The main tool, which changes the state, and the others."""
    main, more = None, []
    if access.may_edit(actor=actor, project=project):
        if project.is_live_at(at):
            main = Tool(f"Close {'poll' if project.is_poll else 'survey'}", asks("close", project))
        elif project.is_pending_at(at):
            main = Tool("Cancel opening", asks("close", project))
        else:
            main = Tool("Open", reverse("admin:surveys_project_open", args=[project.pk]))
        more.append(Tool("Rename", reverse("admin:surveys_project_rename", args=[project.pk])))
    if actor.has_role(Role.CREATOR):
        more.append(Tool("Clone", asks("clone", project)))
    if access.may_own(actor=actor, project=project):
        more.append(Tool("Delete", asks("delete", project), is_dangerous=True))
    return main, more


def asks(act: str, project: Project) -> str:
    """The address of the page that asks for confirmation before it acts on this project."""
    return f"{reverse(f'admin:surveys_project_{act}_selected')}?id={project.pk}&from=project"


def figures_of(projects: Sequence[Project], actor: Actor, at: datetime) -> Mapping[int, Figures]:
    """The figures of these projects by id, in two queries, and one more query if some change in steps.

    Sets the counts of `lookup.with_details` on each project too.
    """
    ids = [project.pk for project in projects]
    sums = Tally.objects.filter(project_id__in=ids).values("project_id")
    counts = {
        row["project_id"]: (row["listed_sum"], row["completed_sum"], row["answered_sum"])
        for row in sums.annotate(
            listed_sum=Sum("listed"), completed_sum=Sum("completed"), answered_sum=Sum("answered")
        )
    }
    for project in projects:
        project.listed_count, project.completion_count, project.response_count = counts.get(
            project.pk, (0, 0, 0)
        )
    stepped = [
        each for each in projects if each.is_anonymous and not access.may_own(actor=actor, project=each)
    ]
    shown = cache.totals(projects=stepped, at=at)
    readable = [each.pk for each in projects if access.may_read_people(actor=actor, project=each)]
    last = _last_answers(readable)
    return {
        each.pk: Figures(None, shown[each.pk]["completion_count"], None)
        if each.pk in shown
        else Figures(each.listed_count, each.completion_count, last.get(each.pk))
        for each in projects
    }


def _last_answers(ids: Sequence[int]) -> dict[int, datetime | None]:
    """When each project's most recently changed response changed; an index contains that for each project."""
    if not ids:
        return {}
    latest = Conversation.objects.filter(project=OuterRef("pk"), is_listed=True).order_by("-updated_at")
    rows = Project.objects.filter(pk__in=ids).annotate(last=Subquery(latest.values("updated_at")[:1]))
    return dict(rows.values_list("pk", "last"))
