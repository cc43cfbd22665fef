"""The people who gave the responses of an import: members by an account, others by an id of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from communities.ground.errors import Conflict
from communities.models import Identity
from communities.services.people import members
from surveys.models import Project
from surveys.services.conversations import admission
from surveys.services.ground import anonymity
from surveys.services.imports.sent import SentResponse

_ANY = frozenset({None, "import"})


@dataclass(frozen=True, slots=True)
class Person:
    """The person who gave a response. `respondent` is the person's keyed hash in the project.

    `member_id` is None for a person with an id of the caller, and so is `user_id` until the person has a
    user.
    """

    platform_id: str
    respondent: str
    user_id: int | None = None
    member_id: int | None = None


def find(*, project: Project, sent: Sequence[SentResponse]) -> Mapping[int, Person]:
    """The people of these responses, by line. On anonymous projects the result is empty.

    `platform_id` belongs to a present member's account, on the platform of `provider`, or on any platform
    without `provider`. Otherwise, and always for `web`, `platform_id` is an `external_id`
    (rules 6.7 and 6.8).
    """
    if project.is_anonymous:
        return {}
    named = [(each, each.platform_id) for each in sent if each.platform_id is not None]
    ids = {platform_id for each, platform_id in named if each.provider != Identity.Provider.WEB}
    accounts = members.find_by_accounts(community_id=project.community_id, platform_ids=ids) if ids else []
    by_account: dict[tuple[str | None, str], tuple[int, int]] = {}
    for found in accounts:
        for provider in (found.account.provider, None):
            key = (provider, found.account.platform_id)
            by_account.setdefault(key, (found.user_id, found.member_id))
    return {
        each.line: _person(project, platform_id, by_account.get((_platform_of(each), platform_id)))
        for each, platform_id in named
    }


def _platform_of(sent: SentResponse) -> str | None:
    """The platform whose account identifies the person; None for any."""
    return None if sent.provider in _ANY else sent.provider


def _person(project: Project, platform_id: str, member: tuple[int, int] | None) -> Person:
    user_id, member_id = member or (None, None)
    who = f"user:{user_id}" if member else str(admission.external(external_id=platform_id).who)
    key = anonymity.respondent_hash(project_id=project.pk, who=who)
    return Person(platform_id, key, user_id, member_id)


def lock_and_create(*, project: Project, people: Mapping[int, Person]) -> Mapping[int, Person]:
    """The people with their users; missing users are created.

    Members are locked, so that no member is erased or merged into another user until the transaction ends.
    Raises Conflict if one of them was erased or merged since `find`.
    """
    users_by_member = {
        person.member_id: person.user_id for person in people.values() if person.member_id is not None
    }
    if users_by_member and members.keep_members(member_ids=users_by_member) != users_by_member:
        message = "Somebody whose response this is has just left or merged two accounts. Please retry."
        raise Conflict(message, retry_after=1)
    external = {person.platform_id for person in people.values() if person.member_id is None}
    users = (
        members.users_for_external_ids(community_id=project.community_id, external_ids=external)
        if external
        else {}
    )
    return {
        line: replace(person, user_id=users[person.platform_id]) if person.member_id is None else person
        for line, person in people.items()
    }
