"""What somebody earned, to be drawn: a small celebration where it was given, and all of it at the end.

Only what was really given: to strangers, and where XP is switched off, action blocks are words alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from surveys.engine.script import Block, Script
from surveys.models import Project
from surveys.pages.respondent.widgets import picture
from surveys.services.conversations import tokens
from surveys.services.conversations.view import ConversationView
from xp import levels
from xp.models import Achievement
from xp.services import achievements

XP, TAKEN, ACHIEVEMENT, ROLE = "xp", "taken", "achievement", "role"


@dataclass(frozen=True, slots=True)
class Prize:
    """One thing given. `title` is the amount of XP or the achievement's name; `words` are the author's."""

    kind: str
    title: str = ""
    picture: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """Where a member stands between two levels. `had` and `gained` fill the bar, percent as SVG reads it."""

    number: int
    total: int
    begins: int
    ends: int
    had: str
    gained: str
    is_new: bool
    missing: str
    month: str

    @property
    def told(self) -> str:
        return f"Level {self.number}, {self.missing}"


@dataclass(frozen=True, slots=True)
class Earned:
    """All that a conversation gave. `in_all` is said where the end's words tell only a part of the XP."""

    xp: Prize | None
    in_all: str
    level: Level | None
    others: Sequence[Prize]

    @property
    def told(self) -> str:
        """In one breath, for who listens."""
        said = [self.xp.words] if self.xp else []
        said += [self.level.told] if self.level else []
        said += [prize.words or prize.title for prize in self.others]
        return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in said)


def at_step(told: ConversationView) -> Prize | None:
    """What the action block being shown gave."""
    assert told.step is not None
    is_given = told.step.block.id in told.state.fired
    return of_block(told.project, told.script, told.step.block, given=told.step.given, is_given=is_given)


def of_block(project: Project, script: Script, block: Block, *, given: int, is_given: bool) -> Prize | None:
    """What an action block gives as it is seen: `given` in XP, and whether anything else."""
    match block.action_kind:
        case "give_xp" if given:
            return _xp(given, tokens.xp_name(project))
        case "give_achievement" if is_given:
            described = _described(project, [_number(script, block)])
            return _achievement(block, _number(script, block), described)
        case "give_role" if is_given:
            return Prize(ROLE)
    return None


def in_short(told: ConversationView, block: Block) -> str:
    """The XP that a step of the past gave."""
    given = told.hearer.given.get(block.id or 0, 0) if block.action_kind == "give_xp" else 0
    return _amount(given, told.hearer.xp_name) if given else ""


def at_the_end(told: ConversationView, *, is_news: bool) -> Earned | None:
    """Everything that this conversation gave; None where that is nothing. `is_news` tells a new level."""
    xp, others = told.earned_xp(), _others(told)
    if not xp:
        return Earned(None, "", None, others) if others else None
    name = told.hearer.xp_name
    block = next((block for block in told.outro if block.action_kind == "give_xp"), None)
    at_end = told.hearer.given.get(block.id or 0, 0) if block else 0
    words = block.prompt if block and at_end else _plainly(xp, name)
    in_all = f"With what you earned on the way: {xp:,} {name} in all." if at_end not in (0, xp) else ""
    return Earned(_xp(xp, name, words), in_all, _level(told, xp, name, is_news), others)


def _xp(given: int, name: str, words: str = "") -> Prize:
    return Prize(XP if given > 0 else TAKEN, _amount(given, name), words=words)


def _amount(given: int, name: str) -> str:
    sign = "+" if given > 0 else "\N{MINUS SIGN}"
    return f"{sign}{abs(given):,} {name}"


def _plainly(given: int, name: str) -> str:
    return f"You have earned {given:,} {name}." if given > 0 else f"{-given:,} {name} taken away."


def _level(told: ConversationView, xp: int, name: str, is_news: bool) -> Level | None:
    standing = told.totals()
    if standing is None:
        return None
    total, before = standing.total, max(0, standing.total - max(0, xp))
    number = levels.level_of(total)
    is_new = levels.level_of(before) < number
    reached, had = levels.progress(total) * 100, 0.0 if is_new else levels.progress(before) * 100
    return Level(
        number=number,
        total=total,
        begins=levels.needed_for(number),
        ends=levels.needed_for(number + 1),
        had=f"{had:.2f}",
        gained=f"{reached - had:.2f}",
        is_new=is_new and is_news,
        missing=f"{levels.to_next(total):,} {name} to level {number + 1}",
        month=f"{standing.month:,} {name} this month",
    )


def _others(told: ConversationView) -> list[Prize]:
    """Achievements of the whole conversation, each once; roles as the end tells them."""
    met = [
        block
        for block in told.script.blocks
        if block.action_kind == "give_achievement" and block.id in told.state.fired
    ]
    at_end = [block for block in told.outro if block.action_kind == "give_achievement"]
    numbers = {_number(told.script, block): block for block in (*met, *at_end)}  # the end's own words win
    described = _described(told.project, numbers) if met else {}
    prizes = []
    for number, block in numbers.items():
        if block in at_end:
            prizes.append(Prize(ACHIEVEMENT, picture=_picture(block, number, described), words=block.prompt))
        else:
            prizes.append(_achievement(block, number, described))
    roles = [block for block in told.outro if block.action_kind == "give_role"]
    return [*prizes, *(Prize(ROLE, words=block.prompt) for block in roles)]


def _described(project: Project, numbers: Mapping[int, Block] | Sequence[int]) -> Mapping[int, Achievement]:
    return achievements.by_number(community_id=project.community_id, numbers=list(numbers))


def _achievement(block: Block, number: int, described: Mapping[int, Achievement]) -> Prize:
    name = described[number].name if number in described else f"Achievement {number}"
    return Prize(ACHIEVEMENT, name, _picture(block, number, described))


def _picture(block: Block, number: int, described: Mapping[int, Achievement]) -> str:
    own = described[number].image_url if number in described else None
    return picture(block.image_url) or picture(own) or reverse("xp-pages:badge", args=[number])


def _number(script: Script, block: Block) -> int:
    """The achievement's number, which the block as it is seen does not tell."""
    found = next((each for each in (*script.blocks, *script.outro) if each.id == block.id), block)
    return (found.action_config and found.action_config.xp_role_id) or 0
