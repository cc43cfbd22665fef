"""Changing projects (rules 1.42 and 1.43)."""

import pytest

from surveys.models import Conversation, Project
from tests.support.caller import CHOICE, Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.moments import NOON
from tests.support.surveys.project_fields import DELIVERY, EVERYTHING, INVITATION, SETTINGS

pytestmark = pytest.mark.django_db


@pytest.fixture
def made():
    """A caller, and a project of theirs."""
    caller = Caller()
    return caller, caller.make()


def with_response(made):
    Conversation.objects.create(
        project_id=made["id"], seed=1, is_listed=True, started_at=NOON, updated_at=NOON
    )


@pytest.mark.parametrize("method", ["put", "patch"])
def test_every_field_that_is_sent_changes(method):
    caller = Caller()
    made = caller.make()

    answer = caller.call(method, f"/projects/{made['id']}", EVERYTHING)

    assert answer.status_code == 200
    assert {key: answer.json()[key] for key in EVERYTHING} == EVERYTHING
    assert caller.get(f"/projects/{made['id']}").json() == answer.json()


@pytest.mark.parametrize("method", ["put", "patch"])
def test_fields_that_are_not_sent_stay(method):
    caller = Caller()
    made = caller.make(**EVERYTHING)

    answer = caller.call(method, f"/projects/{made['id']}", {"settings": {"reveal_results": None}}).json()

    assert answer["settings"] == SETTINGS | {"reveal_results": None}
    assert {key: answer[key] for key in EVERYTHING if key != "settings"} == {
        key: EVERYTHING[key] for key in EVERYTHING if key != "settings"
    }


def test_nested_groups_merge_too():
    caller = Caller()
    made = caller.make(delivery=DELIVERY)

    answer = caller.patch(
        f"/projects/{made['id']}",
        {
            "delivery": {
                "audience": {"participation": "private"},
                "invitation": {"message": None, "embed_config": {"info_display": None}},
            }
        },
    ).json()

    assert answer["delivery"] == DELIVERY | {
        "audience": DELIVERY["audience"] | {"participation": "private"},
        "invitation": INVITATION
        | {"message": None, "embed_config": INVITATION["embed_config"] | {"info_display": None}},
    }


@pytest.mark.parametrize("group", ["delivery", "rewards", "presentation"])
def test_null_clears_a_group(group):
    caller = Caller()
    made = caller.make(**EVERYTHING)

    answer = caller.patch(f"/projects/{made['id']}", {group: None}).json()

    assert answer[group] is None


def test_an_empty_group_is_told_with_its_defaults():
    caller = Caller()
    made = caller.make(delivery={}, rewards={}, presentation={})

    assert made["delivery"] == {
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
    assert set(made["rewards"].values()) == set(made["presentation"].values()) == {None}


@pytest.mark.parametrize("method", ["put", "patch"])
def test_what_was_read_can_be_sent_back(method):
    caller = Caller()
    made = caller.make(CHOICE, **EVERYTHING)
    read = caller.get(f"/projects/{made['id']}")

    answer = caller.call(method, f"/projects/{made['id']}", read.json())

    assert (answer.status_code, answer.json()) == (200, read.json())
    assert "X-Ignored-Fields" not in answer.headers


def test_whether_others_may_copy_a_project_is_read_only():
    """Rule 1.40."""
    caller = Caller()
    made = caller.make()
    sent = made["info"] | {"is_cloneable": False}

    answer = caller.patch(f"/projects/{made['id']}", {"info": sent})

    assert (answer.status_code, answer.json()["info"]["is_cloneable"]) == (200, True)
    assert Project.objects.get(pk=made["id"]).is_cloneable


def test_the_type_never_changes():
    caller = Caller()
    made = caller.make()

    answer = caller.patch(f"/projects/{made['id']}", {"type": "poll", "id": "77"})

    assert (answer.status_code, answer.json()["info"]["type"], answer.json()["id"]) == (
        200,
        "convo",
        made["id"],
    )


@try_each(
    ("group", "key", "value", "code"),
    [
        ("settings", "privacy_mode", "secret", "invalid_choice"),
        ("settings", "max_completes_per_user", 0, "too_small"),
        ("settings", "max_completes_per_user", 2**31, "too_large"),
        ("settings", "max_completes_per_user", True, "invalid_type"),
        ("settings", "change_poll", 1, "invalid_type"),
        ("settings", "poll_results_mode", "", "invalid_choice"),
        ("settings", "share_results", None, "null"),
        ("rewards", "use_xp", "yes", "invalid_type"),
        ("rewards", "discord_role_id", "role", "invalid"),
        ("rewards", "discord_role_id", 12, "invalid_type"),
        ("rewards", "achievement_id", "first", "invalid"),
        ("rewards", "achievement_id", "0", "invalid"),
        ("rewards", "achievement_id", "٣", "invalid"),
        ("rewards", "achievement_id", str(2**63), "invalid"),
        ("rewards", "achievement_id", 7, "invalid_type"),
        ("rewards", "achievement_image_url", "ftp://example.com/a", "invalid"),
        ("rewards", "achievement_image_url", "https://", "invalid"),
        ("presentation", "theme_id", 0, "too_small"),
        ("presentation", "theme_id", "1", "invalid_type"),
        ("presentation", "interviewer_id", 1.5, "invalid_type"),
        ("presentation", "branding", "b" * 201, "too_long"),
        ("presentation", "chart_emoji", "ab", "too_long"),
        ("presentation", "chart_emoji", "👩👩", "too_long"),
        ("delivery", "opening", None, "null"),
        ("delivery", "audience", [], "invalid_type"),
    ],
)
def test_a_field_of_a_group_keeps_its_bounds(made, group, key, value, code):
    caller, made = made

    answer = caller.patch(f"/projects/{made['id']}", {group: {key: value}})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {(f"{group}.{key}", code)}


@try_each(
    ("path", "value", "code"),
    [
        ("opening.mode", "later", "invalid_choice"),
        ("opening.time", "2999-01-01T00:00:00", "invalid"),
        ("opening.time", "tomorrow", "invalid"),
        ("opening.time", "0001-01-01T00:00:00+14:00", "too_small"),
        ("opening.time", 5, "invalid"),
        ("audience.participation", "all", "invalid_choice"),
        ("audience.response_channel", "mail", "invalid_choice"),
        ("audience.required_role_ids", None, "null"),
        ("invitation.answer_button_color", 5, "too_large"),
        ("invitation.answer_button_color", 0, "too_small"),
        ("invitation.border_color", "#5865F2", "too_long"),
        ("invitation.border_color", "58z5F2", "invalid"),
        ("invitation.post_channel_id", 12, "invalid_type"),
        ("invitation.message", "m" * 4001, "too_long"),
        ("invitation.embed_config.info_display", "none", "invalid_choice"),
    ],
)
def test_a_field_of_delivery_keeps_its_bounds(made, path, value, code):
    caller, made = made
    body: object = value
    for key in reversed(path.split(".")):
        body = {key: body}

    answer = caller.patch(f"/projects/{made['id']}", {"delivery": body})

    assert faults(answer) == {(f"delivery.{path}", code)}


@pytest.mark.parametrize(
    ("rows", "is_right"),
    [({"a": True}, True), ({}, True), (None, True), ({"a": 1}, False), ({"a": None}, False), ([], False)],
)
def test_rows_of_the_embed_are_a_map_of_switches(rows, is_right):
    answer = Caller().post(
        "/projects",
        {"name": "N", "type": "convo", "delivery": {"invitation": {"embed_config": {"rows": rows}}}},
    )

    assert answer.status_code == (201 if is_right else 400)


@pytest.mark.parametrize("roles", [["x"], [5], ["1"] * 51])
def test_role_ids_are_at_most_fifty_ids(roles):
    answer = Caller().post(
        "/projects",
        {"name": "N", "type": "convo", "delivery": {"audience": {"required_role_ids": roles}}},
    )

    assert refusal(answer) == (400, "invalid_request")
    assert all(field.startswith("delivery.audience.required_role_ids") for field, _ in faults(answer))


# --- Times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delivery", "expected"),
    [
        ({"opening": {"mode": "scheduled"}}, {("delivery.opening.time", "required")}),
        ({"closing": {"mode": "scheduled", "time": None}}, {("delivery.closing.time", "required")}),
        (
            {"opening": {"mode": "scheduled", "time": "2020-01-01T00:00:00Z"}},
            {("delivery.opening.time", "in_past")},
        ),
        (
            {
                "opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"},
                "closing": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"},
            },
            {("delivery.closing.time", "invalid")},
        ),
    ],
)
def test_scheduled_times_lie_ahead_and_in_order(delivery, expected):
    caller = Caller()
    made = caller.make()

    answer = caller.patch(f"/projects/{made['id']}", {"delivery": delivery})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == expected


def test_a_time_that_has_passed_since_can_be_sent_back():
    caller = Caller()
    made = caller.make(delivery=DELIVERY)
    project = Project.objects.get(pk=made["id"])
    assert project.delivery
    project.delivery["opening"]["time"] = "2020-01-01T00:00:00Z"
    project.save()

    answer = caller.put(f"/projects/{made['id']}", caller.get(f"/projects/{made['id']}").json())

    assert answer.status_code == 200


# --- Privacy ----------------------------------------------------------------------------------------


def test_privacy_cannot_change_once_there_are_responses():
    caller = Caller()
    made = caller.make(CHOICE)
    with_response(made)

    changed = caller.patch(f"/projects/{made['id']}", {"privacy_mode": "anonymous"})
    same = caller.patch(f"/projects/{made['id']}", {"settings": {"privacy_mode": "transparent"}})

    assert (refusal(changed), same.status_code) == ((409, "conflict"), 200)


def test_times_stay_as_rounded_once_there_are_responses():
    """Rule 1.43."""
    caller = Caller(default_anonymous_mode="more_anonymous")
    made = caller.make(CHOICE)
    with_response(made)
    caller.patch("/settings", {"default_anonymous_mode": "yes"})

    answer = caller.patch(f"/projects/{made['id']}", {"privacy_mode": None})

    assert refusal(answer) == (409, "conflict")
    assert Project.objects.get(pk=made["id"]).rounds_times_to_day


@pytest.mark.parametrize(
    ("days", "status"), [(31, 409), (None, 409), (30, 200), (29, 200)], ids=["more", "ever", "same", "fewer"]
)
def test_responses_are_kept_no_longer_than_their_respondents_were_told(days, status):
    """Rule 7.822."""
    caller = Caller()
    made = caller.make(CHOICE, settings={"keep_responses_days": 30})
    change = {"settings": {"keep_responses_days": days}}
    assert caller.patch(f"/projects/{made['id']}", change).status_code == 200
    caller.patch(f"/projects/{made['id']}", {"settings": {"keep_responses_days": 30}})
    with_response(made)

    assert caller.patch(f"/projects/{made['id']}", change).status_code == status


def test_privacy_can_change_while_nobody_has_answered():
    caller = Caller()
    made = caller.make(CHOICE)
    Conversation.objects.create(project_id=made["id"], seed=1, started_at=NOON, updated_at=NOON)

    answer = caller.patch(f"/projects/{made['id']}", {"privacy_mode": "anonymous"})

    assert answer.json()["settings"]["privacy_mode"] == "anonymous"
    assert not Conversation.objects.exists()


def test_null_privacy_is_the_default_of_the_community():
    caller = Caller(default_anonymous_mode="more_anonymous")
    made = caller.make(privacy_mode="transparent")

    answer = caller.patch(f"/projects/{made['id']}", {"privacy_mode": None})

    assert answer.json()["settings"]["privacy_mode"] == "anonymous"
    assert Project.objects.get(pk=made["id"]).rounds_times_to_day
