"""The shared results: their readers, their times, and data that they never contain (rule 6.58)."""

import json
import re
import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from surveys.models import Analysis, Option
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db

SCALE = {"type": "rating", "prompt": "How was it?"}
NUMBER = {"type": "open_numeric", "prompt": "How old are you?"}


def shared(*blocks, **fields):
    return scenario.project(*(blocks or (CHOICE,)), **{"share_results": True, **fields})


def poll(**fields):
    return shared(CHOICE, **{"type": "poll", **fields})


def respond(made, *said, times=1):
    for _ in range(times):
        scenario.say(scenario.begin(made), *said)


def page(made):
    return Client().get(f"/r/{made.results_token}")


def told(made):
    return Client().get(f"/r/{made.results_token}.json")


# --- Who and when -----------------------------------------------------------------------------------


def test_results_are_at_their_address_while_they_are_shared_and_no_longer():
    made = shared()
    respond(made, 0)
    assert (page(made).status_code, told(made).status_code) == (200, 200)

    made.share_results = False
    made.save(update_fields=["share_results"])

    assert (page(made).status_code, told(made).status_code) == (404, 404)
    assert "We cannot find this page." in page(made).content.decode()
    assert told(made).json() == {"error": "not_found", "message": "There are no results at this address."}


@pytest.mark.parametrize("token", [str(uuid.UUID(int=7)), "nothing", "1"])
def test_an_address_that_nobody_was_given_leads_nowhere(token):
    shared()

    assert Client().get(f"/r/{token}").status_code == 404
    assert Client().get(f"/r/{token}.json").status_code == 404


@pytest.mark.parametrize("mode", ["voters_only", "hidden"])
def test_an_open_polls_results_wait_for_its_closing_where_its_mode_says_so(mode):
    made = poll(poll_results_mode=mode)
    respond(made, 0)

    seen, answer = page(made), told(made)

    assert (seen.status_code, answer.status_code) == (403, 403)
    assert "once the poll is closed" in seen.content.decode()
    assert answer.json() == {
        "error": "forbidden",
        "message": "The results can be seen here once the poll is closed.",
    }
    made.status = "inactive"
    made.save(update_fields=["status"])
    assert (page(made).status_code, told(made).status_code) == (200, 200)


def test_a_pending_polls_results_wait_too_and_the_day_is_told():
    opens_at = timezone.now().replace(year=2040, month=3, day=1, hour=9, minute=0)
    ends_at = opens_at + timedelta(days=1)
    made = poll(poll_results_mode="hidden", status="inactive", opens_at=opens_at, closes_at=ends_at)

    assert told(made).json()["message"] == (
        "The results can be seen here once the poll is closed, on 2 March 2040, 09:00 UTC."
    )
    seen = re.sub(r"\s+", " ", page(made).content.decode())
    assert 'once the poll is closed, on <time datetime="2040-03-02T09:00' in seen
    assert " data-local>2 March 2040, 09:00 UTC</time>." in seen


@pytest.mark.parametrize("mode", ["public", None])
def test_an_open_polls_results_are_seen_where_they_are_public_or_sharing_them_is_all_that_was_said(mode):
    made = poll(poll_results_mode=mode)
    respond(made, 0)

    assert told(made).json()["blocks"][0]["distribution"][0]["percentage"] == 100
    assert "1 vote<" in page(made).content.decode()


# --- How --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "is_json"),
    [
        ("application/json", True),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("*/*", False),
        ("application/json;q=0.5, text/html;q=0.4", True),
        ("image/png", False),
    ],
)
def test_json_is_given_to_whoever_asks_for_it(accept, is_json):
    made = shared()

    response = Client().get(f"/r/{made.results_token}", headers={"Accept": accept})

    assert response["Content-Type"].startswith("application/json") == is_json
    assert response["Vary"] == "Accept"


@pytest.mark.parametrize("suffix", ["", ".json", "?utm_source=letter", ".json?callback=steal"])
def test_results_set_no_cookie_and_are_kept_out_of_search_engines(suffix):
    made = shared()

    response = Client().get(f"/r/{made.results_token}{suffix}")

    assert response.status_code == 200
    assert not response.cookies
    assert response["X-Robots-Tag"] == "noindex"
    assert response["Cache-Control"] == "no-cache"
    assert b"steal" not in response.content


def test_a_fault_behind_the_json_is_told_in_its_shape(monkeypatch):
    made = shared()

    def fails(**_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("surveys.services.results.shared.read", fails)
    client = Client(raise_request_exception=False)

    response = client.get(f"/r/{made.results_token}.json")

    assert (response.status_code, response.json()["error"]) == (500, "internal_error")


# --- What is told -----------------------------------------------------------------------------------


def test_aggregates_alone_are_told():
    made = shared(SAYING, CHOICE, SCALE, TEXT)
    for colour, text in ((0, "My secret"), (0, "Another"), (1, "Third")):
        told_ = scenario.go_on(scenario.begin(made, f"crm-{text}"))
        scenario.say(told_, colour, 4, text)
    answer = told(made)

    assert answer.status_code == 200
    body = answer.json()
    assert list(body) == [
        "name",
        "type",
        "status",
        "counted_at",
        "conversation_count",
        "completion_count",
        "response_count",
        "least_answers",
        "blocks",
    ]
    assert (body["conversation_count"], body["completion_count"], body["response_count"]) == (3, 3, 9)
    choice, scale, text = body["blocks"]
    assert [(each["label"] or each["value"], each["count"]) for each in choice["distribution"]] == [
        ("red", 2),
        ("green", 1),
    ]
    quartiles = ("lower_quartile", "median", "upper_quartile")
    assert scale["stats"] == {
        "count": 3, "mean": 4.0, "min": 4, "max": 4, **dict.fromkeys(quartiles, 4), "standard_deviation": 0.0,
    }  # fmt: skip
    assert text["open_text"] == {"answer_count": 3, "sentiment": None}
    assert "drop_off" not in choice
    for words in (answer.content.decode(), page(made).content.decode()):
        assert not any(secret in words for secret in ("My secret", "crm-", str(made.results_token)))


def analysed(made, block, *, sentiment, status="completed"):
    open_text = {
        "summary": "They say SUMMARY.",
        "themes": [{"title": "THEME", "quotes": ["QUOTE"], "count": 3, "percentage": 100.0}],
        "sentiment": sentiment,
        "answer_count": 3,
        "analysed_count": 3,
    }
    return Analysis.objects.create(
        project=made,
        status=status,
        revision=made.revision,
        changes=0,
        created_at=LUNCHTIME,
        summary="ALL SUMMARY",
        blocks_as_json=json.dumps([{"block_id": block.id, "response_count": 3, "open_text": open_text}]),
    )


def test_of_texts_the_latest_analysis_gives_sentiments_and_no_words():
    made = shared(TEXT)
    respond(made, "x", times=3)
    block = scenario.script(made).blocks[0]
    analysed(made, block, sentiment={"positive": 1, "neutral": 1, "negative": 1})
    assert told(made).json()["blocks"][0]["open_text"]["sentiment"]["neutral"] == 1
    analysed(made, block, sentiment={"positive": 2, "neutral": 0, "negative": 1})
    analysed(made, block, sentiment={"positive": 9, "neutral": 9, "negative": 9}, status="failed")

    answer, seen = told(made), page(made).content.decode()

    assert answer.json()["blocks"][0]["open_text"] == {
        "answer_count": 3,
        "sentiment": {"positive": 2, "neutral": 0, "negative": 1},
    }
    assert "Positive</bdi><b>67%</b>" in seen
    for words in (answer.content.decode(), seen):
        assert not any(secret in words for secret in ("SUMMARY", "THEME", "QUOTE"))


def test_options_that_nobody_chose_are_drawn_and_removed_ones_say_so():
    made = shared()
    respond(made, 0)
    block = scenario.script(made).blocks[0]
    Option.objects.filter(pk=block.options[0].id).update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])

    seen = page(made).content.decode()

    assert 'red</bdi> <span class="badge">removed</span>' in seen
    assert "green" in seen
    assert (
        '<th scope="row" lang="" dir="auto">green</th><td dir="auto">0</td><td dir="auto">0.00%</td>' in seen
    )


def test_what_an_author_wrote_is_escaped():
    made = shared({**CHOICE, "prompt": "<b>Why?"}, name="A <script>")
    respond(made, 0)

    seen = page(made).content.decode()

    assert "&lt;b&gt;Why?" in seen
    assert "A &lt;script&gt;" in seen


def test_questions_beyond_the_size_of_a_page_are_on_the_next_one(monkeypatch):
    monkeypatch.setattr("surveys.pages.results.public.MAX_PAGE_JSON", 500)
    made = shared(*({**CHOICE, "prompt": f"Question {n}?"} for n in range(1, 6)))
    respond(made, 0)
    address, texts = f"/r/{made.results_token}", []
    for number in range(1, 10):
        text = Client().get(f"{address}?page={number}").content.decode()
        texts.append(text)
        if "More questions" not in text:
            break

    found = [re.findall(r"Question (\d)[?]", text) for text in texts]
    assert [int(number) for on_page in found for number in dict.fromkeys(on_page)] == [1, 2, 3, 4, 5]
    assert len(texts) > 2
    assert "Earlier questions" not in texts[0]
    assert all("Earlier questions" in text for text in texts[1:])
    assert Client().get(f"{address}?page=nothing").content.decode() == texts[0]
    assert Client().get(f"{address}?page=99").content.decode() == texts[-1]


@pytest.mark.long
def test_a_page_of_the_largest_script_has_less_than_a_megabyte():
    options = [f"{n} & {'<' * 40}" for n in range(100)]
    made = shared(*({**CHOICE, "options": options} for _ in range(200)))
    respond(made, 0)

    assert len(page(made).content) < 1_000_000


# --- Too few ----------------------------------------------------------------------------------------


def test_fewer_than_five_anonymous_responses_are_somebodys_and_not_shown():
    made = shared(CHOICE, NUMBER, privacy_mode="anonymous")
    respond(made, 0, 4321, times=4)

    few, seen = told(made).json(), page(made).content.decode()

    assert (few["least_answers"], few["conversation_count"], few["response_count"]) == (5, 0, None)
    assert [block["is_withheld"] for block in few["blocks"]] == [True, True]
    assert few["blocks"][0]["distribution"] is None
    assert "Too few to show yet." in seen
    assert "4,321" not in seen
    assert "4321" not in seen
    respond(made, 1, 20)
    enough = told(made).json()
    assert enough["conversation_count"] == 5
    assert enough["blocks"][0]["distribution"][0]["count"] == 4


def test_a_question_with_fewer_than_five_answers_is_not_shown_beside_others():
    made = shared(CHOICE, NUMBER, privacy_mode="anonymous")
    respond(made, 0, 4321, times=4)
    respond(made, 0, None)

    few, seen = told(made).json(), page(made).content.decode()

    assert [block["is_withheld"] for block in few["blocks"]] == [False, True]
    assert few["blocks"][1]["response_count"] is None
    assert few["response_count"] is None
    assert "Too few answers to show yet." in seen
    assert "questions with fewer than 5 answers are not shown" in seen


def test_of_anonymous_numbers_only_the_mean_is_told():
    """Rule 6.303: the lowest and the highest number, and quartiles, may be one person's."""
    made = shared(NUMBER, privacy_mode="anonymous")
    respond(made, 20, times=5)
    respond(made, 8191)

    block = told(made).json()["blocks"][0]

    stats = block["stats"]
    assert (stats.pop("count"), stats.pop("mean")) == (6, pytest.approx(8291 / 6))
    assert len(stats) == 6
    assert {*stats.values(), block["histogram"]} == {None}
    assert "8,191" not in page(made).content.decode()


@pytest.mark.parametrize("mode", ["transparent", "semi-private"])
def test_other_projects_show_the_first_response_as_their_creator_decided(mode):
    made = shared(NUMBER, privacy_mode=mode)
    respond(made, 43)

    assert told(made).json()["least_answers"] is None
    assert told(made).json()["blocks"][0]["stats"]["max"] == 43


def test_sentiments_of_fewer_than_five_texts_are_not_told():
    made = shared(TEXT, privacy_mode="anonymous")
    respond(made, "x", times=6)
    analysed(made, scenario.script(made).blocks[0], sentiment={"positive": 3, "neutral": 1, "negative": 0})

    assert told(made).json()["blocks"][0]["open_text"] == {"answer_count": 6, "sentiment": None}
