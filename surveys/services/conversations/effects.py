"""Effects of a move: XP, achievements, roles and participation, each exactly once (rules 8.11 and 8.12).

    recipient_of(conversation=…, earner=…, at=…)  the member who receives them; None for everybody else
    reach(recipient, script, state, blocks)       fires action blocks that were reached
    due_at_end(recipient, script, state)          the gifts of a poll's vote or of the outro's actions
    complete(recipient, script, state, gifts)     gives the gifts of the end, and counts the participation
    finish(recipient)                             on anonymous projects, stores the gifts encrypted
    unwind(recipient)                             takes back the gifts of a retracted vote

Effects happen in the move's own transaction. The conversation is locked first, then the member, then the
limit, then the counts, so two moves of one member run one after the other. Each action that fires adds a row
(FiredAction). The actions of the end fire in the statement that counts the completion, which saves one
statement per vote. Only members of the community earn anything.

On anonymous projects nothing joins gifts to answers. The gifts of a move are stored encrypted, and given with
the other gifts of the same hour (`gifts`). The conversation's state contains no gifts. The ledger has no
session number, and its times are rounded to the day. A gift that would reveal an answer, because it depends
on a score, a condition or an end that screens out, is not given. The gifts of the end are given to all who
reach an end, also to those who are screened out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial

from django.conf import settings

from communities.ground import rounding
from communities.ground.rounding import Rounding
from communities.models import CommunitySettings
from communities.services.people import members
from communities.services.people.members import LockedMember
from surveys.engine.intake.fields import MAX_XP
from surveys.engine.language import references
from surveys.engine.rules import xp
from surveys.engine.rules.dependence import depends_on_answers
from surveys.engine.script import ActionConfig, Block, Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.conversations import completions
from surveys.services.conversations import gifts as deferred
from surveys.services.conversations.gifts import AchievementGift, SealedMove, Source, XpGift
from surveys.services.ground import anonymity, script_settings
from surveys.services.scripts import outro
from xp.models import XpEntry, default_name
from xp.services import achievements, ledger

NO_CONFIG = ActionConfig()


@dataclass(frozen=True, slots=True)
class Earner:
    """Somebody who may earn something here: a user, and their keyed hash in this project.

    On anonymous projects `merged` are the hashes of users who were merged into this user. `begun_as` is the
    hash under which the conversation began: one of `merged` if the merge is later than the beginning.
    """

    user_id: int
    respondent: str
    merged: tuple[str, ...] = ()
    begun_as: str | None = None

    @property
    def respondents(self) -> tuple[str, ...]:
        return (self.respondent, *self.merged)


@dataclass(slots=True)
class Recipient:
    """A member who receives effects at once. `participation` is counted together with their next XP."""

    project: Project
    conversation: Conversation
    earner: Earner
    member_id: int
    settings: CommunitySettings
    at: datetime
    participation: int = 0

    @property
    def respondent(self) -> str:
        return self.earner.respondent

    def session(self, *, ends: int = 0) -> str:
        """A hash that identifies this session of the respondent.

        On anonymous projects it depends on the number of completed sessions, plus `ends` sessions that are
        about to be completed: a hash of the conversation's id would mark a member's answers. Sessions are
        counted for the hash under which the session began, so a merge does not change the session.
        """
        session = str(self.conversation.pk)
        if self.project.is_anonymous:
            own = self.earner.begun_as or self.respondent
            completed = completions.sessions(project_id=self.project.pk, respondent=own)
            session = f"{own}:{completed + ends}"
        return anonymity.session_hash(project_id=self.project.pk, session=session)

    def fire(self, block: Block) -> bool:
        """Record that an action block fires for the member; False if it has fired before."""
        return completions.fire(
            project_id=self.project.pk, action=f"block:{block.id}", scope=_scope(self, block)
        )

    def record_fired(self, actions: Iterable[str]) -> None:
        """Record which actions this move fired. Only deferred gifts use it."""

    def award(self, amount: int, kind: XpEntry.SourceKind) -> int:
        """Change the member's XP and count a waiting participation. Returns the effective change."""
        if not amount:
            return 0
        is_of_session = kind != XpEntry.SourceKind.ACTION_BLOCK
        entry = ledger.award(
            member_id=self.member_id,
            community_id=self.project.community_id,
            amount=amount,
            kind=kind,
            at=self.at,
            participation=self.participation,
            source_ref=self.project.pk,
            session_number=self.conversation.session_number if is_of_session else None,
            survey_name=self.project.name,
        )
        self.participation = 0
        return entry.delta

    def participate(self) -> None:
        """Count a participation that no XP award has counted."""
        if self.participation:
            ledger.count_participation(
                member_id=self.member_id, community_id=self.project.community_id, change=self.participation
            )

    def grant_achievement(self, gift: AchievementGift) -> None:
        """Grant an achievement, and the first time its role."""
        deferred.grant_achievement(gift, self.source, member_id=self.member_id)

    def grant_role(self, role_id: str) -> None:
        """Grant a role."""
        deferred.grant_role(role_id, self.source, member_id=self.member_id)

    @property
    def source(self) -> Source:
        return Source(self.project.pk, self.project.name, self.at)

    def finish(self) -> None:
        """End the move. Only deferred gifts are stored here."""


@dataclass(slots=True)
class DeferredRecipient(Recipient):
    """A member who receives the effects of an anonymous project after the hour of the answer."""

    _gifts: SealedMove = field(init=False)
    _has_reached: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        day = rounding.down(self.at, Rounding.DAY)
        self._gifts = SealedMove(user_id=self.earner.user_id, at=day, project_name=self.project.name)

    def fire(self, block: Block) -> bool:
        action = f"block:{block.id}"
        self._has_reached = True
        has_fired = completions.fire_anonymously(
            project_id=self.project.pk,
            respondents=self.earner.respondents,
            action=action,
            scope=_scope(self, block),
        )
        if has_fired:
            self.record_fired([action])
        return has_fired

    def record_fired(self, actions: Iterable[str]) -> None:
        self._gifts = replace(self._gifts, actions=(*self._gifts.actions, *actions))

    def award(self, amount: int, kind: XpEntry.SourceKind) -> int:
        if amount:
            self._gifts = replace(self._gifts, xp=(*self._gifts.xp, XpGift(amount, kind.value)))
        return amount

    def participate(self) -> None:
        self._has_reached = True
        self._gifts = replace(self._gifts, completions=self.participation)

    def grant_achievement(self, gift: AchievementGift) -> None:
        self._gifts = replace(self._gifts, achievements=(*self._gifts.achievements, gift))

    def grant_role(self, role_id: str) -> None:
        self._gifts = replace(self._gifts, role_ids=(*self._gifts.role_ids, role_id))

    def finish(self) -> None:
        """Store the gifts of the move encrypted, also if all of them were given before."""
        if self._has_reached:
            deferred.store(project=self.project, move=self._gifts, at=self.at)


@dataclass(frozen=True, slots=True)
class Gift:
    """The gift of one block at the end of a conversation, unless `action` has already fired in `scope`."""

    action: str
    scope: str
    block: Block
    kind: XpEntry.SourceKind


def recipient_of(
    *, conversation: Conversation, earner: Earner, held: LockedMember | None, at: datetime
) -> Recipient | None:
    """The member who receives the effects of a conversation; None unless the earner is a present member."""
    if held is None:
        return None
    project = conversation.project
    kind = DeferredRecipient if project.is_anonymous else Recipient
    return kind(project, conversation, earner, held.member_id, held.settings, at)


def lock_earner(
    project: Project, earner: Earner, held: LockedMember | None = None
) -> tuple[Earner, LockedMember | None]:
    """Return the earner, and their membership under a lock; None in its place unless they are a member.

    `held` is the member if they are locked already. On anonymous projects a running conversation may name a
    user who has been merged into another user since. A merge does not rewrite the conversation, because its
    transaction would join the conversation to the person (rules 7.10 and 7.11). So the earner is looked up
    here.
    """
    if not project.is_anonymous:
        return earner, held or lock_member(project, earner.user_id)
    if held is None:
        user, held = members.lock_current(partial(lock_member, project), user_id=earner.user_id)
    else:
        user = held.user
    own, *merged = anonymity.respondent_hashes(
        project_id=project.pk, user_ids=(user.user_id, *user.merged_ids)
    )
    return Earner(user.user_id, own, tuple(merged), begun_as=earner.respondent), held


def lock_member(project: Project, user_id: int) -> LockedMember | None:
    """Lock a user's membership during a move. On anonymous projects the lock leaves its row unchanged."""
    lock = members.hold_member if project.is_anonymous else members.lock_member
    return lock(community_id=project.community_id, user_id=user_id)


def reach(recipient: Recipient, script: Script, state: State, blocks: Iterable[Block]) -> State:
    """Fire the action blocks that were reached. Returns the state with their gifts."""
    settings = recipient.settings
    may_fire = [block for block in blocks if gives(recipient.project, settings, script, state, block)]
    for block in [block for block in may_fire if recipient.fire(block)]:
        state = _carry_out(recipient, script, state, block, XpEntry.SourceKind.ACTION_BLOCK)
    return state


def due_at_end(recipient: Recipient, script: Script, state: State) -> list[Gift]:
    """The gifts of the end of this conversation that have not been given yet."""
    project, settings = recipient.project, recipient.settings
    gifts = []
    if project.is_poll and project.uses_xp and settings.gives_xp:
        question = next(block for block in script.blocks if block.asks)
        gifts.append(Gift("vote", recipient.respondent, question, XpEntry.SourceKind.POLL_VOTE))
    for block in outro.with_amounts(script, project=project, settings=settings).outro:
        if gives(project, settings, script, state, block):
            scope = _scope(recipient, block, ends=1)
            gifts.append(Gift(str(block.name), scope, block, XpEntry.SourceKind.SURVEY_COMPLETION))
    return gifts


def complete(recipient: Recipient, script: Script, state: State, gifts: Iterable[Gift]) -> State:
    """Give the gifts that fire at the end, and count the participation. Returns the state with the gifts."""
    at_end = list(gifts)
    recipient.participation = 1
    recipient.record_fired(gift.action for gift in at_end)
    for gift in at_end:
        if gift.kind == XpEntry.SourceKind.POLL_VOTE:
            given = recipient.award(recipient.settings.xp_for_a_question, gift.kind)
            state = _gave(state, gift.block, given)
        else:
            state = _carry_out(recipient, script, state, gift.block, gift.kind)
    recipient.participate()
    return state


def unwind(recipient: Recipient) -> None:
    """Take back the gifts of a vote."""
    state = State.from_json(recipient.conversation.state)
    if state.fired.keys() & state.replies.keys():  # otherwise an earlier vote of theirs fired it
        completions.unfire(project_id=recipient.project.pk, action="vote", scope=recipient.respondent)
    recipient.participation = -1
    recipient.award(-sum(state.fired.values()), XpEntry.SourceKind.POLL_UNWIND)
    recipient.participate()


def gives(project: Project, settings: CommunitySettings, script: Script, state: State, block: Block) -> bool:
    """Whether an action block gives a member something now, and has not given it in this walk."""
    if block.action_kind is None or block.id in state.fired:
        return False
    if project.is_anonymous and _reveals_answers(project, script, block):
        return False
    if block.action_kind != "give_xp":
        return True
    config = block.action_config or NO_CONFIG
    amount = xp_amount(project, script, state, config)
    gives_nothing = amount is None or (amount == 0 and config.source_key is None)
    return settings.gives_xp and not gives_nothing


def _reveals_answers(project: Project, script: Script, block: Block) -> bool:
    """Whether a gift of the script would reveal answers, because only some people reach its block."""
    at = script.index_by_id.get(block.id or 0)
    if at is None:
        return False
    dependence = script_settings.depending(project, script)
    return depends_on_answers(block, at, script, dependence)


def _scope(recipient: Recipient, block: Block, *, ends: int = 0) -> str:
    """The scope in which an action fires once: the respondent, or one of their sessions."""
    is_of_session = (block.action_config or NO_CONFIG).fire_scope == "session"
    return recipient.session(ends=ends) if is_of_session else recipient.respondent


def _carry_out(
    recipient: Recipient, script: Script, state: State, block: Block, kind: XpEntry.SourceKind
) -> State:
    config, given = block.action_config or NO_CONFIG, 0
    match block.action_kind:
        case "give_xp":
            amount = xp_amount(recipient.project, script, state, config) or 0
            if kind == XpEntry.SourceKind.ACTION_BLOCK:
                amount = min(amount, _left(script, state))
            given = recipient.award(amount, kind)
        case "give_achievement":
            _grant_achievement(recipient, config.xp_role_id or 0, is_own=block.section == "outro")
        case "give_role":
            recipient.grant_role(config.role_id or "")
    return _gave(state, block, given)


def _left(script: Script, state: State) -> int:
    """The XP that a completion may still give (rule 8.18).

    The blocks of one script stay within the limit, unless an admin wrote it. But a conversation that
    continues after a change of the script reaches blocks of both scripts.
    """
    most = max(xp.most(script), settings.XP_PER_COMPLETION_BY_CREATORS)
    return max(0, most - sum(max(0, given) for given in state.fired.values()))


def xp_amount(project: Project, script: Script, state: State, config: ActionConfig) -> int | None:
    """The XP that a `give_xp` block awards at this point: its amount, or the score that it names.

    A score is rounded half up to a whole number between minus and plus one million. Returns None if the score
    is not a variable of the script, and on anonymous projects, where the amount in the ledger would reveal
    answers.
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
    """Grant an achievement with its present description. `is_own` marks that of the project's rewards."""
    project = recipient.project
    described = achievements.by_number(community_id=project.community_id, numbers=[number]).get(number)
    named = {key: getattr(described, key, None) for key in ("name", "image_url", "role_id")}
    if is_own:
        for key in named:
            named[key] = (project.rewards or {}).get(f"achievement_{key}") or named[key]
    by_default = outro.achievement_name(project) if is_own else default_name(number)
    recipient.grant_achievement(
        AchievementGift(number, named["name"] or by_default, named["image_url"], named["role_id"])
    )


def _gave(state: State, block: Block, amount: int) -> State:
    assert block.id is not None
    return replace(state, fired={**state.fired, block.id: amount})
