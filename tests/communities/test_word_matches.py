"""Searches of long lists find every match, looked up or read in order, and read few rows either way."""

from __future__ import annotations

import secrets
import uuid
from datetime import timedelta
from typing import Any

import pytest

from communities.models import AuditEntry, Community
from communities.services.trail import audit_listing
from communities.services.trail.audit_listing import Filters
from tests.factories import CommunityFactory
from tests.support.moments import NOON
from tests.support.plans import analyse, rows_read

pytestmark = pytest.mark.django_db
RARE = {5, 600, 1_204, 1_990}
PROJECT = 7


def words_of(number: int) -> list[str]:
    return ["Survey", *(["tenth"] if number % 10 == 0 else ()), *(["rare"] if number in RARE else ())]


@pytest.fixture(scope="module")
def community(kept_rows: None) -> Community:
    """With 2,000 entries: all have one word, every tenth has another, and four have a third one.

    The words end with the name of the community, so that indexes have them of no test that is over.
    """
    mark = secrets.token_hex(8)
    community = CommunityFactory.create(name=mark)
    AuditEntry.objects.bulk_create(
        AuditEntry(
            id=uuid.UUID(int=number + 1),
            community=community,
            happened_at=NOON + timedelta(seconds=number // 2),  # two at the same time
            source="admin",
            action="project.updated" if number % 3 else "project.created",
            object_type="project",
            object_id="7",
            object_name=" ".join(f"{word}{mark}" for word in words_of(number)),
            project_id=PROJECT if number % 2 else None,
        )
        for number in range(2_000)
    )
    analyse(AuditEntry)
    return community


def limits(monkeypatch: pytest.MonkeyPatch, *, sample: int, frequent: int, looked_up: int) -> None:
    for name, value in (("SAMPLE", sample), ("FREQUENT", frequent), ("MAX_LOOKED_UP", looked_up)):
        monkeypatch.setattr(f"communities.ground.word_matches.{name}", value)


def found(community: Community, per_page: int, **filters: Any) -> list[int]:
    """The numbers of the entries on all pages, in the order of the pages."""
    numbers, after = list[int](), None
    while True:
        page = audit_listing.page(
            community_id=community.pk, filters=Filters(**filters), after=after, per_page=per_page
        )
        numbers += [each.pk.int - 1 for each in page.entries]
        if not page.has_more:
            return numbers
        after = page.entries[-1].pk


LOOKED_UP = {"sample": 10, "frequent": 11, "looked_up": 5_000}
TOO_MANY = {"sample": 10, "frequent": 11, "looked_up": 1}
FREQUENT = {"sample": 10, "frequent": 0, "looked_up": 5_000}


@pytest.mark.parametrize(
    ("term", "expected", "known"),
    [
        ("tenth", set(range(0, 2_000, 10)), TOO_MANY),
        ("RARE", RARE, LOOKED_UP),
        ("tenth rare", {600, 1_990}, FREQUENT),
        ("nowhere", set(), LOOKED_UP),
    ],
)
def test_all_pages_together_hold_every_match_once(
    community: Community,
    term: str,
    expected: set[int],
    known: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits(monkeypatch, **known)

    everywhere = found(community, 150, search=term)
    in_project = found(community, 150, search=term, project_id=PROJECT)
    created = found(community, 150, search=term, actions=["project.created"])

    assert everywhere == sorted(expected, reverse=True)
    assert in_project == [number for number in everywhere if number % 2]
    assert created == [number for number in everywhere if number % 3 == 0]


@pytest.mark.parametrize("known", [LOOKED_UP, TOO_MANY, FREQUENT])
def test_a_file_holds_every_match_once(
    community: Community, known: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits(monkeypatch, **known)
    monkeypatch.setattr(audit_listing, "BATCH_SIZE", 70)

    batches = audit_listing.batches(community_id=community.pk, filters=Filters(search="tenth"))

    numbers = [each.pk.int - 1 for batch in batches for each in batch]
    assert numbers == sorted(range(0, 2_000, 10), reverse=True)


@pytest.mark.parametrize("term", ["rare", "nowhere", "survey"])
@pytest.mark.parametrize("project_id", [None, PROJECT])
def test_neither_rare_nor_frequent_words_have_all_rows_read(
    community: Community, term: str, project_id: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits(monkeypatch, sample=10, frequent=5, looked_up=5_000)

    with rows_read(AuditEntry) as read:
        filters = Filters(search=f"{term}{community.name}", project_id=project_id)
        audit_listing.page(community_id=community.pk, filters=filters, per_page=1)

    assert read.count < 200
