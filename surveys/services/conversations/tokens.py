"""What tokens in prompts stand for that the engine cannot know: the name, and all about XP (interface 2.6).

Each is looked up only where it is spoken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from communities import services as communities
from communities.services import members
from surveys.engine.language import piping
from surveys.engine.script import STATEMENTS, Block, Script
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services import anonymity
from surveys.services.conversations import effects, repository
from surveys.services.conversations.admission import Respondent
from xp import levels
from xp.services import standings
from xp.services.standings import Totals

_NAME = "username"
_TOTALS = frozenset({"month_total_xp", "xp_to_next_level", "next_xp_level"})


@dataclass(frozen=True)
class TokenContext:
    """Whom words are said to. What they are called and how they stand is looked up once.

    `user_id` is whose name and totals may be told; None for strangers, and on anonymous projects, where
    whoever holds a conversation's id could read them. `given` is the XP that action blocks gave here.
    """

    project: Project
    user_id: int | None
    at: datetime
    given: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        if self.user_id is None:
            return ""
        return members.display_name(community_id=self.project.community_id, user_id=self.user_id)

    @cached_property
    def xp_name(self) -> str:
        return xp_name(self.project)

    @cached_property
    def totals(self) -> Totals | None:
        """How they stand in the community; None for whoever is no member of it, or may not be named."""
        if self.user_id is None:
            return None
        member_id = members.present(community_id=self.project.community_id, user_id=self.user_id)
        return None if member_id is None else standings.of_member(member_id=member_id, at=self.at)


def for_conversation(
    conversation: Conversation, script: Script, state: State, *, at: datetime
) -> TokenContext:
    """The respondent of a conversation."""
    project = conversation.project
    if not project.is_anonymous:
        return TokenContext(project, conversation.user_id, at, state.fired)
    return TokenContext(project, None, at, {**_given_unseen(conversation, script, state), **state.fired})


def for_visitor(
    project: Project, script: Script, state: State, respondent: Respondent, *, at: datetime
) -> TokenContext:
    """Somebody before whom the first step lies, which has set nothing off yet."""
    given: Mapping[int, int] = {}
    if respondent.is_member and respondent.who:
        who = anonymity.respondent_hash(project_id=project.pk, who=respondent.who)
        given = _presumably_given(project, script, state, who)
    return TokenContext(project, None if project.is_anonymous else respondent.user_id, at, given)


def values(
    hearer: TokenContext, block: Block | None, texts: Iterable[str], *, given: Mapping[int, int] | None = None
) -> Mapping[str, str]:
    """Values of the tokens spoken in `texts`, which belong to `block`, by token in lower case.

    `given` is what had been given when the words were said, where that was earlier. `[xp_points]` is known
    to statements alone. On anonymous projects the name and the totals are empty.
    """
    spoken = {token.lower() for text in texts if "[" in text for token in piping.tokens(text)}
    wanted = spoken & piping.PROMPT_VARIABLES
    given = hearer.given if given is None else given
    told: dict[str, str] = {}
    if _NAME in wanted:
        told[_NAME] = hearer.name
    if "xp_name" in wanted:
        told["xp_name"] = hearer.xp_name
    if "earned_xp" in wanted:
        told["earned_xp"] = str(sum(given.values()))
    if "xp_points" in wanted and block is not None and block.type in STATEMENTS:
        told["xp_points"] = str(given.get(block.id or 0, 0))
    if wanted & _TOTALS:
        told |= _totals(hearer)
    return told


def xp_name(project: Project) -> str:
    """What XP is called in the project's community."""
    return communities.get_settings(community_id=project.community_id).name_of_xp


def _totals(hearer: TokenContext) -> dict[str, str]:
    if hearer.project.is_anonymous:
        return dict.fromkeys(_TOTALS, "")
    standing = hearer.totals or Totals()
    return {
        "month_total_xp": str(standing.month),
        "xp_to_next_level": str(levels.to_next(standing.total)),
        "next_xp_level": str(levels.level_of(standing.total) + 1),
    }


def _given_unseen(conversation: Conversation, script: Script, state: State) -> Mapping[int, int]:
    """What an anonymous conversation's actions gave, as nothing about that stands beside it.

    While it runs it is known whether a member answers.
    """
    sealed = conversation.sealed_respondent
    if sealed is None or not script.has_actions:
        return {}
    remembered = anonymity.unseal(
        project_id=conversation.project_id, conversation_id=conversation.pk, sealed=bytes(sealed)
    )
    if remembered is None or remembered.user_id is None:
        return {}
    return _presumably_given(conversation.project, script, state, remembered.respondent)


def _presumably_given(project: Project, script: Script, state: State, respondent: str) -> Mapping[int, int]:
    """What the action blocks up to here give to a member: in a later session only what each session gives."""
    if not script.has_actions or not communities.get_settings(community_id=project.community_id).gives_xp:
        return {}
    is_first = not repository.sessions(project_id=project.pk, respondent=respondent)
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
