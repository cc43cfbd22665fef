"""Filters by time of change and by provider: their results, the rows they read, and deep pages."""

from __future__ import annotations

import random
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from surveys.models import Conversation, Project, Tally
from surveys.services.responses import service as responses
from tests.support.caller import Caller
from tests.support.database import fetch_all
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE

pytestmark = pytest.mark.django_db
FILL = """
    INSERT INTO surveys_conversation
        (id, project_id, provider, seed, state, is_listed, started_at, updated_at, completed_at)
    SELECT lpad(to_hex(n), 32, '0')::uuid, %s, CASE WHEN n %% 100 = 0 THEN 'chat' ELSE 'web' END, n, '{}',
        true, %s, %s::timestamptz + ((n * 7919) %% %s) * interval '1 minute',
        CASE WHEN n %% 3 = 0 THEN %s::timestamptz END
    FROM generate_series(1, %s) n
"""


def _project(count: int) -> Project:
    """A project with `count` responses, changed a minute apart in another order than they were begun.

    A third is completed, and a hundredth came from chat.
    """
    made = scenario.project(CHOICE)
    with connection.cursor() as cursor:
        cursor.execute(FILL, [made.pk, LUNCHTIME, LUNCHTIME, count, LUNCHTIME, count])
        cursor.execute("ANALYZE surveys_conversation")
    Tally.objects.create(project=made, slot=0, listed=count, completed=count // 3)
    return made


def _page(made: Project, **filters: Any) -> responses.ResponsePage:
    asked = {"descending": False, "page": 1, "per_page": 10, "after": None}
    for name in asked.keys() & filters.keys():
        asked[name] = filters.pop(name)
    return responses.list_page(project=made, filters=filters, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [1, 20, 10_001])  # so that few, most and some match
def test_every_combination_of_filters_is_found_in_order_and_counted(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(responses, "_LIMIT", limit)
    made, chance = _project(300), random.Random(limit)
    times = [None, *(LUNCHTIME + timedelta(minutes=minutes) for minutes in (0, 5, 150, 295, 999))]

    for _ in range(60):
        filters: dict[str, Any] = {
            "updated_after": chance.choice(times),
            "provider": chance.choice([None, "web", "chat", "video"]),
            "status": chance.choice(["all", "completed", "partial"]),
        }
        descending, after = chance.choice([True, False]), chance.choice([None, uuid.UUID(int=100)])
        page = _page(made, **filters, descending=descending, after=after)

        expected = Conversation.objects.filter(project=made)
        if filters["updated_after"]:
            expected = expected.filter(updated_at__gte=filters["updated_after"])
        if filters["provider"]:
            expected = expected.filter(provider=filters["provider"])
        if filters["status"] != "all":
            expected = expected.filter(completed_at__isnull=filters["status"] == "partial")
        found = sorted((row.pk for row in expected), reverse=descending)
        rest = [key for key in found if after is None or (key < after if descending else key > after)]
        assert page.total == len(found), filters
        assert [row["id"] for row in page.data] == [str(key) for key in rest[:10]], filters
        assert page.has_more == (len(rest) > 10), filters


def _rows_read() -> int:
    ((count,),) = fetch_all(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables"
        " WHERE relname = 'surveys_conversation'"
    )
    return int(count)


@pytest.mark.parametrize(
    ("filters", "total"),
    [
        ({"updated_after": LUNCHTIME}, 3_000),
        ({"updated_after": LUNCHTIME + timedelta(minutes=20)}, 2_980),
        ({"updated_after": LUNCHTIME + timedelta(minutes=2_980)}, 20),
        ({"updated_after": LUNCHTIME + timedelta(minutes=2_980), "status": "partial"}, None),
        ({"updated_after": LUNCHTIME + timedelta(days=9)}, 0),
        ({"provider": "web"}, 2_970),
        ({"provider": "chat"}, 30),
        ({"provider": "video"}, 0),
    ],
)
def test_a_filter_that_few_or_most_responses_match_reads_few_of_them(
    monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], total: int | None
) -> None:
    monkeypatch.setattr(responses, "_LIMIT", 50)
    made = _project(3_000)
    with connection.cursor() as cursor:  # so few rows are sometimes read as fast without any index
        cursor.execute("SET LOCAL enable_seqscan = off")
    before = _rows_read()

    page = _page(made, **filters)

    assert total in {None, page.total}
    assert _rows_read() - before < 250


def test_pages_by_number_end_and_say_where_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "MAX_PAGED_ROWS", 7)
    admin = Caller("admin")
    made = _project(10)
    Project.objects.filter(pk=made.pk).update(community=admin.community, author=admin.user)
    path = f"/projects/{made.pk}/responses?per_page=3"

    pages = [admin.get(f"{path}&page={page}") for page in (1, 2, 3, 4, 5, 2**31)]
    deep = pages[2].json()
    went_on = admin.get(f"{path}&after={uuid.UUID(int=6)}").json()
    backwards = admin.get(f"{path}&page=3&order=desc").json()

    assert [each.status_code for each in pages] == [200, 200, 400, 400, 200, 200]
    assert [len(pages[page].json()["data"]) for page in (0, 1, 4, 5)] == [3, 3, 0, 0]
    assert deep["error"] == "invalid_request"
    assert deep["violations"] == [{"field": "page", "code": "too_large", "message": deep["message"]}]
    assert deep["message"] == (
        "`page` must be at most 2 with this `per_page`, as pages reach the first 7 rows. Send the id of the "
        f"last response that you have as `after` instead: page 2 ends with {uuid.UUID(int=6)}."
    )
    assert [row["id"] for row in went_on["data"]] == [str(uuid.UUID(int=n)) for n in (7, 8, 9)]
    assert str(uuid.UUID(int=5)) in backwards["message"]
