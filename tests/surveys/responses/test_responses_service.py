from datetime import timedelta

import pytest

from communities.ground.errors import Forbidden, NotFound
from surveys.models import Conversation
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.ground import access
from surveys.services.responses import service as responses
from tests.support.actors import actor, superuser_actor
from tests.support.moments import LUNCHTIME
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db
EVERYTHING = {"filters": {}, "descending": False, "page": 1, "per_page": 25}


def listed(made, **query):
    return responses.list_page(project=made, **{**EVERYTHING, **query})


def ids(listing):
    return [response["id"] for response in listing.data]


def key(told):
    return str(told.conversation.pk)


@pytest.fixture
def made():
    return scenario.project(CHOICE, TEXT)


def test_a_response_tells_everything_in_script_order():
    made = scenario.project(
        {"type": "ranking", "options": [{"value": "a", "label": "Apple"}, "b"], "name": "Fruit"},
        {"type": "rating", "options": [{"value": str(n), "label": f"Point {n}"} for n in range(1, 6)]},
        {"type": "single_punch", "options": [{"value": "x", "label": "Ex"}, "y"]},
        {**TEXT, "name": "Why"},
        TEXT,
    )
    member = scenario.member("Ann", chat_id="4711")
    person = admission.member(community_id=1, member_id=str(member.pk))
    told = conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME)
    told = scenario.say(told, [1, 0], "4", 0, "because", None, at=LUNCHTIME + timedelta(minutes=1))
    blocks = scenario.script(made).blocks

    (response,) = listed(made).data

    assert response == {
        "id": key(told),
        "project_id": str(made.pk),
        "session_number": 1,
        "status": "completed",
        "started_at": LUNCHTIME,
        "submitted_at": LUNCHTIME + timedelta(minutes=1),
        "updated_at": LUNCHTIME + timedelta(minutes=1),
        "user_id": str(member.user_id),
        "platform_id": "4711",
        "provider": "chat",
        "metadata": None,
        "consent": None,
        "suspected": False,
        "language": None,
        "outcome": "completed",
        "scores": None,
        "variables": {},
        "answers": [
            {
                "block_id": block.id,
                "value": value,
                "option_id": option and option.id,
                "block_name": block.name,
                "label": label,
            }
            for block, value, option, label in [
                (blocks[0], "1", blocks[0].options[1], "b"),
                (blocks[0], "2", blocks[0].options[0], "Apple"),
                (blocks[1], "4", None, "Point 4"),
                (blocks[2], "x", blocks[2].options[0], "Ex"),
                (blocks[3], "because", None, None),
            ]
        ],
    }
    assert responses.get(response_id=told.conversation.pk, actor=actor(), at=LUNCHTIME) == response


@pytest.fixture
def three(made):
    """A completed response, a partial one, and a completed one, a minute apart."""
    first = scenario.say(scenario.begin(made, "ann"), 0, "a")
    second = scenario.say(
        scenario.begin(made, "bob", at=LUNCHTIME + timedelta(minutes=1)),
        1,
        at=LUNCHTIME + timedelta(minutes=1),
    )
    third = scenario.begin(made, "ann", at=LUNCHTIME + timedelta(minutes=2))
    third = scenario.say(third, 0, "b", at=LUNCHTIME + timedelta(minutes=2))
    scenario.begin(made, "has said nothing")
    return [first, second, third]


@pytest.mark.parametrize("descending", [False, True])
def test_a_page_after_a_response_goes_on_behind_it(made, three, descending):
    keys = [key(told) for told in three]
    keys = keys[::-1] if descending else keys

    page = listed(made, after=keys[0], per_page=1, descending=descending)
    last = listed(made, after=keys[1], per_page=1, descending=descending)

    assert (ids(page), page.has_more, page.page, page.total) == ([keys[1]], True, None, 3)
    assert (ids(last), last.has_more) == ([keys[2]], False)
    assert ids(listed(made, after=keys[2], descending=descending)) == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"status": "all"}, [0, 1, 2]),
        ({"status": "partial"}, [1]),
        ({"provider": "chat"}, []),
        ({"submitted_after": LUNCHTIME}, [0, 2]),
        ({"submitted_before": LUNCHTIME + timedelta(seconds=1)}, [0]),
        ({"submitted_before": LUNCHTIME}, []),
        ({"updated_after": LUNCHTIME + timedelta(minutes=1), "status": "completed"}, [2]),
        ({"user_id": "ann", "session_number": 2}, [2]),
        ({"user_id": 0}, []),
    ],
)
def test_filters_choose_who_is_listed_and_counted(made, three, filters, expected):
    if filters.get("user_id") == "ann":
        filters = {**filters, "user_id": three[0].conversation.user_id}

    page = listed(made, filters=filters)

    assert ids(page) == [key(three[n]) for n in expected]
    assert page.total == len(expected)
    by_one = [ids(listed(made, filters=filters, page=n, per_page=1)) for n in range(1, len(expected) + 1)]
    assert by_one == [[key(three[n])] for n in expected]


@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize(
    "query", [{}, {"filters": {"provider": "web"}}, {"after": "00000000-0000-0000-0000-000000000000"}]
)
def test_a_page_costs_three_statements_however_long(made, count, query, django_assert_num_queries):
    for _ in range(count):
        scenario.say(scenario.begin(made), 0)

    with django_assert_num_queries(3):  # the page, the total, and the script, which is kept after a commit
        page = listed(made, per_page=100, **query)

    assert len(page.data) == count


def test_answers_to_removed_blocks_and_options_keep_their_names(made):
    """Rule 2.13."""
    told = scenario.say(scenario.begin(made), 1, "gone")
    made.blocks.filter(name="q1").update(is_archived=True)
    made.blocks.get(name="q0").options.filter(value="green").update(is_archived=True)

    (response,) = listed(made).data

    told_names = [(answer["block_name"], answer["label"], answer["value"]) for answer in response["answers"]]
    assert told_names == [("q0", "green", "green"), ("q1", None, "gone")]
    assert response["id"] == key(told)


class TestDeleting:
    def test_it_takes_the_rows_out_of_every_count(self, made, three):
        for told in three[:2]:
            responses.delete(response_id=told.conversation.pk, actor=superuser_actor(), at=LUNCHTIME)

        assert ids(listed(made)) == [key(three[2])]
        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}
        )
        assert scenario.completions(made) == [1]

    def test_it_frees_a_place_below_the_limit_and_never_a_session_number(self):
        made = scenario.project(CHOICE, max_completes_per_user=1)
        told = scenario.say(scenario.begin(made, "ann"), 0)

        responses.delete(response_id=told.conversation.pk, actor=superuser_actor(), at=LUNCHTIME)

        assert scenario.say(scenario.begin(made, "ann"), 0).conversation.session_number == 2

    def test_a_partial_one_frees_nothing(self):
        made = scenario.project(CHOICE, SAYING, CHOICE)
        scenario.say(scenario.go_on(scenario.say(scenario.begin(made, "ann"), 0)), 1)
        told = scenario.say(scenario.begin(made, "ann"), 0)

        responses.delete(response_id=told.conversation.pk, actor=superuser_actor(), at=LUNCHTIME)

        assert scenario.completions(made) == [1]

    def test_a_vote_is_retracted(self):
        made = scenario.poll(change_poll=True)
        told = scenario.say(scenario.begin(made, "ann"), 0)

        responses.delete(response_id=told.conversation.pk, actor=superuser_actor(), at=LUNCHTIME)

        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}
        )
        assert not Conversation.objects.exists()


AUTHOR, OTHER = 1, 2


@pytest.mark.parametrize(
    ("fields", "role", "user_id", "expected"),
    [
        ({}, "member", OTHER, None),
        ({"status": "inactive"}, "member", OTHER, NotFound),
        ({"privacy_mode": "semi-private"}, "member", OTHER, Forbidden),
        ({"privacy_mode": "semi-private", "status": "inactive"}, "member", OTHER, NotFound),
        ({"privacy_mode": "semi-private"}, "creator", AUTHOR, None),
        ({"privacy_mode": "semi-private"}, "creator", OTHER, Forbidden),
        ({"privacy_mode": "semi-private", "status": "inactive"}, "creator", OTHER, Forbidden),
        ({"privacy_mode": "semi-private"}, "admin", OTHER, None),
        ({"privacy_mode": "anonymous"}, "member", OTHER, Forbidden),
        ({"privacy_mode": "anonymous"}, "creator", AUTHOR, None),
        ({"privacy_mode": "anonymous"}, "admin", OTHER, None),
        ({"type": "poll", "poll_results_mode": "public"}, "member", OTHER, None),
        ({"type": "poll", "poll_results_mode": "voters_only"}, "member", OTHER, Forbidden),
        ({"type": "poll", "poll_results_mode": "voters_only"}, "creator", OTHER, None),
        ({"type": "poll", "poll_results_mode": "hidden"}, "member", OTHER, Forbidden),
        ({"type": "poll", "poll_results_mode": "hidden"}, "admin", OTHER, None),
        ({"type": "poll", "poll_results_mode": "hidden", "status": "inactive"}, "member", OTHER, NotFound),
        ({"type": "poll", "poll_results_mode": None}, "member", OTHER, Forbidden),
    ],
)
def test_who_may_read_responses(fields, role, user_id, expected):
    made = scenario.project(CHOICE, **fields)
    made.author_id = AUTHOR
    reader = actor(role, user_id=user_id)

    if expected is None:
        access.require_responses_reader(actor=reader, project=made, at=LUNCHTIME)
    else:
        refused(expected, access.require_responses_reader, actor=reader, project=made, at=LUNCHTIME)


def test_voters_may_read_a_poll_for_voters():
    made = scenario.poll(poll_results_mode="voters_only")
    told = scenario.say(scenario.begin(made, "ann"), 0)

    voter = actor("member", user_id=told.conversation.user_id)

    access.require_responses_reader(actor=voter, project=made, at=LUNCHTIME)
