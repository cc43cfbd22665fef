"""Responses over the interface (rules 6.46 to 6.48)."""

import uuid

import pytest

from surveys.models import Project
from tests.support.caller import Caller, faults
from tests.support.cases import try_each
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return Caller("admin")


def project(caller, **fields):
    return scenario.project(CHOICE, TEXT, **{"community": caller.community, "author": caller.user, **fields})


@pytest.fixture
def made(admin):
    return project(admin)


@pytest.fixture
def three(made):
    return [
        scenario.say(scenario.begin(made, "ann"), 0, "a"),
        scenario.say(scenario.begin(made, "bob"), 1),
        scenario.say(scenario.begin(made, "ann"), 0, "b"),
    ]


def listed(caller, made, query=""):
    answered = caller.get(f"/projects/{made.pk}/responses{query}")
    assert answered.status_code == 200, answered.content
    return answered.json()


def ids(body):
    return [each["id"] for each in body["data"]]


def test_the_listing_tells_responses_oldest_first(admin, made, three):
    body = listed(admin, made)

    assert ids(body) == [str(told.conversation.pk) for told in three]
    assert body["pagination"] == {"page": 1, "per_page": 25, "total": 3, "has_more": False}
    block = scenario.script(made).blocks[0]
    assert body["data"][1] == {
        "id": str(three[1].conversation.pk),
        "project_id": str(made.pk),
        "session_number": None,
        "status": "partial",
        "started_at": "2026-01-31T12:34:56Z",
        "submitted_at": None,
        "updated_at": "2026-01-31T12:34:56Z",
        "user_id": str(three[1].conversation.user_id),
        "platform_id": "bob",
        "provider": "web",
        "metadata": None,
        "consent": None,
        "suspected": False,
        "language": None,
        "outcome": None,
        "scores": None,
        "variables": {},
        "answers": [
            {
                "block_id": block.id,
                "value": "green",
                "option_id": block.options[1].id,
                "block_name": "q0",
                "label": "green",
            }
        ],
    }


def test_the_listing_goes_on_by_page_or_behind_a_response(admin, made, three):
    keys = [str(told.conversation.pk) for told in three]

    second = listed(admin, made, "?per_page=2&page=2")
    behind = listed(admin, made, f"?per_page=1&after={keys[0]}")

    assert (ids(second), second["pagination"]["has_more"]) == (keys[2:], False)
    assert ids(behind) == keys[1:2]
    assert behind["pagination"] == {"per_page": 1, "total": 3, "has_more": True}
    assert ids(listed(admin, made, "?order=desc")) == keys[::-1]
    assert ids(listed(admin, made, "?page=99")) == []


def test_a_page_of_long_answers_is_refused_by_number_and_ends_early_behind_a_response(
    admin, made, three, monkeypatch
):
    everything = ids(listed(admin, made))
    # An answer counts 100 and its bytes.
    monkeypatch.setattr("surveys.services.scripts.cache.Catalogue.longest_words", 0)
    monkeypatch.setattr("surveys.services.responses.service.MAX_PAGE_BYTES", 250)

    refused = admin.get(f"/projects/{made.pk}/responses")
    first = listed(admin, made, "?per_page=1")
    rest = listed(admin, made, f"?after={everything[0]}")
    last = listed(admin, made, f"?after={everything[1]}")

    assert (refused.status_code, faults(refused)) == (400, {("per_page", "invalid")})
    assert "for example 2" in refused.json()["message"]
    assert (ids(first), first["pagination"]["has_more"]) == (everything[:1], True)
    assert (ids(rest), rest["pagination"]["has_more"]) == (everything[1:], False)
    assert (ids(last), last["pagination"]["has_more"]) == (everything[2:], False)


@pytest.mark.django_db(transaction=True)  # the feed tells what is committed
@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            {"type": "multi_punch", "options": [{"value": f"{n}", "label": "😀" * 200} for n in range(9)]},
            list(range(9)),
        ),
        ({"type": "open_text", "name": "N" * 60}, "a" + "\x01" * 600 + "a"),
    ],
)
def test_a_page_has_no_more_bytes_than_it_may_whatever_is_told_with_an_answer(
    admin, monkeypatch, block, said
):
    most = 40_000
    monkeypatch.setattr("surveys.services.responses.service.MAX_PAGE_BYTES", most)
    monkeypatch.setattr("surveys.services.responses.changes.MAX_BATCH_BYTES", most)
    made = scenario.project(block, community=admin.community, author=admin.user)
    for _ in range(20):
        scenario.say(scenario.begin(made), said)

    page = admin.get(f"/projects/{made.pk}/responses?after={uuid.UUID(int=0)}&per_page=20")
    feed = admin.get(f"/projects/{made.pk}/responses/changes?per_page=20")

    for answer in (page, feed):
        assert answer.status_code == 200, answer.content
        assert most / 4 < len(answer.content) < 1.5 * most


def test_filters_are_read_from_the_query(admin, made, three):
    keys = [str(told.conversation.pk) for told in three]
    ann = three[0].conversation.user_id

    assert ids(listed(admin, made, "?status=completed")) == [keys[0], keys[2]]
    assert ids(listed(admin, made, f"?user_id={ann}&session_number=2")) == [keys[2]]
    assert ids(listed(admin, made, f"?user_id={ann}")) == [keys[0], keys[2]]
    assert ids(listed(admin, made, "?submitted_after=2026-01-31T12:34:56Z")) == [keys[0], keys[2]]
    assert ids(listed(admin, made, "?submitted_before=2026-01-31T12:34:56%2B00:00")) == []
    assert ids(listed(admin, made, "?provider=chat")) == []


@try_each(
    "query",
    [
        "session_number=1",
        "status=open",
        "order=down",
        "after=7",
        "after=00000000-0000-0000-0000-000000000000&page=1",
        "submitted_after=yesterday",
        "submitted_after=2026-01-31T12:00:00",
        "provider=mail",
        "user_id=x",
        "per_page=101",
        "page=0",
        "state=completed",
    ],
)
def test_what_a_query_cannot_mean_is_refused(admin, made, query):
    refused = admin.get(f"/projects/{made.pk}/responses?{query}")

    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


def test_a_session_number_alone_says_that_it_needs_the_user(admin, made):
    body = admin.get(f"/projects/{made.pk}/responses?session_number=1").json()

    sentence = "`session_number` needs `user_id`: it counts the sessions of one person."
    assert body["violations"] == [{"field": "session_number", "code": "required", "message": sentence}]
    assert body["message"] == sentence


@pytest.mark.parametrize(
    ("fields", "access", "status"),
    [
        ({}, "member", 200),
        ({"privacy_mode": "semi-private"}, "member", 403),
        ({"status": "inactive"}, "member", 404),
        ({"status": "inactive"}, "creator", 200),
        ({"type": "poll", "poll_results_mode": "public", "status": "inactive"}, "member", 404),
        ({"privacy_mode": "semi-private"}, "creator", 403),
        ({"privacy_mode": "anonymous"}, "creator", 403),
        ({"type": "poll", "poll_results_mode": "hidden"}, "member", 403),
        ({"type": "poll", "poll_results_mode": "public"}, "member", 200),
    ],
)
def test_who_reads_depends_on_privacy_and_role(admin, fields, access, status):
    """Rules 1.34 and 7.1."""
    made = project(admin, **{**fields, "status": "active"})
    told = scenario.say(scenario.begin(made, "ann"), 0)
    Project.objects.update(status=fields.get("status", "active"))
    other = admin.beside(access)

    assert other.get(f"/projects/{made.pk}/responses").status_code == status
    assert other.get(f"/responses/{told.conversation.pk}").status_code == status
    assert admin.get(f"/responses/{told.conversation.pk}").status_code == 200


def test_other_communities_see_nothing(admin, made, three):
    stranger = Caller("admin")
    key = three[0].conversation.pk

    assert stranger.get(f"/projects/{made.pk}/responses").status_code == 404
    assert stranger.get(f"/responses/{key}").status_code == 404
    assert stranger.delete(f"/responses/{key}").status_code == 404
    assert admin.get(f"/responses/{uuid.uuid4()}").status_code == 404


def test_a_response_is_deleted_once(admin, made, three):
    """Rule 6.50."""
    key = three[0].conversation.pk

    assert admin.delete(f"/responses/{key}").status_code == 204
    assert admin.delete(f"/responses/{key}").status_code == 404

    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 3, "completed": 1, "listed": 2}


def test_an_anonymous_response_is_told_with_rounded_times_and_nobody(admin):
    made = project(admin, privacy_mode="anonymous")
    scenario.say(scenario.begin(made, "ann"), 0, "a")

    (told,) = listed(admin, made)["data"]

    assert (told["started_at"], told["submitted_at"]) == ("2026-01-31T12:00:00Z",) * 2
    assert (told["user_id"], told["platform_id"], told["session_number"], told["provider"]) == (
        None,
        None,
        None,
        "web",
    )


@pytest.mark.parametrize("count", [1, 30])
def test_a_page_costs_four_statements_at_most(admin, made, count):
    for _ in range(count):
        scenario.say(scenario.begin(made, at=LUNCHTIME), 0)
    listed(admin, made)

    with scenario.at_most(4):
        listed(admin, made, "?per_page=100")
