"""What a move sets off: XP, achievements, roles, a participation. Each exactly once (decisions 9.3).

    recipient_of(conversation=…, earner=…, at=…)  whom it goes to; None for whoever is no member
    reach(recipient, script, state, blocks)       action blocks that were reached
    complete(recipient, script, state)            the end: a poll's vote, the outro's actions, a participation
    unwind(conversation=…, earner=…, at=…)        a vote that is taken back

All of it happens in the move's own transaction, after the conversation and the limit are locked and before
the counts: actions that fire are rows (FiredAction), noted before a member's XP is locked by the ledger. Only
members of the community earn anything. What a person gets out of an anonymous conversation stands nowhere
beside the answers: not in its state, and in the ledger without session number and to the day; what would
tell an answer by itself, a score or an action behind a condition, is not given there. `privacy.settle` takes
away the order and the transaction that the rows of both have in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from communities.models import CommunitySettings
from communities.services import members
from communities.services.members import HeldMember
from surveys.engine import references, runner
from surveys.engine.fields import MAX_XP
from surveys.engine.runner import State
from surveys.engine.script import ActionConfig, Block, Script
from surveys.models import Conversation, Project
from surveys.services import outros, privacy, rows
from xp.models import XpEntry, name_by_default
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
        """The moment as it may stand in a row about the member: to the day on anonymous projects."""
        if not self.project.is_anonymous:
            return self.at
        return self.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    def fires(self, action: str, *, in_each_session: bool = False) -> bool:
        """Whether an action fires now. True once for each respondent, or for each of their sessions."""
        scope = self._session() if in_each_session else self.respondent
        return rows.fire(project_id=self.project.pk, action=action, scope=scope)

    def _session(self) -> str:
        """This session of the respondent's, hashed.

        On anonymous projects, where one may begin as often as one likes, it is the one that follows those
        completed; a conversation's id would mark a member's answers as well.
        """
        session = str(self.conversation.pk)
        if self.project.is_anonymous:
            number = rows.sessions(project_id=self.project.pk, respondent=self.respondent)
            session = f"{self.respondent}:{number}"
        return privacy.session_hash(project_id=self.project.pk, session=session)

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


def recipient_of(
    *, conversation: Conversation, earner: Earner | None, held: HeldMember | None = None, at: datetime
) -> Recipient | None:
    """Who gets what a conversation gives; None where they are no present member of the community.

    `held` is their member, where it is held already.
    """
    if earner is None:
        return None
    project = conversation.project
    held = held or members.hold(community_id=project.community_id, user_id=earner.user_id)
    if held is None:
        return None
    return Recipient(project, conversation, held.member_id, held.settings, earner.respondent, at)


def reach(recipient: Recipient, script: Script, state: State, blocks: Iterable[Block]) -> State:
    """Fire action blocks that the walk has come to; the state with what they gave."""
    due = [block for block in blocks if _fires(recipient, script, state, block, f"block:{block.id}")]
    for block in due:
        state = _carry_out(recipient, script, state, block, XpEntry.SourceKind.ACTION_BLOCK)
    return state


def complete(recipient: Recipient, script: Script, state: State) -> State:
    """Give what the end of a conversation gives; the state with it."""
    project, settings = recipient.project, recipient.settings
    recipient.participation = 1
    votes = project.is_poll and project.uses_xp and settings.gives_xp and recipient.fires("vote")
    actions = outros.with_amounts(script, project=project, settings=settings).outro
    due = [block for block in actions if _fires(recipient, script, state, block, str(block.name))]
    if votes:
        question = next(block for block in script.blocks if block.asks)
        given = recipient.award(settings.xp_for_a_question, XpEntry.SourceKind.POLL_VOTE)
        state = _gave(state, question, given)
    for block in due:
        state = _carry_out(recipient, script, state, block, XpEntry.SourceKind.SURVEY_COMPLETION)
    recipient.participate()
    return state


def unwind(*, conversation: Conversation, earner: Earner | None, at: datetime) -> None:
    """Take back what a vote gave its voter, where it is known whose it was."""
    recipient = recipient_of(conversation=conversation, earner=earner, at=at)
    if recipient is None:
        return
    state = State.from_json(conversation.state)
    if state.fired.keys() & state.replies.keys():  # else an earlier vote of theirs was what fired
        rows.unfire(project_id=recipient.project.pk, action="vote", scope=recipient.respondent)
    recipient.participation = -1
    recipient.award(-sum(state.fired.values()), XpEntry.SourceKind.POLL_UNWIND)
    recipient.participate()


def _fires(recipient: Recipient, script: Script, state: State, block: Block, action: str) -> bool:
    """Whether an action block gives something here that it has not given yet. From now on it has."""
    if block.action_kind is None or block.id in state.fired:
        return False
    if recipient.project.is_anonymous and block.precondition is not None:
        return False  # what it gives would tell what was answered
    config = block.action_config or NO_CONFIG
    if block.action_kind == "give_xp":
        amount = xp_amount(recipient.project, script, state, config)
        gives_nothing = amount is None or (amount == 0 and config.source_key is None)
        if gives_nothing or not recipient.settings.gives_xp:
            return False
    return recipient.fires(action, in_each_session=config.fire_scope == "session")


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
    described = achievements.known(community_id=project.community_id, numbers=[number]).get(number)
    named = {key: getattr(described, key, None) for key in ("name", "image_url", "role_id")}
    if is_own:
        for key in named:
            named[key] = (project.rewards or {}).get(f"achievement_{key}") or named[key]
    by_default = outros.achievement_name(project) if is_own else name_by_default(number)
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
