"""Values of tokens that the engine cannot know: the respondent's name, and their XP (rule 4.30).

Each value is looked up only if a text names its token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.functional import cached_property

from communities import services as communities
from communities.services.people import members
from surveys.engine.language import piping
from surveys.engine.script import STATEMENTS, Block, Script
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.services.conversations import completions, effects
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.ground import anonymity
from xp import levels
from xp.services import standings
from xp.services.standings import Totals

_NAME = "username"
_TOTALS = frozenset({"month_total_xp", "xp_to_next_level", "next_xp_level"})


@dataclass(frozen=True)
class TokenContext:
    """The respondent who reads the texts. Their name and their totals are looked up at most once.

    `user_id` is None for strangers. It is None on anonymous projects too, because anybody who has the
    conversation's id could read the name. `given` is the XP that action blocks gave, by block id.
    """

    project: Project
    user_id: int | None
    at: datetime
    given: Mapping[int, int] = field(default_factory=dict)
    display_name: str = ""

    @cached_property
    def name(self) -> str:
        """The respondent's name in the community, else the name that the caller sent."""
        if self.user_id is None:
            return self.display_name
        known = members.display_name(community_id=self.project.community_id, user_id=self.user_id)
        return known or self.display_name

    @cached_property
    def xp_name(self) -> str:
        return xp_name(self.project)

    @cached_property
    def totals(self) -> Totals | None:
        """The respondent's totals; None for respondents who are not members or have no `user_id` here."""
        if self.user_id is None:
            return None
        member_id = members.find_member_id(community_id=self.project.community_id, user_id=self.user_id)
        return None if member_id is None else standings.of_member(member_id=member_id, at=self.at)


def for_conversation(loaded: LoadedConversation, *, at: datetime) -> TokenContext:
    """The context of a conversation's respondent."""
    project, fired = loaded.project, loaded.state.fired
    if not project.is_anonymous:
        return TokenContext(project, loaded.conversation.user_id, at, fired, loaded.state.display_name)
    return TokenContext(project, None, at, {**_expected_gifts_of(loaded), **fired})


def for_visitor(
    project: Project, script: Script, state: State, respondent: Respondent, *, at: datetime
) -> TokenContext:
    """The context of a visitor who sees the first step. Nothing is saved and no action has fired yet."""
    given: Mapping[int, int] = {}
    if respondent.is_member and respondent.who:
        keys = [anonymity.respondent_hash(project_id=project.pk, who=name) for name in respondent.names]
        given = _expected_gifts(project, script, state, keys)
    return TokenContext(project, None if project.is_anonymous else respondent.user_id, at, given)


def values(
    context: TokenContext,
    block: Block | None,
    texts: Iterable[str],
    *,
    given: Mapping[int, int] | None = None,
) -> Mapping[str, str]:
    """Values of the tokens in `texts`, which belong to `block`, by token in lower case.

    For texts that were shown earlier, `given` is the XP that had been given then. `[xp_points]` has a value
    only in content and action blocks. On anonymous projects the name and the totals are empty.
    """
    named = {token.lower() for text in texts if "[" in text for token in piping.tokens(text)}
    wanted = named & piping.PROMPT_VARIABLES
    if not wanted:
        return {}
    given = context.given if given is None else given
    found: dict[str, str] = {}
    if _NAME in wanted:
        found[_NAME] = context.name
    if "xp_name" in wanted:
        found["xp_name"] = piping.Authored(context.xp_name)
    if "earned_xp" in wanted:
        found["earned_xp"] = str(sum(given.values()))
    if "xp_points" in wanted and block is not None and block.type in STATEMENTS:
        found["xp_points"] = str(given.get(block.id or 0, 0))
    if wanted & _TOTALS:
        found |= _totals(context)
    return found


def xp_name(project: Project) -> str:
    """The name of XP in the project's community."""
    return communities.get_settings(community_id=project.community_id).name_of_xp


def _totals(context: TokenContext) -> dict[str, str]:
    if context.project.is_anonymous:
        return dict.fromkeys(_TOTALS, "")
    standing = context.totals or Totals()
    return {
        "month_total_xp": str(standing.month),
        "xp_to_next_level": str(levels.to_next(standing.total)),
        "next_xp_level": str(levels.level_of(standing.total) + 1),
    }


def _expected_gifts_of(loaded: LoadedConversation) -> Mapping[int, int]:
    """The XP that the actions of an anonymous conversation give. The conversation does not store it."""
    remembered = loaded.remembered
    if remembered is None or remembered.user_id is None:
        return {}
    if not loaded.script.has_actions:
        return {}
    user = members.current_user(user_id=remembered.user_id)
    user_ids = (user.user_id, *user.merged_ids) if user else (remembered.user_id,)
    keys = anonymity.respondent_hashes(project_id=loaded.project.pk, user_ids=user_ids)
    return _expected_gifts(loaded.project, loaded.script, loaded.state, keys)


def _expected_gifts(
    project: Project, script: Script, state: State, respondents: Sequence[str]
) -> Mapping[int, int]:
    """The XP of the action blocks passed so far, by block id; in later sessions only of repeating blocks."""
    if not script.has_actions or not communities.get_settings(community_id=project.community_id).gives_xp:
        return {}
    is_first = not any(completions.sessions(project_id=project.pk, respondent=each) for each in respondents)
    reached = {*state.path, *(block.id for block in script.blocks[state.at : state.at + 1])}
    return {
        block.id or 0: effects.xp_amount(project, script, state, block.action_config) or 0
        for block in script.blocks
        if block.id in reached
        and block.action_kind == "give_xp"
        and block.action_config
        and (is_first or block.action_config.fire_scope == "session")
        and not (project.is_anonymous and block.precondition is not None)
    }
