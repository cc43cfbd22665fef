"""The feed of changes: each response once for each state, and deletions (rules 6.51 to 6.53)."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core import signing
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from surveys.models import Conversation, DeletedResponse
from surveys.services.ground import anonymity, feed_order
from surveys.services.people import merging
from surveys.services.projects import removal
from surveys.services.responses import changes, cursors
from tests.support.caller import Caller, faults, refusal
from tests.support.concurrency import held_elsewhere
from tests.support.surveys.copies import Copy, source
from tests.support.surveys.participants import QUESTION, Talk, a_member

pytestmark = pytest.mark.django_db(transaction=True)
LATER = timedelta(hours=2)
ON_THE_WEB = {"audience": {"participation": "open_web"}}


@pytest.fixture
def admin() -> Caller:
    return Caller("admin")


@pytest.fixture
def survey(admin: Caller) -> dict[str, Any]:
    return open_survey(admin, QUESTION, {**QUESTION, "required": False})


def open_survey(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A live project that anybody on the web may answer."""
    return caller.make_open(*blocks, delivery=ON_THE_WEB, **fields)


def answered(caller: Caller, project: dict[str, Any], who: str = "ann", value: str = "red") -> Talk:
    talk = Talk(caller, project, external_id=who)
    talk.answer(value)
    return talk


def ids(elements: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in elements]


def settle() -> None:
    anonymity.settle(at=timezone.now() + LATER)


# --- What is told ---------------------------------------------------------------------------------------


def test_without_a_cursor_everything_is_told_as_the_listing_tells_it(
    admin: Caller, survey: dict[str, Any]
) -> None:
    for who in ("ann", "bob", "cem"):
        answered(admin, survey, who)
    copy = Copy(admin, survey, per_page=2)

    elements = copy.read()

    assert len(elements) == 3
    assert copy.responses == source(admin, survey)
    assert copy.read() == []


def test_each_change_of_a_response_is_told_once_and_only_its_last_state(
    admin: Caller, survey: dict[str, Any]
) -> None:
    first, second = answered(admin, survey, "ann"), answered(admin, survey, "bob")
    copy = Copy(admin, survey)
    copy.read()

    first.answer("green")
    second.back()
    second.answer("green")
    second.answer("green")
    elements = copy.read()

    assert ids(elements) == [first.told["id"], second.told["id"]]
    assert elements[0]["status"] == "completed"
    assert [each["value"] for each in elements[1]["answers"]] == ["green", "green"]
    assert copy.read() == []


def test_a_conversation_without_an_answer_is_no_response_yet(admin: Caller, survey: dict[str, Any]) -> None:
    Talk(admin, survey, external_id="ann")

    assert Copy(admin, survey).read() == []


def test_a_response_that_lost_its_only_answer_is_told_as_deleted(admin: Caller) -> None:
    survey = open_survey(admin, {**QUESTION, "required": False}, QUESTION)
    talk = answered(admin, survey)
    copy = Copy(admin, survey)
    copy.read()

    talk.back()
    admin.post(f"{talk.path}/answers", {"block_id": talk.block["id"], "skip": True})
    elements = copy.read()

    assert elements == [{"id": talk.told["id"], "project_id": survey["id"], "deleted": True}]
    assert copy.responses == source(admin, survey) == {}


def test_updated_at_moves_with_each_change(admin: Caller, survey: dict[str, Any]) -> None:
    talk = answered(admin, survey)
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=1))
    (before,) = source(admin, survey).values()

    talk.answer("green")
    (after,) = source(admin, survey).values()

    assert before["updated_at"] < after["updated_at"] == after["submitted_at"]


def test_a_deleted_response_is_told_to_readers_who_began_before(
    admin: Caller, survey: dict[str, Any]
) -> None:
    talk, other = answered(admin, survey, "ann"), answered(admin, survey, "bob")
    behind, abreast = Copy(admin, survey, per_page=1), Copy(admin, survey)
    behind.read_page()
    abreast.read()

    admin.delete(f"/responses/{other.told['id']}")
    gone = {"id": other.told["id"], "project_id": survey["id"], "deleted": True}

    assert behind.read() == [gone]  # though it has never read the response
    assert abreast.read() == [gone]
    assert Copy(admin, survey).read() == abreast.read() + list(abreast.responses.values())
    assert ids(list(abreast.responses.values())) == [talk.told["id"]]


def test_a_retracted_vote_is_told_as_deleted(admin: Caller) -> None:
    poll = open_survey(admin, QUESTION, type="poll", change_poll=True)
    talk = answered(admin, poll)
    copy = Copy(admin, poll)
    copy.read()

    admin.delete(f"/responses/{talk.told['id']}")

    assert [each.get("deleted") for each in copy.read()] == [True]


def test_an_erased_person_moves_their_responses(admin: Caller, survey: dict[str, Any]) -> None:
    member_id = a_member(admin)
    Talk(admin, survey, member_id=member_id).answer()
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=1))
    copy = Copy(admin, survey)
    (before,) = copy.read()

    assert admin.delete(f"/members/{member_id}/data").status_code == 204
    (after,) = copy.read()

    assert before["user_id"] is not None
    assert after["user_id"] is None
    assert after["id"] == before["id"]
    assert after["updated_at"] > before["updated_at"]


def test_merged_people_move_their_responses(admin: Caller, survey: dict[str, Any]) -> None:
    talk = answered(admin, survey, "ann")
    copy = Copy(admin, survey)
    (before,) = copy.read()

    merging.merge_users(keep_id=admin.user.pk, drop_id=int(before["user_id"]), at=timezone.now())
    (after,) = copy.read()

    assert (after["id"], after["user_id"]) == (talk.told["id"], str(admin.user.pk))


# --- All projects ---------------------------------------------------------------------------------------


def test_the_feed_of_all_projects_merges_them_in_the_order_of_changes(admin: Caller) -> None:
    surveys = [open_survey(admin, QUESTION) for _ in range(3)]
    talks = [answered(admin, surveys[n % 3], f"p{n}") for n in range(7)]
    copy = Copy(admin, per_page=2)

    assert ids(copy.read()) == [talk.told["id"] for talk in talks]


def test_a_deleted_project_tells_each_of_its_responses_as_deleted(admin: Caller) -> None:
    doomed, other = open_survey(admin, QUESTION), open_survey(admin, QUESTION)
    gone = [answered(admin, doomed, f"p{n}").told["id"] for n in range(3)]
    answered(admin, other)
    copy = Copy(admin)
    copy.read()

    admin.post(f"/projects/{doomed['id']}/close")
    assert admin.delete(f"/projects/{doomed['id']}").status_code == 204
    elements = copy.read()

    assert sorted(ids(elements)) == sorted(gone)
    assert {(each["project_id"], each["deleted"]) for each in elements} == {(doomed["id"], True)}
    assert copy.responses == source(admin, other)


def test_a_project_that_staff_delete_is_told_once_it_cannot_be_restored(
    admin: Caller, survey: dict[str, Any]
) -> None:
    answered(admin, survey)
    copy = Copy(admin)
    admin.post(f"/projects/{survey['id']}/close")
    at = timezone.now()
    removal.delete_for_now(actor=admin.actor, project_id=int(survey["id"]), at=at)

    assert len(copy.read()) == 1  # what was answered before is not lost if it is restored
    removal.delete_overdue(at=at + timedelta(minutes=11))
    assert [each.get("deleted") for each in copy.read()] == [True]


@pytest.mark.parametrize(("access", "read"), [("creator", {"own", "open"}), ("member", {"open"})])
def test_other_keys_read_the_projects_whose_responses_they_may_read(access: str, read: set[str]) -> None:
    admin = Caller("admin")
    other = admin.beside(access)
    projects = {
        "open": open_survey(admin, QUESTION, privacy_mode="transparent"),
        "closed to others": open_survey(admin, QUESTION, privacy_mode="semi-private"),
    }
    if access == "creator":
        projects["own"] = open_survey(other, QUESTION, privacy_mode="semi-private")
    for project in projects.values():
        answered(admin, project)
    elements = Copy(other).read()

    assert {each["project_id"] for each in elements} == {projects[name]["id"] for name in read}


def test_members_read_polls_whose_results_are_for_voters_by_one_statement(admin: Caller) -> None:
    member = admin.beside("member")
    fields = {"type": "poll", "privacy_mode": "transparent", "settings": {"poll_results_mode": "voters_only"}}
    counted = []
    for more in (2, 2, 3):  # the first fills caches
        polls = [open_survey(admin, QUESTION, **fields) for _ in range(more)]
        votes = [answered(admin, poll).told["id"] for poll in polls]
        Conversation.objects.filter(pk=votes[0]).update(user=member.user)
        with CaptureQueriesContext(connection) as captured:
            elements = Copy(member, per_page=100).read()
        counted.append(len(captured))
        assert polls[0]["id"] in {each["project_id"] for each in elements}
        assert not {poll["id"] for poll in polls[1:]} & {each["project_id"] for each in elements}

    assert counted[1] == counted[2]


def test_what_one_community_changes_no_other_reads(admin: Caller, survey: dict[str, Any]) -> None:
    stranger = Caller("admin")
    talk = answered(admin, survey)
    copy = Copy(stranger)
    copy.read()
    admin.delete(f"/responses/{talk.told['id']}")

    assert copy.read() == []
    assert refusal(stranger.get(f"/projects/{survey['id']}/responses/changes")) == (404, "not_found")


def test_who_may_not_list_responses_may_not_read_their_changes(admin: Caller) -> None:
    survey = open_survey(admin, QUESTION, privacy_mode="semi-private")

    answer = admin.beside("creator").get(f"/projects/{survey['id']}/responses/changes")

    assert refusal(answer) == (403, "forbidden")


# --- Anonymous projects ---------------------------------------------------------------------------------


def test_an_anonymous_response_is_told_once_its_hour_is_settled(admin: Caller) -> None:
    survey = open_survey(admin, QUESTION, QUESTION, privacy_mode="anonymous")
    answered(admin, survey)
    copy = Copy(admin, survey)

    assert copy.read() == []
    settle()
    (element,) = copy.read()
    assert element["updated_at"].endswith(":00:00Z")
    settle()
    assert copy.read() == []


def test_an_anonymous_response_that_goes_on_is_told_again_and_those_settled_with_it_are_not(
    admin: Caller,
) -> None:
    survey = open_survey(admin, QUESTION, QUESTION, privacy_mode="anonymous")
    talks = [answered(admin, survey, f"p{n}") for n in range(4)]
    settle()
    copy = Copy(admin, survey)
    copy.read()

    talks[0].answer("green")
    assert copy.read() == []
    settle()

    assert ids(copy.read()) == [talks[0].told["id"]]
    assert copy.responses == source(admin, survey)


def test_a_deletion_on_an_anonymous_project_is_told_when_its_hour_is_over(admin: Caller) -> None:
    survey = open_survey(admin, QUESTION, privacy_mode="anonymous")
    talk = answered(admin, survey)
    settle()
    copy = Copy(admin, survey)
    copy.read()

    admin.delete(f"/responses/{talk.told['id']}")

    assert copy.read() == []
    settle()
    assert [each.get("deleted") for each in copy.read()] == [True]


def test_whose_respondent_is_forgotten_has_not_changed(admin: Caller) -> None:
    survey = open_survey(admin, QUESTION, QUESTION, privacy_mode="anonymous")
    answered(admin, survey)
    settle()
    copy = Copy(admin, survey)
    copy.read()

    anonymity.forget_silent(at=timezone.now() + timedelta(days=2))
    anonymity.settle(at=timezone.now() + timedelta(days=2))

    assert copy.read() == []


# --- Nothing is skipped ---------------------------------------------------------------------------------


def test_what_commits_late_is_not_skipped(admin: Caller, survey: dict[str, Any]) -> None:
    """A transaction that began first and ends last delays the feed, whatever else ends meanwhile."""
    late, quick = answered(admin, survey, "ann"), answered(admin, survey, "bob")
    copy = Copy(admin, survey)
    copy.read()

    def hold() -> Any:
        return _move(late.told["id"])

    with held_elsewhere(hold):
        quick.answer("green")
        assert copy.read(waits=False) == []

    assert sorted(ids(copy.read())) == sorted([late.told["id"], quick.told["id"]])


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_reader_waits_a_moment_for_transactions_that_are_about_to_end(
    admin: Caller, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    late, quick = answered(admin, survey, "ann"), answered(admin, survey, "bob")
    copy = Copy(admin, survey)
    copy.read()
    with ExitStack() as open_transactions:
        open_transactions.enter_context(held_elsewhere(lambda: _move(late.told["id"])))
        if is_deleted:
            admin.delete(f"/responses/{quick.told['id']}")
        else:
            quick.answer("green")
        monkeypatch.setattr(changes, "time", SimpleNamespace(sleep=lambda _: open_transactions.close()))

        elements = copy.read(waits=False)

    assert sorted(ids(elements)) == sorted([late.told["id"], quick.told["id"]])


def _move(response_id: str) -> Any:
    """A transaction that has changed a response and is not over."""
    moving = transaction.atomic()

    class Moving:
        def __enter__(self) -> None:
            moving.__enter__()
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE surveys_conversation SET changed_in = pg_current_xact_id()::text::bigint"
                    " WHERE id = %s",
                    [response_id],
                )

        def __exit__(self, *fault: Any) -> None:
            moving.__exit__(*fault)

    return Moving()


@pytest.mark.parametrize("at_once", [1, 2, 10_000])
def test_a_restored_database_tells_everything_anew(
    admin: Caller, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(changes, "TAKEN_OVER_AT_ONCE", at_once)
    answered(admin, survey, "ann")
    answered(admin, survey, "cem")
    copy = Copy(admin, survey)
    copy.read()
    ahead = feed_order.now().next + 1_000_000
    Conversation.objects.update(changed_in=ahead)

    assert len(Copy(admin, survey).read()) == 2
    answered(admin, survey, "bob")
    assert len(copy.read()) == 3


# --- Cursors --------------------------------------------------------------------------------------------


def test_a_cursor_of_another_feed_is_refused(admin: Caller, survey: dict[str, Any]) -> None:
    other = open_survey(admin, QUESTION)
    of_other, of_all = Copy(admin, other), Copy(admin)
    of_other.read()
    of_all.read()

    for cursor in (of_other.cursor, of_all.cursor):
        answer = admin.get(f"/projects/{survey['id']}/responses/changes?cursor={cursor}")
        assert refusal(answer) == (400, "invalid_request")
        assert faults(answer) == {("cursor", "invalid")}


@pytest.mark.parametrize("cursor", ["x", "x:y", "%00", "e30:1", "9" * 400])
def test_what_is_no_cursor_is_refused(admin: Caller, cursor: str) -> None:
    answer = admin.get(f"/responses/changes?cursor={cursor}")

    assert refusal(answer) == (400, "invalid_request")
    assert {field for field, _ in faults(answer)} == {"cursor"}


def test_a_cursor_is_good_for_thirty_days(admin: Caller, survey: dict[str, Any]) -> None:
    def cursor_from(age: timedelta) -> str:
        order = feed_order.now()
        feed = f"project:{survey['id']}"
        return cursors.Cursor(feed, order.database, order.open).written(at=timezone.now() - age)

    path = f"/projects/{survey['id']}/responses/changes?cursor="
    assert admin.get(path + cursor_from(timedelta(days=30))).status_code == 200
    old = admin.get(path + cursor_from(cursors.LIFETIME + timedelta(seconds=2)))
    assert faults(old) == {("cursor", "cursor_expired")}


@pytest.mark.parametrize("change", [{"database": 1}, {"position": 2**60}])
def test_a_cursor_of_another_database_is_refused(
    admin: Caller, survey: dict[str, Any], change: dict[str, Any]
) -> None:
    order = feed_order.now()
    issued = cursors.Cursor(f"project:{survey['id']}", order.database, order.open, position=order.open)
    cursor = replace(issued, **change).written(at=timezone.now())

    answer = admin.get(f"/projects/{survey['id']}/responses/changes?cursor={cursor}")

    assert faults(answer) == {("cursor", "cursor_expired")}


def test_a_cursor_with_another_signature_is_refused(admin: Caller, survey: dict[str, Any]) -> None:
    parts = [f"project:{survey['id']}", 1, 1, 1, "0" * 32, 1]
    forged = signing.Signer(key="another", salt="colloquy.responses.changes").sign_object(parts)

    answer = admin.get(f"/projects/{survey['id']}/responses/changes?cursor={forged}")

    assert faults(answer) == {("cursor", "invalid")}


# --- Housekeeping ---------------------------------------------------------------------------------------


def test_deletions_are_remembered_as_long_as_any_cursor(admin: Caller, survey: dict[str, Any]) -> None:
    for who in ("ann", "bob"):
        admin.delete(f"/responses/{answered(admin, survey, who).told['id']}")
    old, _ = DeletedResponse.objects.order_by("pk")
    at = timezone.now()
    DeletedResponse.objects.update(due_at=at - cursors.LIFETIME)
    DeletedResponse.objects.filter(pk=old.pk).update(due_at=at - cursors.LIFETIME - timedelta(seconds=1))

    assert changes.forget_deletions(at=at) == 1
    assert not DeletedResponse.objects.filter(pk=old.pk).exists()


def test_a_page_of_long_answers_ends_early_and_says_that_there_is_more(
    admin: Caller, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_BATCH_BYTES", 1_150)  # an answer counts 1,100 and its bytes
    told = [answered(admin, survey, who).told["id"] for who in ("ann", "bo", "cy")]

    seen, pages, cursor, has_more = [], 0, "", True
    while has_more:
        page = admin.get(f"/projects/{survey['id']}/responses/changes{cursor}").json()
        seen += ids(page["data"])
        pages, cursor, has_more = pages + 1, f"?cursor={page['cursor']}", page["has_more"]

    assert (seen, pages) == (told, 2)
