from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from communities.models import Identity, Member, User
from communities.services import count_projects
from communities.services.people import members
from communities.services.people.members import Account, KnownPerson, Membership, NoSuchMember
from tests.factories import IdentityFactory
from tests.support.caller import Caller, counts
from tests.support.moments import NOON


def test_a_present_member_is_found_by_either_id(db: None) -> None:
    caller = Caller("member")
    member = Member.objects.get()
    known = KnownPerson(caller.user.pk, "A member", member.pk)

    assert members.find_member(community_id=caller.community.pk, member_id=member.pk) == known
    assert members.find_person(community_id=caller.community.pk, user_id=caller.user.pk) == known


def test_a_member_is_known_by_nick_roles_and_accounts_that_of_the_chat_first(db: None) -> None:
    caller = Caller("member")
    Member.objects.update(nick="Rook", role_ids=["31", "32"], roles_told_at=NOON)
    IdentityFactory.create(user=caller.user, provider="video", platform_id="v 1")
    IdentityFactory.create(user=caller.user, platform_id="c1")
    IdentityFactory.create(user=caller.user, provider="web", platform_id="w1", community=caller.community)

    person = members.find_person(community_id=caller.community.pk, user_id=caller.user.pk)

    accounts = (Account("chat", "c1"), Account("video", "v 1"))
    assert person == KnownPerson(
        caller.user.pk, "Rook", Member.objects.get().pk, frozenset({"31", "32"}), NOON, accounts
    )
    assert members.display_name(community_id=caller.community.pk, user_id=caller.user.pk) == "Rook"


def test_a_person_who_left_or_of_another_community_is_known_but_no_member(db: None) -> None:
    caller, other = Caller(), Caller()
    member = caller.community.members.get()
    stranger = KnownPerson(caller.user.pk, caller.user.name)

    assert members.find_person(community_id=other.community.pk, user_id=caller.user.pk) == stranger
    assert members.find_member(community_id=other.community.pk, member_id=member.pk) is None
    Member.objects.update(left_at=NOON)
    assert members.find_person(community_id=caller.community.pk, user_id=caller.user.pk) == stranger
    assert members.find_member(community_id=caller.community.pk, member_id=member.pk) is None


def test_nobody_is_known_by_an_id_of_no_user(db: None) -> None:
    caller = Caller()

    assert members.find_person(community_id=caller.community.pk, user_id=caller.user.pk + 1) is None


def test_the_membership_of_a_member_who_left_is_found(db: None) -> None:
    caller, other = Caller(), Caller()
    member_id = caller.community.members.get().pk
    here = {"community_id": caller.community.pk, "member_id": member_id}

    before = members.get_membership(**here)
    Member.objects.update(left_at=NOON)

    assert (before, members.get_membership(**here)) == (
        Membership(caller.user.pk, False),
        Membership(caller.user.pk, True),
    )
    with pytest.raises(NoSuchMember):
        members.get_membership(community_id=other.community.pk, member_id=member_id)


def test_users_are_named_where_they_are_members_or_of_the_staff(db: None) -> None:
    caller, other = Caller(), Caller()
    staff = User.objects.create(username="marit", is_staff=True)
    nameless = Member.objects.create(community=caller.community, user=User.objects.create()).user
    stranger = User.objects.create(name="Stranger")
    asked = [each.pk for each in (caller.user, other.user, staff, nameless, stranger)]
    Member.objects.filter(user=caller.user).update(nick="Rook", left_at=NOON)

    names = members.display_names(community_id=caller.community.pk, user_ids=asked)

    assert names == {caller.user.pk: "Rook", staff.pk: "Staff of this site"}


def test_a_name_of_the_callers_own_is_one_user_in_each_community(db: None) -> None:
    one, other = Caller().community.pk, Caller().community.pk

    first, again, elsewhere, another = (
        members.user_for_external_id(community_id=community, external_id=name)
        for community, name in ((one, "reader-1"), (one, "reader-1"), (other, "reader-1"), (one, "reader-2"))
    )

    assert first == again
    assert len({first, elsewhere, another}) == 3
    assert Identity.objects.filter(provider="web").count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_name_asked_for_by_many_at_once_is_one_user() -> None:
    community_id = Caller().community.pk

    def ask(_: int) -> int:
        try:
            return members.user_for_external_id(community_id=community_id, external_id="reader-1")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        users = set(pool.map(ask, range(12)))

    assert len(users) == 1
    assert User.objects.count() == 2


def test_counts_of_projects_add_up(db: None) -> None:
    caller = Caller()

    count_projects(community_id=caller.community.pk, total=2, active=1)
    count_projects(community_id=caller.community.pk, active=-1)

    assert counts(caller) == (2, 0)


def test_of_many_users_the_present_members_are_locked(db: None) -> None:
    here, other = Caller(), Caller()
    second = here.beside("member")
    gone = here.beside("member")
    Member.objects.filter(user=gone.user).update(left_at=NOON)
    callers = [other, gone, second, here]

    locked = members.lock_members(community_id=here.community.pk, user_ids=[each.user.pk for each in callers])

    assert {user_id: held.member_id for user_id, held in locked.items()} == dict(
        here.community.members.filter(left_at=None).values_list("user_id", "pk")
    )
    assert set(locked) == {here.user.pk, second.user.pk}
    assert {held.user.user_id for held in locked.values()} == set(locked)


def test_kept_members_are_told_with_their_users_and_those_who_left_are_not(db: None) -> None:
    here = Caller()
    gone = here.beside("member")
    Member.objects.filter(user=gone.user).update(left_at=NOON)
    ids = dict(Member.objects.values_list("user_id", "pk"))

    kept = members.keep_members(member_ids=[*ids.values(), 2**62])

    assert kept == {ids[here.user.pk]: here.user.pk}
