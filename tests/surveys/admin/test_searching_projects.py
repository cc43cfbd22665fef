"""Searching a list of projects that is longer than a page: nothing is lost, and little is read."""

from __future__ import annotations

import secrets
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from surveys.models import Project
from tests.support.moments import NOON
from tests.support.plans import analyse, rows_read
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, project_staff

pytestmark = [pytest.mark.long, pytest.mark.django_db]

COUNT = 2_000
SORTS = ("newest", "name")
RARE = {5, 600, 1_204, 1_990}


@pytest.fixture(scope="module")
def mark() -> str:
    """The end of all words, so that indexes have them of no test that is over."""
    return secrets.token_hex(8)


@pytest.fixture(scope="module")
def projects(mark: str, kept_rows: None) -> list[Project]:
    """By number: every second is a "Vote", the others are each a "Survey"; four are rare; all are weekly."""
    made = _made(mark)
    analyse(Project)
    return made


def _made(mark: str) -> list[Project]:
    return Project.objects.bulk_create(
        Project(
            community=scenario.community(),
            name=f"{['Survey', 'vote'][n % 2]}{mark} {n % 7} week{mark}{f' rare{mark}' if n in RARE else ''}",
            type="poll" if n % 3 == 0 else "convo",
            created_at=NOON + timedelta(minutes=n // 2),  # two at the same time
            deleted_at=NOON if n % 50 == 49 else None,
        )
        for n in range(COUNT)
    )


def limits(monkeypatch: pytest.MonkeyPatch, *, frequent: int, looked_up: int) -> None:
    for name, value in (("SAMPLE", 10), ("FREQUENT", frequent), ("MAX_LOOKED_UP", looked_up)):
        monkeypatch.setattr(f"communities.ground.word_matches.{name}", value)


@pytest.mark.parametrize(("frequent", "looked_up"), [(11, 5_000), (11, 1), (0, 5_000)])
def test_all_pages_together_hold_every_match_once(
    projects: list[Project],
    mark: str,
    frequent: int,
    looked_up: int,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.setattr("communities.staff.listing.PER_PAGE", 300)
    limits(monkeypatch, frequent=frequent, looked_up=looked_up)
    for words, sort in product(["vote week", "WEEK", "rare 5", "survey rare", "survey vote"], SORTS):
        terms = [word if word.isdigit() else word + mark for word in words.split()]
        expected = matches(projects, terms, sort)
        query = {"q": " ".join(terms), "sort": sort}
        with subtests.test(words=words, sort=sort):
            assert listed(**query) == [each.pk for each in expected]
            assert listed(**query, type="poll") == [each.pk for each in expected if each.is_poll]


def test_a_page_reads_few_rows(
    projects: list[Project], mark: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr("communities.staff.listing.PER_PAGE", 10)
    limits(monkeypatch, frequent=3, looked_up=100)
    client = project_staff().client
    for words, sort in product(["rare", "vote week", "vote", "nothing"], SORTS):
        query = {"q": " ".join(f"{word}{mark}" for word in words.split()), "sort": sort}
        with subtests.test(words=words, sort=sort):
            with rows_read(Project) as read:
                page = client.get(LIST, query)

            assert len(page.context["page"].rows) == {"rare": 4, "nothing": 0}.get(words, 10)
            # Votes stand after all surveys in the order of names, whose entries in the index are read.
            behind = COUNT // 2 if words.startswith("vote") and sort == "name" else 0
            assert read.count < behind + 500


def matches(projects: list[Project], terms: list[str], sort: str) -> list[Project]:
    """The projects whose names have all the terms as words, in the order of the list."""
    found = [
        each
        for each in projects
        if each.deleted_at is None and all(term.lower() in each.name.lower().split() for term in terms)
    ]
    if sort == "name":
        return sorted(found, key=lambda each: (each.name.lower(), each.pk))
    return sorted(found, key=lambda each: (each.created_at, each.pk), reverse=True)


def listed(**query: str) -> list[int]:
    """The ids of the projects on all pages of the list, as they stand there."""
    client, ids = project_staff().client, list[int]()
    page: Any = client.get(LIST, query)
    while True:
        ids += [int(row.key) for row in page.context["page"].rows]
        if not page.context["page"].next:
            return ids
        page = client.get(LIST + page.context["page"].next)
