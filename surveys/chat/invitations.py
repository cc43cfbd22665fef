"""The public message of a project in its channel: an invitation, or the poll itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from communities import services as communities
from communities.chat_platform import limits
from communities.chat_platform.references import Op, of_project
from communities.ground import privacy_words
from communities.ground.tiers import TIERS
from communities.ground.words import plural
from surveys.chat import controls, reports, screens, words
from surveys.chat.controls import References
from surveys.chat.messages import PRIMARY, SECONDARY, Button, Embed, Message, Row
from surveys.chat.reports import Report
from surveys.chat.results import as_text
from surveys.drawing import theme
from surveys.engine.script import Block, Script
from surveys.engine.walk import presentation
from surveys.models import Project
from surveys.services.conversations import admission
from surveys.services.ground import field_groups
from surveys.services.representations.project import results_url, web_url
from surveys.services.results import poll as poll_results
from surveys.services.scripts import cache as script_cache

CLOSED_COLOUR = 0x80848E
ROWS = ("status", "questions", "privacy", "rewards", "closes")  # lines of the embed that can be switched off


@dataclass(frozen=True, slots=True)
class Invitation:
    """The settings of a project's invitation, as far as the community's tier allows."""

    group: Mapping[str, Any]
    is_premium: bool

    def text(self, key: str) -> str:
        return str(self.group.get(key) or "")

    def premium(self, key: str) -> Any:
        return self.group.get(key) if self.is_premium else None

    def shows(self, row: str) -> bool:
        rows = (self.group.get("embed_config") or {}).get("rows") or {}
        return rows.get(row) is not False

    @property
    def hides_info(self) -> bool:
        """Whether a button shows the facts, and not the embed."""
        return (self.group.get("embed_config") or {}).get("info_display") == "button"


def draw(project: Project, *, tier: str, at: datetime) -> Message:
    """The public message at a moment. It has buttons to answer or vote while the project is open."""
    group = (project.delivery or {}).get("invitation") or {}
    invitation = Invitation(group, TIERS[tier].has_premium_features)
    script = _script(project)
    is_open, colour = project.is_live_at(at), screens.colour_of(project)
    if not is_open:
        chosen = invitation.premium("border_color_closed")
        colour = int(chosen, 16) if chosen else CLOSED_COLOUR
    texts = [f"**{words.shown(project.name)}**", invitation.text("message")]
    rows: list[Row] = []
    votes, asked = "", list[str]()
    above, below = list[Embed](), list[Embed]()
    if project.is_poll:
        question, before = question_of(project), _before_the_question(script)
        asked = [words.marked(question.words)]
        mark = admission.privacy_number(project)
        to = References(of_project(project.pk), None, question.id or 0, step=mark)
        control = controls.vote(presentation.effective_block(script, question), to)
        if is_open and project.response_channel == Project.ResponseChannel.CHAT:
            asked.append(control.text)
            rows += control.rows
        votes = _votes(project, question, at)
        if rows and not votes:
            asked.append(f"-# {poll_results.when_seen(project)}")
        closed = None if is_open else colour
        if any(screens.looks_own(block, project) for block in [*before, question]):
            own = replace(question, prompt="\n\n".join(filter(None, asked)), description=None)
            above = screens.embeds_of(before, project, closed=closed)
            below, asked = screens.embeds_of([own], project, closed=closed), []
        else:
            texts += [screens.text_of(block) for block in before]
    # Facts behind a button go with it once it is closed.
    hides_facts = invitation.hides_info and is_open
    facts = [] if hides_facts else [_facts(project, script, invitation, at)]
    if hides_facts and project.is_poll:
        facts = [_privacy(project, script)]  # read before the vote, which a button here gives
    is_long = len("\n\n".join([*texts, *asked, *facts])) > limits.DESCRIPTION
    shown = [*texts, *facts] if is_long else [*texts, *asked, *facts]
    embed = Embed(
        "\n\n".join(filter(None, shown)),
        colour=colour,
        author=theme.interviewer_of(project.presentation).name,
        picture=screens.picture(group.get("image_url")),
        thumbnail=screens.picture(group.get("thumbnail_url")),
        footer=str(invitation.premium("footer") or ""),
    )
    if is_open:
        rows += _buttons(project, invitation, len(rows))
    results = [Embed(votes, title="Results", colour=colour)] if votes else []
    if is_long and asked:
        below = [Embed("\n\n".join(filter(None, asked)), colour=colour)]
    embeds = [
        embed,
        *above,
        *results,
        *below,
    ]  # the question is directly above its buttons, and is shortened last
    roles = list(dict.fromkeys(field_groups.pinged_roles(project.delivery)))
    return Message(embeds, rows, content=" ".join(f"<@&{role}>" for role in roles), mentions=roles)


def summary(project: Project, report: Report, *, address: str) -> Message:
    """The message under the invitation after a project has closed, if it reveals its results.

    The title links to `address`.
    """
    rows = []
    if project.share_results and not project.is_poll:
        rows.append([Button("See all results", address=results_url(project))])
    return Message([_titled(project, report.words, address)], rows)


def summary_while_open(project: Project, *, address: str) -> Message:
    """The text of an earlier summary after answers have changed while the project is open again."""
    return Message([_titled(project, words.OPEN_AGAIN, address)])


def _titled(project: Project, text: str, address: str) -> Embed:
    title = f"Results: {words.shown(project.name)}"
    return Embed(text, title=title, colour=CLOSED_COLOUR, address=address)


def report(project: Project, *, at: datetime) -> Report:
    """The results of a project that everybody in the channel may see."""
    if project.is_poll:
        return reports.of_poll(project, question_of(project), at=at)
    return reports.of_survey(project, at=at)


def info(project: Project, *, at: datetime) -> Message:
    """The facts about a project, for a person who presses the button."""
    group = (project.delivery or {}).get("invitation") or {}
    text = _facts(project, _script(project), Invitation({**group, "embed_config": None}, False), at)
    return Message([Embed(text, title=words.shown(project.name), colour=screens.colour_of(project))])


def question_of(project: Project) -> Block:
    """A poll's question."""
    return next(block for block in _script(project).blocks if block.asks)


def _script(project: Project) -> Script:
    return script_cache.script_of(project)


def _before_the_question(script: Script) -> Sequence[Block]:
    """The texts of a poll before its question, with their pictures."""
    return list(takewhile(lambda block: not block.asks, script.blocks))


def _votes(project: Project, question: Block, at: datetime) -> str:
    """The results that everybody may see; empty if they may not."""
    if not poll_results.may_be_seen(project=project, has_voted=False, at=at):
        return ""
    return as_text(project, question, poll_results.count(project=project, block=question, at=at))


def _facts(project: Project, script: Script, invitation: Invitation, at: datetime) -> str:
    """Short lines about a project. The author can switch each line off.

    The line about privacy stays on a poll that is open: the message is all that people read before they vote.
    """
    is_voted_here = project.is_poll and project.is_live_at(at)
    facts = {
        "status": _status(project, at),
        "questions": _questions(project, script),
        "privacy": _privacy(project, script),
        "rewards": _rewards(project),
        "closes": _closes(project, at),
    }
    return "\n".join(
        facts[row]
        for row in ROWS
        if facts[row] and (invitation.shows(row) or (row == "privacy" and is_voted_here))
    )


def _status(project: Project, at: datetime) -> str:
    return "" if project.is_live_at(at) else f"🔒 This {'poll' if project.is_poll else 'survey'} is closed."


def _closes(project: Project, at: datetime) -> str:
    """The time at which the project closes by itself, which the platform shows in the reader's zone."""
    if project.closes_at is None or not project.is_live_at(at):
        return ""
    seconds = int(project.closes_at.timestamp())
    return f"⏰ Closes <t:{seconds}:f> (<t:{seconds}:R>)"


def _questions(project: Project, script: Script) -> str:
    count = sum(block.asks for block in script.blocks)
    return f"💬 {plural(count, 'question')}" if count and not project.is_poll else ""


def _privacy(project: Project, script: Script) -> str:
    more = screens.handling_of(project)
    if project.is_anonymous:
        return f"🕶️ {_short(' '.join([privacy_words.ANONYMOUS.in_a_line, *more]))}"
    is_open = project.privacy_mode == Project.PrivacyMode.TRANSPARENT
    sentence = privacy_words.TRANSPARENT.sentence if is_open else privacy_words.SEMI_PRIVATE.sentence
    if admission.asks_further(project, script):
        sentence = f"{sentence} {privacy_words.AI_ASKS}"
    return f"{'👥' if is_open else '👤'} {_short(' '.join([sentence, *more]))}"


def _short(sentence: str) -> str:
    """A sentence as a line of a list, without its full stop."""
    return sentence.removesuffix(".")


def _rewards(project: Project) -> str:
    rewards = project.rewards or {}
    settings = communities.get_settings(community_id=project.community_id)
    gives = [settings.name_of_xp] if project.uses_xp and settings.gives_xp else []
    gives += ["an achievement"] if rewards.get("achievement_enabled") else []
    gives += [f"the role <@&{rewards['discord_role_id']}>"] if rewards.get("discord_role_id") else []
    return f"🎁 Gives {', '.join(gives)}" if gives else ""


def _buttons(project: Project, invitation: Invitation, rows_before: int) -> Sequence[Row]:
    """The last row: buttons to answer, to answer on the web, and to read the facts."""
    row = []
    label = str(invitation.premium("answer_button_label") or "")
    style = int(invitation.premium("answer_button_color") or PRIMARY)
    to = References(of_project(project.pk), None)
    if project.response_channel == Project.ResponseChannel.WEB:
        address = web_url(project)
        row.append(Button(label or (words.VOTE if project.is_poll else words.ANSWER), address=address))
    elif not project.is_poll:
        row.append(Button(label or words.ANSWER, to.to(Op.ANSWER), style))
    if invitation.hides_info and rows_before < limits.ROWS:
        row.append(Button(words.INFO, to.to(Op.INFO), SECONDARY, "ℹ️"))
    return [row] if row else []
