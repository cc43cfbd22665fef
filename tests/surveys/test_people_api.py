"""GET and DELETE of everything held about a person, over HTTP (rules 7.17 and 7.18)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from communities.ground import wire
from communities.ground.errors import NotFound
from communities.models import ApiKey, Member, User
from surveys.models import Completion, Conversation, Project
from surveys.services.people import service as people
from surveys.services.responses import service as responses
from tests.factories import UserFactory
from tests.support.caller import CHOICE, TEXT, Caller, refusal
from tests.support.dumps import dump
from tests.support.surveys import known_person, scenario
from tests.support.surveys.known_person import (
    ASKED,
    AT,
    AUDIENCE,
    DRAFTED,
    GIVES_XP,
    MEMBER_ID,
    USER_ID,
    everywhere,
)
from tests.support.surveys.participants import once_the_hour_is_over
from xp.models import XpEntry
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


@pytest.mark.parametrize("happens", ["erased", "merged"])
def test_a_document_whose_person_is_gone_meanwhile_has_no_end(happens: str) -> None:
    """Rule 7.840."""
    caller = Caller()
    everywhere(caller)
    data = people.data_of(actor=caller.actor, member_id=MEMBER_ID, at=timezone.now())
    pieces = wire.render_in_pieces(data.facts, data.histories)

    assert next(pieces)
    if happens == "erased":
        people.erase(actor=caller.actor, member_id=MEMBER_ID, at=timezone.now())
    else:
        Member.objects.filter(pk=MEMBER_ID).update(user=UserFactory.create())
    with pytest.raises(NotFound):
        list(pieces)


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
    (request,) = told["script_requests"]
    assert (request["intent"], request["status"]) == (ASKED, "pending")
    assert request["project_id"] == str(Project.objects.latest("pk").pk)
    assert told["script_drafts"] == [
        {
            "project_id": poll,
            "project_name": "Opening moves",
            "saved_at": "2026-01-31T12:34:56Z",
            "blocks": [TEXT | {"prompt": DRAFTED}],
        }
    ]
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


def test_what_a_person_gave_to_others_is_counted_and_is_under_a_pseudonym_once_they_are_gone() -> None:
    caller = Caller()
    ann = known_person.person(caller.community)
    other = caller.community.members.get(user=caller.user)
    known_person.award(other, actor_id=ann.user_id)
    named = caller.get(f"/members/{other.pk}/xp").json()["data"]
    counted = caller.get(DATA).json()["entries_for_others"]

    caller.delete(DATA)

    left = caller.get(f"/members/{other.pk}/xp").json()["data"]
    assert (counted, named[0]["actor_name"]) == (1, known_person.NICK)
    assert left == [{**named[0], "actor_name": None, "actor_pseudonym": left[0]["actor_pseudonym"]}]
    assert len(left[0]["actor_pseudonym"]) == 8
    assert [row for rows in dump().values() for row in rows if known_person.NICK in row] == []


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
    other, survey = known_person.elsewhere()
    here = caller.get(DATA).json()
    there_id = Member.objects.get(community=other.community, user=USER_ID).pk

    there = other.get(f"/members/{there_id}/data").json()

    assert {each["platform_id"] for each in here["identities"]} == {
        known_person.CHAT_ID,
        known_person.EXTERNAL_ID,
    }
    assert {each["platform_id"] for each in there["identities"]} == {known_person.CHAT_ID, "another-name"}
    assert [each["name"] for each in there["api_keys"]] == ["Another key"]
    assert [each["name"] for each in here["api_keys"]] == [known_person.KEY_NAME]
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
    monkeypatch.setattr(earnings, "PAGE_LENGTH", 2)
    monkeypatch.setattr(responses, "HISTORY_BATCH", 2)
    caller = Caller()
    ann = known_person.person(caller.community)
    survey = caller.make_open(TEXT, **AUDIENCE)
    for n in range(5):
        scenario.say(known_person.begin(survey), f"Answer {n}.", at=AT)
        known_person.award(ann, n + 1)

    told = caller.get(DATA).json()

    assert [each["answers"][0]["value"] for each in told["responses"]] == [f"Answer {n}." for n in range(5)]
    assert [each["delta"] for each in told["xp_ledger"]] == [5, 4, 3, 2, 1]


def test_reading_answers_head_and_refuses_parameters() -> None:
    caller = Caller()
    known_person.person(caller.community)

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
    known_person.person(other.community)

    assert refusal(caller.get(DATA)) == (404, "not_found")
    assert refusal(caller.delete(DATA)) == (404, "not_found")
    assert Member.objects.filter(pk=MEMBER_ID).count() == 1


def test_who_has_left_can_still_be_told_and_erased() -> None:
    caller = Caller()
    known_person.person(caller.community)
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
    known_person.person(caller.community)
    survey = caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    told = scenario.say(known_person.begin(survey), 0, at=AT)

    caller.delete(DATA)

    done = scenario.say(known_person.past_statements(told), "To the end.", at=AT)
    assert done.is_completed
    assert (done.conversation.user_id, done.conversation.respondent) == (None, None)
    once_the_hour_is_over()
    assert XpEntry.objects.count() == 0
    assert Completion.objects.exclude(project__privacy_mode="anonymous").count() == 0
    project = Project.objects.get(pk=survey["id"])
    assert scenario.counts(project) == scenario.recounted(project)


def test_nobody_takes_up_a_conversation_by_the_name_of_who_was_erased() -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(CHOICE, TEXT, **AUDIENCE)
    scenario.say(known_person.begin(survey), 0, at=AT)

    caller.delete(DATA)

    begun = caller.post(f"/projects/{survey['id']}/conversations", {"member_id": str(MEMBER_ID)})
    assert refusal(begun) == (400, "invalid_request")


def test_a_vote_of_who_was_erased_can_be_deleted_like_any() -> None:
    caller = Caller()
    known_person.person(caller.community)
    poll = caller.make_open(
        CHOICE, type="poll", settings={"change_poll": True}, rewards={"use_xp": True}, **AUDIENCE
    )
    vote = scenario.say(known_person.begin(poll), 0, at=AT)
    caller.delete(DATA)

    assert caller.delete(f"/responses/{vote.conversation.pk}").status_code == 204
    assert scenario.counts(Project.objects.get(pk=poll["id"])) == {
        "answered": 0,
        "completed": 0,
        "listed": 0,
    }
