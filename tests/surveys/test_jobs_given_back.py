"""Jobs of a worker that is being stopped: other workers continue them at once (rule 12.5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from communities.models import Community
from surveys.models import Generation
from surveys.services.ground import jobs

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOON + timedelta(seconds=1)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Event:
    event = Event()
    monkeypatch.setattr(jobs, "_is_ending", event)
    return event


@pytest.fixture
def job(db: None, ending: Event) -> Generation:
    community = Community.objects.create(id=7, name="Club")
    made = Generation.objects.create(community=community, request={}, created_at=NOON)
    taken = jobs.take(Generation, made.pk, at=NOON)
    assert taken is not None
    return taken


def test_a_lease_that_is_given_back_is_over(job: Generation, ending: Event) -> None:
    jobs.give_back(at=LATER)
    ending.clear()  # another process

    assert list(jobs.waiting(Generation, at=LATER)) == [job.pk]
    assert jobs.take(Generation, job.pk, at=LATER) is not None


def test_what_is_finished_before_another_takes_it_counts(job: Generation) -> None:
    jobs.give_back(at=LATER)

    assert jobs.locked(job).pk == job.pk


def test_a_step_is_kept_and_no_other_is_begun(job: Generation) -> None:
    jobs.give_back(at=LATER)

    with pytest.raises(jobs.TakenOver):
        jobs.renew(job, at=LATER, generated_by="local")

    job.refresh_from_db()
    assert (job.generated_by, job.leased_until) == ("local", LATER)


def test_the_job_of_another_worker_is_left_alone(job: Generation) -> None:
    Generation.objects.update(attempt=2)

    jobs.give_back(at=LATER)

    job.refresh_from_db()
    assert job.leased_until == NOON + jobs.LEASE
