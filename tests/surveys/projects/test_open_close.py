"""Opening and closing projects (rules 2.1 to 2.4, 2.8 and 2.9)."""

import threading
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction

from surveys import tasks
from surveys.models import Project
from surveys.services.ground import lookup
from surveys.services.projects import opening, schedule
from surveys.services.representations.project import project_as_json
from tests.support.caller import CHOICE, SAYING, TEXT, Caller, counts, faults, refusal
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db

OPENING = datetime.fromisoformat("2999-01-01T00:00:00Z")
CLOSING = datetime.fromisoformat("2999-01-02T00:00:00Z")
SECOND = timedelta(seconds=1)
SCHEDULED_OPENING = {"opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"}}
SCHEDULED_CLOSING = {"closing": {"mode": "scheduled", "time": "2999-01-02T00:00:00Z"}}
CHAT = {"audience": {"response_channel": "chat"}}


def opened(caller, made, delivery=None):
    body = {} if delivery is None else {"delivery": delivery}
    return caller.post(f"/projects/{made['id']}/open", body)


def status_at(made, at):
    return project_as_json(lookup.with_details([int(made["id"])])[int(made["id"])], at=at)["status"]


def test_a_project_opens_and_closes_once_each():
    caller = Caller()
    made = caller.make(TEXT)

    answer = opened(caller, made)
    assert (answer.status_code, answer.json()["status"], counts(caller)) == (200, "active", (1, 1))
    assert answer.json() == caller.get(f"/projects/{made['id']}").json()
    assert refusal(opened(caller, made)) == (409, "conflict")

    answer = caller.post(f"/projects/{made['id']}/close")
    assert (answer.status_code, answer.json()["status"], counts(caller)) == (200, "inactive", (1, 0))
    assert refusal(caller.post(f"/projects/{made['id']}/close")) == (409, "conflict")

    assert opened(caller, made).json()["status"] == "active"
    assert caller.post(f"/projects/{made['id']}/close", {"reason": "done"}).status_code == 200


DELIVERY_BY_DEFAULT = {
    "opening": {"mode": "manual", "time": None},
    "closing": {"mode": "manual", "time": None},
    "audience": {
        "participation": "private",
        "response_channel": "web",
        "required_role_ids": [],
        "verified_source_ids": [],
    },
    "invitation": None,
}


@pytest.mark.parametrize("body", [{}, {"delivery": None}])
def test_opening_without_delivery_writes_the_defaults_down(body):
    caller = Caller()
    made = caller.make(TEXT)

    answer = caller.post(f"/projects/{made['id']}/open", body).json()
    caller.post(f"/projects/{made['id']}/close")

    assert made["delivery"] is None
    assert answer["delivery"] == DELIVERY_BY_DEFAULT
    assert caller.get(f"/projects/{made['id']}").json()["delivery"] == DELIVERY_BY_DEFAULT


def test_a_refused_opening_leaves_delivery_null():
    caller = Caller()
    made = caller.make()

    assert refusal(opened(caller, made)) == (409, "conflict")
    assert caller.get(f"/projects/{made['id']}").json()["delivery"] is None


def test_delivery_sent_with_open_is_merged():
    caller = Caller()
    made = caller.make(TEXT, delivery={"audience": {"required_role_ids": ["5"]}})

    answer = opened(caller, made, {"audience": {"participation": "open_web"}}).json()

    assert answer["delivery"] == {
        "opening": {"mode": "manual", "time": None},
        "closing": {"mode": "manual", "time": None},
        "audience": {
            "participation": "open_web",
            "response_channel": "web",
            "required_role_ids": ["5"],
            "verified_source_ids": [],
        },
        "invitation": None,
    }


@pytest.mark.parametrize("blocks", [[], [SAYING]])
def test_a_project_without_a_question_cannot_open(blocks):
    caller = Caller()

    assert refusal(opened(caller, caller.make(*blocks))) == (409, "conflict")


def test_an_empty_poll_cannot_open():
    caller = Caller()

    assert refusal(opened(caller, caller.make(type="poll"))) == (409, "conflict")


def test_opening_for_chat_asks_for_the_channel_first():
    """Rules 2.5 and 2.6."""
    caller = Caller()
    made = caller.make(CHOICE)

    without = opened(caller, made, CHAT)
    within = opened(caller, made, CHAT | {"invitation": {"post_channel_id": "12"}})

    assert refusal(without) == (400, "channel_required")
    assert faults(without) == {("delivery.invitation.post_channel_id", "required")}
    assert refusal(within) == (409, "conflict")
    assert "No chat platform is connected" in within.json()["message"]
    assert caller.get(f"/projects/{made['id']}").json()["delivery"] is None


def test_opening_for_chat_checks_that_the_script_fits():
    """Rule 2.7."""
    caller = Caller()
    made = caller.make({"type": "single_punch", "prompt": "?", "options": [{"value": "v" * 41}]})

    answer = opened(caller, made, CHAT | {"invitation": {"post_channel_id": "12"}})

    assert faults(answer) == {("script.blocks[0].options[0].value", "too_long")}


def test_premium_fields_sent_with_open_need_the_tier():
    caller = Caller(tier="basic")

    answer = opened(caller, caller.make(TEXT), {"invitation": {"footer": "F"}})

    assert refusal(answer) == (403, "tier_required")


def test_who_may_open_and_close():
    admin = Caller()
    creator, other, member = (admin.beside(access) for access in ("creator", "creator", "member"))
    made = creator.make(TEXT)

    assert refusal(opened(other, made)) == (403, "forbidden")
    assert refusal(opened(member, made)) == (404, "not_found")
    assert refusal(opened(Caller(), made)) == (404, "not_found")
    assert opened(creator, made).status_code == 200
    assert refusal(other.post(f"/projects/{made['id']}/close")) == (403, "forbidden")
    assert refusal(member.post(f"/projects/{made['id']}/close")) == (403, "forbidden")
    assert admin.post(f"/projects/{made['id']}/close").status_code == 200


# --- Scheduled --------------------------------------------------------------------------------------


def test_a_scheduled_opening_waits():
    caller = Caller()
    made = caller.make(TEXT)

    answer = opened(caller, made, SCHEDULED_OPENING).json()

    assert (answer["status"], answer["info"]["scheduled_open_at"]) == ("inactive", "2999-01-01T00:00:00Z")
    assert counts(caller) == (1, 1)
    assert refusal(opened(caller, made)) == (409, "conflict")


def test_the_moment_decides_not_the_tick():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING | SCHEDULED_CLOSING)

    moments = [OPENING - SECOND, OPENING, OPENING + SECOND, CLOSING - SECOND, CLOSING, CLOSING + SECOND]

    assert [status_at(made, at) for at in moments] == [
        "inactive",
        "active",
        "active",
        "active",
        "inactive",
        "inactive",
    ]
    live = [Project.objects.live_at(at).filter(pk=made["id"]).exists() for at in moments]
    assert live == [False, True, True, True, False, False]


def test_closing_takes_a_pending_opening_back():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING | SCHEDULED_CLOSING)

    answer = caller.post(f"/projects/{made['id']}/close").json()

    assert (answer["status"], answer["info"]["scheduled_open_at"], counts(caller)) == (
        "inactive",
        None,
        (1, 0),
    )
    assert status_at(made, OPENING + SECOND) == "inactive"
    assert refusal(caller.post(f"/projects/{made['id']}/close")) == (409, "conflict")


@pytest.mark.parametrize("turn", ["opening", "closing"])
@pytest.mark.parametrize(
    ("time", "code"),
    [("2020-01-01T00:00:00Z", "in_past"), (None, "required"), ("2999-01-01T00:00:00", "invalid")],
)
def test_a_scheduled_time_lies_in_the_future_and_has_an_offset(turn, time, code):
    caller = Caller()
    made = caller.make(TEXT)

    answer = opened(caller, made, {turn: {"mode": "scheduled", "time": time}})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {(f"delivery.{turn}.time", code)}


def test_opening_at_this_very_moment_is_no_future():
    caller = Caller()
    made = caller.make(TEXT)
    fields = {"delivery": {"opening": {"mode": "scheduled", "time": OPENING}}}

    with pytest.raises(Exception, match="in the future"):
        opening.open_project(actor=caller.actor, project_id=int(made["id"]), fields=fields, at=OPENING)


def test_reopening_with_times_that_have_passed_is_refused():
    caller = Caller()
    made = caller.make(TEXT, delivery=SCHEDULED_OPENING)
    Project.objects.filter(pk=made["id"]).update(
        delivery=made["delivery"] | {"opening": {"mode": "scheduled", "time": "2020-01-01T00:00:00Z"}}
    )

    assert faults(opened(caller, made)) == {("delivery.opening.time", "in_past")}
    assert opened(caller, made, {"opening": {"mode": "manual"}}).json()["status"] == "active"


def test_new_times_are_followed_while_pending_and_while_live():
    caller = Caller()
    made = caller.make(TEXT)
    path = f"/projects/{made['id']}"
    opened(caller, made, SCHEDULED_OPENING)

    moved = caller.patch(path, {"delivery": {"opening": {"time": "2998-01-01T00:00:00Z"}}}).json()
    by_hand = caller.patch(path, {"delivery": {"opening": {"mode": "manual"}}})
    caller.post(f"{path}/close")
    opened(caller, made, {"opening": {"mode": "manual"}})
    caller.patch(path, {"delivery": SCHEDULED_CLOSING})

    assert moved["info"]["scheduled_open_at"] == "2998-01-01T00:00:00Z"
    assert refusal(by_hand) == (409, "conflict")
    assert [status_at(made, CLOSING - SECOND), status_at(made, CLOSING)] == ["active", "inactive"]


# --- The tick ---------------------------------------------------------------------------------------


def test_the_rows_catch_up_with_the_moment():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING | SCHEDULED_CLOSING)

    assert schedule.open_and_close_due(at=OPENING - SECOND) == 0
    assert schedule.open_and_close_due(at=OPENING) == 1
    assert schedule.open_and_close_due(at=OPENING) == 0
    project = Project.objects.get(pk=made["id"])
    assert (project.status, project.opens_at, project.closes_at) == ("active", None, CLOSING)
    assert counts(caller) == (1, 1)

    assert schedule.open_and_close_due(at=CLOSING) == 1
    assert schedule.open_and_close_due(at=CLOSING) == 0
    project.refresh_from_db()
    assert (project.status, project.opens_at, project.closes_at) == ("inactive", None, None)
    assert counts(caller) == (1, 0)


def test_a_tick_that_comes_too_late_opens_and_closes_at_once():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING | SCHEDULED_CLOSING)

    schedule.open_and_close_due(at=CLOSING + SECOND)

    assert Project.objects.get(pk=made["id"]).status == "inactive"
    assert counts(caller) == (1, 0)


def test_the_task_brings_rows_up_to_now():
    caller = Caller()
    made = caller.make_open(TEXT)
    Project.objects.filter(pk=made["id"]).update(closes_at=NOON - timedelta(days=9000))

    tasks.open_and_close(some_later_argument=1)

    assert Project.objects.get(pk=made["id"]).status == "inactive"


def test_a_project_whose_closing_has_come_can_be_opened_before_the_tick():
    caller = Caller()
    made = caller.make_open(TEXT)
    Project.objects.filter(pk=made["id"]).update(closes_at=NOON - timedelta(days=9000))

    assert opened(caller, made).json()["status"] == "active"
    assert counts(caller) == (1, 1)


def test_times_in_the_past_do_not_stop_a_live_project_from_closing():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING)

    closed = opening.close_project(actor=caller.actor, project_id=int(made["id"]), at=OPENING + SECOND)

    assert (closed.status, closed.opens_at, counts(caller)) == ("inactive", None, (1, 0))


# --- At the same time -------------------------------------------------------------------------------


def at_once(move, times=2):
    """The result of each of several threads that make the same move together."""
    ready = threading.Barrier(times)
    results = []

    def run():
        ready.wait()
        try:
            results.append(move())
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
def test_two_who_open_at_once():
    caller = Caller()
    made = caller.make(TEXT)

    results = at_once(lambda: caller.post(f"/projects/{made['id']}/open").status_code)

    assert sorted(results) == [200, 409]
    assert counts(caller) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_two_who_close_at_once():
    caller = Caller()
    made = caller.make_open(TEXT)

    results = at_once(lambda: caller.post(f"/projects/{made['id']}/close").status_code)

    assert sorted(results) == [200, 409]
    assert counts(caller) == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_two_ticks_at_once():
    caller = Caller()
    made = [caller.make(TEXT) for _ in range(5)]
    for each in made:
        opened(caller, each, SCHEDULED_OPENING | SCHEDULED_CLOSING)

    flipped = at_once(lambda: schedule.open_and_close_due(at=CLOSING))
    schedule.open_and_close_due(at=CLOSING)

    assert sum(flipped) <= 5
    assert counts(caller) == (5, 0)


@pytest.mark.django_db(transaction=True)
def test_a_held_row_is_left_to_whoever_holds_it():
    caller = Caller()
    made = caller.make(TEXT)
    opened(caller, made, SCHEDULED_OPENING)
    flipped = []

    def tick():
        flipped.append(schedule.open_and_close_due(at=OPENING))
        connection.close()

    with transaction.atomic():
        lookup.lock(actor=caller.actor, project_id=int(made["id"]))
        other = threading.Thread(target=tick)
        other.start()
        other.join()

    assert flipped == [0]
    assert schedule.open_and_close_due(at=OPENING) == 1
