"""The data that one community stores about a person: reading and erasing it (rules 7.5, 7.17 and 7.18).

A person is a member, present or not, with their user. Data of the same user in other communities is not
shown and not erased; the user itself is erased with the last community.

The answers of an erased person remain, without a respondent. No value in a conversation identifies the person
any more, but the answers are still listed and counted, texts included. XP that they gave to others stays in
the others' ledgers, under the person's pseudonym in the audit trail (rule 7.20).

An erasure writes and deletes no rows of anonymous projects: a comparison of the database before and after it
would show whose rows they were. The remaining rows identify nobody. They are keyed hashes of an id that no
user has any more, and encrypted texts, which are deleted with the hour's gifts, with the conversation's end,
or after a day without activity. Gifts that still wait are not given.

Three things cannot be erased: responses stored for Idempotency-Keys (encrypted under a keyed hash of the key,
deleted within 25 hours), events that webhooks have already delivered, and the server's logs. The event that
reports the erasure contains the member's id, which no longer identifies anybody.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import Community, User
from communities.models.community import TEST_LIFETIME
from communities.services.people import identities, invitation_access, members
from communities.services.people import personal_data as membership_data
from communities.services.people.personal_data import Person
from communities.services.trail import audit, audit_listing
from surveys.models import Conversation, Project, ResponseDeletion, ResultsCount
from surveys.services import events
from surveys.services.ai_work import draft_generation
from surveys.services.conversations import anonymous_rows, gifts, repository, unsent_answers
from surveys.services.drafts import service as drafts
from surveys.services.ground import anonymity, feed_order
from surveys.services.ground.batches import change_each
from surveys.services.links import reminders
from surveys.services.links import service as links
from surveys.services.responses import service as responses
from webhooks.services import personal_data as webhook_data
from xp.services import ledger
from xp.services import people as rewards

Json = dict[str, object]
SCOPES_AT_ONCE = 1_000  # in one statement: scopes in which an action of the person may have fired


class StillReferredTo(Exception):
    """A row still refers to the user to delete, because this module does not know its table."""


MOST_OLD_TESTS = 1_000  # people whom one run erases at most; the next run takes the rest
_COMPLETED = """
    SELECT done.project_id, done.completions, done.last_session
    FROM unnest(%s::bigint[], %s::text[]) AS theirs(project_id, hash)
    JOIN surveys_completion done ON (done.project_id, done.respondent) = (theirs.project_id, theirs.hash)
"""
_SESSIONS = """
    SELECT theirs.project_id, theirs.hash, coalesce(done.last_session, 0)
    FROM unnest(%s::bigint[], %s::text[]) AS theirs(project_id, hash)
    LEFT JOIN surveys_completion done
        ON (done.project_id, done.respondent) = (theirs.project_id, theirs.hash)
"""
_FORGET_COMPLETED = """
    DELETE FROM surveys_completion done
    USING unnest(%s::bigint[], %s::text[]) AS theirs(project_id, hash)
    WHERE (done.project_id, done.respondent) = (theirs.project_id, theirs.hash)
"""
# A loose index scan: the action is the second column of the primary key. So each step from one action of a
# project to the next, and to the person's own rows, takes one index lookup (`OFFSET 0` makes the planner do
# it this way). Otherwise PostgreSQL reads every action that ever fired in the project.
_FIRED_ACTIONS = """
    WITH RECURSIVE theirs AS (
        SELECT * FROM unnest(%s::bigint[], %s::text[]) AS theirs(project_id, hash)
    ), known AS (
        SELECT project_id,
            (SELECT min(action) FROM surveys_firedaction WHERE project_id = own.project_id) AS action
        FROM (SELECT DISTINCT project_id FROM theirs) own
        UNION ALL
        SELECT project_id, (
            SELECT min(action) FROM surveys_firedaction
            WHERE project_id = known.project_id AND action > known.action
        )
        FROM known WHERE action IS NOT NULL
    ), found AS (
        SELECT fired.*
        FROM known JOIN theirs USING (project_id), LATERAL (
            SELECT project_id, action, scope FROM surveys_firedaction
            WHERE project_id = known.project_id AND action = known.action AND scope = theirs.hash
            OFFSET 0
        ) fired
    )
"""
_FIRED = f"{_FIRED_ACTIONS} SELECT project_id, action FROM found ORDER BY project_id, action"
_FORGET_FIRED = f"""
    {_FIRED_ACTIONS}
    DELETE FROM surveys_firedaction fired USING found
    WHERE (fired.project_id, fired.action, fired.scope) = (found.project_id, found.action, found.scope)
"""
# A respondent may have no membership, and superusers work in communities without a membership.
_NAMED_IN = """
    SELECT community_id FROM surveys_project WHERE author_id = %(user)s
    UNION SELECT community_id FROM surveys_project WHERE deleted_by_id = %(user)s
    UNION SELECT community_id FROM surveys_generation WHERE requested_by_id = %(user)s
    UNION SELECT community_id FROM surveys_project WHERE id IN (
        SELECT project_id FROM surveys_conversation WHERE user_id = %(user)s
        UNION SELECT project_id FROM surveys_personallink WHERE created_by_id = %(user)s
        UNION SELECT project_id FROM surveys_responsedeletion WHERE requested_by_id = %(user)s
        UNION SELECT project_id FROM surveys_reminder WHERE planned_by_id = %(user)s
        UNION SELECT project_id FROM surveys_scriptdraft WHERE user_id = %(user)s
    )
"""
_LEAVE_PROJECTS = """
    UPDATE surveys_project
    SET author_id = nullif(author_id, %(user)s), deleted_by_id = nullif(deleted_by_id, %(user)s)
    WHERE community_id = %(community)s AND (author_id = %(user)s OR deleted_by_id = %(user)s)
"""
# Locks the project before the conversation, in the same order as an answer does.
_LOCK = """
    SELECT c.id FROM surveys_conversation c JOIN surveys_project p ON p.id = c.project_id
    WHERE c.id = ANY(%s) ORDER BY c.project_id, c.id
    FOR KEY SHARE OF p FOR UPDATE OF c
"""
_WITH_FIELDS = """
    SELECT DISTINCT project_id FROM surveys_conversation
    WHERE id = ANY(%s) AND state ? 'fields' ORDER BY project_id
"""
# The seed is replaced, because a browser's own seed would connect these answers to later ones. `fired` is
# removed, because it shows that a member answered. The rows get new positions in the feed (rule 6.53).
_MAKE_NAMELESS = f"""
    UPDATE surveys_conversation
    SET updated_at = %s, changed_in = {feed_order.moved(is_anonymous=False)},
        user_id = NULL, platform_id = NULL, respondent = NULL, session_number = NULL,
        state = state - ARRAY['fired', 'fields', 'display_name'],
        seed = floor(random() * 2::float8 ^ 62)::bigint
    WHERE id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class PersonData:
    """Everything that a community stores about a person, as the fields of one JSON object.

    `facts` are at most a few rows for each project. `histories` may be long: each iterator reads one page at
    a time while the caller consumes it.
    """

    facts: Json
    histories: Mapping[str, Iterator[Json]]


@in_transaction
def data_of(*, actor: Actor, member_id: int, at: datetime) -> PersonData:
    """Everything that a community stores about one of its members.

    Raises NotFound for a person who is not a member, also at the end of the histories. The audit trail
    records that the actor read the data.

    For anonymous projects this is the number of the person's completions and their effects, once the hour of
    an answer is over: nobody knows their answers. Secrets, which are stored as digests, are left out. So are
    the respondents of running anonymous conversations, who are encrypted for a day at most.
    """
    community_id = actor.community_id
    person = membership_data.get_person(community_id=community_id, member_id=member_id)
    assert person.member_id is not None
    # Deleted rows that can still be restored are still stored, so they are included here and below.
    projects = Project.with_deleted.in_community(community_id).order_by("pk")
    authored = projects.filter(author_id=person.user_id).values_list("pk", "name")
    whose = {"community_id": community_id, "member_id": member_id}
    facts: Json = {
        **membership_data.export_data(person=person),
        "projects": [{"id": str(pk), "name": name} for pk, name in authored],
        "personal_links": links.personal_data(member_id=person.member_id),
        "participation": _participation(person, dict(projects.values_list("pk", "name"))),
        "script_requests": draft_generation.requested_by(community_id=community_id, user_id=person.user_id),
        **rewards.personal_data(**whose, user_ids=person.user_ids, at=at),
    }
    subject = members.subject_of(**whose, user_id=person.user_id)
    audit.record(actor=actor, action=Action.MEMBER_EXPORTED, on=subject, at=at)
    histories = {
        "script_drafts": drafts.written_by(community_id=community_id, user_id=person.user_id),
        "xp_ledger": rewards.ledger_entries(**whose),
        "responses": _responses(person),
        "webhook_events": webhook_data.events_naming(community_id=community_id, user_ids=person.user_ids),
        "audit_entries": chain(
            audit_listing.entries_of_person(**whose, user_ids=person.user_ids), _end_of(person)
        ),
    }
    return PersonData(facts, histories)


def _end_of(person: Person) -> Iterator[Json]:
    """Nothing, after all that was read in parts. Raises NotFound if the person was erased or merged into
    another meanwhile, because parts are missing then.
    """
    now = membership_data.get_person(community_id=person.community_id, member_id=person.member_id or 0)
    if now.user_id != person.user_id:
        raise NotFound("This member belongs to another account by now.")
    yield from ()


@again_after_deadlock
@in_transaction
def erase(*, actor: Actor, member_id: int, at: datetime) -> None:
    """Erase a person. Their answers remain without a respondent; everything else is deleted.

    Raises NotFound for a person who is not a member, and Conflict for people who erase themselves. Raises
    Conflict with `retry_after` in the rare case that the person begins and answers a conversation at this
    moment. The erasure waits for rewards in progress. Afterwards the person can neither begin nor earn
    anything, and their open conversations continue without a respondent.

    The user is locked first, as in a merge. Then locks are taken in the same order as by an answer: projects,
    conversations, the member, other rows of the person, and webhook events last. Beginning a conversation
    locks the member too (`members.lock_member`), so after that no conversation begins and no event names the
    person.
    """
    identities.lock_owner_of(community_id=actor.community_id, member_id=member_id)
    person = membership_data.get_person(community_id=actor.community_id, member_id=member_id)
    if person.user_id == actor.user_id:
        raise Conflict("This API key belongs to the person to erase: use the key of another admin.")
    _erase(person, actor=actor, at=at)
    if not _named_in(person.user_id) and membership_data.erase_user(user_id=person.user_id):
        _erase_from_other_histories(person.user_ids)


@again_after_deadlock
@in_transaction
def erase_membership(*, user_id: int, community_id: int, at: datetime) -> None:
    """Erase a person from one community at their own request, as `erase` does. Their account stays.

    The audit trail shows staff under their pseudonym, and other members without one. Raises NotFound for a
    person who is not a member, and Conflict for the only admin of the community.
    """
    identities.lock_owners(user_id)
    _erase(membership_data.leaving_person(user_id=user_id, community_id=community_id), actor=None, at=at)


@again_after_deadlock
@in_transaction
def erase_account(*, user_id: int, at: datetime) -> None:
    """Erase a person from all communities, with their account, at their own request.

    Raises Conflict for the only admin of a community, for superusers, and as `erase` does.
    """
    identities.lock_owners(user_id)
    for community_id in communities_of(user_id=user_id):
        person = membership_data.leaving_person(user_id=user_id, community_id=community_id)
        _erase(person, actor=None, at=at)
    user_ids = membership_data.user_ids_of(user_id=user_id)
    membership_data.give_up_account(user_id=user_id)
    _erase_from_other_histories(user_ids)
    if not membership_data.erase_user(user_id=user_id):
        raise StillReferredTo(user_id)


def erase_old_tests(*, at: datetime) -> int:
    """Erase the members and respondents whom test keys made more than 30 days ago. Returns how many."""
    old = User.objects.filter(members.OF_TESTS, date_joined__lte=at - TEST_LIFETIME)
    return change_each(
        old.order_by("pk"),
        lambda user_id: _erase_test(user_id, at=at),
        most=MOST_OLD_TESTS,
        fault="people.fault",
        key_name="user_id",
    )


@again_after_deadlock
@in_transaction
def _erase_test(user_id: int, *, at: datetime) -> bool:
    """Erase what the test sides have of a user, and the user too if they cannot sign in."""
    identities.lock_owners(user_id)
    known = Community.objects.filter(pk__in=membership_data.communities_of(user_id=user_id))
    for community_id in known.filter(test_of__isnull=False).values_list("pk", flat=True):
        person = membership_data.leaving_person(user_id=user_id, community_id=community_id)
        _erase(person, actor=None, at=at)
        if person.member_id is None:  # a respondent, whom only an external id names
            membership_data.erase_member(community_id=community_id, member_id=0, user_id=user_id)
    if not identities.can_sign_in(user_id=user_id):
        membership_data.erase_user(user_id=user_id)
    return True


def _erase(person: Person, *, actor: Actor | None, at: datetime) -> None:
    community_id, user_id, member_id = person.community_id, person.user_id, person.member_id
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # a long history would exceed it
    _leave_projects(community_id=community_id, user_id=user_id)
    conversations = named_conversations_of(person)
    lock_conversations(conversations)
    if member_id is not None:
        members.lock_user(user_id=user_id)
        membership_data.lock(community_id=community_id, member_id=member_id)
        # These were made while this transaction waited for the member
        _leave_projects(community_id=community_id, user_id=user_id)
    late = {key: of for key, of in named_conversations_of(person).items() if key not in conversations}
    lock_conversations(late, waits=False)
    conversations |= late
    unsent_answers.forget(conversation_ids=list(conversations))
    with connection.cursor() as cursor:
        cursor.execute(_WITH_FIELDS, [list(conversations)])
        counted_by_fields = [row[0] for row in cursor.fetchall()]
        cursor.execute(_MAKE_NAMELESS, [at, list(conversations)])
        for scopes in _scopes(person, conversations.items()):
            cursor.execute(_FORGET_FIRED, scopes)
        cursor.execute(_FORGET_COMPLETED, _hashes(person))
    drafts.erase(community_id=community_id, user_id=user_id)
    draft_generation.forget(community_id=community_id, user_id=user_id)
    links.erase(community_id=community_id, member_id=member_id, user_id=user_id)
    reminders.erase(community_id=community_id, user_id=user_id)
    if member_id is not None:
        rewards.erase(member_id=member_id)
    pseudonym = _erase_from_history(person)
    planned = ResponseDeletion.objects.filter(project__community_id=community_id, requested_by_id=user_id)
    planned.update(requested_by=None, requested_under=pseudonym)
    if member_id is not None:
        gone = Actor(0, "admin", community_id, "", pseudonym=pseudonym) if pseudonym else None
        by = actor or gone
        invitation_access.end_of_inviter(actor=by, community_id=community_id, user_id=user_id, at=at)
        invitation_access.forget_invited(community_id=community_id, user_id=user_id)
        membership_data.erase_member(community_id=community_id, member_id=member_id, user_id=user_id)
        erased = audit.Subject(community_id, "member", None)
        audit.record(actor=by, action=Action.MEMBER_ERASED, on=erased, at=at)
    webhook_data.erase(community_id=community_id, user_ids=person.user_ids)
    for project_id in counted_by_fields:  # otherwise cached results would still contain the person's metadata
        ResultsCount.objects.filter(project_id=project_id, completed_at__isnull=False).delete()
        repository.note_change(project_id=project_id)
    if member_id is not None:
        events.member_erased(community_id=community_id, member_id=member_id, at=at)
    for test_id in Community.objects.filter(test_of=community_id).values_list("pk", flat=True):
        _erase(replace(person, community_id=test_id, member_id=None, external_ids=()), actor=None, at=at)


def _leave_projects(*, community_id: int, user_id: int) -> None:
    """Remove a user from the projects that they made or deleted."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE_PROJECTS, {"community": community_id, "user": user_id})


def _erase_from_other_histories(user_ids: Sequence[int]) -> None:
    """Erase a user as the author of entries in audit trails and ledgers of communities in which the user is
    not a member.

    A superuser acts without a membership that could be locked. The caller has therefore locked or deleted
    the user, and other transactions write no more entries that name the user.
    """
    acted_in = audit.communities_of_actor(user_ids=user_ids)
    gave_in = ledger.communities_of_giver(user_ids=user_ids)
    for community_id in sorted({*acted_in, *gave_in}):
        _erase_from_history(Person(community_id, None, user_ids[0], merged_ids=tuple(user_ids[1:])))


def _erase_from_history(person: Person) -> str:
    """Replace a person by one pseudonym in the audit trail, and in the ledger entries that they gave to
    others.

    Returns the pseudonym. The pseudonym is blank for people who never were staff in the community. Anybody
    who gave XP counts as staff, even if the trail is too old to show it.
    """
    community_id, user_ids = person.community_id, person.user_ids
    gave = community_id in ledger.communities_of_giver(user_ids=user_ids)
    pseudonym = membership_data.erase_from_history(person=person, acted_as_staff=gave)
    if gave:
        ledger.erase_giver(community_id=community_id, user_ids=user_ids, pseudonym=pseudonym)
    return pseudonym


def communities_of(*, user_id: int) -> list[int]:
    """The ids of the communities that store data about a user, member or not, in their order."""
    return sorted(membership_data.communities_of(user_id=user_id) | _named_in(user_id))


def _named_in(user_id: int) -> set[int]:
    """The ids of the communities whose projects, responses, links and scripts in progress name a user."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMED_IN, {"user": user_id})
        return {row[0] for row in cursor.fetchall()}


# --- Identifying rows ----------------------------------------------------------------------------------


def _names(person: Person) -> list[str]:
    """The names from which the person's keyed hashes are made."""
    users = [f"user:{each}" for each in person.user_ids]
    return [*users, *(f"external:{name}" for name in person.external_ids)]


def _whose(person: Person) -> list[tuple[int, str]]:
    """Project ids with the person's hashes in each project."""
    projects = Project.with_deleted.in_community(person.community_id).values_list("pk", flat=True)
    return [
        (project_id, anonymity.respondent_hash(project_id=project_id, who=name))
        for project_id in projects
        for name in _names(person)
    ]


def _hashes(person: Person) -> tuple[list[int], list[str]]:
    """Two parallel lists: project ids, and the person's hash in that project."""
    whose = _whose(person)
    return [project_id for project_id, _ in whose], [own for _, own in whose]


def _scopes(
    person: Person, conversations: Iterable[tuple[uuid.UUID, int]]
) -> Iterator[tuple[list[int], list[str]]]:
    """Project ids, and hashes of the person and of their sessions there, as parallel lists of SCOPES_AT_ONCE.

    `conversations` are those of the person by id, with their project ids.
    """
    project_ids, hashes = _hashes(person)
    with connection.cursor() as cursor:
        cursor.execute(_SESSIONS, [project_ids, hashes])
        found = cursor.fetchall()
    by_number = ((pk, f"{own}:{n}") for pk, own, last in found for n in range(last + 1))
    by_id = ((project_id, str(key)) for key, project_id in conversations)
    of_sessions = (
        (pk, anonymity.session_hash(project_id=pk, session=session))
        for pk, session in chain(by_number, by_id)
    )
    scopes = chain(zip(project_ids, hashes, strict=True), of_sessions)
    while part := list(islice(scopes, SCOPES_AT_ONCE)):
        yield [project_id for project_id, _ in part], [scope for _, scope in part]


def named_conversations_of(person: Person) -> dict[uuid.UUID, int]:
    """The person's conversations, with their project ids, except anonymous ones."""
    return dict(_named_conversations(person))


def _named_conversations(person: Person) -> Iterator[tuple[uuid.UUID, int]]:
    named = Conversation.objects.filter(
        user_id=person.user_id, project__community_id=person.community_id
    ).values_list("pk", "project_id")
    return named.iterator(chunk_size=SCOPES_AT_ONCE)


def lock_conversations(conversations: Collection[uuid.UUID], *, waits: bool = True) -> None:
    """Lock conversations.

    Without `waits`, raises Conflict if a conversation is locked: the other transaction may wait for this one.
    """
    if not conversations:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK if waits else f"{_LOCK} NOWAIT", [list(conversations)])
    except OperationalError as error:
        if not waits and isinstance(error.__cause__, LockNotAvailable):
            raise Conflict(
                "This person is answering at this moment; please retry shortly.", retry_after=1
            ) from None
        raise


# --- Reading ----------------------------------------------------------------------------------------


def _participation(person: Person, projects: Mapping[int, str]) -> list[Json]:
    """Rows stored by hash: how often the person completed each project, and actions that fired for them.

    Moves on anonymous projects are left out until their hour is over. Otherwise repeated reads would reveal
    when the person answered.
    """
    # These are read before the counts below, so that a move in between cannot make the counts negative.
    waiting = list(gifts.of_users(community_id=person.community_id, user_ids=person.user_ids))
    own_rows = anonymous_rows.find(_whose(person))
    with connection.cursor() as cursor:
        cursor.execute(_COMPLETED, _hashes(person))
        completed = cursor.fetchall()
        fired = Counter[tuple[int, str]]()
        for scopes in _scopes(person, _named_conversations(person)):
            cursor.execute(_FIRED, scopes)
            fired.update(cursor.fetchall())
    completed += [(row.project_id, len(row.numbers), len(row.numbers)) for row in own_rows if row.numbers]
    fired += Counter(anonymous_rows.fired(own_rows))
    for each in waiting:
        completed.append((each.row.project_id, -each.move.completions, -each.move.completions))
        fired -= Counter((each.row.project_id, action) for action in each.move.actions)
    by_project: dict[int, dict[str, Any]] = {}
    for project_id in sorted({row[0] for row in (*completed, *fired)}):
        by_project[project_id] = {
            "project_id": str(project_id),
            "project_name": projects.get(project_id),
            "completions": 0,
            "sessions": 0,
            "actions": [],
        }
    for project_id, completions, last_session in completed:
        by_project[project_id]["completions"] += completions
        by_project[project_id]["sessions"] += last_session
    for project_id, action in sorted(fired.elements()):
        by_project[project_id]["actions"].append(action)
    return [told for told in by_project.values() if told["sessions"] or told["actions"]]


def _responses(person: Person) -> Iterator[Json]:
    """The person's responses, project after project, oldest first."""
    own = Conversation.objects.filter(
        user_id=person.user_id, project__community_id=person.community_id
    ).values("project_id")
    for project in Project.with_deleted.filter(pk__in=own).order_by("pk"):
        yield from responses.given_by(project=project, user_id=person.user_id)
