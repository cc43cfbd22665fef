"""Hand-written statements are prepared once they repeat, and appear in Django's query log."""

from contextlib import closing

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from communities.ground.statements import fetch_in_batches, prepared
from communities.models import Community

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
def test_who_stops_early_may_read_another_statement_in_batches() -> None:
    numbers = "SELECT n FROM generate_series(1, %s) n"

    with transaction.atomic():
        with closing(fetch_in_batches(numbers, [5], size=2)) as batches:
            first = next(batches)
        others = list(fetch_in_batches(numbers, [3], size=2))

    assert first == [(1,), (2,)]
    assert others == [[(1,), (2,)], [(3,)]]


@pytest.mark.django_db
def test_a_fault_of_a_statement_in_batches_is_the_one_that_is_told() -> None:
    with pytest.raises(DataError, match="division by zero"), transaction.atomic():
        list(fetch_in_batches("SELECT 1 / (%s - n) FROM generate_series(1, 9) n", [3], size=1))


@pytest.mark.django_db
def test_a_fault_is_one_of_djangos() -> None:
    Community.objects.create(id=1, name="Harbour")

    with pytest.raises(IntegrityError), transaction.atomic(), prepared() as cursor:
        cursor.execute(
            "INSERT INTO communities_community (id, name, platform, tier, bot_credits, total_project_count,"
            " active_project_count, topics) VALUES (1, 'Twin', 'chat', 'basic', 0, 0, 0, '{}')"
        )
