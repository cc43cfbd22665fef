"""What is stored for the dropped user while a merge waits for their membership becomes the kept user's.

What they themselves do on a page while a merge runs is not done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from communities.accounts.adapters import AccountAdapter
from communities.accounts.middleware import JOINED
from communities.models import Member
from surveys.models import Conversation, Project
from surveys.services.ground import anonymity
from surveys.services.people.merging import merge_users
from tests.factories import IdentityFactory, MemberFactory, UserFactory
from tests.support.browsers import new_browser, page, person, sign_in, who
from tests.support.caller import CHOICE, Caller
from tests.support.concurrency import BackgroundCall
from tests.support.staff import Staff
from tests.support.surveys.imports import past, send
from tests.support.surveys.participants import Talk
from xp.models import XpEntry

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def begun(caller: Caller, poll: Any, drop: Member) -> None:
    Talk(caller, poll, member_id=str(drop.pk))


def answered(caller: Caller, poll: Any, drop: Member) -> None:
    Talk(caller, poll, member_id=str(drop.pk)).answer("red")


def imported(caller: Caller, poll: Any, drop: Member) -> None:
    account = IdentityFactory.create(user=drop.user)
    vote = past((poll["script"]["blocks"][0]["name"], "red"), platform_id=account.platform_id)
    assert send(caller, poll, vote).status_code == 201


@pytest.mark.parametrize("stored", [begun, answered, imported])
def test_a_response_that_commits_while_a_merge_waits_is_the_kept_user_s(
    stored: Callable[[Caller, Any, Member], None],
) -> None:
    caller = Caller()
    keep, drop = (MemberFactory.create(community=caller.community) for _ in range(2))
    poll = caller.make_open(CHOICE, type="poll", settings={"change_poll": True})

    with transaction.atomic():
        stored(caller, poll, drop)
        merging = BackgroundCall(
            lambda: merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=timezone.now())
        )
        assert merging.waits_for_lock()

    assert merging.result() is None
    [response] = Conversation.objects.all()
    own = anonymity.respondent_hash(project_id=response.project_id, who=f"user:{keep.user_id}")
    assert (response.user_id, response.respondent) == (keep.user_id, own)
    assert Talk(caller, poll, member_id=str(keep.pk)).told["id"] == str(response.pk)


def test_who_has_only_begun_still_comes_to_the_vote_of_the_kept_user() -> None:
    caller = Caller()
    keep, drop = (MemberFactory.create(community=caller.community) for _ in range(2))
    poll = caller.make_open(CHOICE, type="poll", settings={"change_poll": True})
    first = Talk(caller, poll, member_id=str(keep.pk))
    first.answer("red")
    begun(caller, poll, drop)

    merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=timezone.now())

    again = Talk(caller, poll, member_id=str(keep.pk))
    assert again.told["id"] == first.told["id"]
    again.back()
    assert again.answer("green")["status"] == "completed"


def award_confirmed(staff: Staff, receiver: Member) -> Any:
    values = {"direction": "give", "amount": "5", "note": "", "seen": "0", "confirmed": "yes"}
    return staff.post("communities_member_award", receiver.pk, **values)


def project_added(staff: Staff, receiver: Member) -> Any:
    values = {"name": "Tea?", "type": "convo", "privacy_mode": "semi-private", "start": "empty"}
    return staff.post("surveys_project_add", **values)


@pytest.mark.parametrize("send_form", [award_confirmed, project_added])
def test_staff_whose_account_is_merged_meanwhile_are_told_so_where_they_sign_in(
    send_form: Callable[[Staff, Member], Any],
) -> None:
    staff = Staff()
    keep, receiver = MemberFactory.create_batch(2, community=staff.community)

    with transaction.atomic():
        merge_users(keep_id=keep.user_id, drop_id=staff.user.pk, at=timezone.now())
        sending = BackgroundCall(lambda: send_form(staff, receiver))
        assert sending.waits_for_lock()

    assert sending.result()["Location"].startswith("/account/login/")
    assert JOINED in staff.read("/account/login/")
    assert not XpEntry.objects.exists()
    assert not Project.objects.exists()


def test_whoever_is_merged_while_they_sign_in_is_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep, drop = UserFactory.create(), person()
    login = AccountAdapter.login

    def merge_first(self: AccountAdapter, *args: Any) -> Any:
        merge_users(keep_id=keep.pk, drop_id=drop.pk, at=timezone.now())
        return login(self, *args)

    monkeypatch.setattr(AccountAdapter, "login", merge_first)
    browser = new_browser()

    answer = sign_in(browser)

    assert answer["Location"].startswith("/account/login/")
    assert who(browser) is None
    assert JOINED in page(browser.get("/account/login/"))
