"""What is held about a person in one community: told, and erased (decisions 4 and 8.8).

A person is a member, present or not, with their user. What other communities hold of the same user is not
told and stays; the user goes with the last of them.

Answers stay when a person is erased, as those of a nameless respondent: nothing in a conversation leads to
them any more. So what was answered, and when, is still told and counted, though not by whom. A person's own
words stay too, whatever they say. What they gave to others stays in the others' ledgers, with their user's id
in place of a name. Three things are out of reach: answers kept for Idempotency-Keys (encrypted, under a keyed
hash of the key, gone within 25 hours), what webhooks have told to others, and the server's logs.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from communities.errors import Conflict
from communities.services import people as membership_data
from communities.services.people import Person
from communities.transactions import in_transaction
from surveys.models import Conversation, Project
from surveys.services import anonymity
from surveys.services.responses import service as responses
from webhooks.services import personal_data as webhook_data
from xp.services import people as earnings

Json = dict[str, object]
AT_ONCE = 1_000

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
# The action is the key's second column. From one action of a project to the next, and to the person's own,
# takes one look into the index (`OFFSET 0` has it so); else every action that ever fired there is read.
_FOUND = """
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
_FIRED = f"{_FOUND} SELECT project_id, action FROM found ORDER BY project_id, action"
_FORGET_FIRED = f"""
    {_FOUND}
    DELETE FROM surveys_firedaction fired USING found
    WHERE (fired.project_id, fired.action, fired.scope) = (found.project_id, found.action, found.scope)
"""
# The project before the conversation, like whoever answers (surveys/services/rows.py).
_LOCK = """
    SELECT c.id FROM surveys_conversation c JOIN surveys_project p ON p.id = c.project_id
    WHERE c.id = ANY(%s) ORDER BY c.project_id, c.id
    FOR KEY SHARE OF p FOR UPDATE OF c
"""
# A browser's own seed would join these answers to what it gives later, and what was given tells that a member
# answered. When it changed last stays: one moment for all would join the answers to each other, as would one
# transaction, so anonymous ones are settled anew.
_MAKE_NAMELESS = """
    UPDATE surveys_conversation
    SET user_id = NULL, platform_id = NULL, respondent = NULL, session_number = NULL,
        sealed_respondent = NULL, state = state - 'fired', seed = floor(random() * 2::float8 ^ 62)::bigint,
        is_settled = sealed_respondent IS NULL AND is_settled
    WHERE id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Held:
    """All that is held about a person.

    What is no fact is read as it is asked for, a page at a time; the facts are at most a few rows for each
    project.
    """

    facts: Json
    xp_ledger: Iterator[Json]
    responses: Iterator[Json]
    webhook_events: Iterator[Json]


def data_of(*, community_id: int, member_id: int, at: datetime) -> Held:
    """Everything that a community holds about one of its members. Refuses whoever is none.

    On anonymous projects that is how often they completed them and what that gave them: nobody knows their
    answers. Never told are secrets, which are kept as digests alone, and what a running anonymous
    conversation keeps encrypted of its respondent, for a day at most.
    """
    person = membership_data.get_person(community_id=community_id, member_id=member_id)
    projects = Project.objects.in_community(community_id).order_by("pk")
    authored = projects.filter(author_id=person.user_id).values_list("pk", "name")
    whose = {"community_id": community_id, "member_id": member_id}
    facts: Json = {
        **membership_data.export_data(person=person),
        "projects": [{"id": str(pk), "name": name} for pk, name in authored],
        "participation": _participation(person, dict(projects.values_list("pk", "name"))),
        **earnings.personal_data(**whose, user_id=person.user_id, at=at),
    }
    return Held(
        facts,
        xp_ledger=earnings.ledger_entries(**whose),
        responses=_responses(person),
        webhook_events=webhook_data.events_naming(community_id=community_id, user_id=person.user_id),
    )


@in_transaction
def erase(*, community_id: int, member_id: int, by_user_id: int) -> None:
    """Erase a person: their answers stay as a nameless respondent's, everything else goes.

    Refuses whoever is no member, whoever erases themselves, and, with a time to wait, the rare case of
    somebody who has begun and goes on answering while being erased. What the person is given in this moment
    is waited for; afterwards they can neither begin nor earn anything, and open conversations go on as
    nameless ones.

    Locks come in the order of whoever answers: projects, conversations, the member, then what else is theirs,
    and last what webhooks are told. As the member is held by whoever begins a conversation for them
    (`members.lock_member`), none begins after that, and nothing is told of them any more.
    """
    person = membership_data.get_person(community_id=community_id, member_id=member_id)
    if person.user_id == by_user_id:
        raise Conflict("This API key belongs to this very person: another admin has to erase them.")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # or a history that is long enough would stay
    Project.objects.in_community(community_id).filter(author_id=person.user_id).update(author=None)
    conversations = _conversations(person)
    _lock(conversations)
    membership_data.lock(community_id=community_id, member_id=member_id)
    late = {key: of for key, of in _conversations(person).items() if key not in conversations}
    _lock(late, waits=False)
    conversations |= late
    with connection.cursor() as cursor:
        cursor.execute(_MAKE_NAMELESS, [list(conversations)])
        cursor.execute(_FORGET_FIRED, _scopes(person, conversations))
        cursor.execute(_FORGET_COMPLETED, _hashes(person))
    earnings.erase(member_id=member_id)
    membership_data.erase_member(community_id=community_id, member_id=member_id, user_id=person.user_id)
    webhook_data.erase(community_id=community_id, user_id=person.user_id)
    if not _is_known_elsewhere(person.user_id):
        membership_data.erase_user(user_id=person.user_id)


def _is_known_elsewhere(user_id: int) -> bool:
    is_respondent = Conversation.objects.filter(user_id=user_id).exists()
    return is_respondent or Project.objects.filter(author_id=user_id).exists()


# --- Whose is what ----------------------------------------------------------------------------------


def _names(person: Person) -> list[str]:
    """What the person's keyed hashes are made of."""
    return [f"user:{person.user_id}", *(f"external:{name}" for name in person.external_ids)]


def _hashes(person: Person) -> tuple[list[int], list[str]]:
    """Project ids, and beside each a hash that is the person's there."""
    projects = Project.objects.in_community(person.community_id).values_list("pk", flat=True)
    whose = [(project_id, name) for project_id in projects for name in _names(person)]
    return (
        [project_id for project_id, _ in whose],
        [anonymity.respondent_hash(project_id=project_id, who=name) for project_id, name in whose],
    )


def _scopes(person: Person, conversations: Mapping[uuid.UUID, int]) -> tuple[list[int], list[str]]:
    """Project ids, and beside each what the person's actions may have fired for: them, and their sessions."""
    project_ids, hashes = _hashes(person)
    with connection.cursor() as cursor:
        cursor.execute(_SESSIONS, [project_ids, hashes])
        sessions = [(pk, f"{own}:{n}") for pk, own, last in cursor.fetchall() for n in range(last + 1)]
    sessions += [(project_id, str(key)) for key, project_id in conversations.items()]
    return (
        project_ids + [project_id for project_id, _ in sessions],
        hashes + [anonymity.session_hash(project_id=pk, session=session) for pk, session in sessions],
    )


def _conversations(person: Person) -> dict[uuid.UUID, int]:
    """The person's conversations, each with its project's id: those that name them or know them sealed."""
    named = Conversation.objects.filter(
        user_id=person.user_id, project__community_id=person.community_id
    ).values_list("pk", "project_id")
    return dict(named) | dict(_sealed(person))


def _sealed(person: Person) -> Iterator[tuple[uuid.UUID, int]]:
    """Running anonymous conversations of this person.

    All that run have to be opened. Whoever is silent for a day is forgotten, so they are not many.
    """
    last = uuid.UUID(int=0)
    running = Conversation.objects.filter(
        sealed_respondent__isnull=False, project__community_id=person.community_id
    ).order_by("pk")
    while True:
        rows = list(
            running.filter(pk__gt=last).values_list("pk", "project_id", "sealed_respondent")[:AT_ONCE]
        )
        for key, project_id, sealed in rows:
            known = anonymity.unseal(project_id=project_id, conversation_id=key, sealed=bytes(sealed or b""))
            theirs = (anonymity.respondent_hash(project_id=project_id, who=name) for name in _names(person))
            if known is not None and known.respondent in theirs:
                yield key, project_id
        if len(rows) < AT_ONCE:
            return
        last = rows[-1][0]


def _lock(conversations: Collection[uuid.UUID], *, waits: bool = True) -> None:
    """Lock conversations. One that cannot be waited for is refused: who holds it may be waiting for us."""
    if not conversations:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK if waits else f"{_LOCK} NOWAIT", [list(conversations)])
    except OperationalError as error:
        if not waits and isinstance(error.__cause__, LockNotAvailable):
            raise Conflict("This person is answering at this moment.", retry_after=1) from None
        raise


# --- Telling ----------------------------------------------------------------------------------------


def _participation(person: Person, projects: Mapping[int, str]) -> list[Json]:
    """What is kept by hashes: how often the person completed each project, and what it gave them once."""
    with connection.cursor() as cursor:
        cursor.execute(_COMPLETED, _hashes(person))
        completed = cursor.fetchall()
        cursor.execute(_FIRED, _scopes(person, _conversations(person)))
        fired = cursor.fetchall()
    told: dict[int, dict[str, Any]] = {}
    for project_id in sorted({row[0] for row in (*completed, *fired)}):
        told[project_id] = {
            "project_id": str(project_id),
            "project_name": projects.get(project_id),
            "completions": 0,
            "sessions": 0,
            "actions": [],
        }
    for project_id, completions, last_session in completed:
        told[project_id]["completions"] += completions
        told[project_id]["sessions"] += last_session
    for project_id, action in fired:
        told[project_id]["actions"].append(action)
    return list(told.values())


def _responses(person: Person) -> Iterator[Json]:
    """Project after project, oldest first."""
    own = Conversation.objects.filter(
        user_id=person.user_id, project__community_id=person.community_id
    ).values("project_id")
    for project in Project.objects.filter(pk__in=own).order_by("pk"):
        yield from responses.given_by(project=project, user_id=person.user_id)
