"""GET and DELETE of everything held about a person, over HTTP; and what happens at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from communities.errors import Conflict, NotFound, Refusal
from communities.models import ApiKey, Identity, Member, User
from communities.services import people as places
from surveys.models import Completion, Conversation, FiredAction, Project
from surveys.services import people, responses, rows
from tests.communities.test_idempotency_killed import die, dying_after, in_a_process_that_dies
from tests.surveys import partaking, talking
from tests.surveys.calling import CHOICE, TEXT, Caller, refusal
from tests.surveys.earning import QUESTION, Talk, a_member, giving
from tests.surveys.partaking import AT, AUDIENCE, GIVES_XP, MEMBER_ID, USER_ID, everywhere
from tests.surveys.test_privacy import dump
from xp.models import Standing, XpEntry
from xp.services import ledger
from xp.services import people as earnings

DATA = f"/members/{MEMBER_ID}/data"
pytestmark = pytest.mark.django_db


# --- Reading ----------------------------------------------------------------------------------------


def test_everything_that_the_database_tells_of_a_person_is_told_to_them() -> None:
    caller = Caller()
    ann = everywhere(caller)
    found = {word for words in ann.traces(dump()).values() for word in words}

    answer = caller.get(DATA)

    assert answer.status_code == 200
    text = answer.content.decode()
    assert [word for word in ann.told if word not in text] == []
    assert found - set(ann.kept) <= set(ann.told)
    assert [word for word in ann.kept if word in text] == []


def test_it_is_told_in_the_interfaces_own_words() -> None:
    caller = Caller()
    ann = everywhere(caller)
    transparent, semi_private, anonymous, poll = (each["id"] for each in ann.projects)
    listed = [
        response
        for project_id in (transparent, semi_private, poll)
        for response in caller.get(f"/projects/{project_id}/responses").json()["data"]
        if response["user_id"] == str(USER_ID)
    ]

    told = caller.get(DATA).json()

    person = caller.get(f"/members/{MEMBER_ID}").json()
    assert told["responses"] == listed
    assert told["xp_ledger"] == caller.get(f"/members/{MEMBER_ID}/xp?per_page=100").json()["data"]
    assert told["achievements"] == person["achievements"]
    assert told["standing"] == {name: person[name] for name in ("xp_total", "xp_monthly", "participation")}
    assert [each["id"] for each in told["projects"]] == [transparent, poll]
    assert told["set_up_the_community"] is True
    assert {(each["project_id"], each["completions"]) for each in told["participation"]} == {
        (transparent, 2),
        (semi_private, 1),
        (anonymous, 1),
        (poll, 1),
    }
    assert {each["role_id"]: each["carried_out_at"] is None for each in told["roles"]} == {
        "1187": True,
        "1188": False,
    }
    assert {each["provider"] for each in told["identities"]} == {"chat", "web"}


def test_what_a_person_gave_to_others_is_counted_and_not_told_by_their_name_once_they_are_gone() -> None:
    caller = Caller()
    ann = partaking.person(caller.community)
    other = caller.community.members.get(user=caller.user)
    partaking.award(other, actor_id=ann.user_id)
    named = caller.get(f"/members/{other.pk}/xp").json()["data"]
    counted = caller.get(DATA).json()["entries_for_others"]

    caller.delete(DATA)

    left = caller.get(f"/members/{other.pk}/xp").json()["data"]
    assert (counted, named[0]["actor_name"]) == (1, partaking.NICK)
    assert left == [{**named[0], "actor_name": None}]
    assert [row for rows in dump().values() for row in rows if partaking.NICK in row] == []


def test_of_anonymous_answers_nothing_is_told_but_that_there_were_some() -> None:
    caller = Caller()
    ann = everywhere(caller)
    anonymous = ann.projects[2]["id"]

    told = caller.get(DATA).json()

    assert [each for each in told["responses"] if each["project_id"] == anonymous] == []
    (part,) = [each for each in told["participation"] if each["project_id"] == anonymous]
    assert (part["completions"], part["sessions"]) == (1, 1)
    assert "achievement" in part["actions"]
    hidden = Conversation.objects.filter(project=anonymous).values_list("pk", flat=True)
    assert [key for key in hidden if str(key) in caller.get(DATA).content.decode()] == []


def test_what_other_communities_hold_is_theirs_to_tell() -> None:
    caller = Caller()
    everywhere(caller)
    other, survey = partaking.elsewhere()
    here = caller.get(DATA).json()
    there_id = Member.objects.get(community=other.community, user=USER_ID).pk

    there = other.get(f"/members/{there_id}/data").json()

    assert {each["platform_id"] for each in here["identities"]} == {
        partaking.CHAT_ID,
        partaking.EXTERNAL_ID,
    }
    assert {each["platform_id"] for each in there["identities"]} == {partaking.CHAT_ID, "another-name"}
    assert [each["name"] for each in there["api_keys"]] == ["Another key"]
    assert [each["name"] for each in here["api_keys"]] == [partaking.KEY_NAME]
    assert {each["project_id"] for each in there["responses"]} == {survey["id"]}
    assert survey["id"] not in {each["project_id"] for each in here["responses"]}
    assert {each["project_id"] for each in there["participation"]} == {survey["id"]}


def test_a_member_of_whom_nothing_is_held_but_that() -> None:
    caller = Caller()

    told = caller.get(f"/members/{caller.community.members.get().pk}/data").json()

    empty = ("identities", "projects", "participation", "achievements", "roles", "xp_ledger", "responses")
    assert [told[name] for name in empty] == [[]] * len(empty)
    assert told["standing"] == {"xp_total": 0, "xp_monthly": 0, "participation": 0}
    assert told["entries_for_others"] == 0


def test_a_long_history_is_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earnings, "AT_ONCE", 2)
    monkeypatch.setattr(responses, "AT_ONCE", 2)
    caller = Caller()
    ann = partaking.person(caller.community)
    survey = caller.make_open(TEXT, **AUDIENCE)
    for n in range(5):
        talking.say(partaking.begin(survey), f"Answer {n}.", at=AT)
        partaking.award(ann, n + 1)

    told = caller.get(DATA).json()

    assert [each["answers"][0]["value"] for each in told["responses"]] == [f"Answer {n}." for n in range(5)]
    assert [each["delta"] for each in told["xp_ledger"]] == [5, 4, 3, 2, 1]


def test_reading_answers_head_and_refuses_parameters() -> None:
    caller = Caller()
    partaking.person(caller.community)

    assert caller.call("head", DATA).status_code == 200
    assert caller.call("head", DATA).content == b""
    assert refusal(caller.get(f"{DATA}?page=2")) == (400, "invalid_request")


# --- Erasing ----------------------------------------------------------------------------------------


def test_who_is_erased_is_not_found_again() -> None:
    caller = Caller()
    everywhere(caller)

    erased = caller.delete(DATA)

    assert (erased.status_code, erased.content) == (204, b"")
    assert refusal(caller.delete(DATA)) == (404, "not_found")
    assert refusal(caller.get(DATA)) == (404, "not_found")
    assert refusal(caller.get(f"/members/{MEMBER_ID}")) == (404, "not_found")


def test_a_retried_request_is_answered_alike() -> None:
    caller = Caller()
    everywhere(caller)

    first, again = (caller.delete(DATA, **{"Idempotency-Key": "erase-ann"}) for _ in range(2))

    assert (first.status_code, again.status_code) == (204, 204)
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"


def test_nobody_erases_the_person_whose_key_they_use() -> None:
    caller = Caller()
    own = caller.community.members.get().pk

    assert refusal(caller.delete(f"/members/{own}/data")) == (409, "conflict")
    assert caller.get(f"/members/{own}/data").status_code == 200


def test_another_communitys_member_is_not_found() -> None:
    caller, other = Caller(), Caller()
    partaking.person(other.community)

    assert refusal(caller.get(DATA)) == (404, "not_found")
    assert refusal(caller.delete(DATA)) == (404, "not_found")
    assert Member.objects.filter(pk=MEMBER_ID).count() == 1


def test_who_has_left_can_still_be_told_and_erased() -> None:
    caller = Caller()
    partaking.person(caller.community)
    Member.objects.filter(pk=MEMBER_ID).update(left_at=AT)

    assert caller.get(DATA).json()["member"]["left_at"] == "2026-01-31T12:34:56Z"
    assert caller.delete(DATA).status_code == 204
    assert User.objects.filter(pk=USER_ID).count() == 0


def test_the_keys_of_the_person_end_at_once(django_capture_on_commit_callbacks: Any) -> None:
    caller = Caller()
    gone = caller.beside("creator")
    assert gone.get("/projects").status_code == 200

    with django_capture_on_commit_callbacks(execute=True):
        caller.delete(f"/members/{Member.objects.get(user=gone.user).pk}/data")

    assert refusal(gone.get("/projects")) == (401, "invalid_api_key")
    assert ApiKey.objects.filter(user=gone.user.pk).count() == 0


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_an_unfinished_conversation_goes_on_as_a_nameless_one(privacy_mode: str) -> None:
    caller = Caller()
    ann = partaking.person(caller.community)
    survey = caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    told = talking.say(partaking.begin(survey), 0, at=AT)

    caller.delete(DATA)

    done = talking.say(partaking.past_statements(told), "To the end.", at=AT)
    assert done.is_completed
    assert (done.conversation.user_id, done.conversation.respondent) == (None, None)
    assert Completion.objects.count() == XpEntry.objects.filter(member=ann.pk).count() == 0
    project = Project.objects.get(pk=survey["id"])
    assert talking.counts(project) == talking.recounted(project)


def test_nobody_takes_up_a_conversation_by_the_name_of_who_was_erased() -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(CHOICE, TEXT, **AUDIENCE)
    talking.say(partaking.begin(survey), 0, at=AT)

    caller.delete(DATA)

    begun = caller.post(f"/projects/{survey['id']}/conversations", {"member_id": str(MEMBER_ID)})
    assert refusal(begun) == (400, "invalid_request")


def test_a_vote_of_who_was_erased_can_be_deleted_like_any() -> None:
    caller = Caller()
    partaking.person(caller.community)
    poll = caller.make_open(
        CHOICE, type="poll", settings={"change_poll": True}, rewards={"use_xp": True}, **AUDIENCE
    )
    vote = talking.say(partaking.begin(poll), 0, at=AT)
    caller.delete(DATA)

    assert caller.delete(f"/responses/{vote.conversation.pk}").status_code == 204
    assert talking.counts(Project.objects.get(pk=poll["id"])) == {
        "answered": 0,
        "completed": 0,
        "listed": 0,
    }


# --- At the same time -------------------------------------------------------------------------------

at_once = pytest.mark.django_db(transaction=True)


class InThread:
    """A move in a thread with a connection of its own, and what came of it."""

    def __init__(self, move: Callable[[], Any]) -> None:
        self._move = move
        self.result: Any = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._move()
        except Exception as fault:
            self.result = fault
        finally:
            connection.close()

    def is_waiting(self) -> bool:
        """Until it waits for a lock that this thread holds; False where it ended without."""
        while self._thread.is_alive():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_stat_clear_snapshot()")  # which a transaction would keep
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
                if cursor.fetchone()[0]:
                    return True
        return False

    def ended(self) -> Any:
        self._thread.join()
        return self.result


def erasing(caller: Caller) -> Callable[[], None]:
    return lambda: people.erase(
        community_id=caller.community.pk, member_id=MEMBER_ID, by_user_id=caller.user.pk
    )


def nothing_is_left() -> bool:
    return not (
        any(model.objects.exists() for model in (Completion, Standing, XpEntry))
        or Conversation.objects.filter(user=USER_ID).exists()
        or User.objects.filter(pk=USER_ID).exists()
        or Member.objects.filter(pk=MEMBER_ID).exists()
    )


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_an_answer_before_is_waited_for_and_one_after_is_nameless(privacy_mode: str) -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    first, second = partaking.begin(survey), None
    if privacy_mode == "anonymous":
        second = partaking.begin(survey)

    with transaction.atomic():
        told = talking.say(first, 0, at=AT)  # gives XP
        told = talking.go_on(told, at=AT)
        eraser = InThread(erasing(caller))
        assert eraser.is_waiting()
    assert eraser.ended() is None

    assert nothing_is_left()
    assert talking.say(told, "The end.", at=AT).is_completed
    assert second is None or talking.say(second, 0, at=AT)
    assert nothing_is_left()
    project = Project.objects.get(pk=survey["id"])
    assert talking.counts(project) == talking.recounted(project)


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_an_answer_that_comes_while_erasing_is_taken_without_a_name(privacy_mode: str) -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    told = talking.go_on(partaking.begin(survey), at=AT)

    with transaction.atomic():
        erasing(caller)()
        answerer = InThread(lambda: talking.say(told, "The end.", at=AT))
        assert answerer.is_waiting()

    assert answerer.ended().is_completed
    assert nothing_is_left()
    assert Conversation.objects.filter(completed_at__isnull=False).count() == 1


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_who_begins_while_being_erased_is_refused(privacy_mode: str) -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(TEXT, privacy_mode=privacy_mode, **AUDIENCE)

    with transaction.atomic():
        erasing(caller)()
        beginner = InThread(lambda: partaking.begin(survey))
        assert beginner.is_waiting()

    assert isinstance(beginner.ended(), Refusal)
    assert nothing_is_left()
    assert Conversation.objects.count() == 0


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_a_conversation_that_begins_before_is_waited_for(privacy_mode: str) -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(TEXT, privacy_mode=privacy_mode, **AUDIENCE)

    with transaction.atomic():
        told = partaking.begin(survey)
        eraser = InThread(erasing(caller))
        assert eraser.is_waiting()

    assert eraser.ended() is None
    assert nothing_is_left()
    row = Conversation.objects.get(pk=told.conversation.pk)
    assert (row.user_id, row.platform_id, row.respondent, row.sealed_respondent) == (None,) * 4


@at_once
def test_who_begins_and_answers_while_the_erasing_begins_has_it_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caller = Caller()
    partaking.person(caller.community)
    survey = caller.make_open(TEXT, **AUDIENCE)
    held, released = threading.Event(), threading.Event()
    lock, others = places.lock, []

    def hold(told: Any) -> None:
        with transaction.atomic():
            rows.lock(conversation_id=told.conversation.pk)
            held.set()
            released.wait()

    def begin_first(**which: Any) -> None:
        told = InThread(lambda: partaking.begin(survey)).ended()
        others.append(InThread(lambda: hold(told)))
        held.wait()
        lock(**which)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(places, "lock", begin_first)
        with pytest.raises(Conflict) as refused:
            erasing(caller)()
        released.set()

    assert others[0].ended() is None
    assert refused.value.retry_after == 1
    assert Member.objects.filter(pk=MEMBER_ID).count() == 1
    erasing(caller)()
    assert nothing_is_left()


@at_once
def test_an_award_before_is_waited_for_and_one_after_finds_nobody() -> None:
    caller = Caller()
    ann = partaking.person(caller.community)

    with transaction.atomic():
        partaking.award(ann)
        eraser = InThread(erasing(caller))
        assert eraser.is_waiting()
    assert eraser.ended() is None
    assert nothing_is_left()
    with pytest.raises(NotFound):
        partaking.award(ann)


@at_once
@pytest.mark.parametrize("is_first", [True, False])
def test_an_award_that_comes_while_erasing_finds_nobody(is_first: bool) -> None:
    caller = Caller()
    ann = partaking.person(caller.community)
    if not is_first:
        partaking.award(ann)

    with transaction.atomic():
        erasing(caller)()
        giver = InThread(lambda: partaking.award(ann))
        assert giver.is_waiting()

    assert isinstance(giver.ended(), NotFound)
    assert nothing_is_left()


@at_once
def test_two_who_erase_at_once() -> None:
    caller = Caller()
    everywhere(caller)

    with transaction.atomic():
        erasing(caller)()
        other = InThread(erasing(caller))
        assert other.is_waiting()

    assert isinstance(other.ended(), NotFound)


@at_once
def test_everything_at_once() -> None:
    caller = Caller()
    ann = partaking.person(caller.community)
    surveys = [
        caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=mode, **AUDIENCE)
        for mode in ("transparent", "anonymous")
    ]
    endless = {"settings": {"max_completes_per_user": None}}
    poll = caller.make_open(CHOICE, type="poll", rewards={"use_xp": True}, **endless, **AUDIENCE)
    ready = threading.Barrier(6)

    def until_refused(move: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            ready.wait()
            while True:
                try:
                    move()
                except Refusal as refused:
                    return refused

        return run

    def take_part(survey: dict[str, Any]) -> None:
        told = talking.say(partaking.begin(survey), 0, at=AT)
        talking.say(partaking.past_statements(told), "The end.", at=AT)

    def give_and_take(member: Member) -> None:
        whose = {"member_id": member.pk, "community_id": member.community_id}
        ledger.reset(**whose, actor_id=caller.user.pk, at=AT)
        partaking.award(member)

    def erase() -> None:
        ready.wait()
        while True:
            try:
                return erasing(caller)()
            except Conflict:
                continue

    threads = [
        *(InThread(until_refused(partial(take_part, survey))) for survey in surveys),
        InThread(until_refused(lambda: talking.say(partaking.begin(poll), 0, at=AT))),
        InThread(until_refused(lambda: partaking.award(ann))),
        InThread(until_refused(lambda: give_and_take(ann))),
        InThread(erase),
    ]

    ended = [thread.ended() for thread in threads]

    assert ended[-1] is None
    assert [each for each in ended[:-1] if not isinstance(each, Refusal)] == []
    assert nothing_is_left()
    for project in Project.objects.all():
        assert talking.counts(project) == talking.recounted(project)


# --- Killed -----------------------------------------------------------------------------------------


STEPS = {
    "before the lock": (places, "lock", die, False),
    "after the answers became nameless": (earnings, "erase", die, False),
    "after what was earned went": (earnings, "erase", dying_after(earnings.erase), False),
    "after the member went": (places, "erase_user", die, False),
    "before the commit": (BaseDatabaseWrapper, "commit", die, False),
    "after the commit": (BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit), True),
}


@at_once
@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_erases_all_or_nothing(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, deadly, is_done = STEPS[step]
    caller = Caller()
    ann = everywhere(caller)
    before = {table: rows for table, rows in dump().items() if table in ann.traces(dump())}
    headers = {"Idempotency-Key": "erase-ann"}

    with monkeypatch.context() as killing:
        killing.setattr(where, name, deadly)
        in_a_process_that_dies(lambda: caller.delete(DATA, **headers))

    after = dump()
    assert (ann.traces(after) == {}) == is_done
    if not is_done:
        kept = {table: rows for table, rows in after.items() if table in before}
        kept.pop("communities_apikey"), before.pop("communities_apikey")  # the time of its last use
        assert kept == before

    again = caller.delete(DATA, **headers)

    assert (again.status_code, "Idempotency-Replayed" in again) == (204, is_done)
    assert ann.traces(dump()) == {}
    assert Identity.objects.count() == 0


def test_what_fired_in_sessions_of_anonymous_projects_is_told_and_goes(db: None) -> None:
    caller = Caller()
    member = a_member(caller)
    block = giving(xp_amount=5, fire_scope="session")
    project = caller.make_open(block, QUESTION, privacy_mode="anonymous")
    Talk(caller, project, member_id=member).through()
    Talk(caller, project, member_id=member)
    assert FiredAction.objects.count() == 2

    (told,) = caller.get(f"/members/{member}/data").json()["participation"]
    assert len(told["actions"]) == 2
    assert caller.delete(f"/members/{member}/data").status_code == 204

    assert not FiredAction.objects.exists()
