"""What a move sets off: XP, achievements, roles, a participation. Each exactly once (decisions 9.3).

    recipient_of(conversation=…, earner=…, at=…)  whom it goes to; None for whoever is no member
    reach(recipient, script, state, blocks)       action blocks that were reached
    due_at_end(recipient, script, state)          what the end gives: a poll's vote, the outro's actions
    complete(recipient, script, state, gifts)     those of it that fire, and a participation
    unwind(recipient)                             a vote that is taken back, of a known voter

All of it happens in the move's own transaction, after the conversation is locked and before the counts, and
under a lock of the member, before the limit is locked: two moves of one member go one after the other.
Actions that fire are rows (FiredAction); those of the end fire in the statement that counts the completion,
so that a vote takes one statement less. Only members of the community earn anything. What a person gets out
of an anonymous conversation stands nowhere beside the answers: not in its state, and in the ledger without
session number and to the day; what would tell an answer by itself, a score or an action behind a condition,
is not given there. `privacy.settle` takes away the order and the transaction that the rows of both have in
common.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from communities import rounding
from communities.models import CommunitySettings
from communities.rounding import Rounding
from communities.services import members
from communities.services.members import LockedMember
from surveys.engine.intake.fields import MAX_XP
from surveys.engine.language import references
from surveys.engine.script import ActionConfig, Block, Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services import anonymity
from surveys.services.conversations import repository
from surveys.services.scripts import outro
from xp.models import XpEntry, default_name
from xp.services import achievements, ledger, roles

NO_CONFIG = ActionConfig()


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
        """The time to store in a row about the member: rounded to the day on anonymous projects."""
        return rounding.down(self.at, Rounding.DAY if self.project.is_anonymous else None)

    def session(self, *, ends: int = 0) -> str:
        """This session of the respondent's, hashed.

        On anonymous projects, where one may begin as often as one likes, it is told by how many are
        completed, and `ends` are about to be; a conversation's id would mark a member's answers.
        """
        session = str(self.conversation.pk)
        if self.project.is_anonymous:
            completed = repository.sessions(project_id=self.project.pk, respondent=self.respondent)
            session = f"{self.respondent}:{completed + ends}"
        return anonymity.session_hash(project_id=self.project.pk, session=session)

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
            ledger.count_participation(
                member_id=self.member_id, community_id=self.project.community_id, change=self.participation
            )


@dataclass(frozen=True, slots=True)
class Gift:
    """What the end of a conversation gives by one of its blocks, unless `action` has fired in `scope`."""

    action: str
    scope: str
    block: Block
    kind: XpEntry.SourceKind


def recipient_of(
    *, conversation: Conversation, earner: Earner | None, held: LockedMember | None = None, at: datetime
) -> Recipient | None:
    """Who gets what a conversation gives; None where they are no present member of the community.

    `held` is their member, where it is held already.
    """
    if earner is None:
        return None
    project = conversation.project
    held = held or members.lock_member(community_id=project.community_id, user_id=earner.user_id)
    if held is None:
        return None
    return Recipient(project, conversation, held.member_id, held.settings, earner.respondent, at)


def reach(recipient: Recipient, script: Script, state: State, blocks: Iterable[Block]) -> State:
    """Fire action blocks that the walk has come to; the state with what they gave."""
    project_id = recipient.project.pk
    may_fire = [block for block in blocks if _may_fire(recipient, script, state, block)]
    due = [
        block
        for block in may_fire
        if repository.fire(project_id=project_id, action=f"block:{block.id}", scope=_scope(recipient, block))
    ]
    for block in due:
        state = _carry_out(recipient, script, state, block, XpEntry.SourceKind.ACTION_BLOCK)
    return state


def due_at_end(recipient: Recipient, script: Script, state: State) -> list[Gift]:
    """What the end of this conversation gives, where it has not been given yet."""
    project, settings = recipient.project, recipient.settings
    gifts = []
    if project.is_poll and project.uses_xp and settings.gives_xp:
        question = next(block for block in script.blocks if block.asks)
        gifts.append(Gift("vote", recipient.respondent, question, XpEntry.SourceKind.POLL_VOTE))
    for block in outro.with_amounts(script, project=project, settings=settings).outro:
        if _may_fire(recipient, script, state, block):
            scope = _scope(recipient, block, ends=1)
            gifts.append(Gift(str(block.name), scope, block, XpEntry.SourceKind.SURVEY_COMPLETION))
    return gifts


def complete(recipient: Recipient, script: Script, state: State, gifts: Iterable[Gift]) -> State:
    """Give what fires at the end of a conversation, and count the participation; the state with it."""
    recipient.participation = 1
    for gift in gifts:
        if gift.kind == XpEntry.SourceKind.POLL_VOTE:
            given = recipient.award(recipient.settings.xp_for_a_question, gift.kind)
            state = _gave(state, gift.block, given)
        else:
            state = _carry_out(recipient, script, state, gift.block, gift.kind)
    recipient.participate()
    return state


def unwind(recipient: Recipient) -> None:
    """Take back what a vote gave its voter."""
    state = State.from_json(recipient.conversation.state)
    if state.fired.keys() & state.replies.keys():  # else an earlier vote of theirs was what fired
        repository.unfire(project_id=recipient.project.pk, action="vote", scope=recipient.respondent)
    recipient.participation = -1
    recipient.award(-sum(state.fired.values()), XpEntry.SourceKind.POLL_UNWIND)
    recipient.participate()


def _may_fire(recipient: Recipient, script: Script, state: State, block: Block) -> bool:
    """Whether an action block gives something here, if it has not given it yet."""
    if block.action_kind is None or block.id in state.fired:
        return False
    if recipient.project.is_anonymous and block.precondition is not None:
        return False  # what it gives would tell what was answered
    if block.action_kind != "give_xp":
        return True
    config = block.action_config or NO_CONFIG
    amount = xp_amount(recipient.project, script, state, config)
    gives_nothing = amount is None or (amount == 0 and config.source_key is None)
    return recipient.settings.gives_xp and not gives_nothing


def _scope(recipient: Recipient, block: Block, *, ends: int = 0) -> str:
    """For whom an action fires once: each respondent, or each of their sessions."""
    is_of_session = (block.action_config or NO_CONFIG).fire_scope == "session"
    return recipient.session(ends=ends) if is_of_session else recipient.respondent


def _carry_out(
    recipient: Recipient, script: Script, state: State, block: Block, kind: XpEntry.SourceKind
) -> State:
    config, given = block.action_config or NO_CONFIG, 0
    match block.action_kind:
        case "give_xp":
            given = recipient.award(xp_amount(recipient.project, script, state, config) or 0, kind)
        case "give_achievement":
            _grant_achievement(recipient, config.xp_role_id or 0, is_own=block.section == "outro")
        case "give_role":
            _grant_role(recipient, config.role_id or "")
    return _gave(state, block, given)


def xp_amount(project: Project, script: Script, state: State, config: ActionConfig) -> int | None:
    """What a `give_xp` block awards at this point: its amount, or the score that it names.

    A score is rounded half up to a whole number, within a million either way. None where it is no variable
    of the script, and on an anonymous project, where the amount in the ledger would tell what was answered.
    """
    if config.source_key is None:
        return config.xp_amount or 0
    if project.is_anonymous or config.source_key not in references.variables(script):
        return None
    score = runner.values(script, state)(config.source_key)
    points = score if isinstance(score, Decimal) else Decimal(0)
    whole = int(points.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return max(-MAX_XP, min(MAX_XP, whole))


def _grant_achievement(recipient: Recipient, number: int, *, is_own: bool) -> None:
    """Grant an achievement as it is described; `is_own` says that it is the project's, from its rewards."""
    project = recipient.project
    described = achievements.by_number(community_id=project.community_id, numbers=[number]).get(number)
    named = {key: getattr(described, key, None) for key in ("name", "image_url", "role_id")}
    if is_own:
        for key in named:
            named[key] = (project.rewards or {}).get(f"achievement_{key}") or named[key]
    by_default = outro.achievement_name(project) if is_own else default_name(number)
    is_new = achievements.grant(
        member_id=recipient.member_id,
        number=number,
        name=named["name"] or by_default,
        image_url=named["image_url"],
        project_id=project.pk,
        at=recipient.told_at,
    )
    if is_new and named["role_id"]:
        _grant_role(recipient, named["role_id"])


def _grant_role(recipient: Recipient, role_id: str) -> None:
    roles.grant(
        member_id=recipient.member_id,
        role_id=role_id,
        project_id=recipient.project.pk,
        project_name=recipient.project.name,
        at=recipient.told_at,
    )


def _gave(state: State, block: Block, amount: int) -> State:
    assert block.id is not None
    return replace(state, fired={**state.fired, block.id: amount})
