"""Analyses on the tab of results: their contents, their readers, and the request for one."""

import json
import re

import pytest

from communities.ground.errors import PaymentRequired
from communities.models import Community
from surveys.models import Analysis, Project
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import (
    EDITORS,
    analysis,
    client_as,
    look,
    respond,
    superuser,
    tab,
)
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows):
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
    (block,) = scenario.script(made).blocks
    described = {"block_id": block.id, "block_type": "open_text", "prompt": block.prompt, "response_count": 2}
    blocks = [{**described, "open_text": open_text}]
    analysis(made, blocks_as_json=json.dumps(blocks), credits_used=1)
    return made


def test_themes_are_told_with_what_they_count_and_who_made_them(client, told):
    seen = look(client, told)

    assert "They want tea." in seen
    assert "<blockquote><Tea>.</blockquote>" in seen  # unescaped by `look`
    assert "Created at 31 Jan 2026, 12:34 UTC by text statistics, without a language model, for 1 credit" in (
        re.sub(r"<[^>]+>", "", seen)
    )
    assert "Nothing has changed since." in seen
    assert "Analyse again" not in seen


@pytest.mark.parametrize("role", ["admin", "creator"])
def test_quotes_are_for_who_may_read_responses_and_others_see_themes(told, role):
    Project.objects.filter(pk=told.pk).update(share_results=True, privacy_mode="semi-private")

    seen = look(client_as(role, told), told)

    assert "They want tea." in seen
    assert ("More of it." in seen) == ("<blockquote>" in seen) == (role in EDITORS)


def test_of_anonymous_texts_only_what_enough_people_said_is_shown_to_others(told):
    Project.objects.filter(pk=told.pk).update(share_results=True, privacy_mode="anonymous")

    seen = look(client_as("member"), told)

    assert "They want tea." not in seen
    assert "Too few answers to show yet." in seen


@pytest.fixture
def priced(settings):
    """A project with one open answer, a model that costs credits, and 1,234 of them."""
    settings.AI_PROVIDER = "anthropic"
    Community.objects.filter(pk=scenario.community().pk).update(bot_credits=1234)
    made = scenario.project(TEXT)
    respond(made, "x")
    return made


def test_the_price_is_told_and_asked_about_before_it_is_paid(client, priced):
    seen = look(client, priced)
    asked = look(client, priced, "?covers=completed", page="results_analyse")
    before = Community.objects.get().bot_credits

    form = {"covers": "completed", "credits": "1"}
    response = client.post(tab(priced.pk, "results_analyse"), form)

    assert "Reads 1 open answer and costs 1 credit; the community has 1,234 left." in seen
    assert f'href="{tab(priced.pk, "results_analyse")}?covers=all"' in seen
    assert '<form method="post" action="' + tab(priced.pk, "results_analyse") not in seen
    assert "Analyse 1 open answer for 1 credit?" in asked
    assert "1,233 will be left" in asked
    assert before == 1234
    assert (response.status_code, response["Location"]) == (
        303,
        f"{tab(priced.pk)}?status=completed#analysis",
    )
    assert Analysis.objects.get().covers == "completed"
    assert Community.objects.get().bot_credits == 1233
    assert client.post(tab(priced.pk, "results_analyse"), {"covers": "none"}).status_code == 404


@pytest.mark.parametrize("agreed", ["", "0", "-1", "one"])
def test_nothing_is_paid_that_was_not_agreed_to(client, priced, agreed):
    response = client.post(tab(priced.pk, "results_analyse"), {"covers": "all", "credits": agreed})

    assert response.status_code == 409
    assert "Nothing has been taken yet." in response.content.decode()
    assert not Analysis.objects.exists()
    assert Community.objects.get().bot_credits == 1234


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

    monkeypatch.setattr("surveys.services.ai_work.analysis.service.ask", refuses)

    response = client.post(tab(made.pk, "results_analyse"))

    assert response.status_code == 402
    assert "the community has 0 credits left" in response.content.decode()


def test_a_running_analysis_tells_how_far_it_is_and_then_has_the_page_loaded_anew(client):
    made = scenario.project(TEXT)
    respond(made, "x")
    running = analysis(made, "running", progress=0.4)

    seen = look(client, made)
    part = client.get(tab(made.pk, "results_analysis"))

    assert 'hx-trigger="every 2s"' in seen
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in seen
    assert "Analyse" not in seen.partition("<main")[2]
    assert "Reading the answers: 40%." in part.content.decode()
    Analysis.objects.filter(pk=running.pk).update(status="completed", completed_at=LUNCHTIME)
    done = client.get(tab(made.pk, "results_analysis"))
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


def test_credits_that_are_no_number_agree_to_nothing_and_unknown_selections_are_not_found(client):
    made = scenario.project(TEXT)
    respond(made, "Tea.")

    agreed = client.post(tab(made.pk, "results_analyse"), {"credits": "9" * 5000})

    assert agreed.status_code < 500
    for covers in ("x", "\0"):
        assert client.get(tab(made.pk, "results_analysis"), {"covers": covers}).status_code == 404
