"""The order in which readers of the feed are told what has changed (rules 6.51 and 6.52).

The position of a change is the number of the transaction that wrote it. Transactions commit out of this
order, so a reader goes only as far as the oldest transaction that is still open: all below has been decided,
and nothing can appear there later. A sequence would not do: its numbers become visible in any order too, and
nobody could tell which are still to come.

`changed_in` is null while there is nothing to tell, and UNSETTLED on anonymous projects until the hour is
settled, because a transaction's number shows when something was written.

The fragments of SQL stand here, so that all who write positions write the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from communities.ground.statements import fetch_rows

UNSETTLED = 0

NOW = "pg_current_xact_id()::text::bigint"
NEXT = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
"""No transaction that a statement sees has had this number or a higher one."""
# All databases of a server count together. Nobody waits for a transaction that is known to be of another one.
OPEN = f"""(
    SELECT coalesce(min(running::text::bigint), {NEXT})
    FROM pg_snapshot_xip(pg_current_snapshot()) AS running
    WHERE NOT EXISTS (
        SELECT FROM pg_stat_activity a WHERE a.backend_xid = running::xid AND a.datname <> current_database()
    )
)"""
"""The oldest transaction that is still open, or the next one: positions below are final."""


def position(*, is_anonymous: bool) -> str:
    """The SQL for the position of a change that the transaction makes."""
    return str(UNSETTLED) if is_anonymous else NOW


def moved(*, is_anonymous: bool, is_listed: str = "is_listed") -> str:
    """The SQL for the new `changed_in` of a conversation. One that was never listed has nothing to tell.

    One that was listed and is not any more is told as deleted.
    """
    return f"CASE WHEN {is_listed} OR changed_in IS NOT NULL THEN {position(is_anonymous=is_anonymous)} END"


@dataclass(frozen=True, slots=True)
class Order:
    """The order as it stands: the oldest open transaction, the next number, and whose numbers they are."""

    open: int
    next: int
    database: int


def now() -> Order:
    """The order as it stands in this moment."""
    rows = fetch_rows(f"SELECT {OPEN}, {NEXT}, system_identifier FROM pg_control_system()", [])
    return Order(*rows[0])
