"""Credits for an analysis: one for each started 100 texts, taken once, all or none (rules 10.3 and 10.4)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from communities.ground.slots import Slots
from communities.models import Community
from surveys.ai.provider import Provider, TextBatch, TextReading
from surveys.models import Analysis, Answer, Block, Conversation, Project, Tally
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground import anonymity, jobs
from surveys.services.responses import service as responses
from tests.support import our_code
from tests.support.actors import superuser_actor
from tests.support.caller import CHOICE, TEXT, Caller, refusal
from tests.support.moments import NOON
from tests.support.surveys import plain_counts, scenario
from tests.support.surveys.analyses import (
    DOWN,
    LATER,
    Failing,
    Killed,
    Reads,
    analysed,
    ask,
    by_marks,
    clock,
    connecting,  # noqa: F401
    credits_of,
    give,
    read,
    survey,
    wrote,
)

pytestmark = pytest.mark.django_db
at_once = pytest.mark.django_db(transaction=True)
CALLERS = 20


def wrote_many(project: Project, count: int) -> None:
    """Write this number of completed answers to the first question, directly into the tables."""
    block = Block.objects.filter(project=project, type="open_text").order_by("position")[0]
    conversations = [
        Conversation(
            id=anonymity.new_id(project=project),
            project=project,
            seed=n,
            is_listed=True,
            started_at=NOON,
            updated_at=NOON,
            completed_at=NOON,
        )
        for n in range(count)
    ]
    Conversation.objects.bulk_create(conversations)
    Answer.objects.bulk_create(
        Answer(conversation=each, block=block, ordinal=0, value=f"#slow {n}")
        for n, each in enumerate(conversations)
    )
    plain_counts.pack_answer_rows()
    Tally.objects.create(
        project=project, slot=99, answered=count, completed=count, listed=count, changes=count
    )


@pytest.mark.parametrize(("texts", "price"), [(0, 0), (100, 1), (101, 2)])
def test_each_started_hundred_texts_takes_one(texts: int, price: int, connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 7)
    project = survey(caller)
    wrote_many(project, texts)

    told = analysed(caller, project)

    assert (told["credits_used"], credits_of(caller.community)) == (price, 7 - price)


def test_the_price_is_a_setting(connect: Any, settings: Any) -> None:
    connect(Reads())
    settings.CREDITS_FOR_100_TEXTS = 5
    caller = Caller()
    give(caller.community, 11)
    project = survey(caller)
    wrote_many(project, 101)

    assert analysed(caller, project)["credits_used"] == 10


def test_texts_of_all_questions_count_those_of_removed_ones_too(connect: Any, settings: Any) -> None:
    connect(Reads())
    settings.CREDITS_FOR_100_TEXTS = 1
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, TEXT, {**TEXT, "prompt": "And?"})
    wrote_many(project, 100)
    scenario.say(scenario.begin(project), "#first", "#second")
    caller.post(f"/projects/{project.pk}/close")
    blocks = caller.get(f"/projects/{project.pk}/script").json()["blocks"]
    caller.put(f"/projects/{project.pk}/script", {"blocks": blocks[1:]})

    assert analysed(caller, project)["credits_used"] == 2


def test_only_texts_that_it_covers_are_paid(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, TEXT, CHOICE)
    wrote_many(project, 100)
    scenario.say(scenario.begin(project), "#left")

    prices = {
        status: analysed(caller, project, f"?status={status}")["credits_used"]
        for status in ("partial", "completed", "all")
    }

    assert prices == {"partial": 1, "completed": 1, "all": 0}


def test_no_more_texts_are_read_than_were_paid(connect: Any) -> None:
    """Rule 10.18."""
    provider, caller = connect(Reads()), Caller()
    give(caller.community, 5)
    project = survey(caller)
    wrote_many(project, 99)
    asked = ask(caller, project)
    for n in range(3):
        scenario.say(scenario.begin(project), f"#slow {n}")

    analysis.run(analysis_id=int(asked.json()["id"]))

    told = read(caller, project).json()
    assert (told["status"], told["blocks"][0]["open_text"]["analysed_count"]) == ("completed", 100)
    assert sum(len(batch.answers) for batch in provider.batches) == 100
    assert ask(caller, project).status_code == 202  # two texts are left, so it is out of date


def test_texts_that_came_after_a_price_of_nothing_are_not_read(connect: Any) -> None:
    provider, caller = connect(Reads()), Caller()
    project = survey(caller)
    asked = ask(caller, project)
    scenario.say(scenario.begin(project), "#slow")

    analysis.run(analysis_id=int(asked.json()["id"]))

    assert read(caller, project).json()["status"] == "completed"
    assert not provider.was_asked
    assert refusal(ask(caller, project)) == (402, "payment_required")


def test_of_a_long_text_the_beginning_is_read(connect: Any) -> None:
    """Rule 10.19."""
    provider, caller = connect(Reads()), Caller()
    give(caller.community, 1)
    project = survey(caller)
    wrote(project, "#slow " + "x" * 9_000)

    analysed(caller, project)

    assert [len(text) for batch in provider.batches for text in batch.answers] == [2_000]


def test_a_community_has_so_many_jobs_of_a_model_in_an_hour_whatever_comes_of_them(
    connect: Any, settings: Any
) -> None:
    connect(Failing(DOWN))
    settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = 2
    caller, other = Caller(), Caller()
    for each in (caller, other):
        give(each.community, 9)
    project = survey(caller)
    wrote(project, "#slow")
    for _ in range(2):
        analysis.run(analysis_id=int(ask(caller, project).json()["id"]))

    refused = ask(caller, project)

    assert refusal(refused) == (409, "conflict")
    assert "Please try again in 60 minutes." in refused.json()["message"]
    assert int(refused["Retry-After"]) > 3_500
    assert credits_of(caller.community) == 9
    of_other = survey(other)
    wrote(of_other, "#slow")
    assert ask(other, of_other).status_code == 202


def test_a_failed_analysis_keeps_the_credits_for_what_was_read(connect: Any, settings: Any) -> None:
    """Rule 10.4. The four batches are read at once, so the last checkpoint before them tells of none."""

    def all_but_the_last(batch: TextBatch) -> Sequence[TextReading | None]:
        if len(batch.answers) == 1:
            raise DOWN
        return by_marks(batch)

    connect(Reads(all_but_the_last))
    settings.AI_CALLS_AT_ONCE = 4
    caller = Caller()
    give(caller.community, 9)
    project = survey(caller)
    wrote_many(project, 301)

    failed = analysed(caller, project)

    assert (failed["status"], failed["credits_used"], credits_of(caller.community)) == ("failed", 3, 6)
    provider = connect(Reads())
    again = analysed(caller, project)
    assert [len(batch.answers) for batch in provider.batches] == [1]
    assert (again["status"], again["credits_used"], credits_of(caller.community)) == ("completed", 1, 5)


def test_an_analysis_without_anything_for_a_model_to_read_is_no_job_of_a_model(
    connect: Any, settings: Any
) -> None:
    provider, caller = connect(Reads()), Caller()
    settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = 1
    project = survey(caller, CHOICE)

    for _ in range(3):
        scenario.say(scenario.begin(project), 0)
        assert analysed(caller, project)["status"] == "completed"

    assert not provider.was_asked


def test_a_price_that_was_raised_during_an_analysis_ends_its_reading(connect: Any, settings: Any) -> None:
    connect(Failing(None, None, Killed(), max_batch_size=100))
    caller = Caller()
    give(caller.community, 3)
    project = survey(caller)
    wrote_many(project, 300)
    made = int(ask(caller, project).json()["id"])
    with pytest.raises(Killed):
        analysis.run(analysis_id=made, now=clock(NOON))
    connect(Reads())
    settings.CREDITS_FOR_100_TEXTS = 3

    analysis.run(analysis_id=made, now=clock(LATER))

    told = read(caller, project).json()
    assert (told["status"], told["blocks"][0]["open_text"]["analysed_count"]) == ("completed", 200)


def stopped_after_100_of_150_texts(caller: Caller, connect: Any) -> tuple[Project, int]:
    """A project whose analysis took 2 of 3 credits, and the analysis, which no worker has now."""
    connect(Failing(None, Killed(), max_batch_size=100))
    give(caller.community, 3)
    project = survey(caller)
    wrote_many(project, 150)
    made = int(ask(caller, project).json()["id"])
    with pytest.raises(Killed):
        analysis.run(analysis_id=made, now=clock(NOON))
    return project, made


def test_a_project_deleted_during_its_analysis_gets_back_credits_for_unread_texts(connect: Any) -> None:
    """Rule 10.20."""
    caller = Caller()
    project, _ = stopped_after_100_of_150_texts(caller, connect)

    caller.post(f"/projects/{project.pk}/close")
    assert caller.delete(f"/projects/{project.pk}").status_code == 204

    assert credits_of(caller.community) == 2


def test_an_analysis_whose_texts_were_deleted_meanwhile_returns_credits_for_unread_texts(
    connect: Any,
) -> None:
    """Rule 10.20."""
    caller = Caller()
    project, made = stopped_after_100_of_150_texts(caller, connect)
    actor = superuser_actor(community_id=caller.community.pk)
    for conversation in Conversation.objects.filter(project=project):
        responses.delete(response_id=conversation.pk, actor=actor, at=NOON)

    analysis.run(analysis_id=made, now=clock(LATER))

    told = read(caller, project).json()
    assert (told["status"], told["credits_used"], credits_of(caller.community)) == ("completed", 1, 2)


def test_each_place_that_has_a_model_work_pays_for_it() -> None:
    def in_modules(word: str) -> set[str]:
        return {module.path.removeprefix("surveys/services/ai_work/") for module in our_code.modules(word)}

    of_providers = [name for name in vars(Provider) if callable(getattr(Provider, name)) and name[0] != "_"]
    callers = set().union(*(in_modules(f".{name}(") for name in of_providers))
    callers = {path for path in callers if not path.startswith("surveys/ai/")}  # the providers themselves
    callers -= {"surveys/tasks.py"}  # it cancels bulks, which costs nothing

    assert len(of_providers) == 13
    expected = {"writing.py", "analysis/text_analysis.py", "analysis/bulk_readings.py", "follow_ups.py"}
    assert callers == in_modules("ai.get_provider(") == expected
    assert in_modules("paying.pay(") == {"generation.py", "analysis/service.py"}
    assert in_modules("paying.pay_for_follow_up(") == {"follow_ups.py"}
    assert in_modules("paying.return_follow_up(") == {"follow_ups.py"}
    assert in_modules("spend_credits(") == {"communities/services/tenants/credits.py", "paying.py"}


@pytest.mark.long
@pytest.mark.parametrize("what", ["choices alone", "without ai", "the local provider"])
def test_what_takes_no_credits(what: str, connect: Any) -> None:
    caller = Caller()
    project = survey(caller, CHOICE) if what == "choices alone" else survey(caller)
    if what == "choices alone":
        scenario.say(scenario.begin(project), 0)
    else:
        wrote(project, "#slow")
    if what != "the local provider":
        connect(Reads())

    told = analysed(caller, project, "?ai=false" if what == "without ai" else "")

    assert (told["status"], told["credits_used"], credits_of(caller.community)) == ("completed", 0, 0)


def test_too_few_credits_are_refused_and_nothing_is_left(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 1)
    project = survey(caller)
    wrote_many(project, 101)

    refused = ask(caller, project)

    assert refusal(refused) == (402, "payment_required")
    assert refused.json()["message"] == "This takes 2 credits, and the community has 1 credit left."
    assert (credits_of(caller.community), Analysis.objects.count()) == (1, 0)
    assert refusal(read(caller, project)) == (404, "not_found")


def test_a_refused_one_may_be_asked_for_again_under_the_same_key(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    project = survey(caller)
    wrote(project, "#slow")
    key = {"Idempotency-Key": "the-same"}

    refused = ask(caller, project, **key)
    give(caller.community, 1)
    asked = ask(caller, project, **key)

    assert (refused.status_code, asked.status_code) == (402, 202)
    assert credits_of(caller.community) == 0


def test_joining_costs_nothing_also_without_credits(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 1)
    project = survey(caller)
    wrote(project, "#slow")

    told = [ask(caller, project).json()["credits_used"] for _ in range(3)]

    assert (told, credits_of(caller.community)) == ([1, 1, 1], 0)


# --- At the same time -------------------------------------------------------------------------------


def together(work: Any, count: int = CALLERS) -> list[Any]:
    """The same by so many threads at once, each with a connection of its own."""
    ready = threading.Barrier(count)

    def run(n: int) -> Any:
        try:
            ready.wait()
            return work(n)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


@at_once
@pytest.mark.parametrize("with_key", [False, True])
def test_twenty_callers_at_once_make_one_and_pay_once(with_key: bool, connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 1)
    project = survey(caller)
    wrote(project, "#slow")

    def asked(n: int) -> Any:
        return ask(caller, project, **({"Idempotency-Key": f"key-{n}"} if with_key else {}))

    answers = together(asked)

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (Analysis.objects.count(), credits_of(caller.community)) == (1, 0)


@at_once
def test_one_credit_is_spent_by_one_of_twenty_projects(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 1)
    projects = [survey(caller) for _ in range(CALLERS)]
    for project in projects:
        wrote(project, "#slow")

    statuses = sorted(answer.status_code for answer in together(lambda n: ask(caller, projects[n])))

    assert statuses == [202] + [402] * (CALLERS - 1)
    assert (Analysis.objects.count(), credits_of(caller.community)) == (1, 0)


@pytest.mark.parametrize("is_done", [False, True])
def test_an_analysis_that_goes_with_its_project_gives_back_what_it_took(connect: Any, is_done: bool) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 3)
    project = survey(caller)
    wrote(project, "#slow")
    made = int(ask(caller, project).json()["id"])
    if is_done:
        analysis.run(analysis_id=made)

    caller.post(f"/projects/{project.pk}/close")
    assert caller.delete(f"/projects/{project.pk}").status_code == 204
    analysis.run(analysis_id=made)  # by a worker that comes too late

    assert credits_of(caller.community) == (2 if is_done else 3)


@at_once
def test_workers_at_once_make_it_once(connect: Any) -> None:
    provider = connect(Reads())
    caller = Caller()
    give(caller.community, 1)
    project = survey(caller)
    wrote(project, "#slow")
    made = int(ask(caller, project).json()["id"])

    together(lambda _: analysis.run(analysis_id=made), 5)

    assert (len(provider.batches), read(caller, project).json()["status"]) == (1, "completed")


@at_once
def test_credits_given_back_while_others_spend_add_up(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(Failing(DOWN))
    monkeypatch.setattr(jobs, "_threads", Slots(CALLERS, most_of_one=CALLERS))
    caller = Caller()
    give(caller.community, CALLERS)
    projects = [survey(caller) for _ in range(CALLERS // 2)]
    for project in projects:
        wrote(project, "#slow")

    def ask_and_fail(n: int) -> None:
        made = ask(caller, projects[n]).json()
        analysis.run(analysis_id=int(made["id"]))

    together(ask_and_fail, CALLERS // 2)
    for left in Analysis.objects.filter(status="pending"):  # all threads for jobs were busy
        analysis.run(analysis_id=left.pk)

    assert Community.objects.get(pk=caller.community.pk).bot_credits == CALLERS
    assert set(Analysis.objects.values_list("status", "credits_used")) == {("failed", 0)}


@at_once
def test_an_answer_is_taken_while_somebody_asks(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller)
    wrote(project, "#slow")

    def both(n: int) -> int:
        if n % 2:
            wrote(project, f"#fast {n}")
            return 202
        return int(ask(caller, project).status_code)

    assert together(both, 8) == [202] * 8
    assert scenario.counts(project) == scenario.recounted(project)
