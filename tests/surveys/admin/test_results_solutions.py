"""The results tab of a quiz: who sees what is right, and what cards say of nobody."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.support.caller import Caller
from tests.support.instruments.respondent import build, sit
from tests.support.staff import Staff
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.quizzes import quiz

pytestmark = pytest.mark.django_db
SHARED = {"settings": {"share_results": True}}
TICK = re.compile(r">✓</span>\s*right<span class=\"visually-hidden\">\s*answer<")


def page(client: Client, project: dict[str, Any], query: str = "") -> str:
    response = client.get(tab(int(project["id"]), "results") + query)
    assert response.status_code == 200, response.content
    return response.content.decode()


def test_the_right_answer_of_a_quiz_is_marked_with_how_many_were_right() -> None:
    html = page(superuser(), quiz(Caller()))

    assert len(TICK.findall(html)) == 1
    assert "Right answers" in html
    assert "60% (3)" in html


@pytest.mark.parametrize("privacy", ["semi-private", "anonymous"])
def test_a_creator_who_reads_shared_results_sees_what_is_right(privacy: str) -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode=privacy, **SHARED)

    html = page(Staff("creator", community=caller.community).client, project)

    assert "These results are shared with the community" in html
    assert len(TICK.findall(html)) == 1


@pytest.mark.parametrize("privacy", ["transparent", "anonymous"])
def test_a_member_is_not_told_what_is_right(privacy: str) -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode=privacy, **SHARED)

    html = page(Staff("member", community=caller.community).client, project)

    assert "Which?" in html
    assert "✓" not in html
    assert "Right answers" not in html


def test_the_shared_page_does_not_tell_what_is_right(client: Client) -> None:
    project = quiz(Caller(), **SHARED)

    html = client.get(f"/r/{project['info']['results_url'].rsplit('/', 1)[-1]}").content.decode()

    assert "Which?" in html
    assert "✓" not in html
    assert "(right)" not in html
    assert "Right answers" not in html


def test_results_tell_who_chose_exactly_the_right_options() -> None:
    """Rule 6.258."""
    several = {
        "type": "multi_punch",
        "prompt": "Which are games?",
        "name": "games",
        "options": [{"value": value} for value in ("chess", "go", "tea")],
        "correct_answer_indexes": [0, 1],
        "required": False,
    }
    caller = Caller()
    fields = {"script": {"blocks": [several]}, "scoring": {"enabled": True}}
    project = build(caller, {"name": "Games", "type": "convo", **fields})
    for chosen in (["go", "chess"], ["chess"], ["chess", "go", "tea"], ["chess", "go"], ["tea"]):
        sit(caller, project, {"games": chosen})

    html = page(superuser(), project)

    assert re.search(r"Right answers</dt>\s*<dd[^>]*>\s*40% \(2\)", html)
    assert "Right answers" not in page(superuser(), project, "?status=partial")
