"""Conversations over the interface (rules 6.7, 6.8, 6.16, 6.17 and 6.21)."""

import uuid
from datetime import timedelta

import pytest

from surveys.models import Conversation, Project
from tests.support.caller import Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db
KEYS = {
    "id",
    "project_id",
    "status",
    "outcome",
    "session_number",
    "feedback",
    "step",
    "thank_you",
    "end",
    "outro",
    "resumed",
}


@pytest.fixture
def admin():
    return Caller("admin")


def project(caller, *blocks, **fields):
    return scenario.project(*blocks, **{"community": caller.community, "author": caller.user, **fields})


def begin(caller, made, body=None, **headers):
    return caller.post(f"/projects/{made.pk}/conversations", body or {}, **headers)


def answer(caller, conversation, headers=None, **body):
    block = conversation["step"]["block"]
    address = f"/conversations/{conversation['id']}/answers"
    return caller.post(address, {"block_id": block["id"], **body}, **(headers or {}))


def test_a_conversation_goes_from_begin_to_thanks(admin):
    made = project(admin, {**SAYING, "prompt": "Hello."}, CHOICE, {**TEXT, "prompt": "Why [Q1]?"})

    begun = begin(admin, made, {"external_id": "customer-42"})
    assert begun.status_code == 201
    told = begun.json()
    assert set(told) == KEYS
    assert (told["status"], told["session_number"], told["project_id"]) == ("active", None, str(made.pk))
    assert (told["step"]["progress"], told["step"]["can_go_back"]) == (0.0, False)
    again = begin(admin, made, {"external_id": "customer-42"})
    assert (again.status_code, again.json()) == (200, told)

    told = admin.post(f"/conversations/{told['id']}/continue").json()
    option = told["step"]["block"]["options"][1]
    told = answer(admin, told, option_id=option["id"]).json()
    assert told["step"]["block"]["prompt"] == "Why green?"
    told = admin.post(f"/conversations/{told['id']}/back").json()
    told = answer(admin, told, value="red").json()
    assert told["step"]["block"]["prompt"] == "Why red?"
    told = answer(admin, told, value="Because.").json()

    assert (told["status"], told["session_number"], told["step"], told["thank_you"]) == (
        "completed",
        1,
        None,
        "Thank you.",
    )
    assert admin.get(f"/conversations/{told['id']}").json() == told
    response = admin.get(f"/responses/{told['id']}").json()
    assert (response["platform_id"], response["provider"]) == ("customer-42", "web")
    assert [each["value"] for each in response["answers"]] == ["red", "Because."]


@pytest.mark.parametrize(
    ("body", "violation"),
    [
        ({"member_id": "999999"}, ("member_id", "not_found")),
        ({"member_id": 5}, ("member_id", "invalid_type")),
        ({"member_id": ""}, ("member_id", "blank")),
        ({"external_id": ""}, ("external_id", "blank")),
        ({"external_id": "x" * 129}, ("external_id", "too_long")),
        ({"external_id": "x", "member_id": "1"}, ("external_id", "conflicting")),
    ],
)
def test_a_respondent_that_cannot_be_is_refused_by_field(admin, body, violation):
    """Rule 11.931."""
    assert admin.post("/projects/999999/conversations", body).status_code == 404

    refused = begin(admin, project(admin, TEXT), body)

    assert refused.status_code == 400
    assert [(each["field"], each["code"]) for each in refused.json()["violations"]] == [violation]
    assert not Conversation.objects.exists()


@try_each(
    ("body", "field"),
    [
        ({}, "block_id"),
        ({"block_id": "1"}, "block_id"),
        ({"block_id": None}, "block_id"),
        ({"block_id": 1}, "value"),
        ({"block_id": 1, "value": None, "option_id": None, "skip": False}, "value"),
        ({"block_id": 1, "option_id": "1"}, "option_id"),
        ({"block_id": 1, "skip": "yes"}, "skip"),
        ({"block_id": 1, "option_ids": "1"}, "option_ids"),
        ({"block_id": 1, "option_ids": ["x"]}, "option_ids[0]"),
    ],
)
def test_a_malformed_answer_is_refused_by_field(admin, body, field):
    told = begin(admin, project(admin, TEXT)).json()

    refused = admin.post(f"/conversations/{told['id']}/answers", body)

    assert refused.status_code == 400
    assert field in [each["field"] for each in refused.json()["violations"]]


@pytest.mark.parametrize(
    ("kind", "body"),
    [("multi_punch", {"option_ids": []}), ("ranking", {"ranking": []}), ("open_text", {"value": ""})],
)
@pytest.mark.parametrize("required", [True, False])
def test_an_empty_answer_skips_an_optional_question_alone(admin, kind, body, required):
    options = {} if kind == "open_text" else {"options": [{"value": "a"}, {"value": "b"}]}
    made = project(admin, {"type": kind, "prompt": "Which?", "required": required, **options})
    told = begin(admin, made).json()

    answered = admin.post(
        f"/conversations/{told['id']}/answers", {"block_id": told["step"]["block"]["id"], **body}
    )

    assert answered.status_code == (400 if required else 200)


def test_a_move_that_is_sent_twice_with_its_block_moves_once(admin):
    """Rule 6.22."""
    made = project(admin, SAYING, {**SAYING, "prompt": "Second."}, TEXT)
    told = begin(admin, made).json()
    address, first = f"/conversations/{told['id']}", told["step"]["block"]["id"]

    once, twice = (admin.post(f"{address}/continue", {"block_id": first}).json() for _ in range(2))
    assert (once["step"]["block"]["prompt"], once["resumed"]) == ("Second.", False)
    assert twice == {**once, "resumed": True}
    second = once["step"]["block"]["id"]
    once, twice = (admin.post(f"{address}/back", {"block_id": second}).json() for _ in range(2))
    assert (once["step"]["block"]["id"], once["resumed"]) == (first, False)
    assert twice == {**once, "resumed": True}
    assert admin.get(address).json()["resumed"] is False
    refused = admin.post(f"{address}/back", {"block_id": "first"})
    assert faults(refused) == {("block_id", "invalid_type")}


def test_what_the_state_forbids_is_a_conflict(admin):
    made = project(admin, SAYING, {**TEXT, "required": True})
    told = begin(admin, made).json()
    address = f"/conversations/{told['id']}"

    assert admin.post(f"{address}/back").status_code == 409
    assert answer(admin, told, value="x").status_code == 409
    assert admin.post(f"{address}/answers", {"block_id": 999_999, "value": "x"}).status_code == 409
    told = admin.post(f"{address}/continue").json()
    assert admin.post(f"{address}/continue").status_code == 409
    assert answer(admin, told, value=" ").status_code == 400
    Project.objects.update(status="inactive")
    late = answer(admin, told, value="x")
    assert (late.status_code, late.json()["error"]) == (409, "conflict")
    assert begin(admin, made).status_code == 409


def test_repeats_change_nothing(admin):
    told = begin(admin, project(admin, TEXT, TEXT)).json()
    once = answer(admin, told, value="a")

    again = answer(admin, told, value=" a ")

    assert (again.status_code, again.json()) == (200, once.json())
    assert answer(admin, told, value="b").status_code == 409


def test_an_idempotency_key_begins_one_conversation(admin):
    made = project(admin, TEXT)
    key = {"Idempotency-Key": str(uuid.uuid4())}

    first, second = begin(admin, made, **key), begin(admin, made, **key)

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second["Idempotency-Replayed"] == "true"
    assert Conversation.objects.count() == 1


def test_the_state_is_checked_before_the_admission(admin):
    """Rule 6.6."""
    made = project(admin, TEXT, participation="private", status="inactive")

    closed = begin(admin, made, {"external_id": "x"})
    Project.objects.update(status="active")

    assert refusal(closed) == (409, "conflict")
    assert begin(admin, made, {"external_id": "x"}).status_code == 403


def test_on_an_anonymous_project_beginning_again_is_new(admin):
    made = project(admin, TEXT, privacy_mode="anonymous")

    told = [begin(admin, made, {"external_id": "x"}) for _ in range(2)]

    assert [each.status_code for each in told] == [201, 201]
    done = answer(admin, told[0].json(), value="end").json()
    assert (done["status"], done["session_number"]) == ("completed", None)


def test_creators_on_their_own_projects_admins_on_any_members_on_none(admin):
    creator, other, member = admin.beside("creator"), admin.beside("creator"), admin.beside("member")
    made = project(creator, TEXT)
    stranger = Caller("admin")
    told = begin(creator, made).json()

    def attempts(caller):
        return [
            begin(caller, made).status_code,
            caller.get(f"/conversations/{told['id']}").status_code,
            answer(caller, told, value="x").status_code,
            caller.post(f"/conversations/{told['id']}/back").status_code,
            caller.post(f"/conversations/{told['id']}/continue").status_code,
            caller.delete(f"/responses/{told['id']}").status_code,
        ]

    assert (
        attempts(other) == attempts(member) == [403, 403, 403, 403, 403, 404]
        or attempts(other)[:5] == [403] * 5
    )
    assert attempts(stranger) == [404] * 6
    assert attempts(admin) == [201, 200, 200, 409, 409, 204]


@pytest.mark.parametrize("what", ["", "/answers", "/back", "/continue"])
def test_a_conversation_that_is_not_there_is_not_found(admin, what):
    address = f"/conversations/{uuid.uuid4()}{what}"

    answered = admin.post(address, {"block_id": 1, "skip": True}) if what else admin.get(address)

    assert (answered.status_code, answered.json()["error"]) == (404, "not_found")


def test_an_answer_costs_few_statements_at_any_length(admin):
    made = project(admin, *[CHOICE] * 60)
    told = begin(admin, made).json()
    admin.get(f"/conversations/{told['id']}")
    for _ in range(60):
        with scenario.at_most(10):  # five, and those that look the key up again every few seconds
            told = answer(admin, told, {"Idempotency-Key": str(uuid.uuid4())}, value="red").json()
    assert told["status"] == "completed"


def test_a_scheduled_moment_decides(admin):
    made = project(admin, TEXT)
    Project.objects.filter(pk=made.pk).update(closes_at=LUNCHTIME - timedelta(days=1000))

    assert begin(admin, made).status_code == 409
