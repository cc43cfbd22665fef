"""Lists of the admin: keyset paging forwards and backwards, filters that are known, and nothing else."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from django.test import RequestFactory

from communities.models import Community
from communities.staff import keyset, listing
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from tests.factories import CommunityFactory
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
NEWEST = ("-created_date", "-pk")


@pytest.fixture
def names() -> list[str]:
    """The names of seven communities, newest first; some were created at the same moment."""
    made = [
        CommunityFactory.create(name=f"C{number}", created_date=NOON + timedelta(days=number // 2))
        for number in range(7)
    ]
    newest = sorted(made, key=lambda each: (each.created_date, each.pk), reverse=True)
    return [each.name for each in newest]


def read(*, after: str = "", before: str = "") -> keyset.Page[Community]:
    return keyset.read_page(Community.objects.all(), NEWEST, after=after, before=before, length=3)


def test_pages_forwards_hold_each_row_once(names: list[str]) -> None:
    first = read()
    second = read(after=first.next or "")
    third = read(after=second.next or "")

    assert [row.name for page in (first, second, third) for row in page.rows] == names
    assert (first.previous, third.next) == (None, None)


def test_pages_backwards_hold_what_was_before(names: list[str]) -> None:
    first = read()
    second = read(after=first.next or "")
    third = read(after=second.next or "")

    again = read(before=third.previous or "")
    assert [row.name for row in again.rows] == [row.name for row in second.rows]
    start = read(before=again.previous or "")
    assert [row.name for row in start.rows] == names[:3]
    assert start.previous is None


@pytest.mark.parametrize("cursor", ["x", "AAAA", "W10", "WzEsMl0", "WyJhIiwgImIiXQ", "bnVsbA", "é"])
def test_a_cursor_that_is_none_shows_the_first_page_or_none(names: list[str], cursor: str) -> None:
    assert [row.name for row in read(after=cursor).rows] in (names[:3], [])


@pytest.mark.parametrize("values", ['["C\\u0000", 1]', "[" * 2_500])
def test_a_forged_cursor_shows_the_first_page(names: list[str], values: str) -> None:
    cursor = base64.urlsafe_b64encode(values.encode()).decode()

    page = keyset.read_page(Community.objects.all(), ("name", "pk"), after=cursor, before="", length=3)

    assert [row.name for row in page.rows] == ["C0", "C1", "C2"]


def spec(**more: object) -> Listing[Community]:
    fields: dict[str, object] = {
        "columns": [Column("Name", lambda row: row.name, is_title=True)],
        "orders": {"newest": Order("Newest", NEWEST), "id": Order("Id", ("pk",))},
        "empty": Empty("None."),
        "filters": [
            Filter(
                "tier",
                "Tier",
                [("basic", "Basic"), ("vip", "VIP")],
                lambda rows, value: rows.filter(tier=value),
            )
        ],
        "searches": "names",
        "search": lambda rows, term: rows.filter(name__startswith=term),
    }
    return Listing(**{**fields, **more})  # type: ignore[arg-type]


def draw(**query: str) -> listing.ListPage:
    return listing.draw(RequestFactory().get("/", query), spec(), Community.objects.all())


def test_filters_and_search_narrow_and_stay_in_the_links(names: list[str]) -> None:
    Community.objects.filter(name="C3").update(tier="vip")

    page = draw(tier="vip", q="C", sort="id")

    assert [row.cells[0].content for row in page.rows] == ["C3"]
    assert page.is_narrowed
    chips = {chip.label: chip for group in page.filters for chip in group.chips}
    assert chips["VIP"].is_chosen
    assert chips["Basic"].query == "?q=C&sort=id&tier=basic"


@pytest.mark.parametrize(
    "query", [{"tier": "gold"}, {"id__exact": "1"}, {"sort": "bot_credits"}, {"settings__xp_name": "XP"}]
)
def test_what_the_list_does_not_know_changes_nothing(names: list[str], query: dict[str, str]) -> None:
    assert [row.cells[0].content for row in draw(**query).rows] == names


def test_a_null_byte_in_a_search_finds_nothing_and_breaks_nothing(names: list[str]) -> None:
    assert len(draw(q="C1\x00").rows) == 1
