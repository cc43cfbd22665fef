"""A version of each community's API keys in Redis. By the version, every process notices that it must look a
key up again.

A process caches callers together with the version at the time of the look-up. A request reads the current
version in the round trip of its rate limit (`communities.gate.throttling`), and looks its key up again if the
two differ. So every change is effective at the next request, in every process:

    announce(community_ids)            a change of keys, roles, accounts or tiers, in its own transaction

While the transaction runs, the version is `CHANGING`, and nobody uses cached callers. After the commit, the
version is a new random text. If Redis has lost the version, the next request sets a version from Redis'
clock. A counter could return to an old value, so the version is not a counter. If Redis cannot be reached,
callers are cached for `communities.gate.authentication.SECONDS_IN_CACHE` at most. The same is true if Redis
loses `CHANGING` and the process dies.

Changes through managers, instances and cascades are announced automatically, also those of the admin and of a
shell: see `AccessQuerySet` and `connect`. SQL by hand, and `bulk_create` that updates rows, call `announce`.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import structlog
from django.db import connection, models, transaction
from django.db.models.signals import post_delete, post_save
from redis.exceptions import RedisError

from communities.ground import redis_connection

CHANGING = b"-"
# In milliseconds. After this time a new version is set, and processes look keys up again.
LIFETIME = 24 * 3600 * 1000
LONGEST_CHANGE = 60 * 1000  # In milliseconds. A transaction takes less time.

M = TypeVar("M", bound=models.Model)
log = structlog.get_logger("colloquy.keys")


def name_of(community_id: int) -> str:
    """The name of the version in Redis."""
    return f"colloquy:keys:{community_id}"


def announce(community_ids: Iterable[int]) -> None:
    """Make every process look up the keys of these communities again.

    Call this before or after the change, in its transaction; outside of a transaction, after it.
    """
    fresh = [each for each in sorted(set(community_ids)) if not _is_announced(each)]
    if fresh and connection.in_atomic_block:
        _write(dict.fromkeys(fresh, CHANGING), LONGEST_CHANGE)
    for community_id in fresh:
        transaction.on_commit(_Renewal(community_id))


class _Renewal:
    """Gives a community's keys a new version. Instances are compared by community, so that one commit sets
    one version.
    """

    def __init__(self, community_id: int) -> None:
        self.community_id = community_id

    def __call__(self) -> None:
        _write({self.community_id: secrets.token_hex(8)}, LIFETIME)


def _is_announced(community_id: int) -> bool:
    """Return whether the running transaction already announces this community."""
    calls = (entry[1] for entry in connection.run_on_commit)
    return any(isinstance(call, _Renewal) and call.community_id == community_id for call in calls)


def _write(versions: dict[int, Any], lifetime: int) -> None:
    try:
        with redis_connection.client().pipeline(transaction=False) as pipeline:
            for community_id, version in versions.items():
                pipeline.set(name_of(community_id), version, px=lifetime)
            pipeline.execute()
    except RedisError as error:  # In any case, cached callers expire within seconds.
        log.error("keys.change_not_announced", cause=type(error).__name__, communities=list(versions))


# --- Changes that are announced automatically ---------------------------------------------------------


class AccessQuerySet(models.QuerySet[M]):
    """Rows that decide which keys are valid and what these keys may do.

    The model has `decides_access`, which lists these fields, and `path_to_community`.
    """

    def update(self, **values: Any) -> int:
        if not touches_access(self.model, values):
            return super().update(**values)
        with transaction.atomic(using=self.db, savepoint=False):
            path = self.model.path_to_community  # type: ignore[attr-defined]
            announce(filter(None, self.order_by().values_list(path, flat=True).distinct()))
            return super().update(**values)

    update.alters_data = True  # type: ignore[attr-defined]


def touches_access(model: type[models.Model], fields: Collection[str]) -> bool:
    """Whether writing these fields of a model may change the caller of a key."""
    decisive: frozenset[str] = model.decides_access  # type: ignore[attr-defined]
    return not decisive.isdisjoint(name.removesuffix("_id") for name in fields)


def connect(*changed: type[models.Model], deleted: Collection[type[models.Model]]) -> None:
    """Announce saved rows of the models `changed`, and deleted rows of the models in `deleted`."""
    for model in changed:
        post_save.connect(_announce_saved, sender=model, dispatch_uid="key_versions")
    for model in deleted:
        post_delete.connect(_announce_deleted, sender=model, dispatch_uid="key_versions")


def _announce_saved(
    sender: type[models.Model],
    instance: models.Model,
    created: bool,
    update_fields: frozenset[str] | None,
    **_: object,
) -> None:
    # Invalid keys are never cached, so a new row does not change any cached caller.
    if not created and (update_fields is None or touches_access(sender, update_fields)):
        _announce_deleted(sender, instance)


def _announce_deleted(sender: type[models.Model], instance: models.Model, **_: object) -> None:
    path = sender.path_to_community  # type: ignore[attr-defined]
    if "__" in path:
        rows = sender._base_manager.filter(pk=instance.pk).values_list(path, flat=True)
        announce(filter(None, rows))
    else:
        announce([getattr(instance, path)])
