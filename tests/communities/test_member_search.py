"""Finding members in a large community: the newest of many, all of a few, and few rows read either way."""

from __future__ import annotations

import secrets

import pytest

from communities.models import Community, Member, User
from communities.services.tenants import member_search
from communities.services.tenants.member_search import find_members
from tests.factories import CommunityFactory, IdentityFactory
from tests.support.plans import analyse, fill_members, rows_read

pytestmark = pytest.mark.django_db
# So many that reading all costs far more than an index, however large other tests have made the index.
COUNT = 5_000


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_search, "MAX_FOUND", 10)
    monkeypatch.setattr(member_search, "NEWEST", 20)


@pytest.fixture(scope="module")
def members(kept_rows: None) -> list[Member]:
    """All are persons, one in 1,000 is rare, and one in 500 has a nick.

    The name of their community ends all words, so that indexes have them of no test that is over.
    """
    mark = secrets.token_hex(8)
    made = fill_members(CommunityFactory.create(name=mark), COUNT, name=f"Person{mark} {{}}")
    for number in range(0, COUNT, 1_000):
        User.objects.filter(pk=made[number].user_id).update(name=f"Rare{mark} person{mark}")
    for number in range(0, COUNT, 500):
        Member.objects.filter(pk=made[number].pk).update(nick=f"Nick{mark}")
    analyse(Member, User)
    return made


@pytest.fixture
def community(members: list[Member]) -> Community:
    return members[0].community


def test_of_many_the_newest_are_found(community: Community, members: list[Member]) -> None:
    found = find_members(community_id=community.pk, term=f"person{community.name}")

    assert sorted(found) == [each.pk for each in members[-10:]]


@pytest.mark.parametrize(("word", "every"), [("RARE", 1_000), ("nick", 500)])
def test_of_few_all_are_found(community: Community, members: list[Member], word: str, every: int) -> None:
    found = find_members(community_id=community.pk, term=f"{word}{community.name}")

    assert sorted(found) == [each.pk for each in members[::every]]


def test_an_account_is_found_beside_many_with_such_a_name(
    community: Community, members: list[Member]
) -> None:
    term = f"person{community.name}"
    IdentityFactory.create(user=members[0].user, platform_id=term)

    assert members[0].pk in find_members(community_id=community.pk, term=term)


@pytest.mark.parametrize("word", ["person", "rare", "nick", "nobody"])
def test_few_rows_are_read(community: Community, members: list[Member], word: str) -> None:
    with rows_read(Member, User) as read:
        find_members(community_id=community.pk, term=f"{word}{community.name}")

    assert read.count < 300
