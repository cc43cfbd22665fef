"""Slash commands: open surveys, one's own XP, and the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from communities import services as communities
from communities.chat_platform.references import Op, of_project
from communities.ground.errors import Conflict
from communities.ground.rounding import Rounding
from communities.services.people.members import KnownPerson
from surveys.chat import replies, screens, words
from surveys.chat.controls import References
from surveys.chat.interactions import Interaction
from surveys.chat.messages import PRIMARY, Button, Embed, Message, Row
from surveys.chat.replies import Reply
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted, Respondent
from surveys.services.representations.project import web_url
from xp import levels
from xp.services import achievements, leaderboard, standings

MOST_LISTED = 5  # surveys, each with a button in a row of its own
MOST_LOOKED_AT = 25
MOST_LEADERS = 10
MOST_ACHIEVEMENTS = 12
_MEDALS = {1: "🥇", 2: "🥈", 3: "🥉"}

Who = Callable[[Rounding | None], KnownPerson | None]


def perform(interaction: Interaction, who: Who, *, at: datetime) -> Reply:
    """Answer a command. Only the person who used it sees the answer."""
    known = who(None)
    if known is None:
        return replies.private(screens.notice(words.NOT_CONNECTED))
    handler = _COMMANDS.get(interaction.command)
    if handler is None:
        return replies.private(screens.notice(words.GONE))
    return replies.private(handler(interaction, known, at))


def _surveys(interaction: Interaction, known: KnownPerson, at: datetime) -> Message:
    """The open surveys and polls that this person may answer, each with a button."""
    respondent = admission.in_chat(known)
    projects = Project.objects.in_community(interaction.guild_id).live_at(at).order_by("-pk")
    states = [(project, _state_of(project, respondent, at)) for project in projects[:MOST_LOOKED_AT]]
    found = [(project, state) for project, state in states if state is not None]
    found.sort(key=lambda each: each[1].order)
    texts, rows = list[str](), list[Row]()
    for project, state in found[:MOST_LISTED]:
        texts.append(f"**{words.shown(project.name)}**\n{state.text}")
        rows.append([_button(project, interaction.author.platform_id)])
    if len(found) > MOST_LISTED:
        texts.append(f"_{len(found) - MOST_LISTED} more are open: they come up here as you answer these._")
    if not rows:
        text = "There is nothing to answer right now. You will see it in the channels when there is."
        return screens.notice(text, colour=screens.DEFAULT_COLOUR)
    return Message(
        [Embed("\n\n".join(texts), title="What you can answer", colour=screens.DEFAULT_COLOUR)], rows
    )


@dataclass(frozen=True, slots=True)
class _State:
    """A person's progress in a project, and the project's position in the list."""

    order: int
    text: str


def _state_of(project: Project, respondent: Respondent, at: datetime) -> _State | None:
    """A person's progress in a project, in words; None if they cannot answer it or have answered it."""
    try:
        admission.check(project=project, respondent=respondent, at=at)
    except NotAdmitted:
        return None
    view, is_at_limit = conversations.look(project_id=project.pk, respondent=respondent, at=at)
    if is_at_limit:
        return None
    kind = "Poll" if project.is_poll else "Survey"
    if view is not None and not view.is_completed:
        number = view.question_number
        return _State(0, f"{kind} · {f'you are at question {number}' if number else 'you have begun'}")
    return _State(1, f"{kind} · new for you") if view is None else _State(2, f"{kind} · you may answer again")


def _button(project: Project, platform_id: str) -> Button:
    label = words.clip(project.name, 40)
    if project.response_channel == Project.ResponseChannel.WEB:
        return Button(label, address=web_url(project))
    if project.is_poll and (address := public_messages.address_of(project)):
        return Button(label, address=address)
    to = References(of_project(project.pk), platform_id)
    return Button(label, to.to(Op.ANSWER), PRIMARY)


def _me(interaction: Interaction, known: KnownPerson, at: datetime) -> Message:
    """The person's own XP, level, rank and achievements."""
    member_id = known.member_id
    if member_id is None:
        return screens.notice("You are not a member of this community.")
    settings = communities.get_settings(community_id=interaction.guild_id)
    totals = standings.of_member(member_id=member_id, at=at)
    lines = [f"Surveys and polls completed: **{totals.participation:,}**"]
    if settings.gives_xp:
        name, level = words.shown(settings.name_of_xp), levels.level_of(totals.total)
        reached = round(levels.progress(totals.total) * 10)
        lines = [
            f"**Level {level}** · {totals.total:,} {name}",
            f"{'▰' * reached}{'▱' * (10 - reached)} {levels.to_next(totals.total):,} to level {level + 1}",
            f"This month: **{totals.month:,}** {name}",
            *lines,
        ]
    earned = achievements.earned_by(member_ids=[member_id], most=MOST_ACHIEVEMENTS).get(member_id, [])
    if earned:
        names = [f"🏅 {words.shown(str(each['name']))}" for each in earned]
        lines += ["", "**Achievements**", *names]
        if rest := achievements.count(member_id=member_id) - len(earned):
            lines.append(f"_and {rest:,} that you earned before these_")
    title = known.name or interaction.author.name
    return Message([Embed("\n".join(lines), title=title, colour=screens.DEFAULT_COLOUR)])


def _leaderboard(interaction: Interaction, known: KnownPerson, at: datetime) -> Message:
    """The members with the most XP, in total or this month."""
    try:
        leaderboard.refuse_where_switched_off(community_id=interaction.guild_id)
    except Conflict:
        return screens.notice("The leaderboard is switched off in this community.")
    period = "month" if interaction.options.get("period") == "month" else "all"
    rows = leaderboard.page(0, MOST_LEADERS, community_id=interaction.guild_id, period=period, at=at)
    column = "xp_monthly" if period == "month" else "xp_total"
    name = words.shown(communities.get_settings(community_id=interaction.guild_id).name_of_xp)
    lines = [_place(row, column, name, known) for row in rows]
    text = "\n".join(lines) or "Nobody has earned anything yet. Be the first!"
    title = "Leaderboard of this month" if period == "month" else "Leaderboard"
    return Message([Embed(text, title=title, colour=screens.DEFAULT_COLOUR)])


def _place(row: Mapping[str, object], column: str, xp_name: str, known: KnownPerson) -> str:
    rank = int(str(row["rank"]))
    name = words.escape(words.clip(str(row["nick"] or row["name"] or "Somebody"), 40))
    name = f"**{name}** (you)" if str(known.member_id) == str(row["id"]) else name
    return f"{_MEDALS.get(rank, f'{rank}.')} {name} · {int(str(row[column])):,} {xp_name}"


_COMMANDS: Mapping[str, Callable[[Interaction, KnownPerson, datetime], Message]] = {
    "surveys": _surveys,
    "me": _me,
    "leaderboard": _leaderboard,
}
