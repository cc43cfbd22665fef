"""The consequences of imported responses: counts, figures, feed, order, rows, and waits."""

from __future__ import annotations

from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from communities.services.people import members
from surveys.api import responses
from surveys.engine.walk.replay import replay
from surveys.models import Answer, Completion, Conversation, Project
from surveys.services.conversations import repository
from surveys.services.imports import people, walking
from tests.factories import IdentityFactory, MemberFactory, UserFactory
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.concurrency import BackgroundCall, run_together
from tests.support.surveys import scenario
from tests.support.surveys.imports import imported, listed, partial, past, send
from tests.support.surveys.participants import Talk, giving

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = {**CHOICE, "name": "one"}
WHY = {**TEXT, "name": "why"}
ONE, OTHER = ("one", "red"), ("one", "green")
WEB = {"delivery": {"audience": {"participation": "open_web"}}}


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    return caller.make_open(QUESTION, WHY, **WEB)


def row_of(project: Any) -> Project:
    return Project.objects.get(pk=project["id"])


def test_counts_are_those_of_the_rows(caller: Caller, project: Any) -> None:
    Talk(caller, project).through()

    imported(caller, project, past(ONE, ("why", "So.")), past(), partial(OTHER))

    counts = scenario.counts(row_of(project))
    assert counts == scenario.recounted(row_of(project)) == {"answered": 5, "completed": 3, "listed": 4}


def test_rows_are_those_that_a_live_response_has(caller: Caller, project: Any) -> None:
    talk = Talk(caller, project, external_id="ann", metadata={"campaign": "mail"})
    talk.answer("red")
    talk.answer("So.")
    sent = past(ONE, ("why", "So."), platform_id="bob", metadata={"campaign": "mail"})

    imported(caller, project, sent)

    live, other = Conversation.objects.order_by("-provider")
    assert (live.provider, other.provider) == ("web", "import")
    other.state.pop("earns")
    for name in ("state", "packed", "is_listed", "is_settled", "session_number", "sealed_respondent"):
        assert getattr(other, name) == getattr(live, name), name
    columns = ("block_id", "ordinal", "option_id", "value", "number")
    rows = [
        list(Answer.objects.filter(conversation=each).order_by("block_id").values_list(*columns))
        for each in (live, other)
    ]
    assert rows[0] == rows[1]
    assert [each.completions for each in Completion.objects.all()] == [1, 1]


def test_figures_with_and_without_filters_count_imported_responses(caller: Caller, project: Any) -> None:
    def counted(query: str = "") -> Any:
        body = caller.get(f"/projects/{project['id']}/analysis/results{query}").json()
        return [block["response_count"] for block in body["blocks"]]

    Talk(caller, project).answer("red")
    before = [counted(), counted("?provider=import"), counted("?provider=web")]

    imported(caller, project, past(ONE, ("why", "So.")), past(OTHER))

    assert before == [[1, 0], [0, 0], [1, 0]]
    assert [counted(), counted("?provider=import"), counted("?provider=web")] == [[3, 1], [2, 1], [1, 0]]
    assert len(listed(caller, project, "&provider=import")) == 2


def test_the_listing_shows_responses_in_the_order_of_their_times(caller: Caller, project: Any) -> None:
    Talk(caller, project).through()
    times = ["1970-07-20T20:17:40Z", "2025-05-02T08:00:00Z", "2025-05-01T08:00:00Z", "2025-05-02T08:00:00Z"]
    sent = [
        past(ONE, started_at=time, submitted_at=time, metadata={"n": str(n)}) for n, time in enumerate(times)
    ]

    responses = imported(caller, project, *sent)

    order = [(each["metadata"] or {}).get("n") for each in responses]
    assert order == ["0", "2", "1", "3", None]
    pages = []
    after = ""
    while True:
        page = caller.get(f"/projects/{project['id']}/responses?per_page=2{after}").json()
        pages += page["data"]
        if not page["pagination"]["has_more"]:
            break
        after = f"&after={page['data'][-1]['id']}"
    assert pages == responses


# --- At the same time --------------------------------------------------------------------------------


def importing(caller: Caller, project: Any, *sent: Any, query: str = "") -> Any:
    twin = caller.in_another_thread()
    return lambda: send(twin, project, *sent, query=query).status_code


@pytest.fixture
def own_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each move counts in a slot of its own. They draw one of 16, and two with the same one wait."""
    slots = count()
    monkeypatch.setattr(repository, "random", SimpleNamespace(randrange=lambda number: next(slots) % number))


@pytest.mark.usefixtures("own_slots")
def test_an_import_waits_for_nobody_who_answers_and_counts_in_another_slot(
    caller: Caller, project: Any
) -> None:
    talk = Talk(caller, project, external_id="ann")

    with transaction.atomic():
        talk.answer("red")
        importer = BackgroundCall(importing(caller, project, past(ONE, platform_id="bob")))
        did_wait = importer.waits_for_lock()

    assert (did_wait, importer.result()) == (False, 201)


@pytest.mark.usefixtures("own_slots")
@pytest.mark.parametrize("has_counted", [False, True])
def test_nobody_who_answers_and_counts_in_another_slot_waits_for_an_import(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch, has_counted: bool
) -> None:
    is_written, may_end, count_now = Event(), Event(), repository.count

    def count_and_wait(**changes: Any) -> None:
        if has_counted:
            count_now(**changes)
        is_written.set()
        assert may_end.wait(30)
        if not has_counted:
            count_now(**changes)

    monkeypatch.setattr(repository, "count", count_and_wait)
    importer = BackgroundCall(importing(caller, project, past(ONE, platform_id="bob")))
    assert is_written.wait(30)
    during = Talk(caller, project, external_id="ann").through()["status"]
    may_end.set()

    assert (during, importer.result()) == ("completed", 201)
    assert scenario.counts(row_of(project)) == scenario.recounted(row_of(project))


@pytest.mark.parametrize(("query", "waits", "status"), [("", True, 201), ("?dry_run=true", False, 200)])
def test_an_import_waits_for_a_change_of_the_project_and_a_dry_run_does_not(
    caller: Caller, project: Any, query: str, waits: bool, status: int
) -> None:
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project["id"])
        importer = BackgroundCall(importing(caller, project, past(ONE), query=query))
        did_wait = importer.waits_for_lock()

    assert (did_wait, importer.result()) == (waits, status)


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_the_script_is_walked_outside_of_transactions(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch, query: str, headers: dict[str, str]
) -> None:
    is_inside = list[bool]()

    def watched(*args: Any, **kwargs: Any) -> Any:
        is_inside.append(connection.in_atomic_block)
        return replay(*args, **kwargs)

    monkeypatch.setattr(walking, "replay", watched)

    answer = send(caller, project, past(ONE), partial(OTHER), query=query, **headers)

    assert answer.json()["valid" if query else "imported"] == 2
    assert is_inside == [False, False]


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/script", {"blocks": [QUESTION]}),
        ("", {"settings": {"privacy_mode": "anonymous"}}),
        ("", {"settings": {"hidden_fields": ["campaign"]}}),
    ],
)
def test_a_project_that_changes_during_the_walks_refuses_them(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, path: str, change: Any
) -> None:
    project = caller.make(QUESTION, WHY, **WEB)

    def replayed_then_changed(*args: Any, **kwargs: Any) -> Any:
        walked = replay(*args, **kwargs)
        answer = caller.put(f"/projects/{project['id']}{path}", change)
        assert answer.status_code == 200, answer.content
        return walked

    monkeypatch.setattr(walking, "replay", replayed_then_changed)
    refused = send(caller, project, past(ONE, ("why", "So.")), **{"Idempotency-Key": "one"})
    monkeypatch.undo()
    again = send(caller, project, past(ONE), **{"Idempotency-Key": "two"})

    assert (refused.status_code, refused["Retry-After"]) == (409, "1")
    assert (again.status_code, Conversation.objects.count()) == (201, 1)


def test_a_project_that_is_deleted_during_the_walks_is_gone(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = caller.make(QUESTION, **WEB)

    def replayed_then_deleted(*args: Any, **kwargs: Any) -> Any:
        caller.delete(f"/projects/{project['id']}")
        return replay(*args, **kwargs)

    monkeypatch.setattr(walking, "replay", replayed_then_deleted)

    assert send(caller, project, past(ONE)).status_code == 404


@pytest.mark.parametrize("does_prepare_see_it", [True, False])
def test_a_retry_under_the_same_key_is_not_refused_for_what_the_first_has_stored(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, does_prepare_see_it: bool
) -> None:
    project = caller.make_open(QUESTION, settings={"max_completes_per_user": 1}, **WEB)
    key = {"Idempotency-Key": "one"}
    send(caller, project, past(ONE, platform_id="ann"), **key)
    if not does_prepare_see_it:  # the first commits just after the second has looked
        monkeypatch.setattr(responses, "is_settled", lambda claim, *, at: False)

    again = send(caller, project, past(ONE, platform_id="ann"), **key)

    assert (again.status_code, again["Idempotency-Replayed"]) == (201, "true")
    assert Conversation.objects.count() == 1


def test_a_response_that_expires_while_a_retry_is_prepared_asks_to_try_again(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "is_settled", lambda claim, *, at: True)

    answer = send(caller, project, past(ONE), **{"Idempotency-Key": "one"})

    assert (answer.status_code, answer["Retry-After"]) == (409, "1")
    assert not Conversation.objects.exists()


def test_the_script_cannot_change_during_an_import(caller: Caller) -> None:
    project = caller.make(QUESTION, **WEB)
    with transaction.atomic():
        send(caller, project, past(ONE))
        twin = caller.in_another_thread()
        writer = BackgroundCall(lambda: twin.put(f"/projects/{project['id']}/script", {"blocks": [WHY]}))
        did_wait = writer.waits_for_lock()

    assert (did_wait, writer.result().status_code) == (True, 200)


def test_the_script_cannot_change_between_the_comparison_and_the_rows(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = caller.make(QUESTION, **WEB)
    twin, find, writers = caller.in_another_thread(), people.find, list[BackgroundCall]()

    def find_while_somebody_writes(**where: Any) -> Any:
        write = BackgroundCall(lambda: twin.put(f"/projects/{project['id']}/script", {"blocks": [WHY]}))
        assert write.waits_for_lock()
        writers.append(write)
        return find(**where)

    monkeypatch.setattr(people, "find", find_while_somebody_writes)

    assert send(caller, project, past(ONE)).status_code == 201
    assert [writer.result().status_code for writer in writers] == [200]


def test_two_imports_of_the_same_people_do_not_exceed_their_limit(caller: Caller) -> None:
    project = caller.make_open(QUESTION, settings={"max_completes_per_user": 1}, **WEB)
    names = [f"person-{n}" for n in range(20)]
    there = [past(ONE, platform_id=name) for name in names]

    statuses = run_together(importing(caller, project, *there), importing(caller, project, *reversed(there)))

    assert statuses.count(201) == 1
    assert set(statuses) <= {201, 400, 409}
    assert scenario.completions(row_of(project)) == [1] * 20
    assert scenario.counts(row_of(project)) == scenario.recounted(row_of(project))


def test_imports_with_xp_and_answers_at_the_same_time_give_each_once(caller: Caller) -> None:
    project = caller.make_open(QUESTION, rewards={"use_xp": True, "xp_amount": 5}, **WEB)
    everybody = []
    for n in range(5):
        made = MemberFactory.create(community=caller.community)
        IdentityFactory.create(user=made.user, provider="chat", platform_id=f"p{n}")
        everybody.append(made)
    sent = [past(ONE, platform_id=f"p{n}") for n in range(5)]

    def answer(member: Any) -> Any:
        twin = caller.in_another_thread()
        return lambda: Talk(twin, project, member_id=str(member.pk)).through()["status"]

    results = run_together(
        importing(caller, project, *sent, query="?give_xp=true"),
        importing(caller, project, *reversed(sent), query="?give_xp=true"),
        *[answer(each) for each in everybody],
    )

    assert results == [201, 201, *["completed"] * 5]
    assert scenario.completions(row_of(project)) == [3] * 5
    numbers = Conversation.objects.order_by("user_id", "session_number").values_list(
        "session_number", flat=True
    )
    assert list(numbers) == [1, 2, 3] * 5
    assert scenario.counts(row_of(project)) == scenario.recounted(row_of(project))


@pytest.mark.parametrize("change", ["left_at = now()", "user_id = %(other)s"])
def test_a_member_who_is_erased_or_merged_meanwhile_is_not_given_responses(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    ann, other = MemberFactory.create(community=caller.community), UserFactory.create()
    IdentityFactory.create(user=ann.user, provider="chat", platform_id="ann")
    find = members.find_by_accounts

    def found_then_changed(**where: Any) -> Any:
        found = find(**where)
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE communities_member SET {change} WHERE id = %(id)s", {"id": ann.pk, "other": other.pk}
            )
        return found

    monkeypatch.setattr(members, "find_by_accounts", found_then_changed)

    answer = send(caller, project, past(ONE, platform_id="ann"))

    assert (answer.status_code, answer["Retry-After"]) == (409, "1")
    assert not Conversation.objects.exists()


# --- Their cost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?emit_events=true"])
@pytest.mark.parametrize("number", [1, 50])
def test_however_many_they_are_they_take_the_same_statements(
    caller: Caller, project: Any, number: int, query: str
) -> None:
    caller.post("/webhooks", {"url": "https://example.com/", "events": ["response.submitted"]})
    sent = [past(ONE, ("why", "So."), platform_id=f"p{n}") for n in range(number)]
    send(caller, project, past(ONE))  # the script is cached

    with scenario.at_most(30):
        send(caller, project, *sent, query=query)


@pytest.mark.parametrize("number", [1, 20])
def test_with_xp_each_member_takes_few_statements_more(caller: Caller, number: int) -> None:
    project = caller.make_open(QUESTION, giving(xp_amount=50), rewards={"use_xp": True}, **WEB)
    for n in range(number):
        made = MemberFactory.create(community=caller.community)
        IdentityFactory.create(user=made.user, provider="chat", platform_id=f"p{n}")
    sent = [past(ONE, platform_id=f"p{n}") for n in range(number)]
    send(caller, project, past(ONE))  # the script is cached

    with scenario.at_most(25 + 8 * number):
        send(caller, project, *sent, query="?give_xp=true")


def test_the_members_who_get_xp_are_locked_by_one_statement(caller: Caller) -> None:
    project = caller.make_open(QUESTION, **WEB)
    for n in range(5):
        made = MemberFactory.create(community=caller.community)
        IdentityFactory.create(user=made.user, provider="chat", platform_id=f"p{n}")

    with CaptureQueriesContext(connection) as captured:
        send(caller, project, *[past(ONE, platform_id=f"p{n}") for n in range(5)], query="?give_xp=true")

    assert sum("FOR NO KEY UPDATE OF m" in query["sql"] for query in captured) == 1
