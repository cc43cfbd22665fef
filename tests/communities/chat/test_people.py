"""The people who act in chat, from the platform's signed data."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from communities.ground.rounding import Rounding
from communities.identity_providers.chat import GuildMember
from communities.models import Identity, Member, User
from communities.services.chat import people
from tests.factories import CommunityFactory, IdentityFactory, MemberFactory
from tests.support.moments import LUNCHTIME, NOON

pytestmark = pytest.mark.django_db
LISTED = GuildMember(("7", "8"), "Marit", None, NOON)


def _known(community: Any, listed: GuildMember = LISTED, *, at: datetime = NOON, **fields: Any) -> Any:
    return people.known(
        community_id=community.pk, platform_id="55", name="marit", listed=listed, at=at, **fields
    )


def test_somebody_new_becomes_a_user_with_an_account_and_a_member() -> None:
    community = CommunityFactory.create()

    found = _known(community)

    member = Member.objects.get(community=community)
    assert (found.user_id, found.member_id) == (member.user_id, member.pk)
    assert (member.nick, member.role_ids, member.roles_told_at) == ("Marit", ["7", "8"], NOON)
    assert not User.objects.get(pk=member.user_id).has_usable_password()
    account = Identity.objects.get(user=member.user)
    assert (account.provider, account.platform_id, account.proven_at) == ("chat", "55", NOON)
    assert account.community == community


def test_one_statement_if_nothing_has_changed(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    community = CommunityFactory.create()
    first = _known(community)

    with django_assert_num_queries(1):
        again = _known(community, at=NOON + timedelta(minutes=29))

    assert again.member_id == first.member_id
    assert again.role_ids == {"7", "8"}


@pytest.mark.parametrize(
    "listed",
    [
        replace(LISTED, nick="Maja"),
        replace(LISTED, role_ids=("7",)),
        replace(LISTED, avatar_url="https://cdn.discordapp.com/avatars/55/a.png"),
    ],
)
def test_what_has_changed_is_kept_at_once(listed: GuildMember) -> None:
    community = CommunityFactory.create()
    _known(community)

    found = _known(community, listed, at=NOON + timedelta(minutes=1))

    member = Member.objects.get()
    assert (member.nick, tuple(member.role_ids or ()), member.avatar_url) == (
        *(listed.nick, listed.role_ids, listed.avatar_url),
    )
    assert found.role_ids == set(listed.role_ids)


def test_that_nothing_changed_is_noted_now_and_then() -> None:
    community = CommunityFactory.create()
    _known(community)
    later = NOON + timedelta(minutes=31)

    _known(community, at=later)

    assert Member.objects.get().roles_told_at == later


def test_beside_anonymous_answers_no_time_is_finer_than_its_rounding() -> None:
    community = CommunityFactory.create()

    _known(community, at=LUNCHTIME, rounded_to=Rounding.DAY)

    told_at = Member.objects.get().roles_told_at
    assert told_at is not None
    assert (told_at.hour, told_at.minute, told_at.second) == (0, 0, 0)


def test_beside_anonymous_answers_nothing_is_written_of_who_is_known(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    community = CommunityFactory.create()
    _known(community)
    listed, later = replace(LISTED, nick="Maja", role_ids=("9",)), NOON + timedelta(days=3)

    with django_assert_num_queries(1):
        found = _known(community, listed, at=later, rounded_to=Rounding.HOUR)

    assert (found.role_ids, found.roles_told_at) == ({"9"}, later)
    assert Member.objects.get().nick == "Marit"


def test_who_left_in_another_way_is_not_brought_back() -> None:
    community = CommunityFactory.create()
    member = MemberFactory.create(community=community, left_at=NOON, role_ids=[])
    IdentityFactory.create(user=member.user, provider="chat", platform_id="55", community=None)

    found = _known(community, at=NOON + timedelta(days=1))

    member.refresh_from_db()
    assert (found.member_id, member.left_at) == (None, NOON)


def test_who_had_left_the_server_belongs_again() -> None:
    community = CommunityFactory.create()
    member = MemberFactory.create(community=community, left_at=NOON, left_server=True, roles_told_at=NOON)
    IdentityFactory.create(user=member.user, provider="chat", platform_id="55", community=None)

    found = _known(community, at=NOON + timedelta(days=1))

    member.refresh_from_db()
    assert (found.member_id, member.left_at) == (member.pk, None)


def test_an_erased_person_is_new() -> None:
    community = CommunityFactory.create()
    first = _known(community)
    Identity.objects.all().delete()

    again = _known(community)

    assert again.user_id != first.user_id


def test_a_server_that_is_no_community_is_nobodys() -> None:
    community = CommunityFactory.create()

    assert people.known(community_id=1, platform_id="55", name="marit", listed=LISTED, at=NOON) is None
    assert not Member.objects.filter(community=community).exists()
    assert not User.objects.exists()
