"""The people of imported responses (members, people by the caller's own names, nobody), and their limits."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import Identity, Member
from surveys.models import Completion, Conversation
from tests.factories import IdentityFactory, MemberFactory, VerifiedSourceFactory
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, refusal
from tests.support.surveys.imports import faults, imported, listed, partial, past, send
from tests.support.surveys.participants import Talk

pytestmark = pytest.mark.django_db

ONE = ("one", "red")
QUESTION = {**CHOICE, "name": "one"}
WEB = {"delivery": {"audience": {"participation": "open_web"}}}
EARLY, MIDDLE, LATE = (f"2025-05-0{day}T08:00:00Z" for day in (1, 2, 3))


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    return caller.make_open(QUESTION, **WEB)


def member(caller: Caller, platform_id: str = "p-1", provider: str = "chat") -> Member:
    made = MemberFactory.create(community=caller.community)
    IdentityFactory.create(user=made.user, provider=provider, platform_id=platform_id)
    return made


def at(time: str, **fields: Any) -> dict[str, Any]:
    return past(ONE, started_at=time, submitted_at=time, **fields)


def people(responses: list[Any]) -> list[tuple[str | None, str | None, int | None]]:
    return [(each["user_id"], each["platform_id"], each["session_number"]) for each in responses]


@pytest.mark.parametrize("provider", ["chat", None, "import"])
def test_a_platform_id_names_a_member(caller: Caller, project: Any, provider: str | None) -> None:
    ann = member(caller)

    responses = imported(caller, project, past(ONE, platform_id="p-1", provider=provider))

    assert people(responses) == [(str(ann.user_id), "p-1", 1)]


def test_the_chat_comes_before_other_platforms_where_none_is_named(caller: Caller, project: Any) -> None:
    VerifiedSourceFactory.create(community=caller.community, provider="video")
    on_video, on_chat = member(caller, provider="video"), member(caller, provider="chat")
    sent = [past(ONE, platform_id="p-1", provider=each) for each in (None, "video", "chat")]

    responses = imported(caller, project, *sent)

    assert [each["user_id"] for each in responses] == [
        str(each.user_id) for each in (on_chat, on_video, on_chat)
    ]


def test_an_account_on_a_platform_that_the_community_does_not_ask_about_finds_nobody(
    caller: Caller, project: Any
) -> None:
    ann = member(caller, provider="video")

    [response] = imported(caller, project, past(ONE, platform_id="p-1"))

    assert response["user_id"] != str(ann.user_id)


@pytest.mark.parametrize("provider", ["web", "video"])
def test_a_name_of_the_callers_own_is_no_account(caller: Caller, project: Any, provider: str) -> None:
    ann = member(caller)

    [response] = imported(caller, project, past(ONE, platform_id="p-1", provider=provider))

    assert response["user_id"] not in (None, str(ann.user_id))
    assert Identity.objects.get(provider="web").user_id == int(response["user_id"])


def test_members_of_other_communities_and_those_who_left_are_no_members(caller: Caller, project: Any) -> None:
    stranger = member(Caller(), "p-2")
    gone = member(caller, "p-3")
    Member.objects.filter(pk=gone.pk).update(left_at="2025-01-01T00:00:00Z")

    responses = imported(
        caller, project, past(ONE, platform_id="p-2"), past(ONE, platform_id="p-3"), past(ONE)
    )

    known = {each["user_id"] for each in responses}
    assert known.isdisjoint({str(stranger.user_id), str(gone.user_id)})
    assert people(responses)[2] == (None, None, 1)


def test_a_person_of_the_callers_own_is_the_one_of_conversations(caller: Caller, project: Any) -> None:
    Talk(caller, project, external_id="ann").through()

    responses = imported(caller, project, at(EARLY, platform_id="ann"), at(LATE, platform_id="bob"))

    by_name = {
        name: {each["user_id"] for each in responses if each["platform_id"] == name}
        for name in ("ann", "bob")
    }
    assert [len(each) for each in by_name.values()] == [1, 1]
    assert people(responses) == [
        (*by_name["ann"], "ann", 2),
        (*by_name["bob"], "bob", 1),
        (*by_name["ann"], "ann", 1),
    ]
    assert listed(caller, project, "&platform_id=ann") == [responses[0], responses[2]]


def test_a_user_id_names_nobody(caller: Caller, project: Any) -> None:
    ann = member(caller)

    [response] = imported(caller, project, past(ONE, user_id=str(ann.user_id), session_number=7))

    assert people([response]) == [(None, None, 1)]


def test_sessions_are_numbered_in_the_order_of_time(caller: Caller, project: Any) -> None:
    sent = [at(each, platform_id="ann") for each in (LATE, EARLY, MIDDLE)]

    responses = imported(caller, project, *sent)
    later = imported(caller, project, at("2025-04-30T08:00:00Z", platform_id="ann"))

    assert [(each["submitted_at"], each["session_number"]) for each in responses] == [
        (EARLY, 1),
        (MIDDLE, 2),
        (LATE, 3),
    ]
    assert later[0]["session_number"] == 4


def test_the_limit_counts_imported_completions_with_all_others(caller: Caller) -> None:
    project = caller.make_open(QUESTION, settings={"max_completes_per_user": 2}, **WEB)
    Talk(caller, project, external_id="ann").through()

    beyond = send(
        caller,
        project,
        at(LATE, platform_id="ann"),
        at(EARLY, platform_id="ann"),
        at(EARLY, platform_id="bob"),
        at(EARLY),
    )
    within = send(caller, project, at(LATE, platform_id="ann"))
    begun = caller.post(f"/projects/{project['id']}/conversations", {"external_id": "ann"})

    assert faults(beyond) == [(1, "data[0].platform_id", "too_many")]  # the later of the two
    assert within.status_code == 201
    assert refusal(begun) == (409, "conflict")


def test_a_dry_run_knows_the_limit_too(caller: Caller) -> None:
    project = caller.make_open(QUESTION, settings={"max_completes_per_user": 1}, **WEB)
    twice = [at(EARLY, platform_id="ann"), at(LATE, platform_id="ann")]

    dry = send(caller, project, *twice, query="?dry_run=true")

    assert faults(dry) == [(2, "data[1].platform_id", "too_many")]
    assert not Completion.objects.exists()


def test_deleting_an_imported_response_frees_its_place(caller: Caller) -> None:
    project = caller.make_open(QUESTION, settings={"max_completes_per_user": 1}, **WEB)
    [response] = imported(caller, project, at(EARLY, platform_id="ann"))

    caller.delete(f"/responses/{response['id']}")

    assert imported(caller, project, at(LATE, platform_id="ann"))[0]["session_number"] == 2


def test_a_partial_response_is_nobodys_to_continue(caller: Caller) -> None:
    project = caller.make_open(QUESTION, {**TEXT, "name": "why"}, **WEB)
    [response] = imported(caller, project, partial(ONE, platform_id="ann"))

    begun = caller.post(f"/projects/{project['id']}/conversations", {"external_id": "ann"})
    said = {"block_id": response["answers"][0]["block_id"], "value": "red"}
    moved = caller.post(f"/conversations/{response['id']}/answers", said)
    again = imported(caller, project, partial(ONE, platform_id="ann"), partial(ONE, platform_id="ann"))

    assert (begun.status_code, begun.json()["id"] == response["id"]) == (201, False)
    assert refusal(moved) == (409, "conflict")
    assert {each["user_id"] for each in again} == {response["user_id"]}
    assert {each["session_number"] for each in again} == {None}


def test_imported_responses_are_among_a_persons_data_and_go_with_them(caller: Caller, project: Any) -> None:
    ann = member(caller)
    imported(caller, project, past(ONE, platform_id="p-1"))
    told = caller.get(f"/members/{ann.pk}/data").json()["responses"]

    caller.delete(f"/members/{ann.pk}/data")

    assert [each["provider"] for each in told] == ["import"]
    rows: Any = Conversation.objects.values_list("user_id", "platform_id", "respondent")
    assert set(rows) == {(None, None, None)}


# --- Polls ---------------------------------------------------------------------------------------------


def poll(caller: Caller, *blocks: Any, **settings: Any) -> Any:
    return caller.make_open(*(blocks or (QUESTION,)), type="poll", settings=settings, **WEB)


def test_a_poll_takes_one_vote_of_each_person(caller: Caller) -> None:
    project = poll(caller, change_poll=True)

    twice = send(caller, project, at(EARLY, platform_id="ann"), at(LATE, platform_id="ann"))
    skipped = send(caller, project, past())
    unfinished = send(caller, project, partial(ONE))

    assert faults(twice) == [(2, "data[1].platform_id", "too_many")]
    assert faults(skipped) == [(1, "data[0].answers", "required")]
    assert faults(unfinished) == [(1, "data[0].status", "conflicting")]


def test_a_vote_completes_a_poll_before_its_closing_words(caller: Caller) -> None:
    project = poll(caller, SAYING, QUESTION)

    [response] = imported(caller, project, past(ONE))

    assert response["status"] == "completed"
    assert caller.get(f"/projects/{project['id']}").json()["info"]["completion_count"] == 1


def test_an_imported_vote_is_its_persons_to_change_and_to_take_back(caller: Caller) -> None:
    project = poll(caller, change_poll=True)
    [vote] = imported(caller, project, past(ONE, platform_id="ann"))

    begun = caller.post(f"/projects/{project['id']}/conversations", {"external_id": "ann"})
    back = caller.post(f"/conversations/{vote['id']}/back")
    block = back.json()["step"]["block"]["id"]
    caller.post(f"/conversations/{vote['id']}/answers", {"block_id": block, "value": "green"})
    changed = listed(caller, project)
    deleted = caller.delete(f"/responses/{vote['id']}")

    assert (begun.status_code, begun.json()["id"]) == (200, vote["id"])
    assert [(each["provider"], each["answers"][0]["value"]) for each in changed] == [("import", "green")]
    assert deleted.status_code == 204
    assert not Conversation.objects.exists()
    assert [each.completions for each in Completion.objects.all()] == [0]


@pytest.mark.parametrize("who", [{"external_id": "x"}, {"member_id": None}])
def test_who_has_only_begun_comes_to_an_imported_vote_and_changes_it(
    caller: Caller, who: dict[str, Any]
) -> None:
    poll = caller.make_open(QUESTION, type="poll", settings={"change_poll": True}, **WEB)
    if "member_id" in who:
        ann = member(caller)
        who, platform_id = {"member_id": str(ann.pk)}, "p-1"
    else:
        platform_id = "x"
    Talk(caller, poll, **who)
    provider = "chat" if "member_id" in who else "web"
    (vote,) = imported(caller, poll, past(ONE, platform_id=platform_id, provider=provider))

    again = Talk(caller, poll, **who)

    assert (again.told["id"], again.told["status"]) == (vote["id"], "completed")
    again.back()
    again.answer("green")
    assert listed(caller, poll)[0]["answers"][0]["value"] == "green"
