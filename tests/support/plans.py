"""The number of rows that PostgreSQL reads, in tables large enough for plans to make a difference."""

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
    """Count the rows and index entries of our tables that the SELECTs of this block read.

    `tables` are analysed first, because the server's own analysis does not see a test's rows. When the block
    ends, EXPLAIN ANALYZE runs each SELECT again, so the block must not change their results. The lookup of a
    project by its id is left out: its statement is prepared, and logged without its values.
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
    """Let PostgreSQL count rows and values now, which it would do by itself later.

    Pending entries of text indexes are merged too.
    """
    with connection.cursor() as cursor:
        for each in tables:
            cursor.execute(f"ANALYZE {each._meta.db_table}")
            for index in each._meta.indexes:
                if isinstance(index, GinIndex):
                    cursor.execute("SELECT gin_clean_pending_list(%s::regclass)", [index.name])


def fill_members(community: Community, count: int, *, name: str = "Person {}") -> list[Member]:
    """`count` members, in the order of their ids. `name` contains their number, from 0."""
    users = User.objects.bulk_create(
        User(username=f"filled {community.pk} {n}", name=name.format(n)) for n in range(count)
    )
    return Member.objects.bulk_create(Member(community=community, user=user) for user in users)


def _read_by(node: Mapping[str, Any]) -> int:
    below = sum(map(_read_by, node.get("Plans", ())))
    name = node.get("Relation Name", node.get("Index Name", ""))
    if not name or name.startswith("pg_"):  # other tests enlarge the catalogue at the same time
        return below
    passed_over = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return below + round((node["Actual Rows"] + passed_over) * node["Actual Loops"])
