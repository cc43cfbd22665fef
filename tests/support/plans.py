"""How many rows PostgreSQL reads for what is asked of it, over tables large enough to tell plans apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from communities.models import Community, Member, User

_LOOKUP = "FROM surveys_project p WHERE p.id = $1 AND p.community_id = $2 AND p.deleted_at IS NULL"


@dataclass
class Reading:
    count: int = 0


@contextmanager
def rows_read(*tables: type[models.Model]) -> Iterator[Reading]:
    """Counts the rows and index entries of our tables that the SELECTs of this block read, when it ends.

    `tables` are analysed first: the server may have done that by itself since, and sees no rows of a test.
    Each is run again by EXPLAIN ANALYZE, so the block must not change what they find. The project that an
    endpoint looks up by its id is left out: its statement is prepared, and logged without its values.
    """
    analyse(*tables)
    reading = Reading()
    with CaptureQueriesContext(connection) as captured:
        yield reading
    for query in captured.captured_queries:
        statement = query["sql"].lstrip()
        if statement.endswith(_LOOKUP):
            continue
        if statement.upper().startswith(("SELECT", "(", "WITH")):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) {statement}")
                (found,) = cursor.fetchone()
            (plan,) = json.loads(found) if isinstance(found, str) else found
            reading.count += _read_by(plan["Plan"])


def analyse(*tables: type[models.Model]) -> None:
    """Let PostgreSQL know how many rows there are now, and of which values, as it does by itself in time.

    Indexes of words get in order what was only noted for them.
    """
    with connection.cursor() as cursor:
        for each in tables:
            cursor.execute(f"ANALYZE {each._meta.db_table}")
            for index in each._meta.indexes:
                if isinstance(index, GinIndex):
                    cursor.execute("SELECT gin_clean_pending_list(%s::regclass)", [index.name])


def fill_members(community: Community, count: int, *, name: str = "Person {}") -> list[Member]:
    """So many members, in the order of their ids. `name` holds their number, from 0."""
    users = User.objects.bulk_create(
        User(username=f"filled {community.pk} {n}", name=name.format(n)) for n in range(count)
    )
    return Member.objects.bulk_create(Member(community=community, user=user) for user in users)


def _read_by(node: Mapping[str, Any]) -> int:
    below = sum(map(_read_by, node.get("Plans", ())))
    name = node.get("Relation Name", node.get("Index Name", ""))
    if not name or name.startswith("pg_"):  # the catalogue grows by what runs beside this test
        return below
    passed_over = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return below + round((node["Actual Rows"] + passed_over) * node["Actual Loops"])
