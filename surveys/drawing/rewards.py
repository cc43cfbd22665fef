"""The rewards a respondent has earned: shown at each action block, and together at the end.

Shows only rewards that were given. Visitors who are not members see only the action block's text, and so does
everybody while the community has switched XP off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from communities import services as communities
from communities.ground.translation import number as in_digits
from communities.ground.translation import say
from communities.services.pictures.copies import Copy
from surveys.engine.language import markup, piping
from surveys.engine.language.piping import PROMPT_VARIABLES, tokens
from surveys.engine.script import Block, Script
from surveys.models import Project
from surveys.services.conversations.view import WalkView
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import outro
from xp import levels
from xp.models import Achievement
from xp.services import achievements

Pictures = Mapping[str | None, Copy]
XP_TOKENS = PROMPT_VARIABLES - {"username", "xp_name"}
XP, TAKEN, ACHIEVEMENT, ROLE = "xp", "taken", "achievement", "role"


@dataclass(frozen=True, slots=True)
class Prize:
    """One reward. `title` is the amount of XP or the achievement's name; `words` is the author's text."""

    kind: str
    title: str = ""
    picture: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A member's progress between two levels. `had` and `gained` are parts of the bar in percent."""

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
    def summary(self) -> str:
        return say("Level {n}, {missing}", n=self.number, missing=self.missing)


@dataclass(frozen=True, slots=True)
class Earned:
    """All rewards of a conversation. `in_all` states the total XP if the outro names only a part of it.

    `later` says when they are added, if they are not added at once.
    """

    xp: Prize | None
    in_all: str
    level: Level | None
    others: Sequence[Prize]
    later: str = ""

    @property
    def summary(self) -> str:
        """All rewards as sentences, for screen readers."""
        parts = [markup.plain(self.xp.words)] if self.xp else []
        parts += [self.level.summary] if self.level else []
        parts += [markup.plain(prize.words) or prize.title for prize in self.others]
        parts += [self.later] if self.later else []
        return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts)


def in_own_words(text: str) -> str:
    """A text of the outro: in the page's language if nobody has edited it."""
    return piping.Authored(say(text)) if text in outro.OWN_TEXTS else text


def missed(project: Project) -> str:
    """The name of the rewards that non-members cannot get here; empty if the project gives nothing."""
    script = script_cache.script_of(project)
    kinds = script.action_kinds
    if project.uses_xp and project.is_poll:
        kinds |= {"give_xp"}
    if not kinds:
        return ""
    settings = communities.get_settings(community_id=project.community_id)
    if settings.gives_xp and "give_xp" in kinds:
        return settings.name_of_xp
    return say("rewards") if kinds - {"give_xp"} else ""


def shown(view: WalkView, block: Block) -> Block:
    """The block as the respondent sees it; a text about XP that they do not get says who gets them."""
    if block.action_kind != "give_xp" or view.context.given.get(block.id or 0):
        return block
    source = view.script.blocks[view.script.index_by_id[block.id or 0]]
    named = {token.lower() for text in (source.prompt, source.description or "") for token in tokens(text)}
    if not named & XP_TOKENS:
        return block
    prompt = say("Members of the community get {xp} here.", xp=markup.escape(view.context.xp_name))
    return replace(block, prompt=prompt, description=None)


def at_step(view: WalkView) -> Prize | None:
    """Return the reward of the action block on the page; None for other blocks."""
    block = view.block
    if block is None:
        return None
    match block.action_kind:
        case "give_xp" if given := view.context.given.get(block.id or 0, 0):
            return _xp(given, view.context.xp_name)
        case "give_achievement" if view.has_fired(block):
            number = _number(view.script, block)
            described = _described(view.project, [number])
            return _achievement(block, number, described, _pictures(view, [block], described))
        case "give_role" if view.has_fired(block):
            return Prize(ROLE)
    return None


def has_given(view: WalkView) -> bool:
    """Whether the page has a reward to show now."""
    if view.is_completed:
        return at_the_end(view, is_news=True) is not None
    return at_step(view) is not None


def in_short(view: WalkView, block: Block) -> str:
    """Return the XP of a past step, such as “+20 XP”; empty if it gave none."""
    given = view.context.given.get(block.id or 0, 0) if block.action_kind == "give_xp" else 0
    return _amount(given, view.context.xp_name) if given else ""


def at_the_end(view: WalkView, *, is_news: bool) -> Earned | None:
    """Return all rewards of the conversation; None if it gave none. `is_news` marks a level just reached."""
    xp, others, later = view.earned_xp, _achievements_and_roles(view), view.deferral
    if not xp:
        return Earned(None, "", None, others, later) if others else None
    name = view.context.xp_name
    block = next((block for block in view.outro if block.action_kind == "give_xp"), None)
    at_end = view.context.given.get(block.id or 0, 0) if block else 0
    words = block.words if block and at_end else markup.escape(_xp_sentence(xp, name))
    if block and at_end and _source(view.script, block).prompt == outro.XP_GIVEN:
        words = markup.escape(_xp_sentence(at_end, name))
    in_all = ""
    if at_end not in (0, xp):
        in_all = say("With what you earned on the way: {n} {xp} in all.", n=in_digits(xp), xp=name)
    return Earned(_xp(xp, name, words), in_all, _level(view, xp, name, is_news), others, later)


def _xp(given: int, name: str, words: str = "") -> Prize:
    return Prize(XP if given > 0 else TAKEN, _amount(given, name), words=words)


def _amount(given: int, name: str) -> str:
    sign = "+" if given > 0 else "\N{MINUS SIGN}"
    return f"{sign}{in_digits(abs(given))} {name}"


def _xp_sentence(given: int, name: str) -> str:
    if given > 0:
        return say("You have earned {n} {xp}.", n=in_digits(given), xp=name)
    return say("{n} {xp} taken away.", n=in_digits(-given), xp=name)


def _level(view: WalkView, xp: int, name: str, is_news: bool) -> Level | None:
    standing = view.totals
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
        missing=say(
            "{n} {xp} to level {level}", n=in_digits(levels.to_next(total)), xp=name, level=number + 1
        ),
        month=say("{n} {xp} this month", n=in_digits(standing.month), xp=name),
    )


def _achievements_and_roles(view: WalkView) -> list[Prize]:
    """Return the conversation's achievements, each once, and the roles that the outro gave."""
    met = [
        block
        for block in view.script.blocks
        if block.action_kind == "give_achievement" and view.has_fired(block)
    ]
    at_end = [block for block in view.outro if block.action_kind == "give_achievement"]
    numbers = {_number(view.script, block): block for block in (*met, *at_end)}  # the outro's text wins
    described = _described(view.project, numbers) if met else {}
    pictures = _pictures(view, numbers.values(), described)
    prizes = []
    for number, block in numbers.items():
        if block in at_end:
            picture = _picture(block, number, described, pictures)
            prizes.append(Prize(ACHIEVEMENT, picture=picture, words=block.words))
        else:
            prizes.append(_achievement(block, number, described, pictures))
    roles = [block for block in view.outro if block.action_kind == "give_role"]
    return [*prizes, *(Prize(ROLE, words=in_own_words(block.words)) for block in roles)]


def _described(project: Project, numbers: Mapping[int, Block] | Sequence[int]) -> Mapping[int, Achievement]:
    return achievements.by_number(community_id=project.community_id, numbers=list(numbers))


def _achievement(
    block: Block, number: int, described: Mapping[int, Achievement], pictures: Pictures
) -> Prize:
    name = described[number].name if number in described else say("Achievement {n}", n=number)
    return Prize(ACHIEVEMENT, name, _picture(block, number, described, pictures))


def _pictures(view: WalkView, blocks: Iterable[Block], described: Mapping[int, Achievement]) -> Pictures:
    own = [each.image_url for each in described.values()]
    return view.pictures(*(block.image_url for block in blocks), *own)


def _picture(block: Block, number: int, described: Mapping[int, Achievement], pictures: Pictures) -> str:
    own = described[number].image_url if number in described else None
    return achievements.picture_path(number, pictures.get(block.image_url) or pictures.get(own))


def _number(script: Script, block: Block) -> int:
    """Return the achievement's number from the script; the block as respondents see it does not contain
    it.
    """
    config = _source(script, block).action_config
    return (config and config.xp_role_id) or 0


def _source(script: Script, block: Block) -> Block:
    """A block as the script has it."""
    return next((each for each in (*script.blocks, *script.outro) if each.id == block.id), block)
