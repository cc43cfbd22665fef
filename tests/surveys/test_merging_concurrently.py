"""What is stored for the dropped user while a merge waits for their membership becomes the kept user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from communities.models import Member
from surveys.models import Conversation
from surveys.services import anonymity
from surveys.services.merging import merge_users
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import CHOICE, Caller
from tests.support.concurrency import BackgroundCall
from tests.support.surveys.imports import past, send
from tests.support.surveys.participants import Talk

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
