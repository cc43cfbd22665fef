"""The order of changes in the feed (rules 6.51 and 6.52).

The position of a change is the number of the transaction that wrote it. Transactions commit in a different
order, so a reader reads only up to the oldest transaction that is still open. All transactions below it have
ended, so no change can appear there later. A sequence would not work: its numbers become visible in any order
too, and no reader could know which are missing.

`changed_in` is null while the feed has nothing to report. On anonymous projects it is UNSETTLED until the
hour is settled, because a transaction's number shows when a row was written.

The SQL fragments are defined here, so that every writer of positions writes the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from communities.ground.statements import fetch_rows

UNSETTLED = 0

NOW = "pg_current_xact_id()::text::bigint"
NEXT = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
"""No transaction that a statement sees has had this number or a higher one."""
# Transaction numbers are shared by all databases of a server. Transactions that are known to belong to
# another database are ignored.
OPEN = f"""(
    SELECT coalesce(min(running::text::bigint), {NEXT})
    FROM pg_snapshot_xip(pg_current_snapshot()) AS running
    WHERE NOT EXISTS (
        SELECT FROM pg_stat_activity a WHERE a.backend_xid = running::xid AND a.datname <> current_database()
    )
)"""
"""The oldest transaction that is still open, or the next one: positions below are final."""


def position(*, is_anonymous: bool) -> str:
    """The SQL for the position of a change that this transaction makes."""
    return str(UNSETTLED) if is_anonymous else NOW


def moved(*, is_anonymous: bool, is_listed: str = "is_listed") -> str:
    """The SQL for the new `changed_in` of a conversation.

    A conversation that was never listed has nothing to report. A conversation that was listed and is no
    longer listed is reported as deleted.
    """
    return f"CASE WHEN {is_listed} OR changed_in IS NOT NULL THEN {position(is_anonymous=is_anonymous)} END"


@dataclass(frozen=True, slots=True)
class Order:
    """The order at one moment: the oldest open transaction, the next number, and the database that the
    numbers belong to.
    """

    open: int
    next: int
    database: int


def now() -> Order:
    """The order at this moment."""
    rows = fetch_rows(f"SELECT {OPEN}, {NEXT}, system_identifier FROM pg_control_system()", [])
    return Order(*rows[0])
