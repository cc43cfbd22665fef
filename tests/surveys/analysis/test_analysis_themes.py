"""Themes from one analysis to the next: known ones keep their titles, new ones find room."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from surveys.ai.provider import TextTheme
from surveys.models import Analysis, Answer, Project, Theme
from surveys.services.ai_work import readings
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ai_work.analysis import text_reader
from tests.factories import ConversationFactory
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    LATER,
    Failing,
    Killed,
    Reads,
    analysed,
    ask,
    clock,
    connecting,  # noqa: F401
    read,
    rich,
    several,
    survey,
    tags_of,
    texts_of,
    themes,
    wrote,
)

pytestmark = pytest.mark.django_db


def recounted(project: Project) -> dict[str, int]:
    """The number of answers that mention each theme, counted separately."""
    answers = Answer.objects.filter(block__project=project, block__type="open_text")
    tags = [tag for text in answers.values_list("value", flat=True) for tag in set(tags_of(text))]
    return {tag.capitalize(): tags.count(tag) for tag in tags}


def test_a_new_answer_costs_its_own_reading_alone(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller)
    wrote(project, "#Slow", "#dear", *several("#slow", 120))
    first = analysed(caller, project)
    wrote(project, "#SLOW")
    provider = connect(Reads())

    second = analysed(caller, project)

    assert [list(batch.answers) for batch in provider.batches] == [["#SLOW"]]
    assert [theme.title for theme in provider.batches[0].themes] == ["Slow", "Dear"]
    assert provider.batches[0].themes[0].description == "About slow."
    assert (first["credits_used"], second["credits_used"], provider.samples) == (2, 1, [])
    assert themes(second) == recounted(project) == {"Slow": 122, "Dear": 1}


def test_counts_equal_a_recount_across_batches_and_runs(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    texts = [f"#a{n % 3} and #b{n % 2} {n}" for n in range(42)]
    for n, text in enumerate(texts):
        wrote(project, text)
        if n % 13 == 0:
            connect(Reads(max_batch_size=3))
            told = analysed(caller, project)
            assert themes(told) == recounted(project)

    connect(Reads(max_batch_size=7))
    told = analysed(caller, project)

    assert themes(told) == recounted(project)
    assert texts_of(told)["analysed_count"] == 42


def test_what_fits_nothing_grows_the_codebook_and_all_are_read_against_the_new_themes(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    connect(Reads(name_by=lambda _sample: [TextTheme("Slow")]))
    wrote(project, *several("#slow #noise", 6))
    assert themes(analysed(caller, project)) == {"Slow": 6}
    wrote(project, *several("#noise", 4))
    few = connect(Reads())
    assert themes(analysed(caller, project)) == {"Slow": 6}
    assert few.samples == []  # four are too few
    wrote(project, "#noise")
    provider = connect(Reads(max_batch_size=4))

    told = analysed(caller, project)

    (sample,) = provider.samples
    assert [theme.title for theme in sample.known_themes] == ["Slow"]
    assert set(sample.answers) == {*several("#noise", 4), "#noise"}
    assert themes(told) == recounted(project) == {"Noise": 11, "Slow": 6}
    against = [[theme.title for theme in batch.themes] for batch in provider.batches]
    assert against == [["Slow"], ["Noise"], ["Noise"], ["Noise"]]
    assert told["credits_used"] == 1


def test_a_worker_that_takes_over_reads_what_growth_concerns_at_no_further_charge(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.22, where less is paid than is read against the new theme."""
    caller, project = read_against_slow(connect)
    wrote(project, *several("#noise", 5))
    monkeypatch.setattr(text_reader, "TEXTS_PER_CREDIT_UNIT", 5)
    connect(Failing(None, None, None, Killed(), max_batch_size=4))
    asked = ask(caller, project).json()
    with pytest.raises(Killed):
        analysis.run(analysis_id=int(asked["id"]), now=clock(NOON))
    provider = connect(Reads(max_batch_size=4))

    analysis.run(analysis_id=int(asked["id"]), now=clock(LATER))

    told = read(caller, project).json()
    assert (told["credits_used"], themes(told)) == (1, {"Noise": 11, "Slow": 6})
    assert [len(batch.answers) for batch in provider.batches] == [4, 3]
    assert provider.samples == []
    assert price_of(project) == 0


def test_growth_does_not_read_what_was_outdated_before_and_not_paid(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.71."""
    caller, project = read_against_slow(connect)
    wrote(project, *several("#noise", 5))
    monkeypatch.setattr(text_reader, "TEXTS_PER_CREDIT_UNIT", 5)
    provider = connect(Reads())
    asked = ask(caller, project).json()
    path = f"/projects/{project.pk}/blocks/{project.blocks.get(type='open_text').pk}/codebook"
    caller.patch(path, {"themes": [*caller.get(path).json()["themes"], {"title": "Kind"}]})

    analysis.run(analysis_id=int(asked["id"]))

    assert [len(batch.answers) for batch in provider.batches] == [5, 5]
    assert themes(read(caller, project).json()) == {"Slow": 6, "Noise": 5}
    assert price_of(project) == 1


def read_against_slow(connect: Any) -> tuple[Caller, Project]:
    """A project with six answers that were read against one theme, though they name another one too."""
    connect(Reads(name_by=lambda _sample: [TextTheme("Slow")]))
    caller = rich()
    project = survey(caller)
    wrote(project, *several("#slow #noise", 6))
    assert themes(analysed(caller, project)) == {"Slow": 6}
    return caller, project


def price_of(project: Project) -> int:
    return analysis.price(project=project, covers="all")


def test_themes_are_not_looked_for_again_and_again(connect: Any) -> None:
    caller = rich()
    project = survey(caller)
    connect(Reads(name_by=lambda _sample: []))
    wrote(project, *several("of nothing", 8))
    analysed(caller, project)
    samples = []
    for _ in range(3):
        wrote(project, "of nothing")
        provider = connect(Reads(name_by=lambda _sample: []))
        analysed(caller, project)
        samples.append([len(sample.answers) for sample in provider.samples])

    assert samples == [[], [10], []]  # again once there are a quarter more


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
    again = analysed(caller, project)

    assert (themes(without), themes(again)) == ({"Dear": 1}, {"Slow": 1, "Dear": 1})


def test_a_better_provider_names_themes_anew_and_keeps_what_staff_pinned(connect: Any) -> None:
    """Rule 10.27."""
    caller = rich()
    project = survey(caller)
    other = Reads()
    other.name = "local"
    connect(other)
    wrote(project, "#Slow #dear")
    analysed(caller, project)
    Theme.objects.filter(title="Dear").update(is_pinned=True)

    provider = connect(Reads(name_by=lambda _sample: [TextTheme("Too slow")]))
    told = analysed(caller, project)  # though nothing has changed since

    assert [theme.title for theme in provider.samples[0].known_themes] == ["Dear"]
    assert [theme.title for theme in provider.batches[0].themes] == ["Dear", "Too slow"]
    assert (told["generated_by"], themes(told)) == ("anthropic", {"Dear": 1})


def test_the_sample_covers_all_times(connect: Any) -> None:
    provider = connect(Reads())
    caller = rich()
    project = survey(caller)
    wrote(project, "#t0")
    first = Answer.objects.get()
    conversations = ConversationFactory.create_batch(999, project=project)
    ordered = sorted(conversations, key=lambda each: each.pk)
    Answer.objects.bulk_create(
        Answer(conversation=each, block_id=first.block_id, ordinal=0, value=f"answer {n}")
        for n, each in enumerate(ordered, start=1)
    )
    answers = Answer.objects.order_by("conversation").values_list("value", flat=True)

    sample = readings.sample(block_id=first.block_id)

    assert len(sample) == readings.MAX_SAMPLE
    places = sorted(list(answers).index(text) for text in sample)
    assert max(b - a for a, b in pairwise(places)) <= 4
    assert sample == readings.sample(block_id=first.block_id)
    assert provider.samples == []


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
