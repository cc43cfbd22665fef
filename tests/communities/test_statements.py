"""Hand-written statements are prepared once they repeat, and appear in Django's query log."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from communities.models import Community
from communities.statements import prepared

STATEMENT = "SELECT %s::int + 1 AS told_by_this_test"


def _ask(number: int) -> int:
    with prepared() as cursor:
        cursor.execute(STATEMENT, [number])
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_a_statement_that_repeats_is_prepared() -> None:
    told = [_ask(number) for number in (1, 2, 3, 4)]

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%told_by_this_test'"
        )
        (count,) = cursor.fetchone()
    assert told == [2, 3, 4, 5]
    assert count == 1


@pytest.mark.django_db
def test_a_statement_is_in_the_query_log() -> None:
    with CaptureQueriesContext(connection) as queries:
        _ask(1)

    assert [query["sql"] for query in queries] == ["SELECT $1::int + 1 AS told_by_this_test"]


@pytest.mark.django_db
def test_a_fault_is_one_of_djangos() -> None:
    Community.objects.create(id=1, name="Harbour")

    with pytest.raises(IntegrityError), transaction.atomic(), prepared() as cursor:
        cursor.execute(
            "INSERT INTO communities_community (id, name, platform, tier, bot_credits, total_project_count,"
            " active_project_count, topics) VALUES (1, 'Twin', 'chat', 'basic', 0, 0, 0, '{}')"
        )
