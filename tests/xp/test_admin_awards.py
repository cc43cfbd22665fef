"""XP by hand in the admin: the amount, the confirmation of the new total, and the entry."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import CommunitySettings, Member
from tests.factories import MemberFactory
from tests.support.moments import NOON
from tests.support.staff import Staff, hidden, text_of
from tests.support.xp.ledger import award, chain, standing
from xp.models import XpEntry

pytestmark = pytest.mark.django_db


def ann_of(staff: Staff, **fields: Any) -> Member:
    return MemberFactory.create(community=staff.community, nick="Ann", **fields)


def send(staff: Staff, member: Member, **values: object) -> Any:
    form = {"direction": "give", "amount": 40, "note": "For help", **values}
    return staff.post("communities_member_award", member.pk, follow=True, **form)


def confirm(staff: Staff, member: Member, **values: object) -> Any:
    """Both steps, as somebody does them who does not change their mind."""
    asked = send(staff, member, **values)
    return send(staff, member, **{"seen": hidden(asked, "seen"), "confirmed": "yes", **values})


def test_the_new_total_is_said_before_anything_is_written() -> None:
    staff = Staff()
    ann = ann_of(staff)
    award(ann, 100)

    said = text_of(send(staff, ann))

    assert "Give 40 XP to Ann?" in said
    assert "The total changes from 100 to 140 XP." in said
    assert "Note: “For help”" in said
    assert chain(ann) == [(100, 100)]


def test_an_award_is_written_with_its_note_and_who_made_it_and_is_shown() -> None:
    staff = Staff()
    ann = ann_of(staff)
    award(ann, 100)

    page = confirm(staff, ann)

    entry = XpEntry.objects.latest("id")
    assert (entry.delta, entry.balance_after, entry.note, entry.actor_id) == (
        40,
        140,
        "For help",
        staff.user.pk,
    )
    assert entry.source_kind == XpEntry.SourceKind.ADMIN_MANUAL
    assert "By hand +40 140 For help Ada" in text_of(page)
    assert f'id="entry-{entry.pk}"' in page.content.decode()


def test_a_deduction_stops_at_zero_and_says_so() -> None:
    staff = Staff()
    ann = ann_of(staff)
    award(ann, 30)

    asked = send(staff, ann, direction="take")
    confirm(staff, ann, direction="take")

    assert "The total changes from 30 to 0 XP." in text_of(asked)
    assert "30 XP are taken, not 40." in text_of(asked)
    assert chain(ann)[-1] == (-30, 0)


def test_confirming_twice_awards_once() -> None:
    staff = Staff()
    ann = ann_of(staff)
    seen = hidden(send(staff, ann), "seen")

    first = send(staff, ann, seen=seen, confirmed="yes")
    second = send(staff, ann, seen=seen, confirmed="yes")

    assert "Done." in text_of(first)
    assert "The total has changed meanwhile." in text_of(second)
    assert "from 40 to 80 XP" in text_of(second)
    assert chain(ann) == [(40, 40)]


def test_one_may_go_back_and_change_the_amount() -> None:
    staff = Staff()
    ann = ann_of(staff)

    page = send(staff, ann, seen=0, change="yes").content.decode()

    assert 'value="40"' in page
    assert "For help" in page
    assert not chain(ann)


@pytest.mark.parametrize("amount", ["0", "-5", "1000001", "many", ""])
def test_impossible_amounts_are_refused_at_the_field(amount: str) -> None:
    staff = Staff()
    ann = ann_of(staff)

    page = send(staff, ann, amount=amount, seen=0, confirmed="yes")

    assert "There is a problem" in text_of(page)
    assert not chain(ann)


@pytest.mark.parametrize(
    ("has_left", "use_xp", "said"),
    [(True, True, "has left the community"), (False, False, "XP is switched off")],
)
def test_who_can_get_no_xp_gets_none(has_left: bool, use_xp: bool, said: str) -> None:
    staff = Staff()
    CommunitySettings.objects.update(use_xp=use_xp)
    ann = ann_of(staff, left_at=NOON if has_left else None)

    page = send(staff, ann, seen=0, confirmed="yes")

    assert said in text_of(page)
    assert not chain(ann)


def test_a_reset_asks_says_what_follows_and_is_recorded() -> None:
    staff = Staff()
    ann = ann_of(staff)
    award(ann, 130)

    asked = text_of(staff.get("communities_member_reset", ann.pk))
    assert chain(ann) == [(130, 130)]
    page = staff.post("communities_member_reset", ann.pk, follow=True)

    assert "All 130 XP are taken, and the level falls to 0." in asked
    assert chain(ann)[-1] == (-130, 0)
    assert XpEntry.objects.latest("id").actor_id == staff.user.pk
    assert standing(ann).xp_total == 0
    assert "Reset to 0 −130 0" in text_of(page)
    assert "no XP to take" in text_of(staff.post("communities_member_reset", ann.pk, follow=True))
