"""At every step of an anonymous answer nothing in the live database joins it to its giver (rule 7.10).

Examines all tables: the transactions that wrote or locked each row, and the rows about the person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from communities.models import Identity, Member
from communities.services.people import members
from surveys.models import Completion, FiredAction, SealedGifts
from surveys.services.conversations import admission, gifts, repository
from surveys.services.conversations import service as conversations
from surveys.services.ground import anonymity
from surveys.services.people import merging
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import TEXT, Caller
from tests.support.concurrency import BackgroundCall, run_together
from tests.support.kills import die, dying_after, in_a_process_that_dies
from tests.support.moments import LUNCHTIME
from tests.support.storage import OF_ANSWERS, OF_EVENTS, OF_SCRIPTS, StoredRow, joined, naming, stored_rows
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk, giving, once_the_hour_is_over
from tests.support.surveys.rewards import OPEN_WEB, option, project, signed_in
from xp.models import EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import ledger, roles

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_no_hurry"),
]

USER_ID, MEMBER_ID = 7_770_001_117, 8_880_002_228
CHAT_ID, NAME = "9990003339", "Ann Onymous"
WORDS = (str(USER_ID), str(MEMBER_ID), CHAT_ID, NAME)
REWARDS = {"use_xp": True, "achievement_enabled": True, "discord_role_id": "1187"}
BLOCKS = (QUESTION, giving(xp_amount=5), giving("give_achievement", xp_role_id=7), QUESTION, TEXT)


@pytest.fixture
def in_no_hurry(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


@pytest.fixture
def caller() -> Caller:
    return Caller()


def ann(community: Any) -> Member:
    member = MemberFactory.create(
        pk=MEMBER_ID, community=community, user__pk=USER_ID, user__name=NAME, nick=NAME
    )
    IdentityFactory.create(user=member.user, provider=Identity.Provider.CHAT, platform_id=CHAT_ID)
    return member


class Finder:
    """Compares the stored data about the person after each step with the data before the first step."""

    def __init__(self) -> None:
        self.before = naming(stored_rows(), WORDS)
        self.steps = 0

    def look(self) -> None:
        """Nothing was written or locked about the person, and nothing is joined to the answer."""
        rows = stored_rows()
        self.steps += 1
        assert self._of_person(rows) == self._of_person(self.before)
        assert set(joined(rows, answers=OF_ANSWERS)) <= OF_SCRIPTS | OF_EVENTS
        assert naming([row for row in rows if row.table in OF_ANSWERS | OF_EVENTS], WORDS) == set()

    def _of_person(self, rows: Any) -> set[StoredRow]:
        return naming(rows, WORDS)


def walked(talk: Any) -> Iterator[None]:
    """Each step of a walk over the interface, with a step back."""
    yield
    talk.answer()
    yield
    talk.back()
    yield
    while talk.told["step"] is not None:
        talk.answer() if talk.block["type"] not in ("content_block", "action_block") else talk.go_on()
        yield


def test_over_the_interface_no_step_writes_about_the_person(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    finder = Finder()

    for _ in walked(Talk(caller, made, member_id=str(member.pk))):
        finder.look()

    assert finder.steps == 8
    assert SealedGifts.objects.count() == 4  # the action before the step back was reached twice


def test_the_finder_finds_what_projects_that_are_not_anonymous_join(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(QUESTION, rewards=REWARDS)
    finder = Finder()

    Talk(caller, made, member_id=str(member.pk)).through()

    found = set(joined(stored_rows(), answers=OF_ANSWERS))
    assert {"communities_member", "xp_standing", "xp_xpentry", "xp_earnedachievement"} <= found
    with pytest.raises(AssertionError):
        finder.look()


def test_a_vote_writes_nothing_about_the_person(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(QUESTION, type="poll", rewards=REWARDS, privacy_mode="anonymous")
    finder = Finder()

    Talk(caller, made, member_id=str(member.pk)).through()

    finder.look()
    assert SealedGifts.objects.count() == 1


def test_on_its_page_no_step_writes_about_the_person() -> None:
    made = project(*BLOCKS, audience=OPEN_WEB, rewards=REWARDS, privacy_mode="anonymous")
    member = ann(made.community)
    visitor = signed_in(made, member)
    finder = Finder()

    for fields in (
        {"option": option(made, "q0")},
        {"do": "go"},
        {"do": "go"},
        {"option": option(made, "q3")},
    ):
        visitor.send(**fields)
        finder.look()
    visitor.send(text="Because.")
    finder.look()

    assert "Thank you" in visitor.page
    assert SealedGifts.objects.count() == 3


def test_once_the_hour_is_over_everything_was_given_and_no_more(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(member.pk)).through()
    later = timezone.now() + timedelta(hours=2)

    assert gifts.settle(at=timezone.now()) == 0
    assert gifts.settle(at=later) == 3
    assert gifts.settle(at=later) == 0

    assert sorted(XpEntry.objects.values_list("source_kind", "delta")) == [
        ("action_block", 5),
        ("survey_completion", 30),
    ]
    standing = Standing.objects.get()
    assert (standing.xp_total, standing.participation) == (35, 1)
    assert EarnedAchievement.objects.filter(number=7).exists()
    assert RoleGrant.objects.get().role_id == "1187"
    rows = stored_rows()
    assert set(joined(rows, answers=OF_ANSWERS)) <= OF_SCRIPTS | OF_EVENTS


@pytest.mark.parametrize(("is_daily", "due"), [(False, "13:00"), (True, "00:00")])
def test_gifts_are_due_when_the_hour_or_the_day_ends_and_not_before(is_daily: bool, due: str) -> None:
    made = scenario.project(scenario.CHOICE, privacy_mode="anonymous", rounds_times_to_day=is_daily)
    member = scenario.member()
    noon = LUNCHTIME.replace(hour=12, minute=0, second=0, microsecond=0)
    who = admission.member(community_id=made.community_id, member_id=str(member.pk))
    begun = conversations.begin(project_id=made.pk, respondent=who, at=noon)
    scenario.say(begun, 0, at=noon)

    due_at = SealedGifts.objects.get().due_at
    assert f"{due_at:%H:%M}" == due
    assert gifts.settle(at=due_at - timedelta(microseconds=1)) == 0
    assert gifts.settle(at=due_at) == 1
    assert Standing.objects.get(member=member).participation == 1


def test_what_waits_looks_alike_for_everybody(caller: Caller) -> None:
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    for name in ("A", "Somebody with a very long name", "C"):
        member = MemberFactory.create(community=caller.community, nick=name)
        Talk(caller, made, member_id=str(member.pk)).through()

    assert len({len(row.sealed) for row in SealedGifts.objects.all()}) == 1


def test_no_two_rows_tell_that_they_are_of_one_person(caller: Caller) -> None:
    member = ann(caller.community)
    each_time = giving(xp_amount=3, fire_scope="session")
    made = caller.make_open(QUESTION, each_time, giving(xp_amount=1), QUESTION, privacy_mode="anonymous")

    for _ in range(5):
        Talk(caller, made, member_id=str(member.pk)).through()

    assert list(Completion.objects.values_list("completions", "last_session")) == [(1, 1)] * 5
    scopes = list(FiredAction.objects.values_list("scope", flat=True))
    assert len(scopes) == len(set(scopes)) == 10
    known = anonymity.respondent_hash(project_id=int(made["id"]), who=f"user:{USER_ID}")
    assert known not in "".join(row.text for row in stored_rows())


def test_nothing_tells_who_answers_a_second_time_within_the_hour(caller: Caller) -> None:
    member = ann(caller.community)
    each_time = giving(xp_amount=3, fire_scope="session")
    blocks = (QUESTION, giving(xp_amount=1), each_time, giving("give_achievement", xp_role_id=7), QUESTION)
    made = caller.make_open(*blocks, rewards=REWARDS, privacy_mode="anonymous")
    written = []

    for _ in range(3):
        before = stored_rows()
        Talk(caller, made, member_id=str(member.pk)).through()
        written.append(_written_since(before))

    assert written[0]["surveys_firedaction"] == 6  # three on the way, three at the end
    assert written[1] == written[2] == written[0]
    once_the_hour_is_over()
    assert sorted(XpEntry.objects.values_list("delta", flat=True)) == [1, 3, 3, 3, 20]


def _written_since(before: list[StoredRow]) -> Counter[str]:
    """How many rows of each table of answers are new."""
    old = {(row.table, row.place) for row in before}
    return Counter(
        row.table
        for row in stored_rows()
        if row.table in OF_ANSWERS - {"surveys_tally"} and (row.table, row.place) not in old
    )


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_limit_holds_and_is_told_before_the_first_answer(caller: Caller, most: int) -> None:
    member = ann(caller.community)
    made = caller.make_open(QUESTION, privacy_mode="anonymous", settings={"max_completes_per_user": most})
    for _ in range(most):
        Talk(caller, made, member_id=str(member.pk)).through()

    refused = caller.post(f"/projects/{made['id']}/conversations", {"member_id": str(member.pk)})

    assert refused.status_code == 409


def test_who_has_left_or_was_erased_gets_nothing(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(member.pk)).through()
    gone = MemberFactory.create(community=caller.community)
    Talk(caller, made, member_id=str(gone.pk)).through()

    assert caller.delete(f"/members/{member.pk}/data").status_code == 204
    assert SealedGifts.objects.count() == 6
    Member.objects.filter(pk=gone.pk).update(left_at=timezone.now())
    gifts.settle(at=timezone.now() + timedelta(hours=2))

    assert (XpEntry.objects.count(), Standing.objects.count(), SealedGifts.objects.count()) == (0, 0, 0)
    assert {row.table for row in naming(stored_rows(), WORDS[:2])} == OF_EVENTS  # the erasure


def test_a_project_that_is_deleted_meanwhile_takes_nothing_back(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(member.pk)).through()

    assert caller.post(f"/projects/{made['id']}/close").status_code == 200
    assert caller.delete(f"/projects/{made['id']}").status_code == 204
    gifts.settle(at=timezone.now() + timedelta(hours=2))

    assert Standing.objects.get().xp_total == 35
    assert XpEntry.objects.filter(survey_name=made["name"]).count() == 2


def test_with_another_secret_what_waits_cannot_be_read_and_that_is_said(
    caller: Caller, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = ann(caller.community)
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(member.pk)).through()
    later = timezone.now() + timedelta(hours=2)
    with monkeypatch.context() as other:
        other.setattr(anonymity, "unseal_gifts", lambda **row: None)
        assert gifts.settle(at=later) == 0
    assert "gifts.unreadable" in caplog.text

    assert gifts.settle(at=later) == 3
    assert XpEntry.objects.count() == 2


def test_what_nobody_can_read_is_forgotten_after_a_week(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = ann(caller.community)
    made = caller.make_open(QUESTION, rewards=REWARDS, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(member.pk)).through()
    monkeypatch.setattr(anonymity, "unseal_gifts", lambda **row: None)

    gifts.settle(at=timezone.now() + timedelta(days=8))

    assert SealedGifts.objects.count() == 0


def test_a_member_who_is_locked_delays_their_own_community_alone(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    [held] = walked_by(caller, "Ann")
    other = Caller()
    walked_by(other, "Bob")
    later, told = timezone.now() + timedelta(hours=2), []

    with transaction.atomic():
        Member.objects.select_for_update().get(pk=held)
        settling = BackgroundCall(lambda: _impatient(lambda: told.append(gifts.settle(at=later))))
        settling.result()

    assert told == [3]
    assert "gifts.postponed" in caplog.text
    assert gifts.settle(at=later) == 3


def _impatient(work: Callable[[], object]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '200ms'")
    work()


def test_another_privacy_gives_nothing_twice_and_hides_nothing(caller: Caller) -> None:
    member = ann(caller.community)
    made = caller.make_open(giving(xp_amount=5), QUESTION, rewards={"use_xp": True}, privacy_mode="anonymous")
    path = f"/projects/{made['id']}"
    Talk(caller, made, member_id=str(member.pk)).through()
    once_the_hour_is_over()
    for response in caller.get(f"{path}/responses").json()["data"]:
        assert caller.delete(f"/responses/{response['id']}").status_code == 204
    changed = caller.patch(path, {"privacy_mode": "transparent"})
    assert changed.status_code == 200, changed.content

    Talk(caller, made, member_id=str(member.pk)).through()

    assert sorted(XpEntry.objects.values_list("delta", flat=True)) == [5, 10]
    (told,) = caller.get(f"/members/{member.pk}/data").json()["participation"]
    assert (told["completions"], sorted(set(told["actions"]))[-1]) == (2, "xp")
    assert caller.delete(f"/members/{member.pk}/data").status_code == 204
    # Left are those of the anonymous session.
    assert (Completion.objects.count(), FiredAction.objects.count()) == (1, 2)


# --- Killed, and at one time ------------------------------------------------------------------------

STEPS = {
    "before the members are locked": (members, "lock_member", die, False),
    "between two gifts": (ledger, "count_participation", die, False),
    "after the last gift": (roles, "grant", dying_after(roles.grant), False),
    "before the commit": (BaseDatabaseWrapper, "commit", die, False),
    "after the commit": (BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit), True),
}


def walked_by(caller: Caller, *names: str) -> list[str]:
    """The ids of members who have answered to the end."""
    made = caller.make_open(*BLOCKS, rewards=REWARDS, privacy_mode="anonymous")
    ids = [str(MemberFactory.create(community=caller.community, nick=name).pk) for name in names]
    for member_id in ids:
        Talk(caller, made, member_id=member_id).through()
    return ids


def given() -> tuple[int, int, int, int]:
    return (
        XpEntry.objects.count(),
        sum(Standing.objects.values_list("xp_total", flat=True)),
        EarnedAchievement.objects.count(),
        RoleGrant.objects.count(),
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_any_step_gives_everything_once(
    caller: Caller, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, deadly, is_done = STEPS[step]
    walked_by(caller, "Ann", "Bob")
    later = timezone.now() + timedelta(hours=2)

    with monkeypatch.context() as killing:
        killing.setattr(where, name, deadly)
        in_a_process_that_dies(lambda: gifts.settle(at=later))

    assert (given() == (0, 0, 0, 0)) is not is_done
    gifts.settle(at=later)
    assert given() == (4, 70, 4, 2)


def test_a_respondent_whose_process_is_killed_gives_nothing_away(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = caller.make_open(QUESTION, rewards=REWARDS, privacy_mode="anonymous")
    talk = Talk(caller, made, member_id=str(MemberFactory.create(community=caller.community).pk))

    with monkeypatch.context() as killing:
        killing.setattr(repository, "save_last", die)
        in_a_process_that_dies(talk.answer)
    assert SealedGifts.objects.count() == 0
    talk.answer()

    gifts.settle(at=timezone.now() + timedelta(hours=2))
    assert given() == (1, 10, 1, 1)


def test_workers_at_one_time_give_everything_once(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gifts, "SETTLED_AT_ONCE", 3)
    walked_by(caller, "Ann", "Bob", "Cem", "Dot")
    later = timezone.now() + timedelta(hours=2)

    told = run_together(*[lambda: gifts.settle(at=later)] * 4)

    assert sum(told) == 12
    assert given() == (8, 140, 8, 4)


def test_who_is_merged_meanwhile_gets_what_waits_for_both(caller: Caller) -> None:
    keep, drop = walked_by(caller, "Ann", "Ann again")
    users = {str(pk): user_id for pk, user_id in Member.objects.values_list("pk", "user_id")}

    merging.merge_users(keep_id=users[keep], drop_id=users[drop], at=timezone.now())
    gifts.settle(at=timezone.now() + timedelta(hours=2))

    standing = Standing.objects.get(member_id=keep)
    assert (standing.xp_total, standing.participation) == (70, 2)
    assert EarnedAchievement.objects.filter(member_id=keep).count() == 2
    told = caller.get(f"/members/{keep}/data").json()["participation"]
    assert [(each["completions"], each["sessions"]) for each in told] == [(2, 2)]
