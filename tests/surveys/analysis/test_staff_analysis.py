"""The results page for staff: what it tells of an analysis, to whom, and how one is asked for."""

import json
import re

import pytest

from communities.errors import PaymentRequired
from communities.models import Community
from surveys.models import Analysis
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.staff import address, analysis, look, respond, staff_member, superuser

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    return superuser()


@pytest.fixture
def told():
    """A project whose analysis found one theme, with a quote."""
    made = scenario.project(TEXT)
    respond(made, "Tea.", times=2)
    open_text = {
        "summary": "They want tea.",
        "themes": [
            {
                "title": "Tea",
                "description": "More of it.",
                "count": 2,
                "percentage": 100.0,
                "sentiment": "positive",
                "quotes": ["<Tea>."],
            }
        ],
        "sentiment": {"positive": 2, "neutral": 0, "negative": 0},
        "answer_count": 2,
        "analysed_count": 2,
    }
    blocks = [{"block_id": scenario.script(made).blocks[0].id, "open_text": open_text}]
    analysis(made, blocks_as_json=json.dumps(blocks), credits_used=1)
    return made


def test_themes_are_told_with_what_they_count_and_who_made_them(client, told):
    seen = look(client, told)

    assert "They want tea." in seen
    assert "<blockquote><Tea>.</blockquote>" in seen  # unescaped by `look`
    assert (
        "Created on 31 January 2026, 12:34 UTC by text statistics, without a language model, for 1 credit"
        in (re.sub(r"<[^>]+>", "", seen))
    )
    assert "Nothing has changed since." in seen
    assert "Analyse again" not in seen
    assert "Quotes are left out" not in seen


def test_an_analysis_is_out_of_date_after_another_answer(client, told):
    respond(told, "More.")

    seen = look(client, told)

    assert "Out of date: answers or questions have changed since." in re.sub(r"<[^>]+>", "", seen)
    assert "Analyse again" in seen


def test_an_analysis_is_out_of_date_once_a_model_is_there_that_reads_better(client, told, settings):
    Community.objects.update(bot_credits=9)
    settings.AI_PROVIDER = "anthropic"

    seen = look(client, told)
    client.post(address(told, "analysis"))

    assert "Out of date: a language model has been connected since." in re.sub(r"<[^>]+>", "", seen)
    assert "Analyse again" in seen
    assert "Costs 1 credit; the community has 9 left." in seen
    assert Analysis.objects.filter(project=told).count() == 2


def test_whoever_may_not_see_responses_sees_themes_without_quotes(told):
    client = staff_member("view_project")

    seen = look(client, told)

    assert "They want tea." in seen
    assert "More of it." in seen
    assert "<blockquote>" not in seen
    assert "Quotes are left out" in seen


def test_whoever_may_see_responses_sees_quotes(told):
    seen = look(staff_member("view_project", "view_conversation"), told)

    assert "<blockquote><Tea>.</blockquote>" in seen
    assert "Quotes are left out" not in seen


def test_an_analysis_is_asked_for_and_its_price_is_told_before(client, settings, monkeypatch):
    settings.AI_PROVIDER = "anthropic"
    Community.objects.filter(pk=scenario.community().pk).update(bot_credits=1234)
    made = scenario.project(TEXT)
    respond(made, "x")
    asked = []
    monkeypatch.setattr("surveys.services.analysis.service.ask", lambda **said: asked.append(said))

    seen = look(client, made)
    response = client.post(address(made, "analysis"), {"covers": "completed"})

    assert "Costs 1 credit; the community has 1,234 left." in seen
    assert (response.status_code, response["Location"]) == (303, f"{address(made)}?status=completed#analysis")
    assert [(said["project"], said["with_ai"], said["covers"]) for said in asked] == [
        (made, True, "completed")
    ]
    assert client.post(address(made, "analysis"), {"covers": "none"}).status_code == 404


def test_without_a_model_an_analysis_is_free(client):
    made = scenario.project(TEXT)
    respond(made, "x")

    seen = look(client, made)

    assert "Costs no credits." in seen
    assert "the community has" not in seen


def test_too_few_credits_are_told_and_nothing_is_begun(client, monkeypatch):
    made = scenario.project(TEXT)
    respond(made, "x")

    def refuses(**_):
        raise PaymentRequired("This takes 1 credit, and the community has 0 credits left.")

    monkeypatch.setattr("surveys.services.analysis.service.ask", refuses)

    response = client.post(address(made, "analysis"))

    assert response.status_code == 402
    assert "the community has 0 credits left" in response.content.decode()


def test_a_running_analysis_tells_how_far_it_is_and_then_has_the_page_loaded_anew(client):
    made = scenario.project(TEXT)
    respond(made, "x")
    running = analysis(made, "running", progress=0.4)

    seen = look(client, made)
    part = client.get(address(made, "analysis"))

    assert 'hx-trigger="every 2s"' in seen
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in seen
    assert "Analyse" not in seen.partition("<main")[2]
    assert "Reading the answers: 40%." in part.content.decode()
    Analysis.objects.filter(pk=running.pk).update(status="completed", completed_at=LUNCHTIME)
    done = client.get(address(made, "analysis"))
    assert (done.status_code, done["HX-Refresh"]) == (204, "true")


def test_a_failed_analysis_tells_why_and_the_one_before_stays(client):
    made = scenario.project(TEXT)
    respond(made, "x")
    analysis(made, summary="From before.")
    respond(made, "y")
    analysis(made, "failed", error="The model was overloaded.", summary=None)

    seen = look(client, made)

    assert "The model was overloaded." in seen
    assert "From before." in seen
    assert "Analyse again" in seen
