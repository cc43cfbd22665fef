"""Themes from one analysis to the next: known ones keep their titles, new ones find room."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Analysis
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    Reads,
    analysed,
    connecting,  # noqa: F401
    rich,
    survey,
    texts_of,
    themes,
    wrote,
)

pytestmark = pytest.mark.django_db


def test_themes_keep_their_titles_in_the_next_analysis(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    connect(Reads())
    wrote(project, "#Slow", "#dear")
    first = analysed(caller, project)
    wrote(project, "#SLOW", "#new")
    provider = connect(Reads())

    second = analysed(caller, project)

    assert [theme.title for theme in provider.batches[0].known_themes] == ["Slow", "Dear"]
    assert provider.batches[0].known_themes[0].description == "About slow."
    assert (themes(first), themes(second)) == ({"Slow": 1, "Dear": 1}, {"Slow": 2, "Dear": 1, "New": 1})


def test_a_theme_that_nobody_had_for_a_while_comes_back_under_its_title(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller)
    told = scenario.say(scenario.begin(project), "#Slow")
    wrote(project, "#dear")
    analysed(caller, project)
    caller.delete(f"/responses/{told.conversation.pk}")

    without = analysed(caller, project)
    wrote(project, "#sLoW")
    provider = connect(Reads())
    again = analysed(caller, project)

    assert (themes(without), themes(again)) == ({"Dear": 1}, {"Dear": 1, "Slow": 1})
    assert [theme.title for theme in provider.batches[0].known_themes] == ["Dear", "Slow"]


def test_titles_outlive_an_analysis_that_had_nothing_to_read(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller)
    told = scenario.say(scenario.begin(project), "#Slow")
    analysed(caller, project)
    caller.delete(f"/responses/{told.conversation.pk}")
    assert analysed(caller, project)["generated_by"] == "local"
    wrote(project, "#slow again")

    provider = connect(Reads())
    analysed(caller, project)

    assert [theme.title for theme in provider.batches[0].known_themes] == ["Slow"]


def test_another_providers_titles_are_no_measure(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    other = Reads()
    other.name = "local"
    connect(other)
    wrote(project, "#Slow")
    analysed(caller, project)

    provider = connect(Reads())
    told = analysed(caller, project)  # though nothing has changed since

    assert provider.batches[0].known_themes == []
    assert told["generated_by"] == "anthropic"


def test_old_themes_leave_room_for_new_ones(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    connect(Reads(max_batch_size=8))
    wrote(project, *(f"#old{n}" for n in range(32)))
    analysed(caller, project)
    wrote(project, *["#new"] * 5)

    told = analysed(caller, project)

    assert (themes(told)["New"], len(themes(told))) == (5, 12)


def test_summaries_are_kept_clean(connect: Any) -> None:
    provider = connect(Reads())
    provider.summarize_analysis = lambda _overview: " Good.\x00\n\nVery\ud83d good. " + "x" * 5_000
    provider.summarize_texts = lambda _figures: "  \x00 "
    caller = rich()
    project = survey(caller)
    wrote(project, "#slow")

    told = analysed(caller, project)

    assert told["summary"].startswith("Good. Very good. x")
    assert len(told["summary"]) == 2_000
    assert texts_of(told)["summary"] is None
    assert Analysis.objects.get().status == "completed"


def test_a_model_reads_questions_without_tokens(connect: Any) -> None:
    caller = rich()
    project = survey(caller, {"type": "open_text", "prompt": "Why, [UserName|friend], [q1]?"})
    wrote(project, "#Slow")
    provider = connect(Reads())

    analysed(caller, project)

    asked = "Why, friend, …?"
    assert [batch.prompt for batch in provider.batches] == [asked]
    assert [figures.prompt for figures in provider.counted] == [asked]
    assert [block["prompt"] for block in provider.overviews[0].blocks] == [asked]
