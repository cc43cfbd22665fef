"""An invitation of a known member, opened by somebody who has an account."""

from __future__ import annotations

import pytest

from communities.ground.actors import Actor
from communities.models import Identity, Invitation, Member, User
from communities.services.inviting import invitations
from tests.factories import MemberFactory, StandingFactory
from tests.support.browsers import EMAIL, an_admin, invited, new_browser, page, person, prove, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def admin_here() -> Actor:
    return an_admin()


@pytest.fixture
def known(admin_here: Actor) -> Member:
    member = MemberFactory.create(community_id=admin_here.community_id, user__password="")
    StandingFactory.create(member=member, xp_total=350)
    return member


@pytest.fixture
def ada() -> User:
    return person()


def test_the_member_becomes_part_of_the_account_that_is_signed_in(
    admin_here: Actor, known: Member, ada: User
) -> None:
    path = invited(admin_here, member_id=known.pk)
    browser = new_browser()
    sign_in(browser)
    asked = browser.get(path, follow=True)
    refused = browser.post(f"{path}merge/")
    before = Member.objects.get(pk=known.pk).user_id
    prove(browser)

    joined = browser.post(f"{path}merge/")

    assert "The community knows you already" in page(asked)
    assert refused["Location"].startswith("/account/reauthenticate/")
    assert before == known.user_id
    assert joined["Location"] == "/account/"
    assert Member.objects.get(pk=known.pk).user_id == ada.pk
    assert not User.objects.filter(pk=known.user_id).exists()
    assert Invitation.objects.get().accepted_by_id == ada.pk
    assert browser.post(f"{path}merge/").status_code == 410


def test_a_present_membership_takes_the_member_in(admin_here: Actor, known: Member, ada: User) -> None:
    own = MemberFactory.create(community_id=admin_here.community_id, user=ada)
    path = invited(admin_here, member_id=known.pk)
    browser = new_browser()
    sign_in(browser)
    prove(browser)

    browser.post(f"{path}merge/")

    assert list(Member.objects.filter(user=ada)) == [own]
    assert not Member.objects.filter(pk=known.pk).exists()


def test_a_member_who_has_found_another_way_to_sign_in_stays_apart(
    admin_here: Actor, known: Member, ada: User
) -> None:
    path = invited(admin_here, member_id=known.pk)
    Identity.objects.create(
        user_id=known.user_id, provider="chat", platform_id="5", proven_at=invitations.now()
    )
    browser = new_browser()
    sign_in(browser)
    prove(browser)

    answer = browser.post(f"{path}merge/")

    assert answer.status_code == 409
    assert "has an account by now" in page(answer)
    assert Member.objects.get(pk=known.pk).user_id == known.user_id
    assert Invitation.objects.get().accepted_at is None


def test_an_invitation_of_nobody_in_particular_has_nothing_to_merge(admin_here: Actor, ada: User) -> None:
    path = invited(admin_here)
    browser = new_browser()
    visitor = browser.get(f"{path}merge/")
    sign_in(browser)

    assert visitor["Location"].startswith("/account/login/")
    assert browser.get(f"{path}merge/")["Location"] == path
    assert browser.get(f"{path[:-5]}XXXX/merge/").status_code == 410
    assert ada.email == EMAIL
