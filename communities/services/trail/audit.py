"""The audit trail: who changed what and when, written in the transaction of the change.

    record(actor=…, action=…, on=Subject(…), …)   one entry
    changes(before, after)                        what differs, as `record` takes it
    last_change(project_id=…, action=…)           the newest change of a project

`audit_listing` reads the trail. The trail contains no actions of respondents, and neither answers nor
secrets.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
import uuid_utils
from django.apps import apps
from django.conf import settings
from django.db import connection

from communities.ground import rounding, wire
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.models import AuditEntry, Community
from communities.models.community import TEST_LIFETIME
from communities.services.trail import presence
from communities.services.trail.presence import IS_PRESENT, LOCKED_ACTOR

Values = Mapping[str, object]
BATCH_SIZE = 5_000
MAX_NAME = 200  # The columns have at most this many characters.
# The name for staff without a name. Their user name is never shown, because they sign in with it.
NAMELESS_STAFF = "Staff of this site"
# Letters and digits that cannot be confused. The first character is a letter, so that PostgreSQL reads the
# whole text as one word.
_LETTERS, _SIGNS, _LENGTH = "ABCDEFGHJKMNPQRSTVWXYZ", "ABCDEFGHJKMNPQRSTVWXYZ23456789", 8

# The name is the actor's current name, as in `members.display_names`. Without an existing actor no row is
# written.
_RECORD = f"""
    WITH {LOCKED_ACTOR}
    INSERT INTO communities_auditentry (
        id, community_id, happened_at, source, actor_id, actor_name, actor_pseudonym, api_key_id, key_prefix,
        action, object_type, object_id, object_name, project_id, before, after, request_id
    )
    SELECT %(id)s::uuid, %(community_id)s::bigint, %(happened_at)s::timestamptz, %(source)s::varchar,
        %(actor_id)s::bigint, coalesce(left((
            SELECT coalesce(nullif(here.nick, ''), nullif(person.name, ''),
                CASE WHEN person.is_staff THEN %(nameless_staff)s::varchar END)
            FROM communities_user person LEFT JOIN membership here ON here.user_id = person.id
            WHERE person.id = %(actor_id)s::bigint
        ), 200), ''), %(actor_pseudonym)s::varchar, %(api_key_id)s::bigint, %(key_prefix)s::varchar,
        %(action)s::varchar, %(object_type)s::varchar, %(object_id)s::varchar, %(object_name)s::varchar,
        %(project_id)s::bigint, %(before)s::jsonb, %(after)s::jsonb, %(request_id)s::varchar
    WHERE %(actor_id)s::bigint IS NULL OR {IS_PRESENT}
"""
_ACTED_AS_STAFF = """
    SELECT EXISTS (
        SELECT FROM communities_auditentry WHERE community_id = %s AND actor_id = ANY(%s) AND source <> %s
    )
"""
_ACTED_IN = """
    SELECT community.id FROM communities_community community WHERE EXISTS (
        SELECT FROM communities_auditentry WHERE community_id = community.id AND actor_id = ANY(%s)
    ) ORDER BY community.id
"""
_ERASE_ACTOR = """
    UPDATE communities_auditentry
    SET actor_id = NULL, actor_name = '', actor_pseudonym = %s, api_key_id = NULL, key_prefix = '',
        request_id = NULL
    WHERE community_id = %s AND actor_id = ANY(%s)
"""
# A member, and the members who were merged into them, according to the entries of the merges.
_MERGED_MEMBERS = """
    WITH RECURSIVE own AS (
        SELECT %s::text AS id
        UNION
        SELECT entry.before ->> 'member_id' FROM own JOIN communities_auditentry entry
            ON entry.community_id = %s AND entry.object_type = 'member' AND entry.object_id = own.id
            AND entry.action = %s
        WHERE entry.before ->> 'member_id' IS NOT NULL
    )
    SELECT id FROM own
"""
_ERASE_OBJECT = """
    UPDATE communities_auditentry SET object_id = NULL, object_name = '', before = NULL, after = NULL
    WHERE community_id = %s AND object_type = %s AND object_id = ANY(%s)
"""
_DELETE = """
    DELETE FROM communities_auditentry WHERE id = ANY(ARRAY(
        SELECT id FROM communities_auditentry
        WHERE happened_at < %s AND (%s::bigint[] IS NULL OR community_id = ANY(%s::bigint[]))
        LIMIT %s FOR UPDATE SKIP LOCKED
    ))
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """The object of an action: its kind (`project`, `webhook`), id and current name.

    `id` is None for an object that must not be named, such as an anonymous response.
    """

    community_id: int
    type: str
    id: object
    name: str = ""
    project_id: int | None = None


def record(
    *,
    actor: Actor | None,
    action: Action,
    on: Subject,
    at: datetime,
    before: Values | None = None,
    after: Values | None = None,
    rounded_to: Rounding | None = None,
) -> None:
    """Write an entry. Call this inside the change's transaction. Without an `actor` the service itself acted.

    Waits for an erasure of the actor that is in progress, and raises ActorGone after an erasure. If a merge
    has removed the actor's user, the entry names the user who remains. The actor cannot be erased until the
    transaction ends, so all rows of the change may name them.

    `before` and `after` contain the changed fields and nothing secret. `rounded_to` is set for actions
    together with anonymous responses: then neither the time, the id nor the request shows exactly when the
    action happened.
    """
    assert connection.in_atomic_block, "An entry is written in the transaction of its change."
    key = actor.key if actor else None
    is_former = actor is not None and not actor.user_id
    exact = rounded_to is None
    values: dict[str, Any] = {
        "id": uuid.UUID(int=uuid_utils.uuid7().int) if exact else uuid.uuid4(),
        "community_id": on.community_id,
        "happened_at": rounding.down(at, rounded_to),
        "source": _source_of(actor).value,
        "actor_id": None if actor is None or is_former else actor.user_id,
        "nameless_staff": NAMELESS_STAFF,
        "actor_pseudonym": actor.pseudonym if actor else "",
        "api_key_id": key and key.id,
        "key_prefix": key.prefix if key else "",
        "action": action.value,
        "object_type": on.type,
        "object_id": None if on.id is None else str(on.id),
        "object_name": on.name[:MAX_NAME],
        "project_id": on.project_id,
        "before": _as_json(before),
        "after": _as_json(after),
        "request_id": _request_id() if actor and exact and not is_former else None,
    }
    with prepared() as cursor:
        cursor.execute(_RECORD, values)
        while not cursor.rowcount:
            values["actor_id"] = presence.successor_of(user_id=values["actor_id"])
            cursor.execute(_RECORD, values)


def record_change(
    *, actor: Actor | None, action: Action, on: Subject, at: datetime, before: Values, after: Values
) -> None:
    """Write an entry with the fields that differ. Writes no entry if nothing differs."""
    was, now = changes(before, after)
    if was or now:
        record(actor=actor, action=action, on=on, at=at, before=was, after=now)


def changes(before: Values, after: Values) -> tuple[dict[str, object], dict[str, object]]:
    """The fields that differ, with their values before and after.

    Fields of nested objects are named by their path (`delivery.opening.time`).
    """
    was, now = dict(_flat(before)), dict(_flat(after))
    differing = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return (
        {name: was[name] for name in differing if name in was},
        {name: now[name] for name in differing if name in now},
    )


def _flat(values: Values, path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _source_of(actor: Actor | None) -> AuditEntry.Source:
    if actor is None:
        return AuditEntry.Source.SYSTEM
    if actor.key is not None:
        return AuditEntry.Source.API_KEY
    works = not actor.is_member or actor.grants
    return AuditEntry.Source.ADMIN if works else AuditEntry.Source.MEMBER


def _as_json(values: Values | None) -> str | None:
    return wire.render(values).decode() if values else None


def _request_id() -> str | None:
    """The id of the current request, which is in every log line too; None outside of requests."""
    request_id: str | None = structlog.contextvars.get_contextvars().get("request_id")
    return request_id


# --- The newest change ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LastChange:
    """The author of the newest change of a project, with the name that they had then, and the time.

    `name` is None if the service itself made the change, or if the person was erased.
    """

    actor_id: int | None
    name: str | None
    at: datetime


def last_change(*, project_id: int, action: str = "") -> LastChange | None:
    """The newest change of a project whose action begins with `action`, such as `script.`; None if there is
    none.
    """
    entries = AuditEntry.objects.filter(project_id=project_id, action__startswith=action)
    newest = entries.order_by("-happened_at", "-id").values_list("actor_id", "actor_name", "happened_at")
    row = newest.first()
    return LastChange(row[0], row[1] or None, row[2]) if row else None


# --- Erasing and deleting ---------------------------------------------------------------------------


def member_ids_of(*, community_id: int, member_id: int) -> list[int]:
    """The ids of a member and of the members who were merged into them in this community."""
    with connection.cursor() as cursor:
        cursor.execute(_MERGED_MEMBERS, [str(member_id), community_id, Action.MEMBER_MERGED.value])
        return [int(row[0]) for row in cursor.fetchall()]


@in_transaction
def erase(
    *,
    community_id: int,
    user_ids: Collection[int],
    member_id: int | None,
    key_ids: Collection[int],
    is_staff: bool,
) -> str:
    """Remove a person from the community's entries: as the author, and as the object of entries.

    The actions and their times remain. If the person is staff, or ever acted as staff there, all their
    entries get one new pseudonym, which is returned. For other people the pseudonym is blank. It is random
    and only the entries contain it, so nothing connects it to the person. `user_ids` are the person's user
    and the users merged into it, `key_ids` their API keys. There is no other way to change entries.
    """
    users = list(user_ids)
    with connection.cursor() as cursor:
        cursor.execute(_ACTED_AS_STAFF, [community_id, users, AuditEntry.Source.MEMBER.value])
        is_accountable = is_staff or cursor.fetchone()[0]
        pseudonym = _new_pseudonym() if is_accountable else ""
        members = [] if member_id is None else member_ids_of(community_id=community_id, member_id=member_id)
        _allow("colloquy.erased_in_community", str(community_id))
        cursor.execute(_ERASE_ACTOR, [pseudonym, community_id, users])
        cursor.execute(_ERASE_OBJECT, [community_id, "member", list(map(str, members))])
        cursor.execute(_ERASE_OBJECT, [community_id, "api_key", list(map(str, key_ids))])
        _allow("colloquy.erased_in_community", "")
    return pseudonym


def communities_of_actor(*, user_ids: Collection[int]) -> list[int]:
    """The ids of the communities whose entries name one of these users as the author."""
    with connection.cursor() as cursor:
        cursor.execute(_ACTED_IN, [list(user_ids)])
        return [row[0] for row in cursor.fetchall()]


def _new_pseudonym() -> str:
    signs = (secrets.choice(_SIGNS) for _ in range(_LENGTH - 1))
    return secrets.choice(_LETTERS) + "".join(signs)


def delete_old(*, at: datetime) -> int:
    """Delete entries that are older than AUDIT_DAYS, in test sides than 30 days, and return how many. Safe to
    run twice.

    Django's own log of the admin is as old at most.
    """
    since = at - timedelta(days=settings.AUDIT_DAYS)
    tests = list(Community.objects.filter(test_of__isnull=False).values_list("pk", flat=True))
    deleted = _delete_before(since, None) + _delete_before(at - TEST_LIFETIME, tests)
    entries = apps.get_model("admin", "LogEntry")._default_manager
    old = entries.filter(action_time__lt=since)
    while ids := list(old.values_list("pk", flat=True)[:BATCH_SIZE]):
        old.filter(pk__in=ids).delete()
    return deleted


def _delete_before(since: datetime, community_ids: list[int] | None) -> int:
    """Delete the entries before a moment: those of these communities, or all."""
    deleted, last = 0, BATCH_SIZE
    while last == BATCH_SIZE:
        with in_transaction, connection.cursor() as cursor:
            _allow("colloquy.audit_kept_since", since.isoformat())
            cursor.execute(_DELETE, [since, community_ids, community_ids, BATCH_SIZE])
            last = cursor.rowcount
            _allow("colloquy.audit_kept_since", "")
        deleted += last
    return deleted


def _allow(setting: str, value: str) -> None:
    """Set the changes that the database's trigger allows until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [setting, value])
