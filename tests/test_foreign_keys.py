"""Each foreign key has an index, so that deleting a row does not read the whole table that points at it.

PostgreSQL checks deferred foreign keys inside COMMIT, for each deleted row, and without a statement_timeout.
"""

from __future__ import annotations

import pytest
from django.db import connection

# Without an index, because the table stays small.
SMALL = {
    "surveys_generation (requested_by_id)": "rows of work with AI, deleted ten minutes after its end",
    "surveys_responsedeletion (requested_by_id)": "marks by hand, which go after an hour with their response",
}
# An index over some rows serves if it has all rows whose key is not null: PostgreSQL looks for no others.
WITHOUT_INDEX = """
    SELECT format('%s (%s)', c.conrelid::regclass, string_agg(a.attname, ', ' ORDER BY a.attnum))
    FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey)
    WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace AND NOT EXISTS (
        SELECT FROM pg_index i
        WHERE i.indrelid = c.conrelid AND i.indisvalid
            AND (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey
            AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = (
                SELECT format('(%I IS NOT NULL)', attname) FROM pg_attribute
                WHERE attrelid = c.conrelid AND attnum = c.conkey[1]
            ))
    )
    GROUP BY c.oid, c.conrelid
"""


@pytest.mark.django_db
def test_each_foreign_key_begins_an_index_unless_its_table_stays_small() -> None:
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_INDEX)
        without = [key for (key,) in cursor.fetchall()]

    assert sorted(without) == sorted(SMALL)
