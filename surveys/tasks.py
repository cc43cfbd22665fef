"""What the worker does for surveys: each task calls one service, and may run twice."""

from __future__ import annotations

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from surveys.services import anonymity, generation, jobs
from surveys.services.analysis import service as analysis
from surveys.services.projects import schedule


@shared_task(name="surveys.open_and_close")
def open_and_close(**_later: object) -> None:
    """Every two seconds: bring projects up to date whose scheduled opening or closing has come."""
    schedule.open_and_close_due(at=timezone.now())


@shared_task(name="surveys.forget_silent_conversations")
def forget_silent_conversations(**_later: object) -> None:
    """Every ten minutes: anonymous conversations forget respondents who have been silent for a day."""
    anonymity.forget_silent(at=timezone.now())


@shared_task(name="surveys.settle_anonymous_answers")
def settle_anonymous_answers(**_later: object) -> None:
    """Every ten minutes: anonymous answers whose hour is over lose the order in which they were written."""
    anonymity.settle(at=timezone.now())


@shared_task(name=generation.MAKE)
def make_script(generation_id: int, **_later: object) -> None:
    """Woken for each intent: have a script drafted."""
    generation.run(generation_id=generation_id)


@shared_task(name=analysis.RUN)
def run_analysis(analysis_id: int, **_later: object) -> None:
    """Woken for each analysis that is asked for: make it."""
    analysis.run(analysis_id=analysis_id)


@shared_task(name="surveys.take_up_jobs")
def take_up_jobs(**_later: object) -> None:
    """Every five seconds: wake workers for scripts and analyses that nobody makes, or whose worker died."""
    generation.take_up(at=timezone.now())
    analysis.take_up(at=timezone.now())


@worker_shutting_down.connect
def give_back_jobs(**_: object) -> None:
    """A worker is told to stop: another shall not wait for its leases to run out."""
    jobs.give_back(at=timezone.now())
