"""Whether an actor still exists. Changes by an actor and the erasure of that actor wait for each other.

A request keeps the Actor that it read at its beginning, and the actor may be erased before the request
writes. So a statement that writes the actor's name or id locks the actor's membership, or the user of a
superuser without membership. An erasure locks the same row before it removes the name, so it waits for
changes in progress. Later changes find no row, and are refused (rules 7.20 and 7.21).

The lock is `FOR KEY SHARE`. This lock waits only for erasures and merges, and not for changes of the row
(`FOR NO KEY UPDATE`). So two admins may change each other at the same time.
"""

from __future__ import annotations

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, IntegrityError
from psycopg.errors import ForeignKeyViolation

from communities.ground.actors import Actor
from communities.ground.errors import ActorGone
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction

# Two parts of a WITH clause. Their values are `community_id`, `actor_id` and `api_key_id`. A key acts for a
# member, never for a superuser without a membership. A person who acts in a test side is a member of its
# community.
LOCKED_ACTOR = """
    membership AS (
        SELECT here.user_id, here.nick FROM communities_member here
        WHERE here.community_id = (
                SELECT coalesce(place.test_of_id, place.id) FROM communities_community place
                WHERE place.id = %(community_id)s::bigint
            ) AND here.user_id = %(actor_id)s::bigint
        FOR KEY SHARE
    ), superuser AS (
        SELECT person.id FROM communities_user person
        WHERE person.id = %(actor_id)s::bigint AND person.is_superuser AND %(api_key_id)s::bigint IS NULL
            AND NOT EXISTS (SELECT FROM membership)
        FOR KEY SHARE
    )
"""
IS_PRESENT = "(EXISTS (SELECT FROM membership) OR EXISTS (SELECT FROM superuser))"
_HOLD = f"WITH {LOCKED_ACTOR} SELECT {IS_PRESENT}"
_SUCCESSOR = "SELECT id FROM communities_user WHERE merged_ids @> ARRAY[%s]::bigint[]"


def hold(*, actor: Actor) -> bool:
    """Protect the actor from erasure until the transaction ends. Returns whether the actor exists.

    Use this for rows that name an actor and have no entry in the audit trail. Writing an entry has the same
    effect.
    """
    values = {
        "community_id": actor.community_id,
        "actor_id": actor.user_id,
        "api_key_id": actor.key.id if actor.key else None,
    }
    with prepared() as cursor:
        cursor.execute(_HOLD, values)
        return bool(cursor.fetchone()[0])


def require(*, actor: Actor) -> None:
    """Protect the actor from erasure until the transaction ends. Raises ActorGone if there is no such actor.

    Use this for rows that name an actor by an id without a foreign key. An entry of the audit trail does not
    protect these rows. After a merge the entry names the user who remains, but these rows would keep the
    removed id.
    """
    if not hold(actor=actor):
        raise ActorGone


def is_why(*, actor: Actor, error: Exception) -> bool:
    """Whether a change failed because its actor no longer exists: the change refers to the actor's deleted
    user.

    Call this after the change has been rolled back.
    """
    if not refers_to_nobody(error):
        return False
    with in_transaction:
        return not hold(actor=actor)


def refers_to_nobody(error: Exception) -> bool:
    """Whether an error may be caused by a missing row, such as the actor's user."""
    if isinstance(error, IntegrityError):
        return isinstance(error.__cause__, ForeignKeyViolation)
    # Django raises DatabaseError itself, so without a cause, where it saves fields of a row that is gone.
    is_unsaved = type(error) is DatabaseError and error.__cause__ is None
    return is_unsaved or isinstance(error, ObjectDoesNotExist)


def successor_of(*, user_id: int) -> int:
    """Return the user into whom this one was merged. Raises ActorGone if there is none.

    Call this after the wait for the lock, because the merge may have held the lock.
    """
    with prepared() as cursor:
        cursor.execute(_SUCCESSOR, [user_id])
        row = cursor.fetchone()
    if row is None:
        raise ActorGone
    return int(row[0])
