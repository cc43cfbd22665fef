"""The page that opens a project: the consequences, the obstacles, the time and the respondents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html

from communities import services as communities
from communities.ground import privacy_words
from communities.ground.errors import Refusal
from communities.ground.form_fields import MomentField, TextField
from communities.ground.words import plural
from communities.services.chat import installations, overview
from communities.services.tenants import verified_sources
from communities.staff.chat_choices import offer_channel
from communities.staff.site import time_zone_of
from communities.staff.texts import moment
from surveys.admin.cards import PRIVACY, Card, CardField, CardSelect
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.project_forms import ProjectForm, Section
from surveys.engine.rules.hints import hints
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.drafts import service as drafts
from surveys.services.ground import field_groups
from surveys.services.projects import opening, server_rules
from surveys.services.representations.script import warnings_about
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import pictures

OPENINGS = {
    "manual": Card("Now", "People can answer at once.", "open-now"),
    "scheduled": Card("At a time", "It opens by itself, to the second.", "at-a-time"),
}
CLOSINGS = {
    "manual": Card("By hand", "It stays open until somebody closes it.", "close-now"),
    "scheduled": Card("At a time", "It closes by itself, to the second.", "at-a-time"),
}
AUDIENCES = {
    "open_web": Card("Anyone with the link", "No account is needed. Share the address.", "open-web"),
    "private": Card(
        "Members",
        "Only people who have joined this community. They sign in, or come by a personal link. Everybody "
        "else reads that they cannot answer.",
        "private",
    ),
}
CHANNELS = {
    "web": Card("On the web", "People answer on a page of this site.", "web"),
    "chat": Card(
        "In the chat",
        "A message is posted to a channel of the community’s server, and people answer there.",
        "chat",
    ),
}
POLL_RESULTS = {
    "public": Card("At once", "Everybody sees the totals, also before they vote.", "public"),
    "voters_only": Card("After voting", "Those who voted see the totals.", "voters-only"),
    "hidden": Card("When it closes", "The poll shows its totals once it is closed.", "hidden"),
}
SCHEDULE_PATHS = {
    "opening_mode": "delivery.opening.mode",
    "opening_time": "delivery.opening.time",
    "closing_mode": "delivery.closing.mode",
    "closing_time": "delivery.closing.time",
    "participation": "delivery.audience.participation",
    "response_channel": "delivery.audience.response_channel",
    "post_channel_id": "delivery.invitation.post_channel_id",
    "poll_results_mode": "settings.poll_results_mode",
}


class ScheduleForm(ProjectForm):
    """When a project opens and closes, who may answer, and where. `guild` is the server, if it is known."""

    paths: ClassVar[Mapping[str, str]] = SCHEDULE_PATHS
    opening_mode = CardField(label="Opens", cards=OPENINGS)
    opening_time = MomentField(label="Opening time")
    closing_mode = CardField(label="Closes", cards=CLOSINGS)
    closing_time = MomentField(label="Closing time")
    participation = CardField(label="Who may answer?", cards=AUDIENCES)
    response_channel = CardField(label="Where do they answer?", cards=CHANNELS)
    post_channel_id = TextField(
        label="Channel of the invitation",
        required=False,
        help_text="The id of the channel, thread or forum post where the invitation is posted. Answering in "
        "the chat needs one.",
    )

    poll_results_mode = CardField(label="When do voters see how others voted?", cards=POLL_RESULTS)

    def __init__(self, data: Mapping[str, Any] | None, *, page: ProjectPage) -> None:
        super().__init__(data, page=page)
        if not page.project.is_poll:
            del self.fields["poll_results_mode"]
        widget = self.fields["response_channel"].widget
        assert isinstance(widget, CardSelect)
        chat = replace(CHANNELS["chat"], text=_chat_in_words(page.project.community_id))
        widget.cards = {**widget.cards, "chat": chat}
        self.guild = overview.snapshot(community_id=page.project.community_id)
        offer_channel(self, "post_channel_id", self.guild, nothing="None yet")

    def shown(self, name: str, value: Any) -> Any:
        shown = super().shown(name, value)
        path = self.paths[name]
        if shown is None and path in _DEFAULTS:
            return _DEFAULTS[path]
        return shown


def _chat_in_words(community_id: int) -> str:
    if installations.is_connected(community_id=community_id):
        return CHANNELS["chat"].text
    if installations.is_configured():
        return "An invitation is posted to a channel, once an admin has added the bot, under Chat."
    return "An invitation is posted to a channel, once this installation has an application on Discord."


_SCHEDULES = (
    ("opening", "opens", "it opens at once, unless you set another below"),
    ("closing", "closes", "it stays open until somebody closes it, unless you set another below"),
)
# Of groups of fields; for other fields it is the script
_TABS = {"rewards": "Rewards", "delivery": "Delivery"}
_DEFAULTS = {
    "delivery.opening.mode": "manual",
    "delivery.closing.mode": "manual",
    "delivery.audience.participation": "private",
    "delivery.audience.response_channel": "web",
    "settings.poll_results_mode": "hidden",
}


class OpenForm(ScheduleForm):
    """The fields to confirm when a project opens. All of them are written as they were confirmed."""

    compares: ClassVar[bool] = False
    sections: ClassVar[Sequence[Section]] = (
        Section("", "", "", ("participation", "response_channel", "post_channel_id")),
        Section("", "", "", ("poll_results_mode",)),
        Section("", "", "", ("opening_mode", "opening_time", "closing_mode", "closing_time")),
    )

    def values_of(self, project: Project) -> dict[str, Any]:
        """The stored values, without times that are in the past."""
        values = super().values_of(project)
        for schedule in ("opening", "closing"):
            time = values[f"{schedule}_time"]
            if time is None or time <= self.page.at:
                values |= {f"{schedule}_time": None, f"{schedule}_mode": "manual"}
        return values

    @property
    def has_channel(self) -> bool:
        """Whether a channel is stored: then its field is shown, even if people answer on the web."""
        return bool(self.initial.get("post_channel_id"))

    def changes(self, among: Collection[str] | None = None) -> dict[str, Any]:
        fields = super().changes(among)
        for schedule in ("opening", "closing"):  # a time that is not used may be in the past
            if fields["delivery"][schedule]["mode"] == "manual":
                fields["delivery"][schedule]["time"] = None
        is_offered = self.has_channel or self.cleaned_data["response_channel"] == "chat"
        if not is_offered or "post_channel_id" not in self.changed_data:
            del fields["delivery"]["invitation"]
        return fields


@dataclass(frozen=True, slots=True)
class Hindrance:
    """A reason why a project cannot open yet, or a warning.

    `address` is the page where it can be corrected.
    """

    text: str
    address: str
    link: str
    is_warning: bool = False


@project_tab("open")
def open_view(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """Ask for confirmation, and open. Raises PermissionDenied for those who may not edit the project."""
    if not page.may_edit:
        raise PermissionDenied
    data = request.POST if request.method == "POST" else None
    if data is None:  # otherwise a thread that was never looked up would seem to prevent the opening
        server_rules.look_to_open(
            community_id=page.project.community_id, project_id=page.project.pk, fields={}, at=page.at
        )
    form = OpenForm(data, page=page)
    if form.is_valid() and _open(request, page, form):
        return HttpResponseRedirect(page.address("share"))
    hindrances = hindrances_of(page)
    context = {
        "form": form,
        "hindrances": hindrances,
        "is_possible": all(each.is_warning for each in hindrances),
        "zone": time_zone_of(request).key,
        "facts": facts_of(page),
        "tab_title": "Open",
    }
    return page.render(request, "admin/surveys/project/open.html", context)


def _open(request: HttpRequest, page: ProjectPage, form: OpenForm) -> bool:
    fields = form.checked_changes()
    if fields is None:
        return False
    try:
        server_rules.look_to_open(
            community_id=page.project.community_id, project_id=page.project.pk, fields=fields, at=page.at
        )
        project = opening.open_project(
            actor=page.actor, project_id=page.project.pk, fields=fields, at=page.at
        )
    except Refusal as refusal:
        form.refuse(refusal)
        return False
    if project.opens_at is None:
        where = "It is posted to the chat in a moment." if public_messages.channel_of(project) else ""
        if project.response_channel == Project.ResponseChannel.WEB:
            where = f"{where} This is its address.".strip()
        messages.success(request, f"“{project.name}” is open. {where}")
    else:
        messages.success(request, f"“{project.name}” opens by itself. This will be its address.")
    return True


def hindrances_of(page: ProjectPage) -> list[Hindrance]:
    """The reasons that prevent a project from opening, then possible oversights."""
    project, script = page.project, page.address("script")
    hindrances = []
    if project.is_live_at(page.at) or project.is_pending_at(page.at):
        hindrances.append(
            Hindrance("It is open already, or waits to open.", page.address("delivery"), "Delivery")
        )
    draft = drafts.get(actor=page.actor, project=project)
    try:
        opening.require_fitting_script(project, at=page.at)
    except Refusal as refusal:
        if draft and not project.block_count:
            text, draft = "Your script is in the editor, but it is not saved yet. Save it first.", None
            hindrances.append(Hindrance(text, script, "Script"))
        else:
            hindrances += _faults(page, refusal)
    if (project.generation or {}).get("status") == "pending":
        hindrances.append(Hindrance("AI is still writing the script.", script, "Script", is_warning=True))
    if not project.is_live_at(page.at):
        unmet = (project.generation or {}).get("unmet", ())
        hindrances += [Hindrance(text, script, "Script", is_warning=True) for text in unmet]
    if draft:
        text = "You have changes in the script editor that are not saved. They will not be part of it."
        hindrances.append(Hindrance(text, script, "Script", is_warning=True))
    stored = script_cache.of(project).catalogue.script
    warned = [
        *warnings_about(project, stored),
        *hints(stored),
        *pictures.warnings(stored, community_id=project.community_id),
    ]
    if warned:
        others = f" The script has {plural(len(warned) - 1, 'other warning')}." if len(warned) > 1 else ""
        text, tab = f"{warned[0]['message']}{others}", "Script"
        if str(warned[0]["field"]).startswith("settings."):
            tab = "Delivery"
        hindrances.append(Hindrance(text, page.address(tab.lower()), tab, is_warning=True))
    return hindrances


def _faults(page: ProjectPage, refusal: Refusal) -> Iterator[Hindrance]:
    """The faults to correct first, with the tab for each. The channel is chosen on this page."""
    if not refusal.violations:
        yield Hindrance(refusal.message, page.address("script"), "Script")
    for each in refusal.violations:
        path, message = each["field"], each["message"]
        if path == SCHEDULE_PATHS["post_channel_id"]:
            continue
        own = message.removeprefix(f"`{path}`: ")
        tab = next((tab for group, tab in _TABS.items() if path.startswith(group)), "Script")
        text = f"{own[:1].upper()}{own[1:]}".replace("`", "“", 1).replace("`", "”", 1)
        yield Hindrance(text, page.address(tab.lower()), tab)


def facts_of(page: ProjectPage) -> list[str]:
    """The consequences of opening, in sentences."""
    project = page.project
    facts: list[str] = [
        f"{_questions_in_words(project)} While it is open, words can change, and blocks and options can be "
        "added.",
        f"{PRIVACY[project.privacy_mode].label}: {PRIVACY[project.privacy_mode].text} "
        "This cannot change once there are responses.",
    ]
    facts += audience_in_words(project)
    most = project.max_completes_per_user
    facts.append(f"Everybody can complete it {_times(most) if most else 'as often as they like'}.")
    if project.consent:
        facts.append("Respondents agree to your text before their first answer is stored.")
    if project.max_completes is not None:
        facts.append(f"It takes {plural(project.max_completes, 'completed response')} in all.")
    if project.quotas:
        facts.append(f"{plural(len(project.quotas), 'quota')} may end it earlier for some.")
    if project.keep_responses_days is not None:
        facts.append(privacy_words.deleted_after(project.keep_responses_days))
    if project.is_poll:
        mode = project.poll_results_mode or _DEFAULTS["settings.poll_results_mode"]
        facts.append(f"{POLL_RESULTS[mode].text} You can change this below.")
    if not project.is_poll or project.share_results:
        facts.append(_results_in_words(project))
    if rewards := _rewards_in_words(project):
        facts.append(f"Completing it gives {rewards}.")
    for schedule, verb, otherwise in _SCHEDULES:
        time = field_groups.time_of(project.delivery, schedule)
        if time and time > page.at:
            facts.append(
                format_html("It {} by itself on {}, unless you change this below.", verb, moment(time))
            )
        elif time:
            facts.append(format_html("The {} time, {}, is over: {}.", schedule, moment(time), otherwise))
    return facts


def _questions_in_words(project: Project) -> str:
    """The number of questions in the saved script; the draft is not included, because it does not open."""
    count = project.question_count
    return f"It asks {plural(count, 'question')}." if count else "Its saved script has no question yet."


def times_that_are_over(page: ProjectPage) -> str:
    """A sentence about the stored times that no longer apply; empty if all of them apply."""
    planned = {schedule: field_groups.time_of(page.project.delivery, schedule) for schedule, *_ in _SCHEDULES}
    over = [schedule for schedule, time in planned.items() if time and time <= page.at]
    if not over:
        return ""
    times, verb = ("time", "is") if len(over) == 1 else ("times", "are")
    return f"The {' and '.join(over)} {times} {verb} over, and will not apply."


def _results_in_words(project: Project) -> str:
    """The readers of shared results, and of the results of a survey."""
    if project.share_results:
        return "Its totals are shared: members, and everybody with the address of the results page, see them."
    if project.privacy_mode == Project.PrivacyMode.TRANSPARENT:
        return "Members of the community can see its results."
    return "Only the authors and the community’s admins see its results, until you share them."


def _rewards_in_words(project: Project) -> str:
    rewards = project.rewards or {}
    settings = communities.get_settings(community_id=project.community_id)
    gives = [settings.name_of_xp] if project.uses_xp and settings.gives_xp else []
    gives += ["an achievement"] if rewards.get("achievement_enabled") else []
    if role_id := rewards.get("discord_role_id"):
        gives.append(f"the role “{_names_of(project.community_id, [role_id])[0]}”")
    return f"{', '.join(gives[:-1])} and {gives[-1]}" if len(gives) > 1 else "".join(gives)


def audience_in_words(project: Project) -> list[str]:
    """The further conditions of a project for its respondents: roles and verified sources."""
    audience = (project.delivery or {}).get("audience", {})
    roles, chosen = audience.get("required_role_ids") or (), audience.get("verified_source_ids") or ()
    asked = []
    if roles:
        noun = "this role" if len(roles) == 1 else "one of these roles"
        asked.append(f"They need {noun}: {', '.join(_names_of(project.community_id, roles))}.")
    if chosen:
        rows = verified_sources.in_community(community_id=project.community_id).filter(pk__in=chosen)
        names = [f"“{label}”" for label in rows.values_list("label", flat=True)] or ["a removed source"]
        asked.append(f"They have to show by a connected account that they belong to {' or '.join(names)}.")
    return asked


def _names_of(community_id: int, role_ids: Sequence[str]) -> list[str]:
    guild = overview.snapshot(community_id=community_id)
    known = guild.roles if guild else {}
    return [known[each].name if each in known else each for each in role_ids]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
