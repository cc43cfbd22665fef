"""The work behind an intent: done by one worker, found again when that dies, paid once (chapter 10)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from threading import Event, get_ident

import pytest
from django.db import connection, connections, transaction
from django.db.models import BinaryField
from django.utils import timezone

from communities.ground import queue
from communities.ground.errors import PaymentRequired, Unavailable
from communities.ground.slots import Slots
from config.web import gunicorn
from surveys import ai
from surveys.ai.provider import ProposedScript, ScriptRequest
from surveys.models import Generation, Job, Project
from surveys.services.ai_work import from_intent, generation
from surveys.services.ground import jobs
from surveys.services.projects import service as projects
from tests.support.caller import Caller, counts, refusal
from tests.support.surveys.analyses import give
from tests.support.surveys.draft_provider import GOOD, INTENT, QUIZ, down, provide

REQUEST = ScriptRequest("Ask how it was", "convo")


@pytest.fixture
def caller(db) -> Caller:
    made = Caller()
    made.community.bot_credits = 5
    made.community.save()
    return made


def begin(caller: Caller) -> int:
    begun = generation.begin(community_id=caller.community.pk, request=REQUEST, at=timezone.now())
    assert begun is not None
    return begun


def credits(caller: Caller) -> int:
    caller.community.refresh_from_db()
    return caller.community.bot_credits


def pending(caller: Caller, **fields: object) -> tuple[dict, Generation]:
    """A project whose caller did not wait, and the job that continues."""
    answer = caller.post("/projects", {**INTENT, **fields})
    assert answer.status_code == 201, answer.content
    return answer.json(), Generation.objects.get(project_id=answer.json()["id"])


# --- When the minute is over ------------------------------------------------------------------------


def test_who_waited_long_enough_gets_a_project_whose_script_comes_later(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)

    made, _ = pending(caller)

    assert made["script"] is None
    assert made["generation"] == {
        "status": "pending",
        "generated_by": "anthropic",
        "error": None,
        "method": "model",
        "confidence": None,
        "understood": [],
        "unmet": [],
    }
    assert made["credits_used"] == 1
    assert made["info"]["block_count"] == 0
    assert caller.get(f"/projects/{made['id']}").json()["generation"]["status"] == "pending"


def test_the_script_comes_into_that_project(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    made, work = pending(caller)

    generation.run(generation_id=work.pk)

    project = caller.get(f"/projects/{made['id']}").json()
    assert project["generation"]["status"] == "completed"
    assert project["info"]["block_count"] == 2
    assert len(caller.get(f"/projects/{made['id']}/script").json()["blocks"]) == 2
    assert credits(caller) == 4
    assert not Generation.objects.exists()


def test_a_script_that_comes_later_makes_its_project_anonymous_if_the_model_understood_so(
    caller, monkeypatch, settings
):
    """Rule 10.90."""
    provide(monkeypatch, settings, replace(GOOD, wishes={"privacy_mode": "anonymous"}))
    modes = {}
    leads_away = {"settings": {"end": {"url": "https://shop.example/?r=[response_id]"}}}  # rule 6.183
    for fields in ({}, {"privacy_mode": "semi-private"}, leads_away):
        made, work = pending(caller, **fields)
        generation.run(generation_id=work.pk)
        project = caller.get(f"/projects/{made['id']}").json()
        modes[project["settings"]["privacy_mode"]] = len(project["generation"]["unmet"])

    assert modes == {"anonymous": 0, "semi-private": 1, "transparent": 1}


def test_a_quiz_that_comes_later_turns_scoring_on(caller, monkeypatch, settings):
    provide(monkeypatch, settings, QUIZ)
    made, work = pending(caller)

    generation.run(generation_id=work.pk)

    assert caller.get(f"/projects/{made['id']}").json()["scoring"]["enabled"] is True


def test_one_that_fails_later_leaves_the_project_empty_and_gives_the_credits_back(
    caller, monkeypatch, settings
):
    """Rule 10.8."""
    provide(monkeypatch, settings, down())
    made, work = pending(caller)

    generation.run(generation_id=work.pk)

    project = caller.get(f"/projects/{made['id']}").json()
    assert project["generation"] == {
        "status": "failed",
        "generated_by": "anthropic",
        "error": "The AI provider is overloaded.",
        "method": "model",
        "confidence": None,
        "understood": [],
        "unmet": [],
    }
    assert (project["status"], project["info"]["block_count"]) == ("inactive", 0)
    assert credits(caller) == 5
    assert not Generation.objects.exists()


def test_a_script_written_by_hand_meanwhile_stays(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    made, work = pending(caller)
    caller.put(f"/projects/{made['id']}/script", {"blocks": [{"type": "nps", "prompt": "Hm?"}]})

    generation.run(generation_id=work.pk)

    assert len(caller.get(f"/projects/{made['id']}/script").json()["blocks"]) == 1
    told = caller.get(f"/projects/{made['id']}").json()["generation"]
    assert (told["status"], told["error"]) == ("failed", generation.ALREADY_WRITTEN)
    assert credits(caller) == 5


def test_a_script_that_does_not_fit_any_more_is_told_as_failed(caller, monkeypatch, settings):
    long = {"type": "single_punch", "prompt": "Q", "options": [{"value": "a" * 60}, {"value": "b"}]}
    provide(monkeypatch, settings, ProposedScript([long]))
    made, work = pending(caller)
    Project.objects.filter(pk=made["id"]).update(response_channel="chat")

    generation.run(generation_id=work.pk)

    told = caller.get(f"/projects/{made['id']}").json()["generation"]
    assert told["status"] == "failed"
    assert told["error"].startswith("The script no longer fits the project: ")
    assert credits(caller) == 5


def test_the_project_may_be_deleted_meanwhile_and_the_credits_come_back(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    made, work = pending(caller)
    assert caller.delete(f"/projects/{made['id']}").status_code == 204

    generation.run(generation_id=work.pk)
    generation.take_up(at=timezone.now() + timedelta(hours=1))

    assert credits(caller) == 5
    assert not Generation.objects.exists()


def test_what_was_told_as_pending_is_told_so_again_under_its_key(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    key = {"Idempotency-Key": "0d4c1f57-9a0b-4f0f-a4d5-0c7f3a2b6e10"}
    first = caller.post("/projects", INTENT, **key)
    generation.run(generation_id=Generation.objects.get().pk)

    second = caller.post("/projects", INTENT, **key)

    assert second.content == first.content
    assert counts(caller) == (1, 0)


# --- Leases -----------------------------------------------------------------------------------------


def test_work_is_taken_by_one_worker(caller):
    """Rule 10.9."""
    work = begin(caller)
    at = timezone.now()

    assert jobs.take(Generation, work, at=at) is not None
    assert jobs.take(Generation, work, at=at) is None


def test_the_work_of_a_worker_that_died_is_taken_up_when_its_lease_is_over(caller):
    """Rule 10.9."""
    work = begin(caller)
    at = timezone.now()
    jobs.take(Generation, work, at=at)

    assert list(jobs.waiting(Generation, at=at + jobs.LEASE - timedelta(seconds=1))) == []
    assert list(jobs.waiting(Generation, at=at + jobs.LEASE)) == [work]
    assert jobs.take(Generation, work, at=at + jobs.LEASE) is not None


def test_a_worker_that_was_given_up_changes_nothing_any_more(caller, monkeypatch, settings):
    def overtaken() -> ProposedScript:
        assert jobs.take(Generation, work, at=timezone.now() + jobs.LEASE) is not None
        return QUIZ

    provide(monkeypatch, settings, overtaken)
    work = begin(caller)

    generation.run(generation_id=work)

    found = Generation.objects.get()
    assert (found.status, found.attempt, found.draft) == ("running", 2, None)


def test_a_worker_that_fails_after_it_was_given_up_gives_nothing_back(caller, monkeypatch, settings):
    def overtaken() -> ProposedScript:
        assert jobs.take(Generation, work, at=timezone.now() + jobs.LEASE) is not None
        raise down()

    provide(monkeypatch, settings, overtaken)
    work = begin(caller)

    generation.run(generation_id=work)

    assert Generation.objects.get().status == "running"
    assert credits(caller) == 4


def test_work_whose_workers_die_again_and_again_fails_in_the_end(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    work, at = begin(caller), timezone.now()
    for _ in range(jobs.MOST_DEATHS + 1):
        assert jobs.take(Generation, work, at=at) is not None
        at += jobs.LEASE

    assert jobs.take(Generation, work, at=at) is None
    generation.take_up(at=at)

    assert Generation.objects.get().status == "failed"
    assert credits(caller) == 5


def test_nothing_is_begun_for_a_request_that_is_answered_by_now(caller):
    """A twin came in before the first was answered, and got so far after it."""
    begun = generation.begin(
        community_id=caller.community.pk,
        request=REQUEST,
        claim="claim",
        is_answered=lambda: True,
        at=timezone.now(),
    )

    assert begun is None
    assert credits(caller) == 5


def test_finished_work_is_not_done_again(caller, monkeypatch, settings):
    drafts = provide(monkeypatch, settings, GOOD)
    work = begin(caller)
    generation.run(generation_id=work)

    generation.run(generation_id=work)

    assert len(drafts.asked) == 1


def test_work_that_is_gone_is_no_fault(db):
    generation.run(generation_id=1)


def test_the_sweep_wakes_what_nobody_was_woken_for(caller, monkeypatch, django_capture_on_commit_callbacks):
    woken = []
    work = begin(caller)
    monkeypatch.setattr(generation, "wake", lambda task, **kwargs: woken.append((task, kwargs)))

    generation.take_up(at=timezone.now())

    assert woken == [("surveys.make_script", {"generation_id": work})]


def test_a_finished_script_whose_worker_died_before_it_was_delivered_is_delivered(
    caller, monkeypatch, settings
):
    provide(monkeypatch, settings, GOOD)
    made, work = pending(caller)
    monkeypatch.setattr(generation, "deliver", lambda **_: None)
    generation.run(generation_id=work.pk)
    monkeypatch.undo()
    woken = []
    monkeypatch.setattr(generation, "wake", lambda task, **kwargs: woken.append(kwargs["generation_id"]))

    generation.take_up(at=timezone.now())
    generation.run(generation_id=woken[0])

    assert caller.get(f"/projects/{made['id']}").json()["generation"]["status"] == "completed"


def test_credits_for_a_script_that_nobody_fetched_come_back(caller, monkeypatch, settings):
    provide(monkeypatch, settings, GOOD)
    generation.run(generation_id=begin(caller))
    done = Generation.objects.get().completed_at
    assert done is not None

    generation.take_up(at=done + generation.KEPT_FOR)
    assert credits(caller) == 4
    generation.take_up(at=done + generation.KEPT_FOR + timedelta(seconds=1))

    assert credits(caller) == 5
    assert not Generation.objects.exists()


def test_who_comes_back_after_that_is_told_so(caller, monkeypatch, settings):
    plan = projects.plan_project(actor=caller.actor, fields=INTENT, at=timezone.now())

    with pytest.raises(Unavailable):
        from_intent.create_project(prepared=from_intent.Prepared(plan, generation_id=1), at=timezone.now())


def test_nothing_may_wait_for_a_model_inside_a_transaction(caller):
    with (
        connection.cursor(),
        pytest.raises(RuntimeError, match="transaction"),
        transaction.atomic(),
    ):
        jobs.close_connection()


# --- All at once ------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_pay_for_as_many_as_there_are_credits_for(monkeypatch, settings):
    monkeypatch.setattr(queue, "wake_at_once", lambda *_, **__: None)
    settings.AI_PROVIDER = "anthropic"
    caller = Caller()
    caller.community.bot_credits = 7
    caller.community.save()

    def ask(_: int) -> bool:
        try:
            begin(caller)
            return True
        except PaymentRequired:
            return False
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        paid = list(pool.map(ask, range(20)))

    assert sum(paid) == 7
    assert Generation.objects.count() == 7
    assert credits(caller) == 0


@pytest.mark.django_db(transaction=True)
def test_twins_pay_once_and_get_one_project(monkeypatch, settings):
    """Both wait for the same work, holding no connection; a worker does it meanwhile."""
    monkeypatch.setattr(queue, "wake_at_once", lambda *_, **__: None)
    provide(monkeypatch, settings, GOOD)
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 60
    caller = Caller()
    caller.community.bot_credits = 7
    caller.community.save()
    are_waiting = Event()
    close_connection, waiting = jobs.close_connection, set()

    def noticed() -> None:
        close_connection()
        waiting.add(get_ident())
        if len(waiting) == 2:
            are_waiting.set()

    monkeypatch.setattr(jobs, "close_connection", noticed)

    def ask(_: int) -> tuple[int, bytes]:
        try:
            answer = caller.post("/projects", INTENT, **{"Idempotency-Key": "twins"})
            return answer.status_code, answer.content
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, n) for n in range(2)]
        assert are_waiting.wait(30)
        assert _in_transaction() == 0
        generation.run(generation_id=Generation.objects.get().pk)
        answers = [each.result(timeout=60) for each in asked]

    assert answers[0] == answers[1]
    assert answers[0][0] == 201
    assert Project.objects.count() == 1
    assert credits(caller) == 6


def _in_transaction() -> int:
    """Connections to this database, beside this one, that hold a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
        )
        return int(cursor.fetchone()[0])


# --- Turns of communities ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_community_has_a_part_of_the_threads_until_its_calls_have_ended(
    caller, monkeypatch, settings, is_cancelled
):
    """Rule 10.92."""
    other = Caller()
    give(other.community, 1)
    first, second, third, others = *(begin(caller) for _ in range(3)), begin(other)
    statuses: dict[int, str] = {}

    def while_the_second_works() -> ProposedScript:
        if is_cancelled:
            Generation.objects.filter(pk=first).delete()
        for pk in (third, others):
            generation.run(generation_id=pk)
            statuses[pk] = Generation.objects.get(pk=pk).status
        return GOOD

    def while_the_first_works() -> ProposedScript:
        generation.run(generation_id=second)
        return GOOD

    provide(monkeypatch, settings, while_the_first_works, while_the_second_works, GOOD)
    monkeypatch.setattr(jobs, "_threads", Slots(8, most_of_one=2))

    generation.run(generation_id=first)
    generation.run(generation_id=third)

    assert statuses == {third: "pending", others: "completed"}
    assert Generation.objects.get(pk=third).status == "completed"


@pytest.mark.parametrize("kind", Job.__subclasses__())
def test_no_kind_of_job_takes_a_thread_that_its_community_may_not_have(caller, monkeypatch, kind):
    """Rule 10.92."""
    now = timezone.now()
    project = Project.objects.get(pk=caller.make()["id"])
    values = {"project": project, "community": caller.community, "created_at": now, "request": {}}
    required = [
        field
        for field in kind._meta.fields
        if field.name in values or not (field.null or field.has_default() or field.primary_key)
    ]
    job = kind.objects.create(
        **{each.name: values.get(each.name, b"" if isinstance(each, BinaryField) else 0) for each in required}
    )
    worked: list[int] = []
    monkeypatch.setattr(jobs, "_threads", Slots(2, most_of_one=1))

    def carry_out() -> None:
        jobs.carry_out(
            kind,
            job.pk,
            work=lambda each: worked.append(each.pk),
            fail=lambda *_: None,
            foreseen=ValueError,
            now=timezone.now,
        )

    jobs._threads.acquire(str(caller.community.pk), timeout=0)
    carry_out()
    before = [*worked]
    jobs._threads.release(str(caller.community.pk))
    carry_out()

    assert (before, worked) == ([], [job.pk])


# --- Places to wait ---------------------------------------------------------------------------------


def test_who_finds_every_place_taken_waits_a_little_and_is_told_that_it_takes_longer(
    caller, monkeypatch, settings
):
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 60
    monkeypatch.setattr(generation, "SECONDS_OF_A_SHORT_WAIT", 0.0)
    monkeypatch.setattr(generation._long_waits, "acquire", lambda blocking: False)

    answer = caller.post("/projects", INTENT)

    assert answer.status_code == 201
    assert answer.json()["generation"]["status"] == "pending"


def test_one_thread_of_a_web_process_is_hardly_kept_waiting(settings):
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 60

    with ExitStack() as stack:
        waits = [stack.enter_context(generation._seconds_to_wait()) for _ in range(5)]

    no_place = generation.SECONDS_OF_ANY_OTHER_WAIT
    assert waits == [60, 60, generation.SECONDS_OF_A_SHORT_WAIT, no_place, no_place]
    assert gunicorn.threads > sum(wait > no_place for wait in waits)


def test_a_place_is_free_again_after_a_fault(monkeypatch, settings):
    monkeypatch.setattr(generation, "_has_ended", lambda _: 1 / 0)
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 1.0

    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            generation.wait(generation_id=1)

    assert generation._long_waits.acquire(blocking=False)
    generation._long_waits.release()


def test_no_job_has_credits_after_it_failed(caller, monkeypatch, settings):
    provide(monkeypatch, settings, down())
    answer = caller.post("/projects", INTENT)
    generation.run(generation_id=Generation.objects.get().pk)

    assert answer.status_code == 201
    assert not Generation.objects.filter(status=Job.Status.FAILED, credits_used__gt=0).exists()


def test_no_project_is_left_where_credits_are_missing(caller):
    caller.community.bot_credits = 0
    caller.community.save()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ai, "provider_is_free", lambda: False)
        answer = caller.post("/projects", INTENT)

    assert refusal(answer) == (402, "payment_required")
    assert counts(caller) == (0, 0)
