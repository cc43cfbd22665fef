"""PostgreSQL's hidden data about rows: position, the transaction that wrote the row, the last that locked it.

Anybody with a copy of the database's files, or the right to read its tables, can read these data. So they
must not join rows that the columns keep apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db import connection

from tests.support.dumps import readable

# Tables that the transaction of an answer writes. They contain respondents only as keyed hashes or encrypted.
OF_ANSWERS = frozenset(
    f"surveys_{name}"
    for name in ("conversation", "answer", "tally", "completion", "firedaction", "sealedgifts", "answerdraft")
)
# Tables whose rows the transaction of an answer locks, so they are not deleted meanwhile.
OF_SCRIPTS = frozenset(f"surveys_{name}" for name in ("project", "block", "option"))
# An answer's transaction may write an event too, which names nobody.
OF_EVENTS = frozenset({"webhooks_event"})


@dataclass(frozen=True)
class StoredRow:
    """A row with its position, and the transactions that wrote it and that locked or replaced it."""

    table: str
    place: str
    writer: str
    locker: str
    text: str

    @property
    def transactions(self) -> set[str]:
        return {self.writer, self.locker} - {"0"}


def stored_rows() -> list[StoredRow]:
    """Every row of every table."""
    rows = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT ctid::text, xmin::text, xmax::text, * FROM "{table}"')
            for place, writer, locker, *values in cursor.fetchall():
                text = repr([readable(value) for value in values])
                rows.append(StoredRow(table, place, writer, locker, text))
    return rows


def joined(rows: Collection[StoredRow], *, answers: Collection[str]) -> Mapping[str, set[str]]:
    """The rows that transactions with rows of `answers` wrote or locked in other tables, by table."""
    of_answers = {each for row in rows if row.table in answers for each in row.transactions}
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.table not in answers and row.transactions & of_answers:
            found.setdefault(row.table, set()).add(row.text)
    return found


def naming(rows: Collection[StoredRow], words: Collection[str]) -> set[StoredRow]:
    """The rows that contain one of these words."""
    return {row for row in rows if any(word in row.text for word in words)}
