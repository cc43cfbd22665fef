"""The respondent of a conversation, and whether a project admits them (rules 6.1 to 6.3).

`check` decides by the rows of the database, in the transaction that begins a conversation. The caller runs
`ask_platforms` before, outside of any transaction: it asks the platforms again about a respondent whom the
rows would refuse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from threading import BoundedSemaphore
from typing import Any

from communities.gate import throttling
from communities.ground.errors import Forbidden, refuse
from communities.ground.ids import id_of
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.services.people import identities, members, platform_members, sign_ins
from communities.services.people.members import Account, KnownPerson
from communities.services.tenants import verified_sources
from communities.services.tenants.verified_sources import Asked
from surveys import ai
from surveys.engine.script import Script
from surveys.models import Conversation, Project
from surveys.services.scripts import cache as script_cache

ROLES_COUNT_FOR = timedelta(hours=24)  # the worker asks every 45 minutes, unless the person forbids it
# The limit of questions about one person in one community. Somebody who has just joined or connected an
# account does not have to wait.
MOST_QUESTIONS, QUESTIONS_PERIOD = 3, 30  # the period in seconds
MOST_ASKED_AT_ONCE = 2  # by one process, so a slow platform cannot occupy all of its threads
_asking = BoundedSemaphore(MOST_ASKED_AT_ONCE)


class Missing(StrEnum):
    """A reason why a project does not admit somebody."""

    SIGN_IN = "sign_in"
    MEMBERSHIP = "membership"
    ROLE = "role"
    ACTIVE_ACCOUNT = "active_account"
    SOURCE = "source"


DEACTIVATED = "This account is deactivated, so nobody can respond with it."
_WORDS = {
    Missing.SIGN_IN: "only members of the community may respond",
    Missing.MEMBERSHIP: "only members of the community may respond",
    Missing.ROLE: "only people with one of certain roles may respond",
    Missing.SOURCE: "only people who meet one of its verified sources may respond",
}


class NotAdmitted(Forbidden):
    """The project does not admit this respondent. `missing` are the conditions that they do not meet."""

    def __init__(self, missing: Sequence[Missing]) -> None:
        self.missing = tuple(missing)
        if Missing.ACTIVE_ACCOUNT in missing:
            super().__init__(DEACTIVATED)
            return
        words = " and ".join(dict.fromkeys(_WORDS[each] for each in missing))
        noun = "This project is private" if {*missing} <= _PRIVATE else "This project is restricted"
        super().__init__(f"{noun}: {words}.")


_PRIVATE = {Missing.SIGN_IN, Missing.MEMBERSHIP}


@dataclass(frozen=True, slots=True)
class Respondent:
    """A respondent, with everything that is known about them.

    `who` identifies the respondent within a community, for limits and for resuming; None for a nameless
    respondent, who is always new. `platform_id` and `provider` are the account that admitted the respondent;
    a Response shows both. `person` is None for web visitors, and for an `external_id` until a user is stored
    for it (never on anonymous projects). The caller sent `metadata` and `display_name`; they prove nothing.
    `consents` says that the respondent agreed to the project's `consent`, and `agreed_to` is the mark of the
    text that a page or the chat showed them; None for callers who show the text themselves.
    """

    who: str | None = None
    person: KnownPerson | None = None
    provider: str = "web"
    platform_id: str | None = None
    external_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    display_name: str = ""
    consents: bool = False
    agreed_to: int | None = None
    privacy_mark: str | None = None  # of the page or message; None where none of ours was shown
    is_suspected: bool = False  # a program may be responding (rule 6.246)
    language: str = ""  # a tag: that of the page, of the person's client in chat, or sent by a caller

    @property
    def user_id(self) -> int | None:
        return self.person.user_id if self.person else None

    @property
    def name(self) -> str:
        return self.person.name if self.person else ""

    @property
    def names(self) -> list[str]:
        """The names by which limits identify the respondent: `who`, and the names of merged users."""
        merged = self.person.merged_ids if self.person else ()
        return [self.who, *map(_named, merged)] if self.who else []

    @property
    def is_active(self) -> bool:
        return self.person is None or self.person.is_active

    @property
    def is_member(self) -> bool:
        return self.person is not None and self.person.member_id is not None


NAMELESS = Respondent()


@dataclass(frozen=True, slots=True)
class ProofFigures:
    """How often a project's page asked for a proof, and how many responses are suspected (rule 6.245)."""

    asked: int = 0
    passed: int = 0
    refused: int = 0
    suspected: int = 0

    def __bool__(self) -> bool:
        return bool(self.asked or self.passed or self.refused or self.suspected)


def note_proof(*, project_id: int, outcome: str, at: datetime) -> None:
    """Count a request for a proof (`asked`), a proof that was given (`passed`) or a wrong one (`refused`)."""
    assert outcome in ("asked", "passed", "refused")
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_proofcount AS known (project_id, day, asked, passed, refused)"
            " SELECT id, %s, %s, %s, %s FROM surveys_project WHERE id = %s"
            f" ON CONFLICT (project_id, day) DO UPDATE SET {outcome} = known.{outcome} + 1",
            [
                at.astimezone(UTC).date(),
                *(int(outcome == each) for each in ("asked", "passed", "refused")),
                project_id,
            ],
        )


def proof_figures(*, project_id: int) -> ProofFigures:
    """The sums over all days, and the number of suspected responses, by one statement."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(asked), 0)::bigint, coalesce(sum(passed), 0)::bigint,"
            " coalesce(sum(refused), 0)::bigint, (SELECT count(*) FROM surveys_conversation"
            " WHERE project_id = %s AND is_suspected AND is_listed)"
            " FROM surveys_proofcount WHERE project_id = %s",
            [project_id, project_id],
        )
        return ProofFigures(*cursor.fetchone())


def agreeing(respondent: Respondent, text: str) -> Respondent:
    """The respondent, marked as having agreed to this text only. An empty text marks nothing."""
    return replace(respondent, consents=True, agreed_to=consent_mark(text)) if text else respondent


def consent_mark(text: str) -> int:
    """A number for a project's `consent`, below 2**63. A box or button for another text has another one."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def asks_further(project: Project, script: Script) -> bool:
    """Whether a model may ask respondents of a project about what they write.

    Never on an anonymous project, nor where no model is at work.
    """
    return bool(script.follow_ups) and not project.is_anonymous and not ai.provider_is_free()


def privacy_mark(project: Project) -> str:
    """The mark of a page or message that says who reads, when answers are deleted, and whether an AI asks."""
    asks = asks_further(project, script_cache.script_of(project))
    days = project.keep_responses_days
    return ".".join([project.privacy_mode, *([str(days)] if days else []), *(["ai"] if asks else [])])


def privacy_number(project: Project) -> int:
    """The same mark as a number above 0 and below 2**32, for the buttons of a message."""
    return consent_mark(privacy_mark(project)) >> 31 or 1


def member(*, community_id: int, member_id: str) -> Respondent:
    """The present member of the community with this id. Refuses any other id."""
    number = id_of(member_id)
    person = None if number is None else members.find_member(community_id=community_id, member_id=number)
    if person is None:
        refuse("member_id", "not_found", "`member_id` is not the id of a present member of this community.")
    return _of(person)


def person(*, community_id: int, user_id: int) -> Respondent | None:
    """A user, member or not; None if there is no such user."""
    found = members.find_person(community_id=community_id, user_id=user_id)
    return None if found is None else _of(found)


def in_chat(person: KnownPerson) -> Respondent:
    """A person who acts on the chat platform. Their account there admits them."""
    return _of(person, "chat")


def signed_in(*, community_id: int, session_key: str, at: datetime) -> Respondent | None:
    """The person who is signed in by a session, member or not; None if nobody is."""
    found = sign_ins.find(session_key=session_key, community_id=community_id, at=at)
    return None if found is None else _of(found.person, found.provider)


def has_signed_out(*, session_key: str | None, at: datetime) -> bool:
    """Whether nobody is signed in, because of a sign-out or because the sign-in has expired.

    A person who is deactivated has not signed out.
    """
    return session_key is None or not sign_ins.is_of_somebody(session_key=session_key, at=at)


def external(*, external_id: str) -> Respondent:
    """A respondent whom the caller identifies by a name of its own."""
    return Respondent(who=f"external:{external_id}", platform_id=external_id, external_id=external_id)


def visitor(*, visitor_id: str) -> Respondent:
    """A browser, identified by its visitor id."""
    return Respondent(who=f"visitor:{visitor_id}")


def check(*, project: Project, respondent: Respondent, at: datetime) -> Respondent:
    """Return the respondent with the account that admits them. Raises NotAdmitted.

    A person who is deactivated is admitted nowhere (rule 6.5).
    """
    if not respondent.is_active:
        raise NotAdmitted([Missing.ACTIVE_ACCOUNT])
    audience, missing = _audience(project), list[Missing]()
    if project.participation == Project.Participation.PRIVATE and not respondent.is_member:
        missing.append(Missing.SIGN_IN if respondent.person is None else Missing.MEMBERSHIP)
    roles = audience.get("required_role_ids")
    if roles and not _has_role(respondent, roles, at):
        missing.append(Missing.ROLE if respondent.person else Missing.SIGN_IN)
    source_ids = audience.get("verified_source_ids")
    met = None
    if source_ids:
        met = _first_met(project, respondent, source_ids, at)
        if met is None:
            missing.append(Missing.SOURCE if respondent.person else Missing.SIGN_IN)
    if missing:
        raise NotAdmitted(list(dict.fromkeys(missing)))
    return respondent if met is None else _by(respondent, met)


def ask_platforms(*, project: Project, respondent: Respondent, at: datetime) -> tuple[Respondent, Asked]:
    """Ask the platforms about a respondent whom `check` would refuse by the rows of the database.

    First the respondent takes over each account that this community has noted and they have proven. Returns
    the updated respondent, and the outcome of asking. The platforms are asked about one person in one
    community at most MOST_QUESTIONS times in QUESTIONS_PERIOD. This function waits for other servers: never
    call it in a transaction.
    """
    try:
        check(project=project, respondent=respondent, at=at)
    except NotAdmitted as refusal:
        missing = refusal.missing
    else:
        return respondent, Asked()
    person = respondent.person
    if person is None or not person.is_active or _was_asked_enough(project, person):
        return respondent, Asked()
    if not _asking.acquire(blocking=False):
        return respondent, Asked(could_ask=False)
    try:
        return _asked(project, respondent, missing, at)
    finally:
        _asking.release()


def _was_asked_enough(project: Project, person: KnownPerson) -> bool:
    """Count in Redis only: on anonymous projects no row may show when somebody came (rules 7.5 and 7.8)."""
    name = counted_as(community_id=project.community_id, user_id=person.user_id)
    return throttling.take_surely(name, MOST_QUESTIONS, seconds=QUESTIONS_PERIOD).is_used_up


def counted_as(*, community_id: int, user_id: int) -> str:
    """Return the key that counts questions about a person. It contains a keyed hash instead of the id."""
    return f"colloquy:asked:{throttling.hashed(f'{community_id}:{user_id}')}"


def _asked(
    project: Project, respondent: Respondent, missing: Sequence[Missing], at: datetime
) -> tuple[Respondent, Asked]:
    person, asked = respondent.person, Asked()
    assert person is not None
    # On anonymous projects, times about people are rounded to the day.
    about: dict[str, Any] = {
        "community_id": project.community_id,
        "user_id": person.user_id,
        "at": at,
        "rounded_to": Rounding.DAY if project.is_anonymous else None,
    }
    if {Missing.MEMBERSHIP, Missing.ROLE} & {*missing}:
        identities.join_written(**about)
        asked = _refresh(about)
        person = members.find_person(community_id=project.community_id, user_id=person.user_id) or person
    if Missing.SOURCE in missing:
        source_ids = _audience(project)["verified_source_ids"]
        asked = asked.with_others(verified_sources.ask(source_ids=source_ids, **about))
    return replace(respondent, person=person), asked


def _refresh(about: dict[str, Any]) -> Asked:
    """Ask the chat platform about a person's membership and roles."""
    try:
        platform_members.refresh(**about)
    except PlatformUnavailable:
        return Asked(could_ask=False)
    except TokenRefused:
        return Asked(refused=frozenset(["chat"]))
    return Asked()


def shown_provider(*, project: Project, respondent: Respondent) -> str:
    """The `provider` of a Response: the platform whose account admitted the respondent (rule 6.3).

    On anonymous projects every response has the same provider, because a provider that only one member uses
    would identify that member. It is the provider of the verified source if there is only one source, else
    the place where the project is answered.
    """
    is_met_by_all = len(_audience(project).get("verified_source_ids") or ()) == 1
    if is_met_by_all or not project.is_anonymous:
        return respondent.provider
    is_in_chat = project.response_channel == Project.ResponseChannel.CHAT
    return Conversation.Provider.CHAT if is_in_chat else Conversation.Provider.WEB


def _audience(project: Project) -> dict[str, Any]:
    return (project.delivery or {}).get("audience") or {}


def _has_role(respondent: Respondent, roles: Sequence[str], at: datetime) -> bool:
    """Whether the chat platform reported one of these roles of a present member in the last day."""
    person = respondent.person
    if person is None or person.member_id is None or person.roles_told_at is None:
        return False
    return person.roles_told_at > at - ROLES_COUNT_FOR and not person.role_ids.isdisjoint(roles)


def _first_met(
    project: Project, respondent: Respondent, source_ids: Sequence[int], at: datetime
) -> Account | None:
    if respondent.user_id is None:
        return None
    met = verified_sources.first_met(
        community_id=project.community_id, source_ids=source_ids, user_id=respondent.user_id, at=at
    )
    return Account(met.provider, met.platform_id) if met else None


def _by(respondent: Respondent, account: Account) -> Respondent:
    return replace(respondent, provider=account.provider, platform_id=account.platform_id)


def _of(person: KnownPerson, provider: str | None = None) -> Respondent:
    """A person with the account that they signed in with, else with their account on the chat platform."""
    respondent = Respondent(who=_named(person.user_id), person=person)
    account = person.account_on(provider) or person.account_on("chat")
    return _by(respondent, account) if account else respondent


def _named(user_id: int) -> str:
    return f"user:{user_id}"
