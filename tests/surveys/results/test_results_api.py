from datetime import timedelta

import pytest

from surveys.services.counting import counts as counting
from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.results import OPEN_WEB, converse, counts, results

pytestmark = pytest.mark.django_db
STARS = {"type": "rating", "prompt": "How was it?", "max": 3}


@pytest.fixture(scope="module")
def admin(kept_rows):
    return Caller("admin")


def made_by(caller, *blocks, **fields):
    return caller.make_open(*(blocks or (CHOICE, STARS, TEXT)), delivery=OPEN_WEB, **fields)


@pytest.fixture(scope="module")
def project(admin):
    made = made_by(admin)
    for answers in (["red", 3, "a"], ["red", 1, None], ["green", 3], [None, 2, None], []):
        converse(admin, made, answers)
    return made


def test_the_whole_is_told_with_the_filters_that_were_applied(admin, project):
    told = results(admin, project)

    assert {key: value for key, value in told.items() if key != "blocks"} == {
        "project_id": project["id"],
        "filters": {
            "status": "all",
            "submitted_after": None,
            "submitted_before": None,
            "provider": None,
            "suspected": None,
            "where": None,
            "fields": {},
        },
        "conversation_count": 4,
        "completion_count": 3,
        "response_count": 8,
        "weighting": None,
        "segment_by": None,
        "scores": None,
        "variables": [],
        "fields": [],
    }
    assert [block["response_count"] for block in told["blocks"]] == [3, 4, 1]
    assert [block["drop_off"]["left"] for block in told["blocks"]] == [1, 0, 1]
    assert "segments" not in told["blocks"][0]


def test_moments_of_completion_select_the_first_inclusive_the_second_exclusive(admin):
    made = scenario.project(scenario.CHOICE, community=admin.community, author=admin.user)
    for hours in (0, 1, 2):
        scenario.say(scenario.begin(made), 0, at=LUNCHTIME + timedelta(hours=hours))
    scenario.begin(made)
    first, last = "2026-01-31T12:34:56Z", "2026-01-31T14:34:56Z"

    told = results(admin, {"id": made.pk}, f"?submitted_after={first}&submitted_before={last}")

    assert (told["conversation_count"], told["response_count"]) == (2, 2)
    assert told["blocks"][0]["drop_off"] == {"left": 0, "percentage": 0.0}
    assert told["filters"]["submitted_before"] == last


@pytest.mark.parametrize(
    "query",
    [
        "?status=open",
        "?submitted_after=today",
        "?provider=pigeon",
        "?segment_by=x",
        "?segment_by=0",
        "?sort=1",
    ],
)
def test_what_is_misspelt_is_refused(admin, project, query):
    assert refusal(admin.get(f"/projects/{project['id']}/analysis/results{query}")) == (
        400,
        "invalid_request",
    )


def test_every_block_is_divided_by_a_choice(admin, project):
    choice, stars, _ = project["script"]["blocks"]

    told = results(admin, project, f"?segment_by={choice['id']}")

    assert told["segment_by"] == {
        "by": str(choice["id"]),
        "title": choice["prompt"],
        "block_id": choice["id"],
        "block_name": choice["name"],
        "prompt": choice["prompt"],
        "field": None,
        "segments": [
            {"option_id": option["id"], "value": option["value"], "label": None, "count": count}
            for option, count in zip(choice["options"], (2, 1, 0), strict=True)
        ],
    }
    red, green, blue = told["blocks"][1]["segments"]
    assert counts(red) == {"1": 1, "2": 0, "3": 1}
    assert (counts(green), blue["response_count"]) == ({"1": 0, "2": 0, "3": 1}, 0)
    assert (red["stats"]["count"], red["stats"]["mean"], red["stats"]["median"]) == (2, 2.0, 2)
    assert blue["stats"].pop("count") == 0
    assert set(blue["stats"].values()) == {None}
    assert stars["id"] == told["blocks"][1]["block_id"]


def test_every_block_is_divided_by_a_scale_of_who_is_selected(admin, project):
    stars = project["script"]["blocks"][1]

    told = results(admin, project, f"?segment_by={stars['id']}&status=completed")

    assert [(each["value"], each["count"]) for each in told["segment_by"]["segments"]] == [
        ("1", 1),
        ("2", 1),
        ("3", 1),
    ]
    assert [counts(each) for each in told["blocks"][0]["segments"]] == [{"red": 1}, {"red": 0}, {"red": 1}]


def test_who_chose_several_options_is_in_several_segments(admin):
    """Rule 6.950."""
    many = {**CHOICE, "type": "multi_punch"}
    made = made_by(admin, many, STARS)
    converse(admin, made, [["red", "blue"], 3])
    converse(admin, made, [["blue"], 1])

    told = results(admin, made, f"?segment_by={made['script']['blocks'][0]['id']}")

    assert results(admin, made, f"?segment_by={made['script']['blocks'][0]['name'].upper()}") == told
    assert [each["count"] for each in told["segment_by"]["segments"]] == [1, 0, 2]
    assert [each["stats"]["mean"] for each in told["blocks"][1]["segments"]] == [3.0, None, 2.0]


@pytest.mark.parametrize("place", [2, None])
def test_what_is_no_choice_and_no_scale_of_the_project_divides_nothing(admin, project, place):
    block_id = 10**15 if place is None else project["script"]["blocks"][place]["id"]

    answer = admin.get(f"/projects/{project['id']}/analysis/results?segment_by={block_id}")

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("segment_by", "not_found")}


@pytest.mark.parametrize(("more", "told"), [(0, 200), (1, 400)])
def test_what_would_be_divided_into_more_than_50000_is_refused_before_it_is_counted(
    admin, monkeypatch, more, told
):
    many = {"type": "multi_punch", "options": [f"o{n}" for n in range(100)]}
    made = scenario.project(
        *[many] * 4, *[scenario.TEXT] * (100 + more), community=admin.community, author=admin.user
    )
    counted, count = [], counting.count_answers

    def watched(*given, **waits):
        counted.append(given)
        return count(*given, **waits)

    monkeypatch.setattr(counting, "count_answers", watched)
    block_id = scenario.script(made).blocks[0].id

    answer = admin.get(f"/projects/{made.pk}/analysis/results?segment_by={block_id}")

    assert answer.status_code == told
    if told == 400:
        assert refusal(answer) == (400, "invalid_request")
        assert faults(answer) == {("segment_by", "too_many")}
        assert "makes 50,100 numbers" in answer.json()["message"]
    assert len(counted) == (told == 200)


def test_a_removed_question_still_divides(admin, project):
    """Rule 2.13."""
    assert admin.post(f"/projects/{project['id']}/close").status_code == 200
    choice, *others = project["script"]["blocks"]
    told = admin.put(f"/projects/{project['id']}/script", {"blocks": others})
    assert told.status_code == 200, told.content

    told = results(admin, project, f"?segment_by={choice['id']}")

    assert [each["count"] for each in told["segment_by"]["segments"]] == [2, 1]
    assert [(block["position"], block["is_archived"]) for block in told["blocks"]] == [
        (0, False),
        (1, False),
        (2, True),
    ]


def test_a_deleted_response_is_out(admin, project):
    """Rule 6.50."""
    (first, *_) = admin.get(f"/projects/{project['id']}/responses").json()["data"]

    assert admin.delete(f"/responses/{first['id']}").status_code == 204

    assert results(admin, project)["conversation_count"] == 3
    assert results(admin, project, "?status=all&provider=web")["conversation_count"] == 3
    assert counts(results(admin, project)["blocks"][0])["red"] == 1


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
def test_results_that_are_not_shared_are_their_creators_and_the_admins(admin, privacy_mode):
    creator = admin.beside("creator")
    made = made_by(creator, privacy_mode=privacy_mode)
    path = f"/projects/{made['id']}/analysis/results"

    told = {who: admin.beside(who).get(path).status_code for who in ("admin", "creator", "member")}

    assert (creator.get(path).status_code, told) == (200, {"admin": 200, "creator": 403, "member": 403})


@pytest.mark.parametrize("privacy_mode", ["transparent", "semi-private", "anonymous"])
def test_members_do_not_find_the_results_of_a_project_that_is_not_active(admin, privacy_mode):
    """Rule 1.34."""
    made = made_by(admin, privacy_mode=privacy_mode, settings={"share_results": True})
    path = f"/projects/{made['id']}/analysis/results"
    assert admin.beside("member").get(path).status_code == 200

    assert admin.post(f"/projects/{made['id']}/close").status_code == 200

    assert refusal(admin.beside("member").get(path)) == (404, "not_found")
    assert admin.beside("creator").get(path).status_code == 200


def test_who_reads_because_results_are_shared_reads_them_whole(admin):
    creator = admin.beside("creator")
    made = made_by(creator, privacy_mode="semi-private", settings={"share_results": True})
    block = made["script"]["blocks"][0]["id"]
    member = admin.beside("member")
    path = f"/projects/{made['id']}/analysis/results"

    assert member.get(path).status_code == 200
    for query in ("?status=completed", f"?segment_by={block}", "?provider=web"):
        assert refusal(member.get(path + query)) == (403, "forbidden")
        assert creator.get(path + query).status_code == 200


def test_all_distributions_take_few_statements_however_many_blocks(admin):
    made = scenario.project(*[scenario.CHOICE] * 30, community=admin.community, author=admin.user)
    scenario.say(scenario.begin(made), *[0] * 30)
    path = f"/projects/{made.pk}/analysis/results"
    assert admin.get(path).status_code == 200  # the key is known now

    with scenario.at_most(5):  # two read the script and what was added to it, which are kept after a commit
        assert admin.get(path).status_code == 200


def test_where_unfinished_ones_stand_is_found_in_a_script_that_was_rewritten_since(admin):
    made = made_by(admin, CHOICE, STARS, TEXT)
    converse(admin, made, ["red"])
    converse(admin, made, [])
    assert admin.post(f"/projects/{made['id']}/close").status_code == 200
    first = {"type": "content_block", "prompt": "New."}
    blocks = [first, *made["script"]["blocks"]]
    for n, block in enumerate(blocks):
        block["position"] = n
    assert admin.put(f"/projects/{made['id']}/script", {"blocks": blocks}).status_code == 200

    told = results(admin, made)

    assert [block["drop_off"]["left"] for block in told["blocks"]] == [1, 0, 1, 0]


# --- Shared, of an anonymous project ------------------------------------------------------------------


def test_members_see_of_an_anonymous_project_what_the_shared_page_shows(admin):
    made = made_by(
        admin, CHOICE, {"type": "open_numeric", "prompt": "Salary?"}, STARS,
        privacy_mode="anonymous", settings={"share_results": True},
    )  # fmt: skip
    for number in range(5):
        converse(admin, made, ["red", 30_000 + number, 3 if number else None])
    member = admin.beside("member")

    told = results(member, made)

    choice, number, stars = told["blocks"]
    assert counts(choice) == {"red": 5}
    assert (number["stats"]["mean"], number["stats"]["min"], number["stats"]["max"]) == (30_002, None, None)
    assert (stars["is_withheld"], stars["distribution"]) == (True, None)
    assert results(admin, made)["blocks"][1]["stats"]["max"] == 30_004
