"""What a move sets off: XP, achievements, roles, a participation. Each exactly once (decisions 9.3).

    apply(earner=…, talk=…, blocks=…)        action blocks that were reached
    complete(earner=…, talk=…)               the end: participation, the outro's actions, a poll's vote
    unwind(conversation=…)                   a vote that is taken back

All of it happens in the move's own transaction, after the conversation and the limit are locked and before
the counts: an action that fires is a row (FiredAction), a member's XP is locked by the ledger. Only members
of the community earn anything. What a person gets out of an anonymous conversation stands nowhere beside
the answers: not in its state, and in the ledger without session number and to the day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from communities.models import CommunitySettings
from communities.services import members
from communities.services.members import Held
from surveys.engine import runner
from surveys.engine.runner import State
from surveys.engine.script import ActionConfig, Block, Script
from surveys.models import Conversation, Project
from surveys.services import outro, privacy, rows
from xp.models import XpEntry
from xp.services import achievements, ledger, roles

MOST_FROM_A_SCORE = 1_000_000
GIVES_NOTHING = ActionConfig()


@dataclass(frozen=True, slots=True)
class Earner:
    """Somebody who may earn something here: a user, and their keyed hash in this project."""

    user_id: int
    respondent: str


@dataclass(slots=True)
class Recipient:
    """A member to whom a move gives something. `participation` waits to be counted with their next XP."""

    project: Project
    conversation: Conversation
    member_id: int
    settings: CommunitySettings
    respondent: str
    at: datetime
    participation: int = 0

    @property
    def told_at(self) -> datetime:
        """The moment as it may stand in a row about the member: to the day on anonymous projects."""
        if not self.project.is_anonymous:
            return self.at
        return self.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    def fires(self, action: str, *, in_each_session: bool = False) -> bool:
        """Whether an action fires now. True once for each respondent, or for each of their sessions."""
        scope = self.respondent
        if in_each_session:  # hashed, or on an anonymous project this row would mark a member's answers
            scope = privacy.respondent_hash(project_id=self.project.pk, who=f"session:{self.conversation.pk}")
        return rows.fire(project_id=self.project.pk, action=action, scope=scope)

    def award(self, amount: int, kind: XpEntry.SourceKind) -> int:
        """Change the member's XP; the effective change. A participation that waits goes along."""
        if not amount:
            return 0
        is_of_session = kind != XpEntry.SourceKind.ACTION_BLOCK and not self.project.is_anonymous
        entry = ledger.award(
            member_id=self.member_id,
            community_id=self.project.community_id,
            amount=amount,
            kind=kind,
            at=self.at,
            recorded_at=self.told_at,
            participation=self.participation,
            source_ref=self.project.pk,
            session_number=self.conversation.session_number if is_of_session else None,
            survey_name=self.project.name,
        )
        self.participation = 0
        return entry.delta

    def participate(self) -> None:
        """Count a participation that has not gone along with XP."""
        if self.participation:
            ledger.participate(
                member_id=self.member_id, community_id=self.project.community_id, change=self.participation
            )


def recipient(
    *, conversation: Conversation, earner: Earner | None, held: Held | None = None, at: datetime
) -> Recipient | None:
    """What giving to this earner needs; None where they are no present member of the community.

    `held` is their member, where it is held already.
    """
    if earner is None:
        return None
    project = conversation.project
    held = held or members.hold(community_id=project.community_id, user_id=earner.user_id)
    if held is None:
        return None
    return Recipient(project, conversation, held.member_id, held.settings, earner.respondent, at)


def reach(to: Recipient, script: Script, state: State, blocks: Iterable[Block]) -> State:
    """Fire action blocks that the walk has come to; the state with what they gave."""
    for block in blocks:
        state = _fire(to, script, state, block, f"block:{block.id}", XpEntry.SourceKind.ACTION_BLOCK)
    return state


def complete(to: Recipient, script: Script, state: State) -> State:
    """Give what the end of a conversation gives; the state with it."""
    project = to.project
    to.participation = 1
    if project.is_poll and uses_xp(project):
        state = _vote(to, script, state)
    for block in outro.with_amounts(script, project=project, settings=to.settings).outro:
        if block.action_kind is not None and not _gives_no_xp(block):
            state = _fire(to, script, state, block, str(block.name), XpEntry.SourceKind.SURVEY_COMPLETION)
    to.participate()
    return state


def unwind(*, conversation: Conversation, earner: Earner | None, at: datetime) -> None:
    """Take back what a vote gave its voter, where it is known whose it was."""
    to = recipient(conversation=conversation, earner=earner, at=at)
    if to is None:
        return
    project = to.project
    rows.take_back(project_id=project.pk, action="vote", scope=to.respondent)
    given = State.from_json(conversation.state).fired.values()
    to.participation = -1
    to.award(-sum(given), XpEntry.SourceKind.POLL_UNWIND)
    to.participate()


def uses_xp(project: Project) -> bool:
    """Whether the project gives XP of its own at its end (`rewards.use_xp`)."""
    return bool((project.rewards or {}).get("use_xp"))


def gives_xp(settings: CommunitySettings) -> bool:
    """Whether the community gives XP at all; where nothing was chosen, it does."""
    return settings.use_xp is not False


def _vote(to: Recipient, script: Script, state: State) -> State:
    question = next(block for block in script.blocks if block.asks)
    if not gives_xp(to.settings) or not to.fires("vote"):
        return state
    amount = outro.xp_per_question(to.settings)
    return _gave(state, question, to.award(amount, XpEntry.SourceKind.POLL_VOTE))


def _fire(
    to: Recipient, script: Script, state: State, block: Block, action: str, kind: XpEntry.SourceKind
) -> State:
    """Carry out one action block, unless it has been already."""
    config = block.action_config or GIVES_NOTHING
    gives = block.action_kind == "give_xp"
    amount = xp_amount(to.project, script, state, config) if gives else 0
    if gives and (amount is None or not gives_xp(to.settings)):
        return state
    if block.id in state.fired or not to.fires(action, in_each_session=config.fire_scope == "session"):
        return state
    given = 0
    if gives:
        given = to.award(amount or 0, kind)
    elif block.action_kind == "give_achievement":
        _grant_achievement(to, config.xp_role_id or 0, is_own=action == "achievement")
    else:
        _grant_role(to, config.role_id or "")
    return _gave(state, block, given)


def _gives_no_xp(block: Block) -> bool:
    """Whether a block of the outro would give 0 XP, which is not worth a word."""
    return block.action_kind == "give_xp" and not (block.action_config or GIVES_NOTHING).xp_amount


def xp_amount(project: Project, script: Script, state: State, config: ActionConfig) -> int | None:
    """What a `give_xp` block awards at this point: its amount, or the score that it names.

    A score is rounded half up to a whole number, within a million either way. None on an anonymous project,
    where the amount in the ledger would tell what was answered.
    """
    if config.source_key is None:
        return config.xp_amount or 0
    if project.is_anonymous:
        return None
    score = runner.values(script, state)(config.source_key)
    points = score if isinstance(score, Decimal) else Decimal(0)
    whole = int(points.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return max(-MOST_FROM_A_SCORE, min(MOST_FROM_A_SCORE, whole))


def _grant_achievement(to: Recipient, number: int, *, is_own: bool) -> None:
    """Grant an achievement as it is described; `is_own` says that it is the project's, from its rewards."""
    project = to.project
    described = achievements.known(community_id=project.community_id, numbers=[number]).get(number)
    named = {key: getattr(described, key, None) for key in ("name", "image_url", "role_id")}
    if is_own:
        for key in named:
            named[key] = (project.rewards or {}).get(f"achievement_{key}") or named[key]
    by_default = outro.achievement_name(project) if is_own else f"Achievement {number}"
    is_new = achievements.grant(
        member_id=to.member_id,
        number=number,
        name=named["name"] or by_default,
        image_url=named["image_url"],
        project_id=project.pk,
        at=to.told_at,
    )
    if is_new and named["role_id"]:
        _grant_role(to, named["role_id"])


def _grant_role(to: Recipient, role_id: str) -> None:
    roles.grant(
        member_id=to.member_id,
        role_id=role_id,
        project_id=to.project.pk,
        project_name=to.project.name,
        at=to.told_at,
    )


def _gave(state: State, block: Block, amount: int) -> State:
    assert block.id is not None
    return replace(state, fired={**state.fired, block.id: amount})
