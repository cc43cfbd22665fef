"""Roles wait for a chat platform, each role once for a member."""

import pytest

from communities.models import Member
from tests.factories import MemberFactory
from tests.support.moments import NOON
from xp.models import RoleGrant
from xp.services import roles

pytestmark = pytest.mark.django_db


def grant(member: Member, role_id: str = "77", name: str = "Club evening") -> None:
    roles.grant(member_id=member.pk, role_id=role_id, project_id=5, project_name=name, at=NOON)


def test_an_earned_role_waits() -> None:
    ann = MemberFactory.create()

    grant(ann)

    waiting = RoleGrant.objects.get()
    assert (waiting.member_id, waiting.role_id, waiting.project_id) == (ann.pk, "77", 5)
    assert (waiting.project_name, waiting.created_at) == ("Club evening", NOON)
    assert waiting.is_waiting


def test_a_waiting_role_is_not_granted_twice() -> None:
    ann, ben = MemberFactory.create(), MemberFactory.create()

    for member, role_id in [(ann, "77"), (ann, "77"), (ann, "78"), (ben, "77")]:
        grant(member, role_id)

    rows = RoleGrant.objects.order_by("id").values_list("member_id", "role_id")
    assert list(rows) == [(ann.pk, "77"), (ann.pk, "78"), (ben.pk, "77")]


def test_a_role_that_was_carried_out_may_be_earned_again() -> None:
    ann = MemberFactory.create()
    grant(ann)
    RoleGrant.objects.update(carried_out_at=NOON)

    grant(ann)

    assert [each.is_waiting for each in RoleGrant.objects.order_by("id")] == [False, True]


def test_a_deleted_member_gets_no_role() -> None:
    ann = MemberFactory.create()
    Member.objects.all().delete()

    grant(ann)

    assert not RoleGrant.objects.exists()
