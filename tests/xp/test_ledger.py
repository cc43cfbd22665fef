"""The ledger adds up, stops at 0, and is append-only (rules 8.2 to 8.4)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError
from pytest_django import DjangoAssertNumQueries

from communities.ground.errors import NotFound
from communities.models import Member, User
from tests.factories import CommunityFactory, MemberFactory
from tests.support.moments import NOON
from tests.support.xp.ledger import Kind, award, chain, standing
from xp.models import Standing, XpEntry
from xp.services import ledger, standings

pytestmark = pytest.mark.django_db

FEBRUARY = datetime(2026, 2, 1, 0, 0, tzinfo=UTC)


def as_json(entry: XpEntry) -> dict[str, object]:
    return ledger.entries_as_json([entry], community_id=entry.member.community_id)[0]


def run(sql: str, *values: str | int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


def test_awards_and_deductions_are_chained() -> None:
    ann = MemberFactory.create()

    for amount in (10, 25, -5):
        award(ann, amount)

    assert chain(ann) == [(10, 10), (25, 35), (-5, 30)]
    assert standings.of_member(member_id=ann.pk, at=NOON) == standings.Totals(30, 30, 0)


def test_an_entrys_json_has_all_that_was_recorded() -> None:
    ann = MemberFactory.create()

    entry = award(
        ann,
        40,
        Kind.SURVEY_COMPLETION,
        recorded_at=datetime(2026, 1, 31, tzinfo=UTC),
        source_ref=2**62,
        session_number=3,
        survey_name="Club evening",
        actor_id=2**61,
        note="Well done.",
    )

    assert as_json(entry) == {
        "id": entry.pk,
        "delta": 40,
        "balance_after": 40,
        "source_kind": "survey_completion",
        "source_ref": 2**62,
        "session_number": 3,
        "actor_name": None,
        "actor_pseudonym": None,
        "survey_name": "Club evening",
        "note": "Well done.",
        "created_at": NOON.replace(hour=0),
    }
    stored = XpEntry.objects.get()
    assert (stored.actor_id, as_json(stored)) == (2**61, as_json(entry))


def test_the_actor_has_the_current_name_in_the_community() -> None:
    ann = MemberFactory.create()
    boss = MemberFactory.create(community=ann.community, user__name="Ingrid")
    entry = award(ann, 1, actor_id=boss.user_id)
    names = [as_json(entry)["actor_name"]]

    Member.objects.filter(pk=boss.pk).update(nick="The boss", left_at=NOON)
    names.append(as_json(entry)["actor_name"])
    Member.objects.filter(pk=boss.pk).update(community=CommunityFactory.create())
    names.append(as_json(entry)["actor_name"])
    User.objects.filter(pk=boss.user_id).update(is_staff=True)
    names.append(as_json(entry)["actor_name"])
    User.objects.filter(pk=boss.user_id).update(name="", username="ingrid")
    names.append(as_json(entry)["actor_name"])

    assert names == ["Ingrid", "The boss", None, "Ingrid", "Staff of this site"]


def test_a_deduction_stops_at_zero() -> None:
    ann = MemberFactory.create()
    award(ann, 30)

    entry = award(ann, -100)

    assert (entry.delta, entry.balance_after) == (-30, 0)
    assert standings.of_member(member_id=ann.pk, at=NOON).total == 0


def test_a_deduction_from_nothing_is_an_entry_of_zero() -> None:
    ann = MemberFactory.create()

    entry = award(ann, -100)

    assert (entry.delta, entry.balance_after) == (0, 0)
    assert chain(ann) == [(0, 0)]


def test_texts_longer_than_their_columns_are_truncated() -> None:
    entry = award(MemberFactory.create(), 1, survey_name="s" * 201, note="n" * 501)

    entry.refresh_from_db()

    assert (entry.survey_name, entry.note) == ("s" * 200, "n" * 500)


def test_the_newest_entries_come_first() -> None:
    ann, ben = MemberFactory.create(), MemberFactory.create()
    for amount in (1, 2, 3):
        award(ann, amount)
        award(ben, 10 * amount)

    assert [entry.delta for entry in ledger.entries(member_id=ann.pk)] == [3, 2, 1]


def test_the_month_turns_at_midnight_utc() -> None:
    """Rule 8.8."""
    ann = MemberFactory.create()
    award(ann, 10, at=FEBRUARY - timedelta(microseconds=1))

    award(ann, 5, at=FEBRUARY)

    assert standings.of_member(member_id=ann.pk, at=FEBRUARY) == standings.Totals(15, 5, 0)


def test_the_month_is_that_of_utc_in_any_time_zone() -> None:
    ann = MemberFactory.create()
    in_auckland = datetime(2026, 2, 1, 9, 0, tzinfo=timezone(timedelta(hours=13)))

    award(ann, 10, at=in_auckland)

    assert standing(ann).month == datetime(2026, 1, 1, tzinfo=UTC).date()


def test_a_late_award_for_the_previous_month_counts_in_the_total_only() -> None:
    ann = MemberFactory.create()
    award(ann, 10, at=FEBRUARY)

    award(ann, 7, at=NOON)

    assert standings.of_member(member_id=ann.pk, at=FEBRUARY) == standings.Totals(17, 10, 0)


def test_the_month_counts_deductions_of_what_was_earned_before() -> None:
    ann = MemberFactory.create()
    award(ann, 10)

    award(ann, -4, at=FEBRUARY)

    assert standings.of_member(member_id=ann.pk, at=FEBRUARY) == standings.Totals(6, -4, 0)


def test_recorded_at_does_not_decide_the_month() -> None:
    ann = MemberFactory.create()

    entry = award(ann, 10, at=FEBRUARY, recorded_at=NOON)

    assert entry.created_at == NOON
    assert standings.of_member(member_id=ann.pk, at=FEBRUARY).month == 10


def test_the_first_xp_after_a_completion_begins_the_month() -> None:
    ann = MemberFactory.create()
    ledger.count_participation(member_id=ann.pk, community_id=ann.community_id)

    award(ann, 10)

    assert standings.of_member(member_id=ann.pk, at=NOON) == standings.Totals(10, 10, 1)


def test_a_member_who_earned_nothing_has_zeros() -> None:
    assert standings.of_member(member_id=MemberFactory.create().pk, at=NOON) == standings.Totals(0, 0, 0)


@pytest.mark.parametrize(("changes", "left"), [([1, 1, 1], 3), ([1, -1], 0), ([-1], 0), ([1, -1, -1, 1], 1)])
def test_participation_never_falls_below_zero(changes: list[int], left: int) -> None:
    ann = MemberFactory.create()

    for change in changes:
        ledger.count_participation(member_id=ann.pk, community_id=ann.community_id, change=change)

    assert standing(ann).participation == left


def test_members_earn_nothing_in_other_communities() -> None:
    ann, elsewhere = MemberFactory.create(), CommunityFactory.create()

    with pytest.raises(NotFound):
        ledger.award(member_id=ann.pk, community_id=elsewhere.pk, amount=5, kind=Kind.UNKNOWN, at=NOON)
    ledger.count_participation(member_id=ann.pk, community_id=elsewhere.pk)
    nothing = ledger.reset(member_id=ann.pk, community_id=elsewhere.pk, actor_id=1, at=NOON)

    assert nothing is None
    assert not Standing.objects.exists()
    assert not XpEntry.objects.exists()


def test_an_award_is_rolled_back_with_its_transaction() -> None:
    ann = MemberFactory.create()
    award(ann, 10)

    with transaction.atomic():
        award(ann, 5)
        transaction.set_rollback(True)

    assert chain(ann) == [(10, 10)]
    assert standing(ann).xp_total == 10


def test_an_award_takes_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    ann = MemberFactory.create()
    with django_assert_num_queries(3):
        award(ann, 10)

    with django_assert_num_queries(1):
        award(ann, 10)
    with django_assert_num_queries(1):
        ledger.count_participation(member_id=ann.pk, community_id=ann.community_id)
    with django_assert_num_queries(1):
        standings.of_member(member_id=ann.pk, at=NOON)


def test_a_reset_takes_all_xp_and_records_who_did_it() -> None:
    ann = MemberFactory.create()
    award(ann, 30)

    entry = ledger.reset(member_id=ann.pk, community_id=ann.community_id, actor_id=ann.user_id, at=NOON)

    assert entry is not None
    assert (entry.source_kind, entry.actor_id) == (Kind.RESET, ann.user_id)
    assert chain(ann) == [(30, 30), (-30, 0)]
    assert standings.of_member(member_id=ann.pk, at=NOON).total == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: XpEntry.objects.filter(pk=entry.pk).update(note="Never mind."),
        lambda entry: entry.save(update_fields=["note"]),
        lambda entry: run("UPDATE xp_xpentry SET delta = delta WHERE id = %s", entry.pk),
    ],
    ids=["by a queryset", "by save", "by SQL"],
)
def test_an_entry_cannot_be_changed(change) -> None:
    entry = award(MemberFactory.create(), 10)

    with (
        pytest.raises(IntegrityError, match=rf"^XP entry {entry.pk} cannot be changed"),
        transaction.atomic(),
    ):
        change(entry)

    entry.refresh_from_db()
    assert (entry.delta, entry.note) == (10, None)


@pytest.mark.parametrize(
    "delete",
    [
        lambda entry: XpEntry.objects.filter(pk=entry.pk).delete(),
        lambda entry: entry.delete(),
        lambda entry: run("DELETE FROM xp_xpentry"),
    ],
    ids=["by a queryset", "by delete", "by SQL"],
)
def test_an_entry_cannot_be_deleted(delete) -> None:
    entry = award(MemberFactory.create(), 10)

    with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
        delete(entry)

    assert XpEntry.objects.filter(pk=entry.pk).exists()


def test_erasing_a_person_cannot_delete_entries_of_others() -> None:
    ann, ben = MemberFactory.create(), MemberFactory.create()
    award(ann, 10)
    award(ben, 10)

    run("SELECT set_config('colloquy.erased_member', %s, true)", str(ann.pk))
    with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
        XpEntry.objects.filter(member__in=[ann, ben]).delete()

    assert chain(ann) == chain(ben) == [(10, 10)]


@pytest.mark.parametrize(("delta", "balance"), [(5, 5), (5, 14), (-5, 10), (0, 0)])
def test_an_entry_that_does_not_add_up_is_refused(delta: int, balance: int) -> None:
    ann = MemberFactory.create()
    award(ann, 10)

    with (
        pytest.raises(
            IntegrityError, match=f"The balance of member {ann.pk} is 10: {delta} more cannot leave"
        ),
        transaction.atomic(),
    ):
        XpEntry.objects.create(
            member=ann, delta=delta, balance_after=balance, source_kind=Kind.UNKNOWN, created_at=NOON
        )

    assert chain(ann) == [(10, 10)]


def test_entries_of_one_statement_are_checked_against_each_other() -> None:
    ann = MemberFactory.create()

    def rows(*balances: int) -> list[XpEntry]:
        return [
            XpEntry(member=ann, delta=5, balance_after=each, source_kind=Kind.UNKNOWN, created_at=NOON)
            for each in balances
        ]

    XpEntry.objects.bulk_create(rows(5, 10))
    with pytest.raises(IntegrityError, match="is 15: 5 more cannot leave 15"), transaction.atomic():
        XpEntry.objects.bulk_create(rows(15, 15))

    assert chain(ann) == [(5, 5), (5, 10)]


def test_an_entry_cannot_be_inserted_before_the_newest() -> None:
    ann = MemberFactory.create()
    newest = award(ann, 10)

    with pytest.raises(IntegrityError, match="is older than their newest"), transaction.atomic():
        XpEntry.objects.create(
            id=newest.pk - 1, member=ann, delta=5, balance_after=15, source_kind="unknown", created_at=NOON
        )


def test_after_an_erasure_entries_cannot_be_deleted_again() -> None:
    ann = MemberFactory.create()
    award(ann, 10)

    with transaction.atomic():
        ledger.erase(member_id=ann.pk)
        entry = award(ann, 5)
        with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
            entry.delete()

    assert chain(ann) == [(5, 5)]


def test_a_member_with_entries_cannot_be_deleted() -> None:
    ann = MemberFactory.create()
    award(ann, 10)

    with pytest.raises(ProtectedError):
        ann.delete()
    run("SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises(IntegrityError):
        run("DELETE FROM communities_member WHERE id = %s", ann.pk)

    assert chain(ann) == [(10, 10)]
